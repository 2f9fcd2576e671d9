//! Ranks, and Spearman's correlation.

/// The rank of each value, from 1; ties share the mean of their ranks.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    while first < order.len() {
        let ties = order[first..].iter().take_while(|&&i| values[i] == values[order[first]]).count().max(1);
        for &i in &order[first..first + ties] {
            ranks[i] = first as f64 + (ties + 1) as f64 / 2.0;
        }
        first += ties;
    }
    ranks
}

/// Spearman's rank correlation: Pearson's between the ranks. 0 where one of the two is constant.
pub fn spearman(one: &[f64], other: &[f64]) -> f64 {
    let (x, y) = (ranks(one), ranks(other));
    let middle = (x.len() + 1) as f64 / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum::<f64>();
    let scale = (product(&x, &x) * product(&y, &y)).sqrt();
    if scale > 0.0 { product(&x, &y) / scale } else { 0.0 }
}
