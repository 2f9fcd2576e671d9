//! Orthonormal frames: how to make them, how far apart their spans are, and which one is shown to people.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::error::Result;
use crate::matrix::{Matrix, qr_factor, symmetric_eigen};

/// How a frame is made orthonormal. The span is the same either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Orthonormalisation {
    /// Q of a QR factorisation: the paper's choice.
    #[default]
    Qr,
    /// The polar factor: the nearest orthonormal frame.
    Polar,
}

impl Orthonormalisation {
    pub(crate) fn of(self, frame: &Matrix) -> Result<Matrix> {
        match self {
            Self::Qr => Ok(qr_factor(frame)),
            Self::Polar => polar_factor(frame),
        }
    }
}

/// The polar factor A (A'A)^-1/2. A'A squares the condition number, so a frame that is far from orthonormal goes through QR: it
/// has the same span, and only the span matters.
pub(crate) fn polar_factor(frame: &Matrix) -> Result<Matrix> {
    match polar_correction(frame)? {
        Some(correction) => Ok(frame.times(&correction)),
        None => Ok(qr_factor(frame)),
    }
}

/// (A'A)^-1/2, where A is near enough to orthonormal for it to be accurate.
pub(crate) fn polar_correction(frame: &Matrix) -> Result<Option<Matrix>> {
    let (values, mut half) = symmetric_eigen(&frame.transposed_times(frame))?;
    let (largest, smallest) = (values[0], values[values.len() - 1]);
    if smallest.is_nan() || smallest <= 1e-2 * largest {
        return Ok(None);
    }
    let back = half.transposed();
    half.scale_columns(&values.iter().map(|v| 1.0 / v.sqrt()).collect::<Vec<_>>());
    Ok(Some(half.times(&back)))
}

/// Grassmann distance between the spans of two orthonormal frames: the root of the sum of squared principal angles.
pub(crate) fn grassmann_distance(first: &Matrix, second: &Matrix) -> Result<f64> {
    let cosines = first.transposed_times(second);
    let mut outside = second.clone();
    outside.add_scaled(-1.0, &first.times(&cosines));
    // Angles from both sines and cosines: each is accurate where the other is not.
    let (cos2, _) = symmetric_eigen(&cosines.transposed_times(&cosines))?;
    let (sin2, _) = symmetric_eigen(&outside.transposed_times(&outside))?;
    let angle = |(c, s): (&f64, &f64)| s.max(0.0).sqrt().atan2(c.max(0.0).sqrt());
    Ok(cos2.iter().zip(sin2.iter().rev()).map(angle).map(|x| x * x).sum::<f64>().sqrt())
}

/// The rotation that makes Z' diag(a) Z diagonal and descending, with its diagonal (the explained variances).
pub(crate) fn principal_rotation(scores: &Matrix, weights: &[f64]) -> Result<(Vec<f64>, Matrix)> {
    let mut weighted = scores.clone();
    weighted.scale_rows(weights);
    let mut second_moments = weighted.transposed_times(scores);
    second_moments.symmetrise();
    let (variances, rotation) = symmetric_eigen(&second_moments)?;
    Ok((variances.into_iter().map(|v| v.max(0.0)).collect(), rotation))
}

/// For each column +1 or -1, so that its entry of largest magnitude (the first of them) becomes positive.
pub(crate) fn canonical_signs(loadings: &Matrix) -> Vec<f64> {
    (0..loadings.columns())
        .map(|j| {
            let column = loadings.column(j);
            let largest = column.iter().fold(0.0f64, |m, x| if x.abs() > m.abs() { *x } else { m });
            if largest < 0.0 { -1.0 } else { 1.0 }
        })
        .collect()
}

/// A random frame, uniform over the subspaces.
pub(crate) fn random_frame(rows: usize, columns: usize, seed: u64, stream: u64) -> Matrix {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    qr_factor(&Matrix::from_fn(rows, columns, |_, _| StandardNormal.sample(&mut random)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_between_known_planes() {
        let angle = |t: f64| Matrix::from_column_major(3, 1, vec![t.cos(), t.sin(), 0.0]).unwrap();
        for t in [0.0, 1e-9, 0.3, 1.2, std::f64::consts::FRAC_PI_2] {
            let distance = grassmann_distance(&angle(0.2), &angle(0.2 + t)).unwrap();
            assert!((distance - t).abs() < 1e-14 + 1e-7 * t, "{t} {distance}");
        }
        let frame = random_frame(20, 4, 1, 0);
        assert!(grassmann_distance(&frame, &frame).unwrap() < 1e-14);
        let turned = frame.times(&random_frame(4, 4, 2, 0));
        assert!(grassmann_distance(&frame, &turned).unwrap() < 1e-14);
    }

    #[test]
    fn polar_factor_is_orthonormal_and_keeps_the_span() {
        for noise in [1e-8, 0.3, 1e6] {
            let frame = random_frame(30, 3, 1, 0);
            let mut other = frame.clone();
            other.add_scaled(noise, &random_frame(30, 3, 1, 1));
            other.column_mut(0).iter_mut().for_each(|x| *x *= 1e7);
            let polar = polar_factor(&other).unwrap();
            let mut gram = polar.transposed_times(&polar);
            gram.add_scaled(-1.0, &Matrix::identity(3));
            assert!(gram.norm() < 1e-14);
            let q = qr_factor(&other);
            assert!(grassmann_distance(&q, &polar).unwrap() < 1e-12);
        }
    }

    #[test]
    fn polar_factor_is_the_nearest_frame() {
        // The polar factor Q of A is the one for which Q'A is symmetric and positive.
        let mut frame = random_frame(12, 3, 5, 0);
        frame.add_scaled(0.2, &random_frame(12, 3, 5, 1));
        let polar = Orthonormalisation::Polar.of(&frame).unwrap();
        let product = polar.transposed_times(&frame);
        for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
            assert!((product.get(i, j) - product.get(j, i)).abs() < 1e-14);
        }
        assert!(symmetric_eigen(&product).unwrap().0.iter().all(|x| *x > 0.5));
        let by_qr = Orthonormalisation::Qr.of(&frame).unwrap();
        assert_eq!(by_qr, qr_factor(&frame));
        assert!((by_qr.get(0, 0) - polar.get(0, 0)).abs() > 1e-6);
    }

    #[test]
    fn polar_correction_is_left_to_qr_where_it_would_be_inaccurate() {
        // Squared singular values 1 and s.
        let frame = |s: f64| Matrix::from_column_major(3, 2, vec![1.0, 0.0, 0.0, 0.0, s.sqrt(), 0.0]).unwrap();
        assert!(polar_correction(&frame(0.5 * 1e-2)).unwrap().is_none());
        let correction = polar_correction(&frame(2.0 * 1e-2)).unwrap().unwrap();
        assert!((correction.get(0, 0) - 1.0).abs() < 1e-14);
        assert!((correction.get(1, 1) - 0.02f64.powf(-0.5)).abs() < 1e-12);
        assert!(correction.get(0, 1).abs() < 1e-14);
        // Whatever the scale.
        for scale in [0.01, 100.0] {
            assert!(polar_correction(&frame(0.5 * 1e-2).scaled(scale)).unwrap().is_none());
            assert!(polar_correction(&frame(2.0 * 1e-2).scaled(scale)).unwrap().is_some());
        }
    }

    #[test]
    fn principal_rotation_makes_weighted_scores_uncorrelated() {
        let n = 9;
        let scores = Matrix::from_fn(n, 3, |i, j| ((i * (j + 2)) as f64).sin() * (1.0 + j as f64));
        let weights: Vec<f64> = (0..n).map(|i| (i + 1) as f64 / 45.0).collect();
        let (variances, rotation) = principal_rotation(&scores, &weights).unwrap();
        assert!(variances.windows(2).all(|w| w[0] >= w[1]) && variances[2] > 0.0);
        let turned = scores.times(&rotation);
        for (p, q) in (0..3).flat_map(|p| (0..3).map(move |q| (p, q))) {
            let moment: f64 = (0..n).map(|i| weights[i] * turned.get(i, p) * turned.get(i, q)).sum();
            let wanted = if p == q { variances[p] } else { 0.0 };
            assert!((moment - wanted).abs() < 1e-14, "({p}, {q}): {moment}");
        }
    }

    #[test]
    fn signs_make_the_first_largest_entry_positive() {
        let loadings = Matrix::from_row_major(
            3,
            4,
            &[
                0.5, -0.8, 0.6, 0.0, //
                -0.6, 0.1, -0.6, 0.0, //
                0.1, 0.2, 0.1, 0.0,
            ],
        );
        assert_eq!(canonical_signs(&loadings.unwrap()), [-1.0, -1.0, 1.0, 1.0]);
    }

    #[test]
    fn random_frames_are_orthonormal_and_differ_by_seed_and_stream() {
        let frame = random_frame(6, 2, 1, 0);
        let mut gram = frame.transposed_times(&frame);
        gram.add_scaled(-1.0, &Matrix::identity(2));
        assert!(gram.norm() < 1e-14);
        assert_eq!(frame, random_frame(6, 2, 1, 0));
        for other in [random_frame(6, 2, 2, 0), random_frame(6, 2, 1, 1)] {
            assert!(grassmann_distance(&frame, &other).unwrap() > 0.01);
        }
    }
}
