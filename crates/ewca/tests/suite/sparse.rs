//! Sparse samples give what dense ones give, and are never made dense.

use crate::common::{cases, check_fit};
use ewca::{Error, Ewca, Samples};
use proptest::prelude::*;

/// A dense row-major matrix as compressed sparse rows.
pub fn compressed(dense: &[f64], columns: usize) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
    let (mut offsets, mut positions, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in dense.chunks_exact(columns) {
        for (j, &x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            positions.push(j as u32);
            values.push(x);
        }
        offsets.push(values.len());
    }
    (offsets, positions, values)
}

/// Counts, most of them 0.
pub fn counts(n: usize, d: usize, seed: u64) -> Vec<f64> {
    (0..n * d)
        .map(|at| {
            let noise = ((at as f64 + 31.0 * seed as f64) * 12.9898).sin() * 43758.5453;
            let group = ((at / d) % 3 == (at % d) % 3) as u8 as f64;
            (6.0 * noise.fract().abs() - 4.0 + 2.0 * group).max(0.0).floor()
        })
        .collect()
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn sparse_equals_dense(n in 5usize..40, d in 5usize..60, seed in 0u64..100, weighted in any::<bool>()) {
        let x = counts(n, d, seed);
        let (offsets, positions, values) = compressed(&x, d);
        let weights: Vec<f64> = (0..n).map(|i| if weighted { (i % 4) as f64 + 0.5 * (i % 2) as f64 } else { 1.0 }).collect();
        let dense = Samples::new(&x, n, d).unwrap().with_weights(&weights).unwrap();
        let sparse = Samples::sparse(&offsets, &positions, &values, d).unwrap().with_weights(&weights).unwrap();
        for i in 0..n {
            prop_assert_eq!(dense.row(i), sparse.row(i));
        }
        // Tight enough that both stop at the same point to the accuracy that is compared.
        let params = Ewca::params(2).epsilon(0.7).tolerance(1e-12).max_iterations(2000);
        let (one, other) = (params.clone().fit(&dense), params.fit(&sparse));
        prop_assume!(one.is_ok());
        let (one, other) = (one.unwrap(), other.unwrap());
        check_fit(&dense, &one);
        check_fit(&sparse, &other);
        prop_assert!((one.loss() - other.loss()).abs() < 1e-10 * one.loss().abs());
        for (v, w) in one.explained_variance().iter().zip(other.explained_variance()) {
            prop_assert!((v - w).abs() < 1e-10 * one.explained_variance()[0].max(one.loss()));
        }
        let (a, b) = (one.transform(&x, n).unwrap(), one.transform_sparse(&offsets, &positions, &values).unwrap());
        for (v, w) in a.as_column_major().iter().zip(b.as_column_major()) {
            prop_assert!((v - w).abs() < 1e-10 * (1.0 + v.abs()));
        }
    }
}

#[test]
fn f32_and_threads() {
    let x = counts(300, 500, 1);
    let (offsets, positions, values) = compressed(&x, 500);
    let small: Vec<f32> = values.iter().map(|&x| x as f32).collect();
    let fit = |threads| {
        let samples = Samples::sparse(&offsets, &positions, &small, 500).unwrap();
        serde_json::to_string(&Ewca::params(3).epsilon(2.0).threads(threads).fit(&samples).unwrap()).unwrap()
    };
    let one = fit(1);
    assert_eq!(one, fit(2));
    assert_eq!(one, fit(8));
    let samples = Samples::sparse(&offsets, &positions, &values, 500).unwrap();
    assert_eq!(one, serde_json::to_string(&Ewca::params(3).epsilon(2.0).fit(&samples).unwrap()).unwrap());
}

#[test]
fn bad_structures_are_named() {
    let error = |offsets: &[usize], positions: &[u32], values: &[f64], columns| {
        Samples::sparse(offsets, positions, values, columns).unwrap_err().to_string()
    };
    assert!(error(&[], &[], &[], 3).contains("empty"));
    assert!(error(&[0, 0, 0], &[], &[], 0).contains("empty"));
    assert!(error(&[0, 1, 3], &[0, 1], &[1.0, 2.0], 3).contains("run from 0"));
    assert!(error(&[1, 1, 2], &[0, 1], &[1.0, 2.0], 3).contains("run from 0"));
    assert!(error(&[0, 1, 2], &[0], &[1.0, 2.0], 3).contains("run from 0"));
    assert!(error(&[0, 3, 1, 2], &[0, 1], &[1.0, 2.0], 3).contains("fall after row 1"));
    assert!(error(&[0, 2, 2], &[1, 0], &[1.0, 2.0], 3).contains("row 0 are not in ascending order"));
    assert!(error(&[0, 2, 2], &[1, 1], &[1.0, 2.0], 3).contains("row 0 are not in ascending order"));
    assert!(error(&[0, 0, 1], &[3], &[1.0], 3).contains("row 1 has a column index beyond the 3 columns"));
    let nan = Samples::sparse(&[0, 1, 2], &[2, 1], &[1.0, f64::NAN], 3).unwrap_err();
    assert!(matches!(nan, Error::NotFinite { row: 1, column: 1, .. }));
    assert_eq!(Samples::sparse(&[0, 1], &[0], &[1.0], 3).unwrap_err(), Error::TooFewSamples { found: 1 });
}
