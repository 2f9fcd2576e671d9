//! Samples that are read part by part, and those with too many features for all axes, give what samples in memory give.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{FIXTURES, check_fit, fixture, subspace_distance};
use crate::sparse::{compressed, counts};
use ewca::{Error, Ewca, Part, Samples, Source};

/// A table that is handed out part by part.
#[derive(Debug)]
pub struct Table<'a> {
    data: &'a [f64],
    columns: usize,
    part: usize,
    sparse: bool,
    read: AtomicUsize,
    /// The row at which reading fails.
    broken: Option<usize>,
}

/// What such a table says then.
#[derive(Debug)]
struct Gone(&'static str);

impl std::error::Error for Gone {}

impl std::fmt::Display for Gone {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}: the disk is gone", self.0)
    }
}

impl<'a> Table<'a> {
    pub fn new(data: &'a [f64], columns: usize, part: usize) -> Self {
        Self { data, columns, part, sparse: false, read: AtomicUsize::new(0), broken: None }
    }

    /// How often all rows were read so far.
    fn passes(&self) -> f64 {
        self.read.load(Ordering::Relaxed) as f64 / self.rows() as f64
    }
}

impl Source for Table<'_> {
    fn rows(&self) -> usize {
        self.data.len() / self.columns
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn part_rows(&self) -> usize {
        self.part
    }

    fn read(&self, rows: Range<usize>) -> Result<Part, Box<dyn std::error::Error + Send + Sync>> {
        if self.broken.is_some_and(|row| rows.contains(&row)) {
            return Err(Box::new(Gone("table.npy")));
        }
        self.read.fetch_add(rows.len(), Ordering::Relaxed);
        let data = &self.data[rows.start * self.columns..rows.end * self.columns];
        if !self.sparse {
            return Ok(Part::Dense(data.to_vec()));
        }
        let (offsets, positions, values) = compressed(data, self.columns);
        Ok(Part::Sparse { offsets, positions, values })
    }
}

#[test]
fn streamed_fits_meet_the_references() {
    for name in FIXTURES {
        let fixture = fixture(name);
        let samples = fixture.samples();
        let wide = fixture.columns > 100;
        for case in fixture.cases.iter().take(if wide { 1 } else { 10 }) {
            for part in if wide { vec![7] } else { vec![7, 1000] } {
                let source = Table::new(&fixture.data, fixture.columns, part);
                let mut streamed: Samples<'_> = Samples::streamed(&source).unwrap();
                if let Some(weights) = &fixture.weights {
                    streamed = streamed.with_weights(weights).unwrap();
                }
                let params = Ewca::params(case.k).epsilon(case.epsilon).tolerance(1e-9);
                let model = params.fit(&streamed).unwrap();
                let what = format!("{name} k={} epsilon={} in parts of {part}", case.k, case.epsilon);
                check_fit(&samples, &model);
                assert!(model.converged(), "{what}: {}", model.termination());
                let above = (model.loss() - case.loss) / case.loss.abs();
                assert!(above <= 1e-8, "{what}: loss {} is above {}", model.loss(), case.loss);
                if above >= -1e-8 {
                    assert!(subspace_distance(&case.components, model.components()) < 1e-5, "{what}");
                }
                if fixture.columns <= 256 && fixture.weights.is_none() {
                    assert_eq!(source.passes(), 2.0, "{what}");
                }
            }
        }
    }
}

#[test]
fn sparse_parts_are_the_whole() {
    let (n, d) = (230, 40);
    let data = counts(n, d, 3);
    let mut source = Table::new(&data, d, 50);
    source.sparse = true;
    let params = Ewca::params(3).epsilon(1.0).tolerance(1e-10).check().unwrap();
    let model = params.fit(&Samples::streamed(&source).unwrap() as &Samples<'_>).unwrap();
    let whole = Samples::new(&data, n, d).unwrap();
    check_fit(&whole, &model);
    let dense = params.fit(&whole).unwrap();
    assert!((model.loss() / dense.loss() - 1.0).abs() < 1e-12);
    assert!(subspace_distance(model.components(), dense.components()) < 1e-8);
}

#[test]
fn fewer_axes_than_features_end_at_the_same_optimum() {
    // 600 features, of which a budget leaves room for few axes: the gradient outside of them must be looked for, and is found.
    let (n, d) = (400, 600);
    let data = counts(n, d, 5);
    let source = Table::new(&data, d, 64);
    let params = Ewca::params(2).epsilon(40.0).tolerance(1e-7);
    let whole = Samples::new(&data, n, d).unwrap();
    let exact = params.clone().fit(&whole).unwrap();
    let model = params.fit(&Samples::streamed(&source).unwrap() as &Samples<'_>).unwrap();
    check_fit(&whole, &model);
    println!("{} axes of {}, {} passes over the data", model.rank(), exact.rank(), source.passes());
    assert!(model.rank() < exact.rank());
    assert!(model.converged(), "{} {}", model.termination(), model.certificate().relative_gradient);
    assert!(model.certificate().omitted_variance > 0.01 && exact.certificate().omitted_variance == 0.0);
    assert!(model.certificate().relative_gradient <= 1e-7);
    assert!((model.loss() / exact.loss() - 1.0).abs() < 1e-9, "{} {}", model.loss(), exact.loss());
    assert!(subspace_distance(model.components(), exact.components()) < 1e-4);
}

#[test]
fn many_samples_of_many_features() {
    // More than 4096 of both: no matrix between samples or between features is made.
    let (n, d) = (4200, 4300);
    let data = counts(n, d, 7);
    let (offsets, positions, values) = compressed(&data, d);
    let samples = Samples::sparse(&offsets, &positions, &values, d).unwrap();
    let model = Ewca::params(2).perplexity(30.0).tolerance(1e-5).fit(&samples).unwrap();
    assert!(model.converged(), "{} {}", model.termination(), model.certificate().relative_gradient);
    assert!(model.certificate().relative_gradient <= 1e-5);
    // The fit began in some axes, and ended in all directions.
    assert!(model.rank() == d && model.certificate().omitted_variance == 0.0);
    println!("rank {}, {} passes", model.rank(), model.kernel_passes());
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let data = counts(100, 5, 1);
    let mut source = Table::new(&data, 5, 10);
    source.broken = Some(73);
    let error = Samples::<f64>::streamed(&source).unwrap_err();
    assert_eq!(error.to_string(), "table.npy: the disk is gone");
    assert_eq!(error, error.clone());
    // What the source said is kept as it was.
    let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<Gone>());
    assert_eq!(cause.map(|gone| gone.0), Some("table.npy"));
    // A value that is no number is named by its place in the whole.
    let mut wrong = data.clone();
    wrong[64 * 5 + 3] = f64::NAN;
    let source = Table::new(&wrong, 5, 10);
    let error = Samples::<f64>::streamed(&source).unwrap_err();
    assert!(matches!(error, Error::NotFinite { row: 64, column: 3, .. }), "{error}");
}
