//! The paper's protocol for judging k and choosing epsilon.

use ewca::{CheckedParams, Control, Ewca, Matrix, Model, Progress, Samples, Scalar};
use rayon::prelude::*;
use serde::Serialize;

use crate::{Labels, Neighbours, Split};

/// How often to split, and from which seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocol {
    /// Splits into a train and a test half.
    pub splits: usize,
    /// Splits of each train half, on which epsilon is chosen.
    pub inner_splits: usize,
    /// The seed of all splits.
    pub seed: u64,
}

impl Default for Protocol {
    fn default() -> Self {
        Self { splits: 100, inner_splits: 20, seed: 0 }
    }
}

impl Protocol {
    /// The splits into a train and a test half.
    pub(crate) fn outer_splits(self, classes: &[usize]) -> Vec<Split> {
        let all: Vec<usize> = (0..classes.len()).collect();
        (0..self.splits).map(|s| Split::stratified(&all, classes, self.seed, s as u64)).collect()
    }
}

/// How an error (in percent) varies over the splits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The lower quartile.
    pub q1: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub q3: f64,
}

impl Spread {
    /// Mean and quartiles (interpolated between order statistics).
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let quantile = |p: f64| {
            let at = p * (sorted.len() - 1) as f64;
            let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
            low + (at - at.floor()) * (high - low)
        };
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Self { mean, q1: quantile(0.25), median: quantile(0.5), q3: quantile(0.75) }
    }
}

/// One number of components: errors of the nearest neighbour, in percent, over the splits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// Number of components.
    pub k: usize,
    /// In the scores of PCA.
    pub pca: Spread,
    /// In the scores of EWCA, at the epsilon that the train half chose.
    pub ewca: Spread,
    /// The errors of PCA, one for each split.
    #[serde(skip)]
    pub pca_errors: Vec<f64>,
    /// The errors of EWCA, one for each split.
    #[serde(skip)]
    pub ewca_errors: Vec<f64>,
    /// The epsilon that each split chose.
    pub chosen: Vec<f64>,
    /// The epsilon that inner splits of all samples choose: what to use.
    pub epsilon: f64,
    /// Mean error at each epsilon of the grid, over all splits. For looking at, not for choosing.
    pub by_epsilon: Vec<f64>,
    /// Which epsilons collapsed.
    pub collapsed: Vec<bool>,
}

/// The whole table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Selection {
    /// The epsilons that were tried, ascending.
    pub epsilons: Vec<f64>,
    /// In all features, without reduction.
    pub raw: Spread,
    /// The errors in all features, one for each split.
    #[serde(skip)]
    pub raw_errors: Vec<f64>,
    /// One entry for each number of components.
    pub cells: Vec<Cell>,
    /// The entry with the smallest mean error of EWCA; the smallest k of those within a hundredth of a point.
    pub best: usize,
}

/// Judges each k of `ks`, and chooses among `epsilons` for it. `fitted` is called after each k, and may stop by returning false.
pub fn select<T: Scalar>(
    samples: &Samples<'_, T>,
    labels: &Labels,
    ks: &[usize],
    epsilons: &[f64],
    protocol: Protocol,
    fitted: &mut (dyn FnMut(usize) -> bool + Send),
) -> ewca::Result<Option<Selection>> {
    let mut epsilons = epsilons.to_vec();
    epsilons.sort_by(f64::total_cmp);
    let classes = &labels.classes;
    let all: Vec<usize> = (0..samples.rows()).collect();
    let splits = protocol.outer_splits(classes);
    let raw_errors = errors(&Neighbours::new(&points(samples, &all)?), &splits, classes);
    let mut cells = Vec::new();
    for &k in ks {
        let params: CheckedParams = Ewca::params(k).check()?;
        let pca = params.path(samples, &[1e-9 * epsilons[0]], &mut |_: &Progress<'_>| Control::Continue)?;
        let models = params.path(samples, &epsilons, &mut |_: &Progress<'_>| Control::Continue)?;
        cells.push(judged(k, &pca[0], &models, &epsilons, &splits, classes, protocol));
        if !fitted(k) {
            return Ok(None);
        }
    }
    let lowest = cells.iter().map(|c| c.ewca.mean).fold(f64::INFINITY, f64::min);
    let best = cells.iter().position(|c| c.ewca.mean <= lowest + 0.01).unwrap_or(0);
    Ok(Some(Selection { epsilons, raw: Spread::of(&raw_errors), raw_errors, cells, best }))
}

fn judged(
    k: usize,
    pca: &Model,
    models: &[Model],
    epsilons: &[f64],
    splits: &[Split],
    classes: &[usize],
    protocol: Protocol,
) -> Cell {
    let pca = errors(&Neighbours::new(&pca.scores), splits, classes);
    let neighbours: Vec<Neighbours> = models.par_iter().map(|model| Neighbours::new(&model.scores)).collect();
    let by_epsilon: Vec<Vec<f64>> = neighbours.par_iter().map(|n| errors(n, splits, classes)).collect();
    let picks: Vec<usize> = splits
        .par_iter()
        .enumerate()
        .map(|(number, split)| chosen(&neighbours, &split.train, classes, protocol, number as u64 + 1))
        .collect();
    let ewca: Vec<f64> = picks.iter().enumerate().map(|(split, &pick)| by_epsilon[pick][split]).collect();
    let all: Vec<usize> = (0..classes.len()).collect();
    Cell {
        k,
        pca: Spread::of(&pca),
        ewca: Spread::of(&ewca),
        pca_errors: pca,
        ewca_errors: ewca,
        chosen: picks.iter().map(|&pick| epsilons[pick]).collect(),
        epsilon: epsilons[chosen(&neighbours, &all, classes, protocol, 0)],
        by_epsilon: by_epsilon.iter().map(|e| e.iter().sum::<f64>() / e.len() as f64).collect(),
        collapsed: models.iter().map(|model| model.certificate.collapsed).collect(),
    }
}

/// The epsilon with the fewest errors over inner splits of `members` alone; ties go to the largest epsilon.
pub(crate) fn chosen(
    neighbours: &[Neighbours],
    members: &[usize],
    classes: &[usize],
    protocol: Protocol,
    number: u64,
) -> usize {
    // Streams of their own: no inner split repeats an outer one.
    let stream = |inner: usize| (number << 32) + (1 << 31) + inner as u64;
    let splits: Vec<Split> = (0..protocol.inner_splits)
        .map(|inner| Split::stratified(members, classes, protocol.seed, stream(inner)))
        .collect();
    let count = |n: &Neighbours| splits.iter().map(|s| n.errors(&s.train, &s.test, classes)).sum::<usize>();
    let counts: Vec<usize> = neighbours.iter().map(count).collect();
    let fewest = counts.iter().min().copied().unwrap_or(0);
    counts.iter().rposition(|&c| c == fewest).unwrap_or(0)
}

/// The error of each split, in percent.
fn errors(neighbours: &Neighbours, splits: &[Split], classes: &[usize]) -> Vec<f64> {
    splits
        .iter()
        .map(|s| 100.0 * neighbours.errors(&s.train, &s.test, classes) as f64 / s.test.len().max(1) as f64)
        .collect()
}

/// Some of the samples themselves as points.
pub(crate) fn points<T: Scalar>(samples: &Samples<'_, T>, members: &[usize]) -> ewca::Result<Matrix> {
    let rows: Vec<Vec<f64>> = members.iter().map(|&i| samples.row(i)).collect::<ewca::Result<_>>()?;
    Ok(Matrix::from_fn(rows.len(), samples.columns(), |i, j| rows[i][j]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_test_half_reaches_the_choice_of_epsilon() {
        let n = 40;
        let classes: Vec<usize> = (0..n).map(|i| i % 2).collect();
        let noise = |i: usize, c: usize| (((i * 37 + c * 101) as f64 * 12.9898).sin() * 43758.5453).fract();
        let neighbours: Vec<Neighbours> = (0..6)
            .map(|c| Neighbours::new(&Matrix::from_fn(n, 2, |i, j| 0.4 * (i % 2) as f64 + noise(i, 2 * c + j))))
            .collect();
        let all: Vec<usize> = (0..n).collect();
        let mut picks = Vec::new();
        for number in 0..20 {
            let split = Split::stratified(&all, &classes, 5, number);
            let pick = chosen(&neighbours, &split.train, &classes, Protocol::default(), number + 1);
            let mut lied = classes.clone();
            split.test.iter().for_each(|&i| lied[i] = 1 - lied[i]);
            assert_eq!(pick, chosen(&neighbours, &split.train, &lied, Protocol::default(), number + 1));
            picks.push(pick);
        }
        assert!(
            picks.iter().any(|p| *p != picks[0]),
            "the choice must depend on the split for this test to mean anything"
        );
    }

    #[test]
    fn ties_go_to_the_largest_epsilon() {
        let points = Matrix::from_fn(20, 1, |i, _| (i % 2) as f64 * 10.0 + 0.1 * i as f64);
        let neighbours = vec![Neighbours::new(&points); 3];
        let classes: Vec<usize> = (0..20).map(|i| i % 2).collect();
        let all: Vec<usize> = (0..20).collect();
        assert_eq!(chosen(&neighbours, &all, &classes, Protocol::default(), 0), 2);
    }

    #[test]
    fn quartiles_interpolate() {
        let spread = Spread::of(&[4.0, 1.0, 2.0, 3.0]);
        assert_eq!((spread.mean, spread.q1, spread.median, spread.q3), (2.5, 1.75, 2.5, 3.25));
    }
}
