//! Figure 5: time of a fit against the number of features.

use std::time::Instant;

use ewca::{Ewca, Samples, Solver};
use ewca_eval::Spread;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::synthetic::expression;
use super::{COMPONENTS, EWCA, Effort, Fact, PCA, Report, Series, Watch, exponent, geometric_sizes, tell};
use crate::Result;
use crate::figures::{Axis, Figure, Key, Marker, Page, Panel, Tidy, legend_rows};

const SIZES: usize = 12;
const SMALLEST: usize = 50;
/// The breast data set of the paper.
const ROWS: usize = 151;
const COLUMNS: usize = 54675;
const MM: Series = Series { colour: "#009e73", dashes: "3 3", marker: Some(Marker::Triangle) };

/// One size: the spread of each solver's time, in seconds.
struct Timed {
    features: usize,
    spreads: Vec<Spread>,
}

pub fn run(given: Option<(&str, &Samples<'_>)>, effort: Effort, watch: Watch<'_>) -> Result<Report> {
    let solvers =
        [("BCD", PCA, Solver::Bcd), ("block-MM", MM, Solver::Mm(Default::default())), ("L-BFGS", EWCA, Solver::Lbfgs)];
    let (source, rows, data) = match given {
        Some((name, samples)) => {
            let rows: Vec<Vec<f64>> = (0..samples.rows()).map(|i| samples.row(i)).collect::<ewca::Result<_>>()?;
            let rows = rows.concat();
            (name.to_string(), samples.rows(), rows)
        }
        None => (format!("synthetic {ROWS} x {COLUMNS} matrix"), ROWS, expression(ROWS, COLUMNS, effort.seed)),
    };
    let columns = data.len() / rows;
    // Squared distances grow with the number of features, and so does the epsilon that gives the same neighbourhoods.
    let whole = Ewca::params(COMPONENTS).single_start().fit(&Samples::new(&data, rows, columns)?)?;
    let per_feature = whole.epsilon / columns as f64;

    let sizes = geometric_sizes(SMALLEST.min(columns), columns, SIZES);
    let mut timed: Vec<Timed> = Vec::new();
    let mut unconverged = 0;
    for (at, &features) in sizes.iter().enumerate() {
        let mut times = vec![Vec::new(); solvers.len()];
        for repeat in 0..effort.repeats {
            tell(
                watch,
                &format!("timing {features} features"),
                at * effort.repeats + repeat,
                sizes.len() * effort.repeats,
            )?;
            let subset = subset(&data, columns, features, effort.seed, (at * effort.repeats + repeat) as u64);
            let samples = Samples::new(&subset, rows, features)?;
            for ((_, _, solver), times) in solvers.iter().zip(&mut times) {
                let params = Ewca::params(COMPONENTS)
                    .single_start()
                    .epsilon(per_feature * features as f64)
                    .solver(*solver)
                    .check()?;
                let clock = Instant::now();
                let model = params.fit(&samples)?;
                times.push(clock.elapsed().as_secs_f64());
                unconverged += usize::from(!model.converged());
            }
        }
        timed.push(Timed { features, spreads: times.iter().map(|t| Spread::of(t)).collect() });
    }
    Ok(report(&source, rows, &solvers, &timed, effort, unconverged))
}

/// `features` columns at random.
fn subset(data: &[f64], columns: usize, features: usize, seed: u64, number: u64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(1 << 40 | number);
    let mut genes: Vec<usize> = (0..columns).collect();
    let (chosen, _) = genes.partial_shuffle(&mut random, features);
    chosen.sort_unstable();
    data.chunks(columns).flat_map(|row| chosen.iter().map(|&j| row[j])).collect()
}

fn report(
    source: &str,
    rows: usize,
    solvers: &[(&str, Series, Solver)],
    timed: &[Timed],
    effort: Effort,
    unconverged: usize,
) -> Report {
    let means = |solver: usize| timed.iter().map(move |t| (t.features as f64, t.spreads[solver].mean));
    let growth: Vec<(f64, f64)> = (0..solvers.len())
        .map(|s| {
            let (low, high): (Vec<_>, Vec<_>) = means(s).partition(|p| p.0 <= 2000.0);
            let fitted = |points: &[(f64, f64)]| if points.len() > 1 { exponent(points) } else { f64::NAN };
            (fitted(&low), fitted(&high))
        })
        .collect();
    let mut page = Page::new(640.0, 470.0);
    let names: Vec<String> = solvers
        .iter()
        .zip(&growth)
        .map(|(s, (low, high))| format!("{}: d^{} up to 2000, d^{} beyond", s.0, shown(*low), shown(*high)))
        .collect();
    for (at, ((_, series, _), name)) in solvers.iter().zip(&names).enumerate() {
        let key: [Key<'_>; 1] = [(name, *series)];
        legend_rows(&mut page, (80.0, 18.0 + 18.0 * at as f64), 540.0, &key, true);
    }
    let y = Axis::logarithmic(
        "time of a fit (s)",
        timed.iter().flat_map(|t| t.spreads.iter().flat_map(|s| [s.q1, s.q3, s.mean])),
    );
    let x = Axis::logarithmic("number of features d", timed.iter().map(|t| t.features as f64));
    let panel = Panel::new(&mut page, (80.0, 72.0), (540.0, 325.0), x, y);
    let note = format!(
        "{source}, {rows} samples, k = {COMPONENTS}, {} gene subset{} per size; mean and quartiles",
        effort.repeats,
        if effort.repeats == 1 { "" } else { "s" }
    );
    page.text((80.0, 455.0), &note, crate::figures::Font { colour: "#555555", ..crate::figures::Font::sized(11.5) });
    let mut table = Tidy::new(&["d", "solver", "mean", "q1", "q3", "median", "repeats"]);
    for (s, (name, series, _)) in solvers.iter().enumerate() {
        let band: Vec<(f64, f64, f64)> =
            timed.iter().map(|t| (t.features as f64, t.spreads[s].q1, t.spreads[s].q3)).collect();
        panel.band(&mut page, &band, *series);
        panel.line(&mut page, &means(s).collect::<Vec<_>>(), *series);
        for t in timed {
            let spread = &t.spreads[s];
            table.row(&[&t.features, name, &spread.mean, &spread.q1, &spread.q3, &spread.median, &effort.repeats]);
        }
    }
    let mut facts =
        vec![Fact::new("where BCD is faster than block-MM", Some("for d up to about 2000 (published)"), faster(timed))];
    let written = ["d³ (eigenvectors of a d x d matrix)", "d", "-"];
    for ((solver, (low, high)), written) in solvers.iter().zip(&growth).zip(written) {
        let largest = timed
            .last()
            .map_or(f64::NAN, |t| t.spreads[solvers.iter().position(|s| s.0 == solver.0).unwrap_or(0)].mean);
        facts.push(Fact::new(
            format!("{}: growth with d, and time at the largest d", solver.0),
            Some(written)
                .filter(|w| *w != "-")
                .map(|w| format!("{w}, counted from the algorithm as written"))
                .as_deref(),
            format!("d^{} up to 2000, d^{} beyond; {:.0} ms", shown(*low), shown(*high), 1e3 * largest),
        ));
    }
    if unconverged > 0 {
        facts.push(Fact::new("fits that ended at the limit of iterations", None, unconverged.to_string()));
    }
    let caption = format!(
        "Wall-clock time of whole fits (reduction, iterations, certificate) against the number of features, on {source}: {} gene \
         subsets of each size, mean and quartiles. Exponents are fitted to the means. Times depend on the machine.",
        effort.repeats
    );
    Report {
        title: "Figure 5: time against the number of features".into(),
        text: "All solvers work in the span of the samples, so only the reduction to it, one product of the data with \
               themselves, grows with d; iterations do not. The paper's algorithms worked in d dimensions, where an eigen-decomposition \
               costs d³: the crossing of BCD and block-MM at about d = 2000 is a property of that."
            .into(),
        figures: vec![Figure::new("timing", "Time of a fit against the number of features", caption, &page, table)],
        facts,
    }
}

fn shown(exponent: f64) -> String {
    if exponent.is_finite() { format!("{exponent:.2}") } else { "?".into() }
}

fn faster(timed: &[Timed]) -> String {
    let sizes: Vec<String> =
        timed.iter().filter(|t| t.spreads[0].mean < t.spreads[1].mean).map(|t| t.features.to_string()).collect();
    match sizes.len() {
        0 => "at no size".into(),
        all if all == timed.len() => "at every size".into(),
        _ => format!("at d = {}", sizes.join(", ")),
    }
}
