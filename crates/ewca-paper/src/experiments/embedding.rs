//! Figure 4: t-SNE of the scores, with links where the plan is large.

use ewca::{Ewca, Matrix, Model};
use ewca_eval::{Neighbours, tsne};

use super::drawing::{class_keys, class_points};
use super::{Comparison, ExperimentReport, Study, Watch, tell};
use crate::Result;
use crate::figures::{Axis, Figure, Link, Page, Panel, Tidy, legend_rows};

const PERPLEXITY: f64 = 30.0;
/// Links are drawn where n x plan is above this share.
const LINK: f64 = 0.05;
const SIZE: f64 = 380.0;

pub fn run(study: &Study<'_>, model: &Model, watch: Watch<'_>) -> Result<ExperimentReport> {
    let n = study.samples.rows();
    let k = model.n_components();
    // The usual limit: a neighbourhood of three perplexities must exist.
    let perplexity = PERPLEXITY.min((n as f64 - 1.0) / 3.0).max(1.5);
    let pca = Ewca::params(k).pca(study.samples)?;
    tell(watch, "t-SNE", 0, 2)?;
    let before = tsne::embed(&pca.scores, perplexity)?;
    tell(watch, "t-SNE", 1, 2)?;
    let after = tsne::embed(model.scores(), perplexity)?;
    let divergence = tsne::divergence(&tsne::affinities(model.scores(), perplexity), &after);
    let page = drawn(study, &before, &after, &links(&model.plan().dense(usize::MAX)?, &after));
    let wrong = |map: &Matrix| Neighbours::new(map).leave_one_out_errors(&study.labels.classes);
    let caption = format!(
        "t-SNE (perplexity {perplexity:.0}) of the scores. Links join samples where n × plan is above {:.0} %. {}: k = {k}, epsilon \
         {:.1}.",
        100.0 * LINK,
        study.name,
        model.epsilon()
    );
    let table = tabulated(study, &before, &after);
    Ok(ExperimentReport {
        title: format!("Figure 4: embedding of {}", study.name),
        text: "t-SNE from the principal axes: the same picture in every run. It is a picture, not a measurement."
            .into(),
        facts: vec![
            Comparison::new(
                "samples whose nearest neighbour in the picture has another class",
                None,
                format!("PCA {}, EWCA {} of {n}", wrong(&before), wrong(&after)),
            ),
            Comparison::new("Kullback-Leibler divergence of the EWCA picture", None, format!("{divergence:.3}")),
        ],
        figures: vec![Figure::new("embedding", "t-SNE of the scores", caption, &page, table)],
    })
}

fn point(map: &Matrix, i: usize) -> (f64, f64) {
    (map.get(i, 0), map.get(i, 1))
}

/// Between samples of the map that exchange much of their mass.
fn links(plan: &Matrix, map: &Matrix) -> Vec<Link> {
    let n = plan.rows();
    let mut links = Vec::new();
    for (i, j) in (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))) {
        let share = n as f64 * plan.get(i, j);
        if share > LINK {
            links.push((point(map, i), point(map, j), (0.25 + 2.0 * share).min(0.9)));
        }
    }
    links
}

fn drawn(study: &Study<'_>, before: &Matrix, after: &Matrix, links: &[Link]) -> Page {
    let mut page = Page::new(2.0 * SIZE + 90.0, SIZE + 90.0);
    legend_rows(&mut page, (30.0, 20.0), 2.0 * SIZE + 30.0, &class_keys(study.labels), false);
    let maps = [(before, "PCA scores"), (after, "EWCA scores, links by the plan")];
    for (at, (map, title)) in maps.into_iter().enumerate() {
        let axis = |name: &str, c: usize| Axis::bare(name, map.column(c).iter().copied());
        let (x, y) = Axis::square(axis("t-SNE 1", 0), axis("t-SNE 2", 1), SIZE, SIZE);
        let panel = Panel::new(&mut page, (30.0 + at as f64 * (SIZE + 40.0), 58.0), (SIZE, SIZE), x, y);
        panel.title(&mut page, title);
        if at == 1 {
            panel.links(&mut page, links, "#555555", 1.1);
        }
        class_points(&panel, &mut page, &study.labels.classes, |i| point(map, i), 4.6);
    }
    page
}

fn tabulated(study: &Study<'_>, before: &Matrix, after: &Matrix) -> Tidy {
    let mut table = Tidy::new("sample,class,pca_tsne1,pca_tsne2,ewca_tsne1,ewca_tsne2");
    for (i, &class) in study.labels.classes.iter().enumerate() {
        let ((a, b), (c, d)) = (point(before, i), point(after, i));
        table.row(&[&i, &study.labels.names[class], &a, &b, &c, &d]);
    }
    table
}
