//! How something grows with a size.

use ewca::geometric;

/// The slope of log y against log x: the exponent of growth.
pub fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let (mx, my) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    let (sxy, sxx) = logs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + (x - mx) * (y - my), b + (x - mx) * (x - mx)));
    sxy / sxx
}

/// `count` numbers from `from` to `to`, each larger by the same factor, rounded.
pub fn geometric_sizes(from: usize, to: usize, count: usize) -> Vec<usize> {
    let mut sizes: Vec<usize> =
        geometric(from as f64, to as f64, count).into_iter().map(|size| size.round() as usize).collect();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_and_sizes() {
        let points: Vec<(f64, f64)> = [1.0, 2.0, 7.0, 30.0].map(|x: f64| (x, 3.0 * x.powf(1.7))).to_vec();
        assert!((exponent(&points) - 1.7).abs() < 1e-12);
        let sizes = geometric_sizes(50, 54675, 12);
        assert_eq!((sizes.len(), sizes[0], sizes[11]), (12, 50, 54675));
    }
}
