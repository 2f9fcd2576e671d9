//! What several experiments draw: methods, classes and plans look the same in all of them.

use ewca_eval::EncodedLabels;

use crate::figures::{CLASSES, Cells, Colours, Key, Marker, Page, Panel, Series};

pub const RAW: Series = Series { colour: "#7f7f7f", dashes: "2 3", marker: None };
pub const PCA: Series = Series { colour: "#e69f00", dashes: "8 4", marker: Some(Marker::Square) };
pub const EWCA: Series = Series { colour: "#0072b2", dashes: "", marker: Some(Marker::Circle) };
pub const MM: Series = Series { colour: "#009e73", dashes: "3 3", marker: Some(Marker::Triangle) };

/// How a class looks.
pub fn class_series(class: usize) -> Series {
    let (colour, marker) = CLASSES[class % CLASSES.len()];
    Series { colour, dashes: "", marker: Some(marker) }
}

/// The classes, for a legend.
pub fn class_keys(labels: &EncodedLabels) -> Vec<Key<'_>> {
    labels.names.iter().enumerate().map(|(class, name)| (name.as_str(), class_series(class))).collect()
}

/// The samples, class by class, each at its `place`.
pub fn class_points(panel: &Panel, page: &mut Page, classes: &[usize], place: impl Fn(usize) -> (f64, f64), size: f64) {
    for class in 0..classes.iter().max().map_or(0, |last| last + 1) {
        let series = class_series(class);
        let Some(marker) = series.marker else { continue };
        let own: Vec<(f64, f64)> = (0..classes.len()).filter(|&i| classes[i] == class).map(&place).collect();
        panel.points(page, &own, series.colour, marker, size);
    }
}

/// The plan between n samples as colours: `share(i, j)` of sample i's mass goes to sample j, in percent. Returns the range of colours.
pub fn plan_cells(panel: &Panel, page: &mut Page, n: usize, share: &dyn Fn(usize, usize) -> f64) -> (f64, f64) {
    let range = plan_range((0..n * n).map(|at| share(at / n, at % n)).collect());
    panel.cells(
        page,
        &Cells { rows: n, columns: n, value: share, range, digits: None, colours: Colours::Sequential },
        true,
    );
    range
}

/// The range of colours for the shares of a plan, in percent: a few samples that keep nearly all their mass must not fade the others.
fn plan_range(mut shares: Vec<f64>) -> (f64, f64) {
    shares.sort_by(f64::total_cmp);
    let high = shares[shares.len() - 1 - shares.len() / 200];
    (0.0, (5.0 * (high / 5.0).ceil()).clamp(5.0, 100.0))
}
