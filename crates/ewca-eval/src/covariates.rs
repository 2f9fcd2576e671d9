//! Which covariate goes with which component: effect sizes, and how often chance gives as large ones.
//!
//! A component and classes are compared by eta squared, the part of the component's variance that is between the classes; a component
//! and numbers by the absolute value of Spearman's rank correlation. Both are 0 where nothing goes together, and 1 at most. Samples of
//! which a covariate is not known are left out for that covariate.
//!
//! Chance is asked by permuting the samples' covariates, all of them together, so that what goes together among covariates and among
//! components stays as it is. Many tests find something by chance: so the corrected p-value of a test is the part of the permutations
//! in which the largest effect of all tests, each in units of its own spread under permutation, is as large (the max-statistic of
//! Westfall and Young). Both count the arrangement that was observed as one more permutation, so that no p-value is 0.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::Serialize;

use crate::ranks::ranks;

/// How many permutations are made, unless another number is asked for.
pub const DEFAULT_PERMUTATIONS: usize = 999;
/// Effects of single samples, in all permutations and tests: where there are more samples than that allows, some stand for all.
const MOST_WORK: usize = 100_000_000;
/// As many samples are permuted in any case.
const FEWEST_PERMUTED: usize = 500;
/// With fewer there is nothing to compare.
const FEWEST_SAMPLES: usize = 3;
/// Effects that differ by less are the same: sums in another order differ by rounding.
const SAME: f64 = 1e-12;

/// What is known of samples, in the order of the samples; nothing where it is missing.
#[derive(Debug, Clone, Copy)]
pub enum Covariate<'a> {
    /// The class of each.
    Classes(&'a [Option<u32>]),
    /// A number of each; those that are not finite are missing.
    Numbers(&'a [Option<f64>]),
}

/// How an effect is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The part of the variance that is between classes.
    EtaSquared,
    /// The absolute value of Spearman's rank correlation.
    RankCorrelation,
}

impl Measure {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::EtaSquared => "eta squared",
            Self::RankCorrelation => "rank correlation",
        }
    }
}

/// How a component and a covariate go together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Association {
    /// The component, from 0.
    pub component: usize,
    /// The covariate, from 0.
    pub covariate: usize,
    /// What the effect is.
    pub measure: Measure,
    /// The effect, from 0 to 1.
    pub effect: f64,
    /// The samples of which the covariate is known.
    pub samples: usize,
    /// How probable an effect as large is by chance.
    pub p: f64,
    /// The same, corrected for the number of tests.
    pub p_corrected: f64,
}

/// Why a covariate was not tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Skipped {
    /// It is known of fewer than three samples.
    TooFew,
    /// It is the same for all samples.
    OneValue,
    /// Each sample has a class of its own.
    AllDifferent,
}

/// All components with all covariates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Associations {
    /// Covariate after covariate, component after component.
    pub tests: Vec<Association>,
    /// The covariates that were not tested, and why.
    pub skipped: Vec<(usize, Skipped)>,
    /// The permutations that were made.
    pub permutations: usize,
    /// The samples that were permuted: fewer than there are, where they are very many.
    pub permuted: usize,
}

/// Compares components, one list of scores for each, with covariates. The same seed gives the same result.
///
/// # Panics
/// If a covariate, or a component, has another number of samples than the first component.
pub fn associations(
    components: &[Vec<f64>],
    covariates: &[Covariate<'_>],
    permutations: usize,
    seed: u64,
) -> Associations {
    let samples = components.first().map_or(0, Vec::len);
    assert!(components.iter().all(|scores| scores.len() == samples), "scores of components");
    assert!(covariates.iter().all(|covariate| covariate.len() == samples), "cells of covariates");
    let mut skipped = Vec::new();
    let mut tested = Vec::new();
    for (at, covariate) in covariates.iter().enumerate() {
        match covariate.obstacle() {
            Some(why) => skipped.push((at, why)),
            None => tested.push(at),
        }
    }
    let everyone: Vec<usize> = (0..samples).collect();
    let columns = |members: &[usize]| -> Vec<Column> {
        tested.iter().map(|&at| Column::new(covariates[at], components, members)).collect()
    };
    let whole = columns(&everyone);
    let effects: Vec<f64> = whole.iter().flat_map(|column| column.effects(&column.order())).collect();
    let work = permutations.saturating_mul(effects.len()).max(1);
    let permuted = (MOST_WORK / work).max(FEWEST_PERMUTED).min(samples);
    let shuffled = |number: usize| {
        let mut order: Vec<usize> = (0..permuted).collect();
        order.shuffle(&mut random(seed, number as u64));
        order
    };
    let chance = match permuted == samples {
        true => Chance::new(&whole, permutations, shuffled),
        false => Chance::new(&columns(&some_of(samples, permuted, seed)), permutations, shuffled),
    };
    let tests = effects.iter().enumerate().map(|(test, &effect)| {
        let (column, component) = (test / components.len(), test % components.len());
        let (covariate, samples) = (tested[column], whole[column].places.len());
        let measure = covariates[covariate].measure();
        let (p, p_corrected) = chance.of(test);
        Association { component, covariate, measure, effect, samples, p, p_corrected }
    });
    Associations { tests: tests.collect(), skipped, permutations, permuted }
}

/// Some of the samples, in their order.
fn some_of(samples: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..samples).collect();
    all.shuffle(&mut random(seed, 0));
    all.truncate(count);
    all.sort_unstable();
    all
}

fn random(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    random
}

impl Covariate<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Classes(cells) => cells.len(),
            Self::Numbers(cells) => cells.len(),
        }
    }

    fn measure(&self) -> Measure {
        match self {
            Self::Classes(_) => Measure::EtaSquared,
            Self::Numbers(_) => Measure::RankCorrelation,
        }
    }

    /// The value of a sample, as bits that are the same where the values are.
    fn key(&self, sample: usize) -> Option<u64> {
        match self {
            Self::Classes(cells) => cells[sample].map(u64::from),
            // Minus zero is zero.
            Self::Numbers(cells) => {
                cells[sample].filter(|value| value.is_finite()).map(|value| (value + 0.0).to_bits())
            }
        }
    }

    fn obstacle(&self) -> Option<Skipped> {
        let mut keys: Vec<u64> = (0..self.len()).filter_map(|sample| self.key(sample)).collect();
        let known = keys.len();
        keys.sort_unstable();
        keys.dedup();
        match self {
            _ if known < FEWEST_SAMPLES => Some(Skipped::TooFew),
            _ if keys.len() == 1 => Some(Skipped::OneValue),
            Self::Classes(_) if keys.len() == known => Some(Skipped::AllDifferent),
            _ => None,
        }
    }
}

/// A covariate beside all components, at the samples that have it.
struct Column {
    /// Where among the samples that are looked at these are.
    places: Vec<usize>,
    cells: Cells,
    /// For each component: scores, or ranks of scores, about their mean, with squares that sum to 1; zeros where they do not vary.
    components: Vec<Vec<f64>>,
}

enum Cells {
    /// The class of each sample, and one over the number of samples in each class.
    Classes(Vec<u32>, Vec<f64>),
    /// As the ranks of scores.
    Ranks(Vec<f64>),
}

impl Column {
    fn new(covariate: Covariate<'_>, components: &[Vec<f64>], members: &[usize]) -> Self {
        let places: Vec<usize> = (0..members.len()).filter(|&at| covariate.key(members[at]).is_some()).collect();
        let keys: Vec<u64> = places.iter().filter_map(|&at| covariate.key(members[at])).collect();
        let scores = |component: &Vec<f64>| -> Vec<f64> { places.iter().map(|&at| component[members[at]]).collect() };
        let (cells, components) = match covariate {
            Covariate::Classes(_) => {
                let mut names = keys.clone();
                names.sort_unstable();
                names.dedup();
                let codes: Vec<u32> = keys.iter().map(|key| names.partition_point(|name| name < key) as u32).collect();
                let mut counts = vec![0.0; names.len()];
                codes.iter().for_each(|&code| counts[code as usize] += 1.0);
                let shares = counts.iter().map(|count| 1.0 / count).collect();
                (
                    Cells::Classes(codes, shares),
                    components.iter().map(|component| normalised(scores(component))).collect(),
                )
            }
            Covariate::Numbers(_) => {
                let values: Vec<f64> = keys.iter().map(|&key| f64::from_bits(key)).collect();
                let of_scores = |component: &Vec<f64>| normalised(ranks(&scores(component)));
                (Cells::Ranks(normalised(ranks(&values))), components.iter().map(of_scores).collect())
            }
        };
        Self { places, cells, components }
    }

    /// The samples in their own order.
    fn order(&self) -> Vec<usize> {
        (0..self.places.len()).collect()
    }

    /// The effect on each component, where each sample has the value of the one that is in its place in `order`.
    fn effects(&self, order: &[usize]) -> Vec<f64> {
        match &self.cells {
            Cells::Classes(codes, shares) => {
                let mut sums = vec![0.0; shares.len()];
                let mut effect = |component: &Vec<f64>| {
                    sums.fill(0.0);
                    component.iter().zip(order).for_each(|(score, &at)| sums[codes[at] as usize] += score);
                    sums.iter().zip(shares).map(|(sum, share)| sum * sum * share).sum::<f64>().min(1.0)
                };
                self.components.iter().map(&mut effect).collect()
            }
            Cells::Ranks(values) => {
                let product = |component: &Vec<f64>| {
                    component.iter().zip(order).map(|(score, &at)| score * values[at]).sum::<f64>().abs().min(1.0)
                };
                self.components.iter().map(product).collect()
            }
        }
    }
}

/// About the mean, with squares that sum to 1.
fn normalised(mut values: Vec<f64>) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter_mut().for_each(|value| *value -= mean);
    let largest = values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    // In units of the largest, so that no square is lost.
    values.iter_mut().for_each(|value| *value /= if largest > 0.0 { largest } else { 1.0 });
    let scale = values.iter().map(|value| value * value).sum::<f64>().sqrt();
    values.iter_mut().for_each(|value| *value /= if scale > 0.0 { scale } else { 1.0 });
    values
}

/// What chance does.
struct Chance {
    observed: Vec<f64>,
    /// The effects of each permutation.
    drawn: Vec<Vec<f64>>,
    /// The mean and the standard deviation of each test.
    spreads: Vec<(f64, f64)>,
    /// The largest standardised effect of each permutation.
    largest: Vec<f64>,
}

impl Chance {
    /// `order` gives the permutations, by their numbers from 1 on.
    fn new(columns: &[Column], permutations: usize, order: impl Fn(usize) -> Vec<usize> + Sync) -> Self {
        let observed: Vec<f64> = columns.iter().flat_map(|column| column.effects(&column.order())).collect();
        let draw = |number: usize| -> Vec<f64> {
            let order = order(number);
            // Of those that have a covariate, the order is that of all.
            let mut place = vec![usize::MAX; order.len()];
            let effects = |column: &Column| {
                place.fill(usize::MAX);
                column.places.iter().enumerate().for_each(|(at, &sample)| place[sample] = at);
                let own: Vec<usize> = order.iter().map(|&at| place[at]).filter(|&at| at != usize::MAX).collect();
                column.effects(&own)
            };
            columns.iter().flat_map(effects).collect()
        };
        let drawn: Vec<Vec<f64>> = (1..=permutations).into_par_iter().map(draw).collect();
        let all = || drawn.iter().chain([&observed]);
        let count = (drawn.len() + 1) as f64;
        let spread = |test: usize| {
            let mean = all().map(|effects| effects[test]).sum::<f64>() / count;
            (mean, (all().map(|effects| (effects[test] - mean).powi(2)).sum::<f64>() / count).sqrt())
        };
        let spreads: Vec<(f64, f64)> = (0..observed.len()).map(spread).collect();
        let largest =
            |effects: &Vec<f64>| effects.iter().zip(&spreads).map(standardised).fold(f64::NEG_INFINITY, f64::max);
        let largest = drawn.iter().map(largest).collect();
        Self { observed, drawn, spreads, largest }
    }

    /// The p-value of a test, and the corrected one.
    fn of(&self, test: usize) -> (f64, f64) {
        let effect = self.observed[test];
        let own = standardised((&effect, &self.spreads[test]));
        let part = |count: usize| (count + 1) as f64 / (self.drawn.len() + 1) as f64;
        let as_large = self.drawn.iter().filter(|effects| effects[test] >= effect - SAME).count();
        let larger = self.largest.iter().filter(|largest| **largest >= own - SAME * own.abs().max(1.0)).count();
        // No test is surer than it would be alone.
        (part(as_large), part(larger.max(as_large)))
    }
}

fn standardised((effect, (mean, spread)): (&f64, &(f64, f64))) -> f64 {
    if *spread > SAME { (effect - mean) / spread } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component and covariates made of sines, so that other programs can make the same.
    fn made() -> (Vec<f64>, Vec<Option<u32>>, Vec<Option<f64>>) {
        let score = |i: u32| (1.3 * f64::from(i)).sin() + 0.4 * f64::from(i % 3);
        let class = |i: u32| (i % 7 != 6).then_some(i % 3);
        let number = |i: u32| (i % 5 != 4).then(|| (0.9 * f64::from(i)).cos() + 0.3 * score(i));
        ((0..24).map(score).collect(), (0..24).map(class).collect(), (0..24).map(number).collect())
    }

    /// By `tests/covariates_oracle.py`, with scipy's `f_oneway` and `spearmanr`.
    #[test]
    fn effects_are_those_of_scipy() {
        let (score, classes, numbers) = made();
        let found = associations(&[score], &[Covariate::Classes(&classes), Covariate::Numbers(&numbers)], 99, 0);
        let [by_class, by_number] = &found.tests[..] else { panic!("{found:?}") };
        assert_eq!((by_class.samples, by_number.samples), (21, 20));
        assert!((by_class.effect - 0.22228396740986753).abs() < 1e-12, "{}", by_class.effect);
        assert!((by_number.effect - 0.33684210526315783).abs() < 1e-12, "{}", by_number.effect);
        assert_eq!((by_class.measure.name(), by_number.measure.name()), ("eta squared", "rank correlation"));
    }

    /// By `tests/covariates_oracle.py`, over all 5040 permutations of seven samples: two components with classes, then with numbers.
    #[test]
    fn p_values_are_those_of_all_permutations() {
        let components = [vec![0.1, 0.5, -0.3, 2.0, 1.6, 2.4, 1.1], vec![1.0, -2.0, 0.5, 0.25, -1.5, 3.0, 2.0]];
        let classes = [0, 0, 0, 1, 1, 1, 1].map(Some);
        let numbers = [3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.0].map(Some);
        let covariates = [Covariate::Classes(&classes), Covariate::Numbers(&numbers)];
        let exact = [
            (0.7940448113207547, 0.02857142857142857, 0.02857142857142857),
            (0.10969228366135583, 0.4857142857142857, 0.9452380952380952),
            (0.14285714285714288, 0.7825396825396825, 1.0),
            (0.21428571428571433, 0.6615079365079365, 0.9829365079365079),
        ];
        // All of them: the first is the order that was observed.
        let mut orders = vec![vec![]];
        for _ in 0..7 {
            let longer = |order: &Vec<usize>| -> Vec<Vec<usize>> {
                (0..7).filter(|at| !order.contains(at)).map(|at| [&order[..], &[at]].concat()).collect()
            };
            orders = orders.iter().flat_map(longer).collect();
        }
        assert_eq!((orders.len(), &orders[0]), (5040, &(0..7).collect()));
        let columns = covariates.map(|covariate| Column::new(covariate, &components, &orders[0]));
        let chance = Chance::new(&columns, 5039, |number| orders[number].clone());
        for (test, (effect, p, corrected)) in exact.into_iter().enumerate() {
            assert!((chance.observed[test] - effect).abs() < 1e-12, "{}", chance.observed[test]);
            let found = chance.of(test);
            assert!((found.0 - p).abs() < 1e-12 && (found.1 - corrected).abs() < 1e-12, "{test}: {found:?}");
        }
        // By a thousand of them, about the same.
        let drawn = associations(&components, &covariates, 999, 3);
        for (test, (effect, p, _)) in drawn.tests.iter().zip(exact) {
            // Five standard errors.
            let error = 5.0 * (p * (1.0 - p) / 999.0).sqrt() + 1.0 / 1000.0;
            assert!((test.effect - effect).abs() < 1e-12 && (test.p - p).abs() <= error, "{test:?}");
        }
        assert_eq!(drawn.tests.len(), 4);
    }

    #[test]
    fn what_cannot_be_compared_is_skipped() {
        let score = vec![vec![1.0, 2.0, 4.0, 3.0, 5.0]];
        let one = [Some(3), Some(3), None, Some(3), Some(3)];
        let own = [Some(0), Some(1), None, Some(3), Some(4)];
        let few = [Some(1.0), None, Some(f64::NAN), Some(f64::INFINITY), Some(2.0)];
        let same = [Some(0.0), Some(-0.0), Some(0.0), None, None];
        let good = [Some(1.0), Some(2.0), Some(4.0), Some(3.0), Some(5.0)];
        let covariates = [
            Covariate::Classes(&one),
            Covariate::Classes(&own),
            Covariate::Numbers(&few),
            Covariate::Numbers(&same),
            Covariate::Numbers(&good),
        ];
        let found = associations(&score, &covariates, 99, 0);
        let why = [(0, Skipped::OneValue), (1, Skipped::AllDifferent), (2, Skipped::TooFew), (3, Skipped::OneValue)];
        assert_eq!(found.skipped, why);
        assert_eq!((found.tests.len(), found.tests[0].covariate), (1, 4));
        assert!((found.tests[0].effect - 1.0).abs() < 1e-12);
        // A component that does not vary goes with nothing, and is no trouble.
        let flat = associations(&[vec![2.0; 5]], &covariates, 99, 0);
        assert_eq!((flat.tests[0].effect, flat.tests[0].p, flat.tests[0].p_corrected), (0.0, 1.0, 1.0));
        assert_eq!(associations(&[], &[], 99, 0).tests, []);
    }

    /// With 50 columns of noise and one that is the component, the one is found, and the noise is not.
    #[test]
    fn many_tests_do_not_find_noise() {
        let noise = |seed: u64| -> Vec<f64> {
            let mut order: Vec<usize> = (0..60).collect();
            order.shuffle(&mut random(seed, 7));
            order.into_iter().map(|at| at as f64).collect()
        };
        let columns: Vec<Vec<Option<f64>>> =
            (0..50).map(|at| noise(100 + at).into_iter().map(Some).collect()).collect();
        let batch: Vec<Option<u32>> = noise(1).iter().map(|score| Some(u32::from(*score > 30.0))).collect();
        let mut covariates: Vec<Covariate> = columns.iter().map(|column| Covariate::Numbers(column)).collect();
        covariates.push(Covariate::Classes(&batch));
        let components = [noise(0), noise(1)];
        let found = associations(&components, &covariates, DEFAULT_PERMUTATIONS, 0);
        assert_eq!(found, associations(&components, &covariates, DEFAULT_PERMUTATIONS, 0));
        let sure: Vec<(usize, usize)> = found
            .tests
            .iter()
            .filter(|test| test.p_corrected <= 0.05)
            .map(|test| (test.component, test.covariate))
            .collect();
        assert_eq!(sure, [(1, 50)]);
        assert!(found.tests.iter().all(|test| test.p <= test.p_corrected && test.p_corrected <= 1.0));
        // Uncorrected, some of a hundred would be believed.
        assert!(found.tests.iter().filter(|test| test.p <= 0.05).count() > 1);
    }

    #[test]
    fn of_very_many_samples_some_are_permuted() {
        let score: Vec<f64> = (0..120_000).map(|i| f64::from(i % 1000)).collect();
        let classes: Vec<Option<u32>> = (0..120_000).map(|i| Some(u32::from(i % 1000 > 700))).collect();
        let found = associations(&[score], &[Covariate::Classes(&classes)], 999, 0);
        assert_eq!((found.permuted, found.tests[0].samples), (100_100, 120_000));
        assert_eq!((found.tests[0].p, found.tests[0].p_corrected), (0.001, 0.001));
    }
}
