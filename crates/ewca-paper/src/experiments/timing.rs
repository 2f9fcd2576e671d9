//! Figure 5: time of a fit against the number of features.

use std::time::Instant;

use ewca::{Ewca, Samples, Solver};
use ewca_eval::Spread;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::drawing::{EWCA, MM, PCA};
use super::growth::{exponent, geometric_sizes};
use super::synthetic::expression;
use super::{COMPONENTS, Comparison, Effort, ExperimentReport, Watch, tell};
use crate::Result;
use crate::figures::{Axis, Figure, Font, Key, Page, Panel, Series, Tidy, legend_rows};

const SIZES: usize = 12;
const SMALLEST: usize = 50;
/// The breast data set of the paper.
const ROWS: usize = 151;
const COLUMNS: usize = 54675;

/// A solver, how it looks, and the operations of the paper's algorithm as written.
struct Timed {
    name: &'static str,
    series: Series,
    solver: Solver,
    written: Option<&'static str>,
    /// For each size the spread of its times, in seconds.
    spreads: Vec<Spread>,
}

/// The samples that subsets of features are taken from.
struct TimedData {
    name: String,
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

/// What was measured: each solver at each number of features.
struct Measured {
    sizes: Vec<usize>,
    solvers: [Timed; 3],
    /// How many fits ended at the limit of iterations.
    unconverged: usize,
}

pub fn run(given: Option<(&str, &Samples<'_>)>, effort: Effort, watch: Watch<'_>) -> Result<ExperimentReport> {
    let source = TimedData::new(given, effort.seed)?;
    let measured = Measured::new(&source, effort, watch)?;
    let page = measured.drawn(&source, effort);
    let caption = format!(
        "Wall-clock time of whole fits (reduction, iterations, certificate) against the number of features, on {}: {} gene \
         subsets of each size, mean and quartiles. Exponents are fitted to the means. Times depend on the machine.",
        source.name, effort.repeats
    );
    let table = measured.tabulated(effort);
    Ok(ExperimentReport {
        title: "Figure 5: time against the number of features".into(),
        text: "All solvers work in the span of the samples, so only the reduction to it, one product of the data with \
               themselves, grows with d; iterations do not. The paper's algorithms worked in d dimensions, where an eigen-decomposition \
               costs d³: the crossing of BCD and block-MM at about d = 2000 is a property of that."
            .into(),
        figures: vec![Figure::new("timing", "Time of a fit against the number of features", caption, &page, table)],
        facts: measured.facts(),
    })
}

impl TimedData {
    fn new(given: Option<(&str, &Samples<'_>)>, seed: u64) -> Result<Self> {
        let Some((name, samples)) = given else {
            let name = format!("synthetic {ROWS} x {COLUMNS} matrix");
            return Ok(Self { name, rows: ROWS, columns: COLUMNS, data: expression(ROWS, COLUMNS, seed) });
        };
        let rows: Vec<Vec<f64>> = (0..samples.rows()).map(|i| samples.row(i)).collect::<ewca::Result<_>>()?;
        Ok(Self { name: name.to_string(), rows: samples.rows(), columns: samples.columns(), data: rows.concat() })
    }

    /// Squared distances grow with the number of features, and so does the epsilon that gives the same neighbourhoods.
    fn epsilon_per_feature(&self) -> Result<f64> {
        let whole = Samples::new(&self.data, self.rows, self.columns)?;
        Ok(Ewca::params(COMPONENTS).single_start().fit(&whole)?.epsilon() / self.columns as f64)
    }

    /// `features` columns at random.
    fn subset(&self, features: usize, seed: u64, number: u64) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(1 << 40 | number);
        let mut genes: Vec<usize> = (0..self.columns).collect();
        let (chosen, _) = genes.partial_shuffle(&mut random, features);
        chosen.sort_unstable();
        self.data.chunks(self.columns).flat_map(|row| chosen.iter().map(|&j| row[j])).collect()
    }
}

impl Timed {
    fn new(name: &'static str, series: Series, solver: Solver, written: Option<&'static str>) -> Self {
        Self { name, series, solver, written, spreads: Vec::new() }
    }
}

impl Measured {
    fn new(source: &TimedData, effort: Effort, watch: Watch<'_>) -> Result<Self> {
        let epsilon = source.epsilon_per_feature()?;
        let sizes = geometric_sizes(SMALLEST.min(source.columns), source.columns, SIZES);
        let mut solvers = [
            Timed::new("BCD", PCA, Solver::Bcd, Some("d³ (eigenvectors of a d x d matrix)")),
            Timed::new("block-MM", MM, Solver::Mm(Default::default()), Some("d")),
            Timed::new("L-BFGS", EWCA, Solver::Lbfgs, None),
        ];
        let mut unconverged = 0;
        for (at, &features) in sizes.iter().enumerate() {
            let mut times = vec![Vec::new(); solvers.len()];
            for number in at * effort.repeats..(at + 1) * effort.repeats {
                tell(watch, &format!("timing {features} features"), number, sizes.len() * effort.repeats)?;
                let subset = source.subset(features, effort.seed, number as u64);
                let samples = Samples::new(&subset, source.rows, features)?;
                for (timed, times) in solvers.iter().zip(&mut times) {
                    let (seconds, converged) = fitted(&samples, timed.solver, epsilon * features as f64)?;
                    times.push(seconds);
                    unconverged += usize::from(!converged);
                }
            }
            solvers.iter_mut().zip(&times).for_each(|(timed, times)| timed.spreads.push(Spread::of(times)));
        }
        Ok(Self { sizes, solvers, unconverged })
    }

    /// The sizes as coordinates, each with the spread of a solver's times there.
    fn curve<'a>(&'a self, timed: &'a Timed) -> impl Iterator<Item = (f64, &'a Spread)> {
        self.sizes.iter().map(|&size| size as f64).zip(&timed.spreads)
    }

    /// How the time of a solver grows with the features: up to 2000, and beyond.
    fn growth(&self, timed: &Timed) -> String {
        let means = self.curve(timed).map(|(size, spread)| (size, spread.mean));
        let (low, high): (Vec<_>, Vec<_>) = means.partition(|point| point.0 <= 2000.0);
        let fitted = |points: &[(f64, f64)]| if points.len() > 1 { exponent(points) } else { f64::NAN };
        format!("d^{} up to 2000, d^{} beyond", shown(fitted(&low)), shown(fitted(&high)))
    }

    fn drawn(&self, source: &TimedData, effort: Effort) -> Page {
        let mut page = Page::new(640.0, 470.0);
        for (at, timed) in self.solvers.iter().enumerate() {
            let name = format!("{}: {}", timed.name, self.growth(timed));
            let key: [Key<'_>; 1] = [(&name, timed.series)];
            legend_rows(&mut page, (80.0, 18.0 + 18.0 * at as f64), 540.0, &key, true);
        }
        let all = self.solvers.iter().flat_map(|timed| timed.spreads.iter().flat_map(|s| [s.q1, s.q3, s.mean]));
        let y = Axis::logarithmic("time of a fit (s)", all);
        let x = Axis::logarithmic("number of features d", self.sizes.iter().map(|&size| size as f64));
        let panel = Panel::new(&mut page, (80.0, 72.0), (540.0, 325.0), x, y);
        let note = format!(
            "{}, {} samples, k = {COMPONENTS}, {} gene subset{} per size; mean and quartiles",
            source.name,
            source.rows,
            effort.repeats,
            if effort.repeats == 1 { "" } else { "s" }
        );
        page.text((80.0, 455.0), &note, Font { colour: "#555555", ..Font::sized(11.5) });
        for timed in &self.solvers {
            let band: Vec<(f64, f64, f64)> = self.curve(timed).map(|(size, s)| (size, s.q1, s.q3)).collect();
            let means: Vec<(f64, f64)> = self.curve(timed).map(|(size, s)| (size, s.mean)).collect();
            panel.band(&mut page, &band, timed.series);
            panel.line(&mut page, &means, timed.series);
        }
        page
    }

    fn tabulated(&self, effort: Effort) -> Tidy {
        let mut table = Tidy::new("d,solver,mean,q1,q3,median,repeats");
        for timed in &self.solvers {
            for (size, s) in self.sizes.iter().zip(&timed.spreads) {
                table.row(&[size, &timed.name, &s.mean, &s.q1, &s.q3, &s.median, &effort.repeats]);
            }
        }
        table
    }

    fn facts(&self) -> Vec<Comparison> {
        let published = Some("for d up to about 2000 (published)");
        let mut facts =
            vec![Comparison::new("where BCD is faster than block-MM", published, self.where_bcd_is_faster())];
        for timed in &self.solvers {
            let largest = timed.spreads.last().map_or(f64::NAN, |spread| spread.mean);
            facts.push(Comparison::new(
                format!("{}: growth with d, and time at the largest d", timed.name),
                timed.written.map(|w| format!("{w}, counted from the algorithm as written")).as_deref(),
                format!("{}; {:.0} ms", self.growth(timed), 1e3 * largest),
            ));
        }
        if self.unconverged > 0 {
            facts.push(Comparison::new(
                "fits that ended at the limit of iterations",
                None,
                self.unconverged.to_string(),
            ));
        }
        facts
    }

    fn where_bcd_is_faster(&self) -> String {
        let [bcd, mm, _] = &self.solvers;
        let faster = |at: &usize| bcd.spreads[*at].mean < mm.spreads[*at].mean;
        let sizes: Vec<String> = (0..self.sizes.len()).filter(faster).map(|at| self.sizes[at].to_string()).collect();
        match sizes.len() {
            0 => "at no size".into(),
            all if all == self.sizes.len() => "at every size".into(),
            _ => format!("at d = {}", sizes.join(", ")),
        }
    }
}

/// How long a fit took, in seconds, and whether it converged.
fn fitted(samples: &Samples<'_>, solver: Solver, epsilon: f64) -> Result<(f64, bool)> {
    let params = Ewca::params(COMPONENTS).single_start().epsilon(epsilon).solver(solver).check()?;
    let clock = Instant::now();
    let model = params.fit(samples)?;
    Ok((clock.elapsed().as_secs_f64(), model.converged()))
}

fn shown(exponent: f64) -> String {
    if exponent.is_finite() { format!("{exponent:.2}") } else { "?".into() }
}
