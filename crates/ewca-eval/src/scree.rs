//! How many components: parallel analysis.
//!
//! A principal component of independent features has a variance too, and the first ones a large one, since they were chosen for it. So
//! each feature is permuted by itself, again and again: what features have in common is lost, and all else stays, their means and
//! variances too. A component of the data stands out if its variance is above nearly all (a quantile) of those that the components of the
//! same number have in permuted tables (Horn 1965; with permutations, Buja and Eyuboglu 1992). Those before the first that does not are
//! counted.
//!
//! The variance of strong components is in the permuted tables too, where it is spread over all: so what stands out does so for good reason,
//! but a weak component beside very strong ones may not be counted.
//!
//! Samples of no weight take no part. Other weights stay where they are while features are permuted, since they say how much of the data
//! each sample is; each permuted feature is then scaled to the weighted variance that it had.
//!
//! ```
//! use ewca::Samples;
//! use ewca_eval::ParallelAnalysis;
//! // Six features that follow two curves, and a little noise.
//! let noise = |i: usize, j: usize| (12.9898 * (i * 7 + j * 31) as f64).sin() * 43758.5453 % 0.2;
//! let curve = |i: usize, j: usize| if j < 3 { (i as f64).sin() } else { 0.8 * (2.7 * i as f64).cos() };
//! let data: Vec<f64> = (0..240).map(|cell| (cell / 6, cell % 6)).map(|(i, j)| curve(i, j) + noise(i, j)).collect();
//! let samples = Samples::new(&data, 40, 6)?;
//! let scree = ParallelAnalysis::default().scree(&samples)?;
//! assert_eq!(scree.above, 2);
//! assert!(scree.variances[1] > scree.permuted[1] && scree.variances[2] < scree.permuted[2]);
//! # Ok::<(), ewca::Error>(())
//! ```

use ewca::{Error, Ewca, Result, Samples, Scalar};
use rand::SeedableRng;
use rand::seq::{SliceRandom, index};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::Serialize;

use crate::spread::quantile;

/// Variances that differ by less, relatively, are the same: one feature alone has the same variance however it is permuted.
const SAME: f64 = 1e-9;
/// The residual of components, relative to their variance, where there are more than 512 of both samples and features. Components that
/// stand out are far more accurate; the variances of others, of the data and by chance alike, are then low by half a percent at most.
const TOLERANCE: f64 = 0.1;
/// Tables with fewer cells that are not 0, as a part of all, are permuted without their zeros.
const SPARSE: f64 = 0.3;

/// How parallel analysis is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParallelAnalysis {
    /// The most components that are looked at.
    pub most: usize,
    /// How often the features are permuted: each time costs about as much as PCA.
    pub permutations: usize,
    /// The part of the permuted variances that a component must be above.
    pub quantile: f64,
    /// The seed of the permutations: the same seed gives the same result.
    pub seed: u64,
}

impl Default for ParallelAnalysis {
    fn default() -> Self {
        Self { most: 50, permutations: 20, quantile: 0.95, seed: 0 }
    }
}

/// The variances of principal components, and what chance gives.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scree {
    /// How many leading components are above chance; 0 where none is.
    pub above: usize,
    /// The variance of each principal component, as a part of the total.
    pub variances: Vec<f64>,
    /// The quantile of the variances of the permuted tables' components, likewise.
    pub permuted: Vec<f64>,
    /// Which quantile that is.
    pub quantile: f64,
    /// The permutations that were made.
    pub permutations: usize,
}

impl Scree {
    /// The number of components to take: one, where none is above chance.
    pub fn components(&self) -> usize {
        self.above.max(1)
    }

    /// Whether all components that were looked at are above chance, though the data may have more.
    pub fn is_cut_off(&self, most: usize) -> bool {
        self.above == self.variances.len() && self.above == most
    }
}

impl ParallelAnalysis {
    /// The components of some samples beside those of chance. It takes the memory of a copy of them, and time as so many PCAs.
    ///
    /// # Errors
    /// Where the samples do not vary or cannot be read, are shared by a team, or a setting makes no sense.
    pub fn scree<T: Scalar>(&self, samples: &Samples<'_, T>) -> Result<Scree> {
        Ok(self.scree_observed(samples, &mut |_| true)?.expect("nobody stops it"))
    }

    /// The same; `permuted` is called with the number of permutations done, from 0 on, and may stop by returning false: there is
    /// nothing then.
    ///
    /// # Errors
    /// As [`ParallelAnalysis::scree`].
    pub fn scree_observed<T: Scalar>(
        &self,
        samples: &Samples<'_, T>,
        permuted: &mut (dyn FnMut(usize) -> bool + Send),
    ) -> Result<Option<Scree>> {
        self.check()?;
        if samples.rows() != samples.all_rows() {
            return Err(Error::Team { what: "permuting features needs all samples in one process" });
        }
        let mut table = Table::new(samples)?;
        let most = self.most.min(table.rows.saturating_sub(1)).min(samples.columns()).max(1);
        let variances = leading(samples, most)?;
        let mut drawn = vec![Vec::with_capacity(self.permutations); variances.len()];
        for number in 0..self.permutations {
            if !permuted(number) {
                return Ok(None);
            }
            table.permute(self.seed, number as u64);
            let of_chance = table.variances(variances.len())?;
            // A permuted table may have a smaller rank.
            drawn.iter_mut().enumerate().for_each(|(at, drawn)| drawn.push(of_chance.get(at).copied().unwrap_or(0.0)));
        }
        let permuted: Vec<f64> = drawn
            .into_iter()
            .map(|mut drawn| {
                drawn.sort_by(f64::total_cmp);
                quantile(&drawn, self.quantile)
            })
            .collect();
        let above = variances.iter().zip(&permuted).take_while(|(own, chance)| **own > **chance * (1.0 + SAME)).count();
        Ok(Some(Scree { above, variances, permuted, quantile: self.quantile, permutations: self.permutations }))
    }
    fn check(&self) -> Result<()> {
        let refuse =
            |name, value: String, expected: &str| Err(Error::Parameter { name, value, expected: expected.into() });
        if self.most == 0 || self.permutations == 0 {
            let (name, value) = if self.most == 0 { ("most", self.most) } else { ("permutations", self.permutations) };
            return refuse(name, value.to_string(), "expected at least 1");
        }
        match self.quantile > 0.0 && self.quantile <= 1.0 {
            true => Ok(()),
            false => refuse("quantile", self.quantile.to_string(), "expected a number above 0, and 1 at most"),
        }
    }
}

/// The variances of the leading components, `most` of them or as many as there are, as parts of the total.
fn leading<T: Scalar>(samples: &Samples<'_, T>, most: usize) -> Result<Vec<f64>> {
    let pca = |k: usize| Ewca::params(k).tolerance(TOLERANCE).pca(samples);
    let found = match pca(most) {
        Err(Error::Components { rank, .. }) if rank > 0 => pca(rank),
        other => other,
    };
    Ok(found?.explained_variance_ratio)
}

/// A copy of the samples whose features are permuted in place.
struct Table {
    /// The weights of the samples that have any; none where they are all the same.
    weights: Option<Vec<f64>>,
    rows: usize,
    features: Vec<Feature>,
    is_sparse: bool,
}

/// The values of one feature, and the samples that have them now: all values, or those that are not 0.
struct Feature {
    values: Vec<f64>,
    /// Empty where all values are here, in the order of the samples.
    places: Vec<u32>,
    /// What the feature has to vary by, with the weights.
    variance: f64,
}

impl Table {
    fn new<T: Scalar>(samples: &Samples<'_, T>) -> Result<Self> {
        let active: Vec<usize> = (0..samples.rows()).filter(|&i| samples.weights()[i] > 0.0).collect();
        let weights: Vec<f64> = active.iter().map(|&i| samples.weights()[i]).collect();
        let differ = weights.iter().any(|weight| *weight != weights[0]);
        let (rows, columns) = (active.len(), samples.columns());
        let mut counts = vec![0usize; columns];
        for &i in &active {
            samples.row(i)?.iter().zip(&mut counts).for_each(|(x, count)| *count += usize::from(*x != 0.0));
        }
        let cells = rows as f64 * columns as f64;
        let is_sparse = (counts.iter().sum::<usize>() as f64) < SPARSE * cells;
        let empty = |&count: &usize| match is_sparse {
            true => Feature { values: Vec::with_capacity(count), places: Vec::with_capacity(count), variance: 0.0 },
            false => Feature { values: vec![0.0; rows], places: Vec::new(), variance: 0.0 },
        };
        let mut features: Vec<Feature> = counts.iter().map(empty).collect();
        for (place, &i) in active.iter().enumerate() {
            let row = samples.row(i)?;
            let cells = features.iter_mut().zip(row).filter(|(_, x)| *x != 0.0);
            match is_sparse {
                true => cells.for_each(|(feature, x)| {
                    feature.values.push(x);
                    feature.places.push(place as u32);
                }),
                false => cells.for_each(|(feature, x)| feature.values[place] = x),
            }
        }
        features.par_iter_mut().for_each(|feature| feature.variance = feature.weighted_variance(&weights));
        Ok(Self { weights: differ.then_some(weights), rows, features, is_sparse })
    }

    /// Permutes each feature by itself.
    fn permute(&mut self, seed: u64, number: u64) {
        let (rows, weights) = (self.rows, self.weights.as_deref());
        self.features.par_iter_mut().enumerate().for_each(|(at, feature)| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream((number << 32) + at as u64);
            feature.permute(rows, &mut random);
            weights.iter().for_each(|weights| feature.keep_variance(weights));
        });
    }

    /// The variances of its leading components.
    fn variances(&self, most: usize) -> Result<Vec<f64>> {
        if !self.is_sparse {
            let columns = self.features.iter().map(|feature| &feature.values[..]).collect();
            return leading(&self.weighted(Samples::from_columns(columns)?)?, most);
        }
        let (offsets, positions, values) = self.by_rows();
        let samples = Samples::sparse(&offsets, &positions, &values, self.features.len())?;
        leading(&self.weighted(samples)?, most)
    }

    fn weighted<'s>(&self, samples: Samples<'s>) -> Result<Samples<'s>> {
        match &self.weights {
            Some(weights) => samples.with_weights(weights),
            None => Ok(samples),
        }
    }

    /// What is not 0, sample after sample, as [`Samples::sparse`] takes it.
    fn by_rows(&self) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
        let mut offsets = vec![0; self.rows + 1];
        let places = || self.features.iter().flat_map(|feature| &feature.places);
        places().for_each(|&place| offsets[place as usize + 1] += 1);
        for row in 0..self.rows {
            offsets[row + 1] += offsets[row];
        }
        let mut next = offsets.clone();
        let (mut positions, mut values) = (vec![0; offsets[self.rows]], vec![0.0; offsets[self.rows]]);
        for (at, feature) in self.features.iter().enumerate() {
            for (&place, &value) in feature.places.iter().zip(&feature.values) {
                let slot = next[place as usize];
                (positions[slot], values[slot]) = (at as u32, value);
                next[place as usize] += 1;
            }
        }
        (offsets, positions, values)
    }
}

impl Feature {
    fn permute(&mut self, rows: usize, random: &mut ChaCha8Rng) {
        if self.places.is_empty() {
            return self.values.shuffle(random);
        }
        let drawn = index::sample(random, rows, self.values.len());
        self.places.iter_mut().zip(drawn).for_each(|(place, drawn)| *place = drawn as u32);
    }

    /// Scales the values, so that with the weights that they have now they vary as before.
    fn keep_variance(&mut self, weights: &[f64]) {
        let now = self.weighted_variance(weights);
        if now > 0.0 && self.variance > 0.0 {
            let factor = (self.variance / now).sqrt();
            self.values.iter_mut().for_each(|value| *value *= factor);
        }
    }

    fn weighted_variance(&self, weights: &[f64]) -> f64 {
        let weight = |at: usize| weights[self.places.get(at).map_or(at, |&place| place as usize)];
        let sum = |term: &dyn Fn(f64) -> f64| -> f64 {
            self.values.iter().enumerate().map(|(at, &value)| weight(at) * term(value)).sum()
        };
        let total: f64 = weights.iter().sum();
        let here = sum(&|_| 1.0);
        let mean = sum(&|value| value) / total;
        // Those that are not here are 0.
        (sum(&|value| (value - mean) * (value - mean)) + (total - here).max(0.0) * mean * mean) / total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    fn random(seed: u64) -> impl FnMut() -> f64 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        // A sum of twelve is nearly normal.
        move || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    }

    /// So many factors, each with its own strength, under noise of variance 1.
    fn factors(rows: usize, columns: usize, strengths: &[f64], seed: u64) -> Vec<f64> {
        let mut next = random(seed);
        let loadings: Vec<f64> = (0..strengths.len() * columns).map(|_| next()).collect();
        let mut data = Vec::new();
        for _ in 0..rows {
            let scores: Vec<f64> = strengths.iter().map(|strength| strength * next()).collect();
            let common = |j: usize| scores.iter().enumerate().map(|(f, x)| x * loadings[f * columns + j]).sum::<f64>();
            data.extend((0..columns).map(|j| common(j) + next()).collect::<Vec<f64>>());
        }
        data
    }

    fn of(data: &[f64], rows: usize) -> Scree {
        let samples = Samples::new(data, rows, data.len() / rows).unwrap();
        ParallelAnalysis::default().scree(&samples).unwrap()
    }

    /// Eigenvalues of a symmetric matrix, descending: Jacobi's rotations.
    fn eigenvalues(mut a: Vec<Vec<f64>>) -> Vec<f64> {
        let n = a.len();
        for _ in 0..60 {
            for p in 0..n {
                for q in p + 1..n {
                    if a[p][q].abs() < 1e-300 {
                        continue;
                    }
                    let angle = 0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p]);
                    let (sin, cos) = angle.sin_cos();
                    for row in a.iter_mut() {
                        (row[p], row[q]) = (cos * row[p] - sin * row[q], sin * row[p] + cos * row[q]);
                    }
                    let turned = |one: f64, other: f64| -> Vec<f64> {
                        a[p].iter().zip(&a[q]).map(|(x, y)| one * x + other * y).collect()
                    };
                    (a[p], a[q]) = (turned(cos, -sin), turned(sin, cos));
                }
            }
        }
        let mut values: Vec<f64> = (0..n).map(|i| a[i][i]).collect();
        values.sort_by(|x, y| y.total_cmp(x));
        values
    }

    /// The variances of components as parts of the total, from their definition.
    fn spectrum(columns: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
        let total: f64 = weights.iter().sum();
        let centred: Vec<Vec<f64>> = columns
            .iter()
            .map(|column| {
                let mean = column.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>() / total;
                column.iter().map(|x| x - mean).collect()
            })
            .collect();
        let product = |j: usize, l: usize| -> f64 {
            weights.iter().enumerate().map(|(i, w)| w * centred[j][i] * centred[l][i]).sum()
        };
        let d = columns.len();
        let values = eigenvalues((0..d).map(|j| (0..d).map(|l| product(j, l)).collect()).collect());
        let sum: f64 = values.iter().sum();
        values.iter().map(|value| value / sum).collect()
    }

    /// The columns of a table as it is now.
    fn columns(table: &Table) -> Vec<Vec<f64>> {
        let column = |feature: &Feature| {
            if !table.is_sparse {
                return feature.values.clone();
            }
            let mut column = vec![0.0; table.rows];
            feature.places.iter().zip(&feature.values).for_each(|(&at, &x)| column[at as usize] = x);
            column
        };
        table.features.iter().map(column).collect()
    }

    fn sorted(mut values: Vec<f64>) -> Vec<f64> {
        values.sort_by(f64::total_cmp);
        values
    }

    /// Tall, wide, and with more than 512 of both, where PCA is made of leading axes.
    #[test]
    fn factors_above_noise_are_counted() {
        for (rows, columns, strengths) in [
            (200, 40, &[1.5, 1.4, 1.3][..]),
            (40, 300, &[1.5, 1.2, 1.0, 0.8]),
            (60, 60, &[2.0]),
            (700, 530, &[1.0, 0.8, 0.7, 0.6, 0.5]),
        ] {
            for seed in [1, 2, 3].into_iter().take(if rows > 500 { 1 } else { 3 }) {
                let found = of(&factors(rows, columns, strengths, seed), rows);
                assert_eq!(found.above, strengths.len(), "{rows} x {columns}, seed {seed}: {found:?}");
                assert_eq!(found.components(), strengths.len());
            }
        }
    }

    #[test]
    fn noise_has_no_components() {
        let mut chance = 0;
        for seed in 0..20 {
            for (rows, columns) in [(80, 10), (30, 200)] {
                let found = of(&factors(rows, columns, &[], seed), rows);
                chance += usize::from(found.above > 0);
                assert_eq!(found.components(), found.above.max(1));
            }
        }
        // One in twenty is above a quantile of 95%, or a few more, since the quantile is of few permutations.
        assert!(chance <= 8, "{chance} of 40");
    }

    /// The very tables that were permuted, taken apart from the definition of a covariance; with weights as well, and sparse.
    #[test]
    fn permuted_variances_are_those_of_permuted_tables() {
        let (rows, d) = (24, 5);
        let data = factors(rows, d, &[1.5], 4);
        let zeros: Vec<f64> = data.iter().enumerate().map(|(at, x)| if at % 7 < 5 { 0.0 } else { *x }).collect();
        let weights: Vec<f64> = (0..rows).map(|i| (i % 4) as f64).collect();
        let equal = vec![1.0; rows];
        for (data, weights, is_sparse) in
            [(&data, &equal, false), (&zeros, &equal, true), (&data, &weights, false), (&zeros, &weights, true)]
        {
            let samples = Samples::new(data, rows, d).unwrap().with_weights(weights).unwrap();
            let analysis =
                ParallelAnalysis { permutations: 11, seed: 6, quantile: 0.75, ..ParallelAnalysis::default() };
            let found = analysis.scree(&samples).unwrap();
            let active: Vec<usize> = (0..rows).filter(|&i| weights[i] > 0.0).collect();
            let own: Vec<Vec<f64>> = (0..d).map(|j| active.iter().map(|&i| data[i * d + j]).collect()).collect();
            let active_weights: Vec<f64> = active.iter().map(|&i| weights[i]).collect();
            let mut table = Table::new(&samples).unwrap();
            assert_eq!((table.is_sparse, columns(&table)), (is_sparse, own.clone()));
            let mut drawn: Vec<Vec<f64>> = Vec::new();
            for number in 0..11 {
                table.permute(6, number);
                let now = columns(&table);
                for (now, own) in now.iter().zip(&own) {
                    assert_ne!(now, own);
                    // The same values, but for a factor where there are weights.
                    let factor = sorted(now.clone())[active.len() - 1] / sorted(own.clone())[active.len() - 1];
                    assert!(table.weights.is_some() || factor == 1.0);
                    for (x, y) in sorted(now.clone()).iter().zip(sorted(own.clone())) {
                        assert!((x - factor * y).abs() < 1e-12);
                    }
                }
                let total = |columns: &[Vec<f64>]| -> f64 {
                    columns.iter().map(|column| variance(column, &active_weights)).sum()
                };
                assert!((total(&now) / total(&own) - 1.0).abs() < 1e-12);
                drawn.push(spectrum(&now, &active_weights));
            }
            for (at, own) in spectrum(&own, &active_weights).into_iter().enumerate() {
                assert!((found.variances[at] - own).abs() < 1e-9, "{found:?}");
                // The eighth and the ninth of eleven: 0.75 x 10 = 7.5.
                let of_chance = sorted(drawn.iter().map(|values| values[at]).collect());
                let expected = 0.5 * (of_chance[7] + of_chance[8]);
                assert!((found.permuted[at] - expected).abs() < 1e-9, "{} {expected}", found.permuted[at]);
            }
        }
    }

    fn variance(column: &[f64], weights: &[f64]) -> f64 {
        let total: f64 = weights.iter().sum();
        let mean = column.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>() / total;
        column.iter().zip(weights).map(|(x, w)| w * (x - mean) * (x - mean)).sum::<f64>() / total
    }

    /// Each value goes to each sample as often, in dense and in sparse tables, and features go their own ways.
    #[test]
    fn permutations_are_uniform_and_independent() {
        let rows = 6;
        for (sparse, others) in [(false, [5.0, 6.0, 7.0]), (true, [0.0; 3])] {
            let column = [1.0, others[0], 0.0, others[1], others[2], 0.0];
            let data: Vec<f64> =
                column.iter().flat_map(|&x| if sparse { vec![x, x, 0.0] } else { vec![x, x] }).collect();
            let samples = Samples::new(&data, rows, data.len() / rows).unwrap();
            let mut table = Table::new(&samples).unwrap();
            assert_eq!(table.is_sparse, sparse);
            let (mut at, mut together) = ([0; 6], 0);
            for number in 0..3000 {
                table.permute(9, number);
                let now = columns(&table);
                let place = |column: &[f64]| column.iter().position(|x| *x == 1.0).unwrap();
                at[place(&now[0])] += 1;
                together += usize::from(place(&now[0]) == place(&now[1]));
            }
            // 500 are expected everywhere; five standard deviations are 102.
            assert!(at.iter().all(|count| (398..=602).contains(count)), "{at:?}");
            assert!((398..=602).contains(&together), "{together}");
        }
    }

    #[test]
    fn however_samples_are_held_and_whatever_they_weigh() {
        let (rows, d) = (50, 20);
        let dense: Vec<f64> =
            factors(rows, d, &[1.5, 1.0], 3).into_iter().map(|x| if x.abs() < 2.0 { 0.0 } else { x }).collect();
        let mut offsets = vec![0];
        let (mut positions, mut values) = (Vec::new(), Vec::new());
        for row in dense.chunks(d) {
            let cells = row.iter().enumerate().filter(|(_, x)| **x != 0.0);
            cells.for_each(|(j, x)| {
                positions.push(j as u32);
                values.push(*x);
            });
            offsets.push(values.len());
        }
        let analysis = ParallelAnalysis::default();
        let found = of(&dense, rows);
        let sparse = analysis.scree(&Samples::sparse(&offsets, &positions, &values, d).unwrap()).unwrap();
        let close = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(close(&found.variances, &sparse.variances) && close(&found.permuted, &sparse.permuted));
        assert_eq!(found.above, sparse.above);
        // Equal weights are none; samples without weight are not there.
        let weighted = |data: &[f64], weights: &[f64]| {
            let samples = Samples::new(data, weights.len(), d).unwrap().with_weights(weights).unwrap();
            analysis.scree(&samples).unwrap()
        };
        assert_eq!(weighted(&dense, &vec![3.0; rows]), found);
        let outliers: Vec<f64> = dense.iter().copied().chain((0..5 * d).map(|at| 1e3 * (at as f64).sin())).collect();
        let weights: Vec<f64> = (0..rows + 5).map(|i| if i < rows { 1.0 } else { 0.0 }).collect();
        let without = weighted(&outliers, &weights);
        assert!(close(&without.variances, &found.variances) && close(&without.permuted, &found.permuted));
    }

    /// Samples of hardly any weight that are far off in one feature: on samples of more weight they would be all of the variance.
    #[test]
    fn weights_count_in_chance_too() {
        let (rows, d) = (120, 10);
        let mut data = factors(rows + 30, d, &[1.5, 1.2], 8);
        (rows..rows + 30).for_each(|i| data[i * d] = 200.0 * ((i % 7) as f64 - 3.0));
        let weights: Vec<f64> = (0..rows + 30).map(|i| if i < rows { 1.0 } else { 1e-6 }).collect();
        let samples = Samples::new(&data, rows + 30, d).unwrap().with_weights(&weights).unwrap();
        let found = ParallelAnalysis::default().scree(&samples).unwrap();
        assert_eq!(found.above, 2, "{found:?}");
    }

    #[test]
    fn small_and_degenerate_tables() {
        // Two samples are a line, however they are permuted.
        let two = of(&[1.0, 5.0, 2.0, 3.0, 9.0, -4.0], 2);
        assert_eq!((two.above, two.components(), two.variances.len()), (0, 1, 1));
        // One feature alone is the same, permuted.
        let one = of(&[1.0, 5.0, 2.0, 3.0, 9.0, -4.0], 6);
        assert_eq!((one.above, one.variances.len()), (0, 1));
        // Multiples of one feature: rank 1, and that is no chance. Constant features change nothing.
        let line: Vec<f64> = (0..60).map(|at| (at / 3) as f64 * [1.0, -2.0, 0.5][at % 3]).collect();
        let beside: Vec<f64> = line.chunks(3).flat_map(|row| [row, &[7.0, 0.0]].concat()).collect();
        let found = of(&line, 20);
        assert_eq!((found.above, found.variances.len()), (1, 1));
        assert_eq!(of(&beside, 20).above, 1);
        // Features that take turns are independent as they are; permuted, their rank may be smaller.
        let turns = of(&[1.0, 0.0, 0.0, 1.0, 0.0, 0.0], 3);
        assert!(turns.permuted.iter().all(|x| x.is_finite()), "{turns:?}");
        let refused = |analysis: ParallelAnalysis| analysis.scree(&Samples::new(&line, 20, 3).unwrap()).unwrap_err();
        let plain = ParallelAnalysis::default();
        for wrong in [
            ParallelAnalysis { most: 0, ..plain },
            ParallelAnalysis { permutations: 0, ..plain },
            ParallelAnalysis { quantile: 0.0, ..plain },
            ParallelAnalysis { quantile: f64::NAN, ..plain },
            ParallelAnalysis { quantile: 1.1, ..plain },
        ] {
            assert!(matches!(refused(wrong), Error::Parameter { .. }));
        }
        let constant = [2.0; 6];
        assert_eq!(plain.scree(&Samples::new(&constant, 3, 2).unwrap()).unwrap_err(), Error::Constant);
    }

    #[test]
    fn the_same_seed_gives_the_same_and_it_can_be_stopped() {
        let data = factors(60, 15, &[1.0, 1.0], 5);
        let samples = Samples::new(&data, 60, 15).unwrap();
        let with = |seed, most| ParallelAnalysis { seed, most, ..ParallelAnalysis::default() }.scree(&samples).unwrap();
        assert_eq!(with(1, 50), with(1, 50));
        assert_ne!(with(1, 50).permuted, with(2, 50).permuted);
        let cut = with(1, 1);
        assert_eq!((cut.above, cut.variances.len(), cut.is_cut_off(1)), (1, 1, true));
        assert!(!with(1, 50).is_cut_off(50));
        let mut asked = Vec::new();
        let stopped = ParallelAnalysis::default().scree_observed(&samples, &mut |number| {
            asked.push(number);
            number < 2
        });
        assert_eq!((stopped.unwrap(), asked), (None, vec![0, 1, 2]));
    }
}
