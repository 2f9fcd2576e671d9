//! Table 1, measured: the time of each step against n, d and k.

use std::time::Instant;

use ewca::{Control, Ewca, Model, Progress, Samples, Solver, self_transport};
use ewca_eval::Spread;

use super::drawing::{EWCA, MM, PCA};
use super::growth::exponent;
use super::synthetic::expression;
use super::{Comparison, ExperimentReport, Watch, tell};
use crate::Result;
use crate::figures::{Axis, Figure, Key, Marker, Page, Panel, Series, Tidy, legend_rows};

/// Times are medians of so many runs.
const RUNS: usize = 3;
/// Iterations of each run; their times are medians too.
const ITERATIONS: usize = 6;
const SIZE: f64 = 290.0;

struct ProblemSize {
    n: usize,
    d: usize,
    k: usize,
}

/// A step: its name, its looks, the operations of the paper's algorithms as written, and those of this program.
struct Step {
    name: &'static str,
    series: Series,
    written: &'static str,
    here: &'static str,
}

const STEPS: [Step; 5] = [
    Step {
        name: "reduction to the span",
        series: Series { colour: "#999999", dashes: "2 3", marker: Some(Marker::Ring) },
        written: "none",
        here: "n²d + n³, once",
    },
    Step {
        name: "plan",
        series: Series { colour: "#222222", dashes: "9 3 2 3", marker: Some(Marker::Diamond) },
        written: "n²d + n² for each Sinkhorn iteration",
        here: "n²k for each pass",
    },
    Step { name: "BCD iteration", series: PCA, written: "plan + n²d + nd² + d³", here: "plan + n³" },
    Step {
        name: "block-MM iteration",
        series: MM,
        written: "plan + n²k + ndk + dk² for each inner step",
        here: "plan + n²k for each inner step",
    },
    Step { name: "L-BFGS iteration", series: EWCA, written: "-", here: "n²k for each pass" },
];

/// Which size varies, with its shapes.
fn sweeps() -> [(&'static str, Vec<ProblemSize>); 3] {
    [
        ("n", [64, 128, 256, 512, 1024].map(|n| ProblemSize { n, d: 2048, k: 5 }).into()),
        ("d", [512, 1024, 2048, 4096, 8192, 16384, 32768].map(|d| ProblemSize { n: 128, d, k: 5 }).into()),
        // The data have 15 directions beyond noise; further components would only be eigenvector tests.
        ("k", [2, 3, 4, 6, 8, 12].map(|k| ProblemSize { n: 512, d: 1024, k }).into()),
    ]
}

/// The times of all steps while one size varies.
struct Sweep {
    varies: &'static str,
    shapes: Vec<ProblemSize>,
    times: Vec<Vec<f64>>,
}

impl Sweep {
    /// The time of one step against the size that varies.
    fn line(&self, step: usize) -> Vec<(f64, f64)> {
        self.shapes.iter().zip(&self.times).map(|(shape, times)| (self.size(shape), times[step])).collect()
    }

    fn size(&self, shape: &ProblemSize) -> f64 {
        [shape.n, shape.d, shape.k]["ndk".find(self.varies).unwrap_or(0)] as f64
    }

    /// The exponent of one step's growth, by the three largest sizes.
    fn exponent(&self, step: usize) -> f64 {
        let points = self.line(step);
        exponent(&points[points.len() - 3..])
    }
}

pub fn run(seed: u64, watch: Watch<'_>) -> Result<ExperimentReport> {
    let measured = measured(seed, watch)?;
    let facts = STEPS.iter().enumerate().map(|(at, step)| {
        let written = Some(step.written)
            .filter(|w| *w != "-")
            .map(|w| format!("{w} (operations as the paper's algorithms are written)"));
        let [n, d, k] = [0, 1, 2].map(|sweep: usize| measured[sweep].exponent(at));
        let ours = format!("n^{n:.1} d^{d:.1} k^{k:.1} measured; counted: {}", step.here);
        Comparison::new(step.name, written.as_deref(), ours)
    });
    let caption = format!(
        "Median time of each step over {RUNS} runs of {ITERATIONS} iterations. Exponents are fitted to the three largest sizes. \
         Synthetic data, d ≥ n, epsilon half the variance of the last component. Times depend on the machine."
    );
    let (page, table) = (drawn(&measured), tabulated(&measured));
    Ok(ExperimentReport {
        title: "Table 1, measured: the cost of each step".into(),
        text: "n samples, d features, k components. The program reduces the data to their span once, and from then on nothing depends on \
               d; the paper's algorithms are written in d dimensions."
            .into(),
        facts: facts.collect(),
        figures: vec![Figure::new("complexity", "Time of each step against n, d and k", caption, &page, table)],
    })
}

fn measured(seed: u64, watch: Watch<'_>) -> Result<Vec<Sweep>> {
    let sweeps = sweeps();
    let total = sweeps.iter().map(|s| s.1.len()).sum();
    let mut done = 0;
    let mut measured = Vec::new();
    for (varies, shapes) in sweeps {
        let mut line = Vec::new();
        for shape in &shapes {
            tell(watch, &format!("the steps at n = {}, d = {}, k = {}", shape.n, shape.d, shape.k), done, total)?;
            line.push(times(shape, seed)?);
            done += 1;
        }
        measured.push(Sweep { varies, shapes, times: line });
    }
    tell(watch, "the steps", total, total)?;
    Ok(measured)
}

fn drawn(measured: &[Sweep]) -> Page {
    let mut page = Page::new(3.0 * SIZE + 220.0, SIZE + 115.0);
    let keys: Vec<Key<'_>> = STEPS.iter().map(|s| (s.name, s.series)).collect();
    legend_rows(&mut page, (70.0, 20.0), 3.0 * SIZE + 130.0, &keys, true);
    for (at, sweep) in measured.iter().enumerate() {
        let sizes = sweep.shapes.iter().map(|shape| sweep.size(shape));
        let x = Axis::logarithmic(&format!("{}{}", sweep.varies, fixed(sweep.varies)), sizes);
        let y = Axis::logarithmic(if at == 0 { "time (s)" } else { "" }, sweep.times.iter().flatten().copied());
        let panel = Panel::new(&mut page, (70.0 + at as f64 * (SIZE + 65.0), 55.0), (SIZE, SIZE), x, y);
        for (s, step) in STEPS.iter().enumerate() {
            panel.line(&mut page, &sweep.line(s), step.series);
        }
    }
    page
}

fn tabulated(measured: &[Sweep]) -> Tidy {
    let mut table = Tidy::new("varies,n,d,k,step,seconds");
    for sweep in measured {
        for (s, step) in STEPS.iter().enumerate() {
            for (shape, times) in sweep.shapes.iter().zip(&sweep.times) {
                table.row(&[&sweep.varies, &shape.n, &shape.d, &shape.k, &step.name, &times[s]]);
            }
        }
    }
    table
}

fn fixed(varies: &str) -> &'static str {
    match varies {
        "n" => " (d = 2048, k = 5)",
        "d" => " (n = 128, k = 5)",
        _ => " (n = 512, d = 1024)",
    }
}

/// The time of each step, in seconds.
fn times(shape: &ProblemSize, seed: u64) -> Result<Vec<f64>> {
    let data = expression(shape.n, shape.d, seed);
    let samples = Samples::new(&data, shape.n, shape.d)?;
    let pca = Ewca::params(shape.k).pca(&samples)?;
    let epsilon = 0.5 * pca.eigenvalues[shape.k - 1];
    let mut runs = vec![Vec::new(); STEPS.len()];
    for _ in 0..RUNS {
        let clock = Instant::now();
        self_transport(&pca.scores, samples.weights(), epsilon, 1e-8)?;
        runs[1].push(clock.elapsed().as_secs_f64());
        for (step, solver) in [(2, Solver::Bcd), (3, Solver::Mm(Default::default())), (4, Solver::Lbfgs)] {
            let (model, iteration) = iterated(&samples, shape.k, epsilon, solver)?;
            runs[0].push(model.timings().reduction.as_secs_f64());
            runs[step].push(iteration);
        }
    }
    Ok(runs.iter().map(|times| Spread::of(times).median.max(1e-7)).collect())
}

/// A few iterations, and the median time of one.
fn iterated(samples: &Samples<'_>, k: usize, epsilon: f64, solver: Solver) -> Result<(Model, f64)> {
    let params = Ewca::params(k)
        .single_start()
        .epsilon(epsilon)
        .solver(solver)
        .tolerance(1e-14)
        .max_iterations(ITERATIONS)
        .check()?;
    let mut clock = Vec::new();
    let model = params.fit_observed(samples, &mut |progress: &Progress<'_>| {
        clock.push(progress.elapsed.as_secs_f64());
        Control::Continue
    })?;
    let steps: Vec<f64> = clock.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let median = if steps.is_empty() { model.timings().iterations.as_secs_f64() } else { Spread::of(&steps).median };
    Ok((model, median))
}
