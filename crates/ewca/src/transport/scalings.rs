//! The scalings u = a exp(f) of a plan diag(u) K diag(u).

use std::ops::Deref;

use crate::matrix::Matrix;

/// u_i = a_i exp(f_i), and 0 where a_i is 0.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scalings(Vec<f64>);

impl Scalings {
    /// Of the weights a and the potential f = g / epsilon.
    pub fn new(weights: &[f64], potential: &[f64]) -> Self {
        let scaling = |(&a, f): (&f64, &f64)| if a > 0.0 { a * f.exp() } else { 0.0 };
        Self(weights.iter().zip(potential).map(scaling).collect())
    }

    /// [u, diag(u) `columns`].
    pub fn beside(&self, columns: &Matrix) -> Matrix {
        let mut out = Matrix::zeros(self.len(), 1 + columns.columns());
        out.column_mut(0).copy_from_slice(self);
        for j in 0..columns.columns() {
            out.column_mut(j + 1).iter_mut().zip(&self.0).zip(columns.column(j)).for_each(|((o, u), z)| *o = u * z);
        }
        out
    }
}

impl Deref for Scalings {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalings_are_weights_times_the_exponential_of_the_potential() {
        // Where there is no weight there is no mass, whatever the potential.
        let u = Scalings::new(&[0.5, 0.0, 0.25], &[2f64.ln(), f64::INFINITY, 0.0]);
        assert!((u[0] - 1.0).abs() < 1e-15 && u[1..] == [0.0, 0.25]);
        let columns = u.beside(&Matrix::from_row_major(3, 2, &[1.0, 2.0, 3.0, 4.0, 8.0, 6.0]).unwrap());
        assert_eq!(columns.to_row_major(), [u[0], u[0], 2.0 * u[0], 0.0, 0.0, 0.0, 0.25, 2.0, 1.5]);
    }
}
