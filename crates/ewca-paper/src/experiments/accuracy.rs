//! Figure 2: misclassification of the nearest neighbour against k.

use ewca_eval::{Cell, Selection, Spread, StrictCell};

use super::drawing::{EWCA, PCA, RAW};
use super::{Comparison, ExperimentReport, Study};
use crate::figures::{Axis, BoxSummary, Figure, Key, Marker, Page, Panel, Series, Tidy, legend_rows};

const LABEL: &str = "misclassified (%)";
const STRICT_PCA: Series = Series { colour: "#d55e00", dashes: "3 3", marker: Some(Marker::Triangle) };
const STRICT_EWCA: Series = Series { colour: "#222222", dashes: "9 3 2 3", marker: Some(Marker::Diamond) };

/// The means that an independent computation of the same protocol on khan2001 found, on other splits: k, PCA, EWCA. And raw.
const INDEPENDENT: [(usize, f64, f64); 5] =
    [(5, 4.7, 4.3), (7, 10.0, 7.3), (8, 10.1, 7.1), (10, 11.4, 8.7), (12, 10.2, 10.3)];
const INDEPENDENT_RAW: f64 = 12.7;

pub fn run(study: &Study<'_>, selection: &Selection, strict: &[StrictCell]) -> ExperimentReport {
    let spreads: Vec<StrictSpread> =
        strict.iter().map(|c| StrictSpread { k: c.k, pca: Spread::of(&c.pca), ewca: Spread::of(&c.ewca) }).collect();
    ExperimentReport {
        title: format!("Figure 2: classification of {}", study.name),
        text: format!(
            "Each test sample takes the class of its nearest neighbour in the train half, in the scores of k components, over {} \
             stratified 50/50 splits. Epsilon is chosen among {} values on {} splits of the train half; ties go to the \
             largest. As in the paper, the subspaces are estimated once, on all samples and without labels. The strict \
             protocol fits them on the train half alone and transforms the test half.",
            study.protocol.splits,
            selection.epsilons.len(),
            study.protocol.inner_splits
        ),
        figures: vec![
            lines(study, selection),
            strict_lines(study, selection, &spreads),
            boxes(study, selection),
            epsilons(study, selection),
        ],
        facts: facts(study, selection, &spreads),
    }
}

struct StrictSpread {
    k: usize,
    pca: Spread,
    ewca: Spread,
}

fn caption(study: &Study<'_>) -> String {
    format!(
        "{}: {} samples x {} features, {} splits, seed {}.",
        study.name,
        study.samples.rows(),
        study.samples.columns(),
        study.protocol.splits,
        study.protocol.seed
    )
}

/// A method: its name in tables and in figures, its looks, and its spread for each k.
type Method = (&'static str, &'static str, Series, Vec<(usize, Spread)>);

fn methods(selection: &Selection) -> [Method; 3] {
    let of = |pick: &dyn Fn(&Cell) -> Spread| selection.cells.iter().map(|c| (c.k, pick(c))).collect();
    [
        ("raw", "all features", RAW, of(&|_| selection.raw)),
        ("pca", "PCA", PCA, of(&|c| c.pca)),
        ("ewca", "EWCA", EWCA, of(&|c| c.ewca)),
    ]
}

/// Bands lie below all lines.
fn draw_band(panel: &Panel, page: &mut Page, spreads: &[(usize, Spread)], series: Series) {
    let quartiles: Vec<(f64, f64, f64)> = spreads.iter().map(|(k, s)| (*k as f64, s.q1, s.q3)).collect();
    panel.band(page, &quartiles, series);
}

fn draw_line(panel: &Panel, page: &mut Page, spreads: &[(usize, Spread)], series: Series) {
    let means: Vec<(f64, f64)> = spreads.iter().map(|(k, s)| (*k as f64, s.mean)).collect();
    panel.line(page, &means, series);
}

fn components(selection: &Selection) -> Axis {
    Axis::counts("number of components k", &selection.cells.iter().map(|c| c.k).collect::<Vec<_>>())
}

fn lines(study: &Study<'_>, selection: &Selection) -> Figure {
    let methods = methods(selection);
    let mut page = Page::new(640.0, 430.0);
    let keys: Vec<Key<'_>> = methods.iter().map(|m| (m.1, m.2)).collect();
    legend_rows(&mut page, (70.0, 20.0), 560.0, &keys, true);
    let values = methods.iter().flat_map(|m| m.3.iter().flat_map(|(_, s)| [s.q1, s.q3, s.mean]));
    let panel =
        Panel::new(&mut page, (70.0, 42.0), (550.0, 335.0), components(selection), Axis::from_zero(LABEL, values));
    let mut table = Tidy::new("k,method,mean,q1,q3,median,splits");
    methods.iter().for_each(|m| draw_band(&panel, &mut page, &m.3, m.2));
    methods.iter().for_each(|m| draw_line(&panel, &mut page, &m.3, m.2));
    for at in 0..selection.cells.len() {
        for (name, _, _, spreads) in &methods {
            let (k, s) = &spreads[at];
            table.row(&[k, name, &s.mean, &s.q1, &s.q3, &s.median, &study.protocol.splits]);
        }
    }
    let caption = format!("Mean and quartiles of the misclassification. {}", caption(study));
    Figure::new("accuracy", "Misclassification against k", caption, &page, table)
}

fn strict_lines(study: &Study<'_>, selection: &Selection, strict: &[StrictSpread]) -> Figure {
    let [raw, pca, ewca] = methods(selection);
    let strict_of = |pick: &dyn Fn(&StrictSpread) -> Spread| strict.iter().map(|c| (c.k, pick(c))).collect::<Vec<_>>();
    let drawn = [
        ("all features", "raw", "paper", RAW, raw.3, false),
        ("PCA, all samples", "pca", "paper", PCA, pca.3, false),
        ("EWCA, all samples", "ewca", "paper", EWCA, ewca.3, false),
        ("PCA, train half", "pca", "strict", STRICT_PCA, strict_of(&|c| c.pca), true),
        ("EWCA, train half", "ewca", "strict", STRICT_EWCA, strict_of(&|c| c.ewca), true),
    ];
    let mut page = Page::new(640.0, 450.0);
    let keys: Vec<Key<'_>> = drawn.iter().map(|m| (m.0, m.3)).collect();
    legend_rows(&mut page, (70.0, 20.0), 560.0, &keys, true);
    let values = drawn.iter().flat_map(|m| m.4.iter().flat_map(|(_, s)| [s.q1, s.q3, s.mean]));
    let panel =
        Panel::new(&mut page, (70.0, 62.0), (550.0, 335.0), components(selection), Axis::from_zero(LABEL, values));
    let mut table = Tidy::new("k,method,protocol,mean,q1,q3,median,splits");
    drawn.iter().filter(|m| m.5).for_each(|m| draw_band(&panel, &mut page, &m.4, m.3));
    for (_, method, protocol, series, spreads, _) in &drawn {
        draw_line(&panel, &mut page, spreads, *series);
        for (k, s) in spreads {
            table.row(&[k, method, protocol, &s.mean, &s.q1, &s.q3, &s.median, &study.protocol.splits]);
        }
    }
    let caption = format!(
        "Means; bands are quartiles of the strict protocol, where the subspace is fitted on the train half alone. {}",
        caption(study)
    );
    Figure::new("accuracy-strict", "The same with subspaces fitted on the train half", caption, &page, table)
}

fn boxes(study: &Study<'_>, selection: &Selection) -> Figure {
    let names: Vec<String> = selection.cells.iter().map(|c| c.k.to_string()).collect();
    let width = (names.len() as f64 * 70.0).clamp(550.0, 1400.0);
    let mut page = Page::new(width + 90.0, 430.0);
    let plain = |series: Series| Series { marker: None, dashes: "", ..series };
    let keys = [("all features", plain(RAW)), ("PCA", plain(PCA)), ("EWCA", plain(EWCA))];
    legend_rows(&mut page, (70.0, 20.0), width, &keys, false);
    let values = selection.cells.iter().flat_map(|c| [&c.pca_errors, &c.ewca_errors]).chain([&selection.raw_errors]);
    let y = Axis::from_zero(LABEL, values.flatten().copied());
    let panel = Panel::new(&mut page, (70.0, 42.0), (width, 335.0), Axis::names("number of components k", &names), y);
    let mut table = Tidy::new("k,method,split,error");
    for (at, cell) in selection.cells.iter().enumerate() {
        let groups = [("raw", &selection.raw_errors), ("pca", &cell.pca_errors), ("ewca", &cell.ewca_errors)];
        for (place, (method, errors)) in groups.into_iter().enumerate() {
            let x = at as f64 + 0.28 * (place as f64 - 1.0);
            panel.boxed(&mut page, x, 0.22, &BoxSummary::of(errors), keys[place].1);
            for (split, error) in errors.iter().enumerate() {
                table.row(&[&cell.k, &method, &split, error]);
            }
        }
    }
    let caption = format!(
        "Boxes are quartiles with the median, whiskers reach 1.5 boxes, circles lie outside. {}",
        caption(study)
    );
    Figure::new("accuracy-boxes", "Misclassification over the splits", caption, &page, table)
}

fn epsilons(study: &Study<'_>, selection: &Selection) -> Figure {
    let names: Vec<String> = selection.cells.iter().map(|c| c.k.to_string()).collect();
    let width = (names.len() as f64 * 40.0).clamp(550.0, 1200.0);
    let mut page = Page::new(width + 90.0, 400.0);
    let y = Axis::logarithmic("chosen epsilon", selection.epsilons.iter().copied());
    let panel = Panel::new(&mut page, (70.0, 16.0), (width, 335.0), Axis::names("number of components k", &names), y);
    let mut table = Tidy::new("k,split,epsilon");
    for (at, cell) in selection.cells.iter().enumerate() {
        panel.boxed(&mut page, at as f64, 0.45, &BoxSummary::of(&cell.chosen), Series { marker: None, ..EWCA });
        for (split, epsilon) in cell.chosen.iter().enumerate() {
            table.row(&[&cell.k, &split, epsilon]);
        }
    }
    let caption = format!("The epsilon that each train half chose. {}", caption(study));
    Figure::new("accuracy-epsilon", "The chosen epsilon against k", caption, &page, table)
}

fn facts(study: &Study<'_>, selection: &Selection, strict: &[StrictSpread]) -> Vec<Comparison> {
    let khan = study.name == "khan2001";
    let breast = study.samples.rows() == 151 && study.samples.columns() == 54675;
    let published = |k: usize| match k {
        8 if khan => Some("PCA 11, EWCA 7.5 (published)"),
        5 if breast => Some("PCA 14, EWCA 8 (published)"),
        _ => None,
    };
    let independent = INDEPENDENT_RAW.to_string();
    let mut facts = vec![Comparison::new(
        "all features: misclassified (%)",
        khan.then_some(format!("{independent} (independent computation)")).as_deref(),
        format!("{:.1}", selection.raw.mean),
    )];
    for cell in &selection.cells {
        let found = INDEPENDENT.iter().find(|row| khan && row.0 == cell.k);
        let beside = found.map(|(_, pca, ewca)| format!("PCA {pca:.1}, EWCA {ewca:.1} (independent computation)"));
        let said = [published(cell.k).map(String::from), beside].into_iter().flatten().collect::<Vec<_>>().join("; ");
        let mut ours = format!("PCA {:.1}, EWCA {:.1}", cell.pca.mean, cell.ewca.mean);
        if let Some(row) = strict.iter().find(|row| row.k == cell.k) {
            ours.push_str(&format!("; strict: PCA {:.1}, EWCA {:.1}", row.pca.mean, row.ewca.mean));
        }
        let what = format!("k = {}: misclassified (%)", cell.k);
        facts.push(Comparison::new(what, Some(said.as_str()).filter(|s| !s.is_empty()), ours));
    }
    facts
}
