//! Which component goes with what is known of the samples: as words, as a table, and for programs.

use std::path::Path;

use ewca::Model;
use ewca_eval::covariates::{Association, Associations, Covariate, DEFAULT_PERMUTATIONS, Skipped, associations};
use ewca_io::{Annotation, Frame, Known, Staged, TextColumn};
use serde::Serialize;

use crate::console::terminal::one_line;
use crate::console::text::{some_names, wrapped};
use crate::input::table::Dataset;
use crate::output::emit::stage_frame;
use crate::output::results::component_name;

/// The seed of the permutations: the same fit gives the same p-values.
const SEED: u64 = 0;
/// A p-value above is chance, as is usual.
const BELIEVED: f64 = 0.05;
/// Lines that are printed; the table has all.
const SHOWN: usize = 8;

/// All components beside all columns.
#[derive(Debug)]
pub struct Covariates {
    columns: Vec<String>,
    found: Associations,
}

impl Covariates {
    /// Compares them, where something is known of the samples.
    pub fn new(data: &Dataset, model: &Model) -> Option<Self> {
        let annotations = data.all_annotations();
        let samples = model.scores().rows();
        if annotations.is_empty() || annotations.iter().any(|annotation| annotation.len() != samples) {
            return None;
        }
        let components: Vec<Vec<f64>> = (0..model.n_components()).map(|k| model.scores().column(k).to_vec()).collect();
        let covariates: Vec<Covariate<'_>> = annotations.iter().map(covariate).collect();
        let found = associations(&components, &covariates, DEFAULT_PERMUTATIONS, SEED);
        Some(Self { columns: annotations.iter().map(|annotation| annotation.name.clone()).collect(), found })
    }

    fn column(&self, test: &Association) -> &str {
        &self.columns[test.covariate]
    }

    /// What goes together, strongest first; and what was not compared.
    pub fn in_words(&self) -> String {
        let mut sure: Vec<&Association> = self.found.tests.iter().filter(|test| test.p_corrected <= BELIEVED).collect();
        sure.sort_by(|a, b| a.p_corrected.total_cmp(&b.p_corrected).then(b.effect.total_cmp(&a.effect)));
        let line = |test: &&Association| {
            format!(
                "{} is associated with {}: {} {:.2}, corrected p = {}",
                component_name(test.component),
                one_line(self.column(test)),
                test.measure.name(),
                test.effect,
                probability(test.p_corrected)
            )
        };
        let mut lines: Vec<String> = sure.iter().take(SHOWN).map(line).collect();
        let least = self.found.tests.iter().map(|test| test.p_corrected).fold(f64::INFINITY, f64::min);
        if sure.len() > SHOWN {
            lines.push(format!("{} more in covariates.csv", sure.len() - SHOWN));
        } else if sure.is_empty() && least.is_finite() {
            lines.push(format!(
                "No component is associated with any annotation (smallest corrected p = {})",
                probability(least)
            ));
        }
        for (why, words) in [
            (Skipped::OneValue, "the value is the same for all samples"),
            (Skipped::AllDifferent, "the value differs for every sample"),
            (Skipped::TooFew, "too few samples have a value"),
        ] {
            let names: Vec<String> = self
                .found
                .skipped
                .iter()
                .filter(|(_, found)| *found == why)
                .map(|(column, _)| self.columns[*column].clone())
                .collect();
            if !names.is_empty() {
                lines.push(format!("Not tested, because {words}: {}", some_names(&names)));
            }
        }
        lines.iter().map(|line| wrapped(line, 2) + "\n").collect()
    }

    /// The table, next to its place.
    pub fn stage(&self, file: &Path) -> Result<Staged, ewca_io::Error> {
        let tests = &self.found.tests;
        let components: Vec<String> = tests.iter().map(|test| component_name(test.component)).collect();
        let names: Vec<String> = tests.iter().map(|test| self.column(test).to_string()).collect();
        let measures: Vec<String> = tests.iter().map(|test| test.measure.name().to_string()).collect();
        // A count, not a measurement: as text it has no decimals.
        let samples: Vec<String> = tests.iter().map(|test| test.samples.to_string()).collect();
        let texts = [
            TextColumn { name: "component", cells: &components },
            TextColumn { name: "column", cells: &names },
            TextColumn { name: "measure", cells: &measures },
            TextColumn { name: "samples", cells: &samples },
        ];
        let columns = ["effect", "p", "p_corrected"].map(String::from);
        let row = |test: &Association| [test.effect, test.p, test.p_corrected];
        let values: Vec<f64> = tests.iter().flat_map(row).collect();
        stage_frame(file, &Frame { rows: tests.len(), texts: &texts, columns: &columns, values: &values }, || false)
    }

    /// The same for programs.
    pub fn record(&self) -> CovariatesRecord<'_> {
        let test = |test: &Association| TestRecord {
            component: component_name(test.component),
            column: &self.columns[test.covariate],
            measure: test.measure.name(),
            effect: test.effect,
            samples: test.samples,
            p: test.p,
            p_corrected: test.p_corrected,
        };
        let skipped = |(column, why): &(usize, Skipped)| SkippedRecord { column: &self.columns[*column], why: *why };
        CovariatesRecord {
            permutations: self.found.permutations,
            permuted_samples: self.found.permuted,
            correction: "largest standardised effect of all tests in each permutation",
            tests: self.found.tests.iter().map(test).collect(),
            skipped: self.found.skipped.iter().map(skipped).collect(),
        }
    }

    /// The same for a report.
    pub fn for_report(&self) -> Vec<ewca_report::Covariate> {
        self.found.tests.iter().map(|test| ewca_report::Covariate::of(test, self.column(test))).collect()
    }
}

fn covariate(annotation: &Annotation) -> Covariate<'_> {
    match &annotation.known {
        Known::Classes { codes, .. } => Covariate::Classes(codes),
        Known::Numbers { numbers } => Covariate::Numbers(numbers),
    }
}

/// With as many digits as the permutations give.
fn probability(p: f64) -> String {
    if p < 0.01 { format!("{p:.3}") } else { format!("{p:.2}") }
}

/// What `summary.json` has of it.
#[derive(Debug, Serialize)]
pub struct CovariatesRecord<'a> {
    permutations: usize,
    permuted_samples: usize,
    correction: &'static str,
    tests: Vec<TestRecord<'a>>,
    skipped: Vec<SkippedRecord<'a>>,
}

#[derive(Debug, Serialize)]
struct TestRecord<'a> {
    component: String,
    column: &'a str,
    measure: &'static str,
    effect: f64,
    samples: usize,
    p: f64,
    p_corrected: f64,
}

#[derive(Debug, Serialize)]
struct SkippedRecord<'a> {
    column: &'a str,
    why: Skipped,
}
