//! Figure 3: the transport plan, samples ordered by class.

use ewca::Model;

use super::drawing::plan_cells;
use super::{Comparison, ExperimentReport, Study};
use crate::Result;
use crate::figures::{Anchor, Axis, Colours, Figure, Font, Page, Panel, Stroke, Tidy};

pub fn run(study: &Study<'_>, model: &Model) -> Result<ExperimentReport> {
    let n = study.samples.rows();
    let classes = &study.labels.classes;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&i| classes[i]);
    let plan = model.plan().dense(usize::MAX)?;
    let share = |i: usize, j: usize| 100.0 * n as f64 * plan.get(order[i], order[j]);

    let size = 470.0;
    let mut page = Page::new(size + 200.0, size + 50.0);
    let panel = Panel::new(&mut page, (90.0, 16.0), (size, size), Axis::names("", &[]), Axis::names("", &[]));
    let range = plan_cells(&panel, &mut page, n, &share);
    panel.colour_bar(&mut page, Colours::Sequential, range, "n × plan (%)");
    let mut from = 0;
    for (class, name) in study.labels.names.iter().enumerate() {
        let count = classes.iter().filter(|c| **c == class).count();
        panel.diagonal_square(&mut page, from, from + count, n, Stroke::new("#d55e00", 1.8));
        let middle = size * (from as f64 + count as f64 / 2.0) / n as f64;
        page.text((84.0, 16.0 + middle + 4.0), name, Font::sized(12.0).anchored(Anchor::End));
        page.text((90.0 + middle, size + 33.0), name, Font::sized(12.0).anchored(Anchor::Middle));
        from += count;
    }

    let mut table = Tidy::new("row,column,row_class,column_class,share");
    for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
        let name = |at: usize| &study.labels.names[classes[order[at]]];
        table.row(&[&order[i], &order[j], name(i), name(j), &share(i, j)]);
    }
    let inside: f64 = (0..n)
        .flat_map(|i| (0..n).map(move |j| (i, j)))
        .filter(|(i, j)| classes[*i] == classes[*j])
        .map(|(i, j)| plan.get(i, j))
        .sum();
    let k = model.n_components();
    let caption = format!(
        "n × plan (%): how strongly each sample (row) is matched with every other (column), ordered by class, with squares around the classes. {}: k = {k}, \
         epsilon {:.1}; values beyond the end of the colour bar have its last colour.",
        study.name,
        model.epsilon()
    );
    Ok(ExperimentReport {
        title: format!("Figure 3: transport plan of {}", study.name),
        text: format!(
            "The plan of the fit with k = {k} at the epsilon that inner splits of all samples choose ({:.1}).",
            model.epsilon()
        ),
        figures: vec![Figure::new("plan", "The transport plan, ordered by class", caption, &page, table)],
        facts: vec![
            Comparison::new("matching within the classes", None, format!("{:.1} %", 100.0 * inside)),
            Comparison::new(
                "mean perplexity: how many samples each one is matched with",
                None,
                format!("{:.1}", model.perplexity().overall),
            ),
        ],
    })
}
