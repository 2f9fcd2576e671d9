//! Samples that are not all in memory: read part by part, whenever they are needed.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::mpsc::sync_channel;

use super::dense::{Dense, Lines};
use super::sparse::Sparse;
use super::{EachPart, Rows, Side, check_range};
use crate::error::{Cause, Error, Result};
use crate::matrix::Matrix;

/// Where samples come from when they are not all in memory: a file, for instance.
pub trait Source: std::fmt::Debug + Sync {
    /// Number of samples.
    fn rows(&self) -> usize;

    /// Number of features.
    fn columns(&self) -> usize;

    /// How many samples to ask for at a time; some three parts are in memory at once.
    fn part_rows(&self) -> usize;

    /// Reads some samples. The text of a failure should name the file; [`Error::Read`] keeps the failure itself. A text becomes
    /// one with `into()`.
    ///
    /// # Errors
    /// Whatever keeps the samples from being read.
    fn read(&self, rows: Range<usize>) -> std::result::Result<Part, Box<dyn std::error::Error + Send + Sync>>;
}

/// Some samples.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Part {
    /// Row after row.
    Dense(Vec<f64>),
    /// Compressed sparse rows: see [`crate::Samples::sparse`].
    Sparse {
        /// Where each row begins, and where the last one ends.
        offsets: Vec<usize>,
        /// The column of each entry.
        positions: Vec<u32>,
        /// The value of each entry.
        values: Vec<f64>,
    },
}

/// What is known of streamed samples once they were read for the first time.
#[derive(Debug, Clone)]
pub(super) struct Streamed<'a> {
    pub source: &'a dyn Source,
    /// sum_i a_i (x_i - c)(x_i - c)' about a point c near the mean, where there are few enough features to hold it.
    moments: Option<Moments>,
}

#[derive(Debug, Clone)]
struct Moments {
    centre: Vec<f64>,
    weight: f64,
    /// sum_i a_i (x_i - c).
    first: Vec<f64>,
    second: Matrix,
}

impl<'a> Streamed<'a> {
    pub fn new(source: &'a dyn Source) -> Self {
        Self { source, moments: None }
    }

    /// Calls `each` with every part, in order, while the next one is being read.
    pub fn each_part(&self, each: &mut EachPart<'_>) -> Result<()> {
        let (rows, columns) = (self.source.rows(), self.source.columns());
        let ranges = crate::parallel::blocks(rows, self.source.part_rows().max(1));
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel(1);
            scope.spawn(move || {
                for range in ranges {
                    let part = self.source.read(range.clone());
                    let failed = part.is_err();
                    // Whoever fails stops listening.
                    if sender.send((range, part)).is_err() || failed {
                        return;
                    }
                }
            });
            for (range, part) in receiver {
                let part = part.map_err(unreadable)?;
                with_rows(&part, range.len(), columns, |rows| each(range.clone(), rows))?;
            }
            Ok(())
        })
    }

    /// Reads everything once: checks it, and returns the mean (for weights that sum to `weight`). Where there are few enough
    /// features, the second moments are taken on the way.
    pub fn first_pass(&mut self, weights: &[f64], with_moments: bool) -> Result<Vec<f64>> {
        let d = self.source.columns();
        let mut centre: Option<Vec<f64>> = None;
        let (mut first, mut weight) = (vec![0.0; d], 0.0);
        let mut second = with_moments.then(|| Matrix::zeros(d, d));
        let mut largest = 0.0f64;
        self.each_part(&mut |range, rows| {
            largest = largest.max(rows.magnitude(range.start)?);
            let own = &weights[range];
            let sum: f64 = own.iter().sum();
            if centre.is_none() {
                centre = Some(rows.weighted_mean(&vec![1.0 / own.len() as f64; own.len()]));
            }
            let centre = centre.as_deref().unwrap_or(&[]);
            if sum > 0.0 {
                let shares: Vec<f64> = own.iter().map(|a| a / sum).collect();
                let mean = rows.weighted_mean(&shares);
                first.iter_mut().zip(mean).zip(centre).for_each(|((f, m), c)| *f += sum * (m - c));
                weight += sum;
            }
            if let Some(second) = &mut second {
                let active: Vec<usize> = (0..own.len()).filter(|&i| own[i] > 0.0).collect();
                second.add_scaled(1.0, &rows.gram(&active, own, centre, Side::Features));
            }
            Ok(())
        })?;
        check_range(largest)?;
        let centre = centre.unwrap_or_else(|| vec![0.0; d]);
        let mean = centre.iter().zip(&first).map(|(c, f)| if weight > 0.0 { c + f / weight } else { *c }).collect();
        self.moments = second.map(|second| Moments { centre, weight, first, second });
        Ok(mean)
    }

    /// All weights are `factor` times what they were.
    pub fn reweight(&mut self, factor: f64) {
        if let Some(Moments { weight, first, second, .. }) = &mut self.moments {
            *weight *= factor;
            first.iter_mut().for_each(|x| *x *= factor);
            second.as_column_major_mut().iter_mut().for_each(|x| *x *= factor);
        }
    }

    /// A copy of one sample.
    pub fn row(&self, row: usize) -> Result<Vec<f64>> {
        let part = self.source.read(row..row + 1).map_err(unreadable)?;
        with_rows(&part, 1, self.source.columns(), |rows| Ok(rows.row(0)))
    }

    /// sum_i a_i (x_i - mean)(x_i - mean)', where it is known.
    pub fn gram(&self, mean: &[f64]) -> Option<Matrix> {
        let Moments { centre, weight, first, second } = self.moments.as_ref()?;
        let shift: Vec<f64> = mean.iter().zip(centre).map(|(m, c)| m - c).collect();
        let mut gram = second.clone();
        for j in 0..shift.len() {
            for (i, x) in gram.column_mut(j).iter_mut().enumerate() {
                *x += weight * shift[i] * shift[j] - first[i] * shift[j] - shift[i] * first[j];
            }
        }
        Some(gram)
    }
}

fn unreadable(failure: Box<dyn std::error::Error + Send + Sync>) -> Error {
    Error::Read { source: Cause::new(failure) }
}

fn with_rows<R>(part: &Part, rows: usize, columns: usize, each: impl FnOnce(&dyn Rows) -> Result<R>) -> Result<R> {
    match part {
        Part::Dense(data) => {
            if data.len() != rows * columns {
                return Err(Error::Shape { rows, columns, expected: rows * columns, found: data.len() });
            }
            each(&Dense { data: Lines::Whole(Cow::Borrowed(data)), rows, columns })
        }
        Part::Sparse { offsets, positions, values } => {
            if offsets.len() != rows + 1 {
                return Err(Error::Sparse { what: format!("{} row offsets for {rows} rows", offsets.len()) });
            }
            each(&Sparse::new(offsets, positions, values, columns)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Samples;
    use crate::testing;

    /// Rows in memory that are handed out in parts; `wrong` numbers are added to each.
    #[derive(Debug)]
    struct Table {
        data: Vec<f64>,
        columns: usize,
        part: usize,
        wrong: usize,
        sparse: bool,
    }

    impl Source for Table {
        fn rows(&self) -> usize {
            self.data.len() / self.columns
        }
        fn columns(&self) -> usize {
            self.columns
        }
        fn part_rows(&self) -> usize {
            self.part
        }
        fn read(&self, rows: Range<usize>) -> std::result::Result<Part, Box<dyn std::error::Error + Send + Sync>> {
            let mut values = self.data[rows.start * self.columns..rows.end * self.columns].to_vec();
            if self.sparse {
                let positions = (0..values.len()).map(|at| (at % self.columns) as u32).collect();
                let offsets = (0..=rows.len() + self.wrong).map(|i| (i * self.columns).min(values.len())).collect();
                return Ok(Part::Sparse { offsets, positions, values });
            }
            values.resize(values.len() + self.wrong, 0.0);
            Ok(Part::Dense(values))
        }
    }

    fn table(part: usize) -> Table {
        // Far from the origin, where moments about it would lose digits.
        let data = testing::gaussian(50, 4, 3).iter().map(|x| x + 1000.0).collect();
        Table { data, columns: 4, part, wrong: 0, sparse: false }
    }

    #[test]
    fn moments_are_those_of_plain_loops() {
        // The second part of ten has no weight at all.
        let weights: Vec<f64> = (0..50).map(|i| if (10..20).contains(&i) { 0.0 } else { (i % 4) as f64 }).collect();
        for (part, sparse) in [(10, false), (7, false), (1000, false), (0, false), (10, true)] {
            let source = Table { sparse, ..table(part) };
            let samples: Samples<'_> = Samples::streamed(&source).unwrap().with_weights(&weights).unwrap();
            let a = samples.weights();
            let mean = |j: usize| (0..50).map(|i| a[i] * source.data[i * 4 + j]).sum::<f64>();
            let gram = samples.data.gram(Side::Features).unwrap();
            for j in 0..4 {
                assert!((samples.mean()[j] - mean(j)).abs() < 1e-11, "parts of {part}");
                for l in 0..4 {
                    let term =
                        |i: usize| a[i] * (source.data[i * 4 + j] - mean(j)) * (source.data[i * 4 + l] - mean(l));
                    let wanted: f64 = (0..50).map(term).sum();
                    // Sparse rows are centred on paper, which costs them digits here.
                    assert!((gram.get(j, l) - wanted).abs() < 1e-8, "parts of {part}: {} {wanted}", gram.get(j, l));
                }
            }
            assert_eq!(samples.row(33).unwrap(), &source.data[33 * 4..34 * 4]);
        }
    }

    #[test]
    fn other_weights_in_all_change_the_moments_alike() {
        let source = table(10);
        // They need not sum to 1: a process has a part of them.
        let weights = vec![0.5 / 50.0; 50];
        let mut streamed = Streamed::new(&source);
        let mean = streamed.first_pass(&weights, true).unwrap();
        // About another point, so that the first moments matter.
        let about: Vec<f64> = mean.iter().map(|m| m + 2.0).collect();
        let plain = |j: usize| (0..50).map(|i| source.data[i * 4 + j]).sum::<f64>() / 50.0;
        mean.iter().enumerate().for_each(|(j, m)| assert!((m - plain(j)).abs() < 1e-11));
        let before = streamed.gram(&about).unwrap();
        streamed.reweight(0.25);
        let after = streamed.gram(&about).unwrap();
        for (x, y) in before.as_column_major().iter().zip(after.as_column_major()) {
            assert!((0.25 * x - y).abs() < 1e-12 && *x > 1.5, "{x} {y}");
        }
        // Without moments there are none to be had; without weight the mean is a point of the samples.
        assert!(streamed.first_pass(&weights, false).is_ok() && streamed.gram(&about).is_none());
        let nowhere = streamed.first_pass(&[0.0; 50], true).unwrap();
        assert!(nowhere.iter().all(|m| (m - 1000.0).abs() < 3.0));
    }

    #[test]
    fn parts_of_another_size_are_refused() {
        for sparse in [false, true] {
            let source = Table { wrong: 1, sparse, ..table(10) };
            let error = Samples::<f64>::streamed(&source).unwrap_err();
            match error {
                Error::Shape { rows: 10, columns: 4, expected: 40, found: 41 } => assert!(!sparse),
                Error::Sparse { what } => assert!(sparse && what == "12 row offsets for 10 rows", "{what}"),
                other => panic!("{other}"),
            }
        }
    }
}
