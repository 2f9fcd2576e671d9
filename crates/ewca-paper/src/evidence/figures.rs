//! The evidence as figures.

use super::{EvidenceSummary, Measure, Row, ascending};
use crate::figures::{Axis, Figure, Key, Marker, Page, Panel, Series, Stroke, Tidy, legend_rows};

/// Lines for different k, apart in grey as well.
const LINES: [Series; 3] = [
    Series { colour: "#e69f00", dashes: "8 4", marker: Some(Marker::Square) },
    Series { colour: "#0072b2", dashes: "", marker: Some(Marker::Circle) },
    Series { colour: "#222222", dashes: "2 3", marker: Some(Marker::Triangle) },
];
const ZERO: &str = "#777777";

/// What was found, as figures.
pub fn evidence_figures(rows: &[Row], summaries: &[EvidenceSummary]) -> Vec<Figure> {
    vec![gains(rows), curves(summaries)]
}

/// The gain in nearest-neighbour error on each set, with its interval: one panel for each k.
fn gains(rows: &[Row]) -> Figure {
    let of: Vec<&Row> =
        rows.iter().filter(|r| r.method == "ewca" && r.rule == "nested" && r.measure == Measure::Error).collect();
    let ks = ascending(of.iter().map(|r| r.k));
    let mut sets: Vec<(String, f64)> = Vec::new();
    for row in &of {
        match sets.iter_mut().find(|s| s.0 == row.set) {
            Some(set) => set.1 += row.gain.mean,
            None => sets.push((row.set.clone(), row.gain.mean)),
        }
    }
    sets.sort_by(|x, y| x.1.total_cmp(&y.1));
    let names: Vec<String> = sets.into_iter().map(|s| s.0).collect();
    let (width, height, left) = (215.0, 16.0 * names.len() as f64 + 10.0, 150.0);
    let mut page = Page::new(left + ks.len() as f64 * (width + 18.0) + 10.0, height + 85.0);
    let mut table = Tidy::new("set,k,gain,low,high,pca,ewca");
    let ends = || of.iter().flat_map(|r| [r.gain.low, r.gain.high]);
    for (at, &k) in ks.iter().enumerate() {
        let blank = vec![String::new(); names.len()];
        let y = Axis::names("", if at == 0 { &names } else { &blank });
        let x = Axis::linear("gain over PCA (points)", ends());
        let panel = Panel::new(&mut page, (left + at as f64 * (width + 18.0), 28.0), (width, height), x, y);
        panel.title(&mut page, &format!("k = {k}"));
        let zero = Stroke::new(ZERO, 1.2);
        panel.segment(&mut page, (0.0, -0.5), (0.0, names.len() as f64 - 0.5), zero);
        for (place, name) in names.iter().enumerate() {
            let Some(row) = of.iter().find(|r| r.k == k && r.set == *name) else { continue };
            let (y, gain) = (place as f64, row.gain);
            panel.segment(&mut page, (gain.low, y), (gain.high, y), Stroke::new(LINES[1].colour, 1.4).faint(0.55));
            panel.points(&mut page, &[(gain.mean, y)], LINES[1].colour, Marker::Circle, 4.0);
            let pca = row.value.mean + gain.mean;
            table.row(&[name, &k, &gain.mean, &gain.low, &gain.high, &pca, &row.value.mean]);
        }
    }
    let caption = "By how many percentage points the nearest neighbour is wrong less often with EWCA's scores than with PCA's, with epsilon chosen on the \
                   train halves: mean over the splits and 95% interval (Nadeau and Bengio's). Right of the line EWCA is better."
        .to_string();
    Figure::new("evidence-sets", "EWCA compared with PCA on each data set", caption, &page, table)
}

/// The mean gain over all sets against epsilon: one panel for each measure.
fn curves(summaries: &[EvidenceSummary]) -> Figure {
    let of: Vec<&EvidenceSummary> =
        summaries.iter().filter(|s| s.method == "ewca" && s.rule.starts_with("multiple") && s.k.is_some()).collect();
    let ks = ascending(of.iter().filter_map(|s| s.k));
    let (width, height) = (270.0, 250.0);
    let mut page = Page::new(Measure::ALL.len() as f64 * (width + 75.0) + 20.0, height + 115.0);
    let mut table = Tidy::new("measure,k,multiple,perplexity,gain,wins,ties,losses,p_studies");
    for (at, measure) in Measure::ALL.into_iter().enumerate() {
        let own: Vec<&&EvidenceSummary> = of.iter().filter(|s| s.measure == measure).collect();
        let x = Axis::logarithmic("epsilon / variance of component k", own.iter().map(|s| s.multiple));
        let y = Axis::from_zero("mean gain over PCA (points)", own.iter().map(|s| s.gain));
        let place = (70.0 + at as f64 * (width + 75.0), 58.0);
        let panel = Panel::new(&mut page, place, (width, height), x, y);
        panel.title(&mut page, measure.title());
        panel.segment(&mut page, (1e-3, 0.0), (1e3, 0.0), Stroke::new(ZERO, 1.2));
        for (line, &k) in ks.iter().enumerate() {
            let points: Vec<(f64, f64)> = own.iter().filter(|s| s.k == Some(k)).map(|s| (s.multiple, s.gain)).collect();
            panel.line(&mut page, &points, LINES[line % LINES.len()]);
        }
        for s in own {
            let k = s.k.unwrap_or(0);
            table.row(&[
                &measure.name(),
                &k,
                &s.multiple,
                &s.perplexity,
                &s.gain,
                &s.wins,
                &s.ties,
                &s.losses,
                &s.p_studies,
            ]);
        }
    }
    let names: Vec<String> = ks.iter().map(|k| format!("k = {k}")).collect();
    let keys: Vec<Key<'_>> =
        names.iter().enumerate().map(|(i, name)| (name.as_str(), LINES[i % LINES.len()])).collect();
    legend_rows(&mut page, (70.0, 16.0), 900.0, &keys, true);
    let caption = "The mean over all sets of what EWCA's scores gain over PCA's at the same multiple of the variance of the k-th \
                   principal component: less error, a larger index, a larger silhouette. Above the line EWCA is better."
        .to_string();
    Figure::new("evidence-epsilon", "What epsilon does, over all sets", caption, &page, table)
}
