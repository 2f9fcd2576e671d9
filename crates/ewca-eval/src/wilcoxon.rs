//! Wilcoxon's signed-rank test for paired differences.

use crate::ranks::ranks;

/// The two-sided p-value that the differences are symmetric about 0.
///
/// Zeros are left out (Wilcoxon's rule), ties share the mean of their ranks, and the distribution is exact, by counting the sign
/// patterns with these very ranks. NaN where no difference is left.
pub fn wilcoxon(differences: &[f64]) -> f64 {
    let kept: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    if kept.is_empty() || kept.iter().any(|d| d.is_nan()) {
        return f64::NAN;
    }
    let magnitudes: Vec<f64> = kept.iter().map(|d| d.abs()).collect();
    // Doubled, the mean rank of ties is a whole number.
    let doubled: Vec<usize> = ranks(&magnitudes).iter().map(|r| (2.0 * r) as usize).collect();
    let total: usize = doubled.iter().sum();
    let positive: usize = kept.iter().zip(&doubled).filter(|(d, _)| **d > 0.0).map(|(_, r)| r).sum();
    let extreme = positive.min(total - positive);
    // share[s]: the probability that the positive ranks sum to s / 2.
    let mut share = vec![0.0; total + 1];
    share[0] = 1.0;
    for &rank in &doubled {
        for s in (0..=total).rev() {
            share[s] = 0.5 * (share[s] + if s >= rank { share[s - rank] } else { 0.0 });
        }
    }
    (2.0 * share[..=extreme].iter().sum::<f64>()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases_by_counting() {
        // All of one sign: 2 patterns of 2^n are as extreme.
        assert_eq!(wilcoxon(&[1.0, 2.0, 3.0, 4.0]), 2.0 / 16.0);
        assert_eq!(wilcoxon(&[-1.0, -2.0, 0.0, -3.0]), 2.0 / 8.0);
        // Ranks 1 2 3, the 1 negative: sums 0 and 1 of 8 patterns, on both sides.
        assert_eq!(wilcoxon(&[-1.0, 2.0, 3.0]), 4.0 / 8.0);
        // Ties share rank 1.5: sums 0, 1.5 (twice), 3 of 4 patterns.
        assert_eq!(wilcoxon(&[1.0, -1.0]), 1.0);
        assert!(wilcoxon(&[0.0]).is_nan());
    }
}
