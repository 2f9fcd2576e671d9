//! Figure 6: misclassification over k and epsilon.

use ewca_eval::Selection;

use super::{Comparison, ExperimentReport, Study};
use crate::figures::{Axis, Cells, Colours, Figure, Page, Panel, Tidy};

pub fn run(study: &Study<'_>, selection: &Selection) -> ExperimentReport {
    let cells = &selection.cells;
    let mut values: Vec<f64> = cells.iter().flat_map(|c| c.by_epsilon.iter().copied().chain([c.pca.mean])).collect();
    values.sort_by(f64::total_cmp);
    // Collapsed fits would take all the colours: the darkest is given to nine tenths of the values.
    let high = values[(values.len() - 1) * 9 / 10].max(1.0);
    let step = if high > 20.0 { 10.0 } else { 5.0 };
    let range = (0.0, (high / step).ceil() * step);

    let names: Vec<String> =
        ["PCA".to_string()].into_iter().chain(selection.epsilons.iter().map(|e| tick(*e))).collect();
    let rows: Vec<String> = cells.iter().map(|c| c.k.to_string()).collect();
    let (cell_width, cell_height) = (34.0, 26.0);
    let (width, height) = (cell_width * names.len() as f64, cell_height * rows.len() as f64);
    let mut page = Page::new(width + 170.0, height + 75.0);
    let panel = Panel::new(
        &mut page,
        (60.0, 16.0),
        (width, height),
        Axis::names("epsilon", &names),
        Axis::names("number of components k", &rows),
    );
    let value = |i: usize, j: usize| if j == 0 { cells[i].pca.mean } else { cells[i].by_epsilon[j - 1] };
    panel.cells(
        &mut page,
        &Cells {
            rows: rows.len(),
            columns: names.len(),
            value: &value,
            range,
            digits: Some(1),
            colours: Colours::Sequential,
        },
        false,
    );
    panel.colour_bar(&mut page, Colours::Sequential, range, "misclassified (%)");

    let mut table = Tidy::new("k,epsilon,mean,collapsed");
    for cell in cells {
        table.row(&[&cell.k, &0, &cell.pca.mean, &false]);
        for (j, epsilon) in selection.epsilons.iter().enumerate() {
            table.row(&[&cell.k, epsilon, &cell.by_epsilon[j], &cell.collapsed[j]]);
        }
    }
    let caption = format!(
        "Mean misclassification (%) of the nearest neighbour over {} splits at each epsilon; PCA is the limit of a small epsilon. \
         Values beyond the colours are as dark as the darkest. {}: seed {}.",
        study.protocol.splits, study.name, study.protocol.seed
    );
    let best = cells.iter().map(|c| {
        let (j, error) =
            c.by_epsilon.iter().enumerate().fold((0, f64::INFINITY), |m, (j, e)| if *e <= m.1 { (j, *e) } else { m });
        Comparison::new(
            format!("k = {}: smallest error over all epsilons (%)", c.k),
            None,
            format!("{error:.1} at epsilon {}; PCA {:.1}", tick(selection.epsilons[j]), c.pca.mean),
        )
    });
    ExperimentReport {
        title: format!("Figure 6: sensitivity to k and epsilon on {}", study.name),
        text: "The whole grid, without any choice of epsilon. The smallest value of a row is found with the help of the test \
               halves, so it is a bound of what a choice could reach, not a result."
            .into(),
        facts: best.collect(),
        figures: vec![Figure::new("sensitivity", "Misclassification over k and epsilon", caption, &page, table)],
    }
}

/// Three digits at most.
fn tick(epsilon: f64) -> String {
    match epsilon {
        e if e < 9.95 => format!("{e:.1}"),
        e => format!("{e:.0}"),
    }
}
