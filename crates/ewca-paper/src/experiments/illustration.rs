//! Figure 1: two clusters in the plane, their projections to a line, and the plan.

use ewca::{Ewca, Matrix, Samples};
use ewca_eval::EncodedLabels;

use super::drawing::{class_series, plan_cells};
use super::synthetic::clusters;
use super::{Comparison, ExperimentReport, Watch, tell};
use crate::Result;
use crate::figures::{Axis, Colours, Figure, Page, Panel, Stroke, Tidy};

const EACH: usize = 20;
/// Variances: 4 along the clusters, about 3.4 across them.
const DEVIATIONS: [f64; 2] = [2.0, 0.25];
const HALF_GAP: f64 = 1.82;
const EPSILON: f64 = 4.0;
const SIZE: f64 = 290.0;

pub fn run(seed: u64, watch: Watch<'_>) -> Result<ExperimentReport> {
    tell(watch, "the illustration", 0, 1)?;
    let made = clusters(&[vec![0.0, -HALF_GAP], vec![0.0, HALF_GAP]], &DEVIATIONS, EACH, seed, 1);
    // Turned, so that neither direction is an axis.
    let (sine, cosine) = 0.5f64.sin_cos();
    let data: Vec<f64> =
        made.data.chunks(2).flat_map(|p| [cosine * p[0] - sine * p[1], sine * p[0] + cosine * p[1]]).collect();
    let samples = Samples::new(&data, made.rows, 2)?;
    let pca = Ewca::params(1).pca(&samples)?;
    let ewca = Ewca::params(1).epsilon(EPSILON).restarts(20).seed(seed).fit(&samples)?;
    tell(watch, "the illustration", 1, 1)?;

    let n = made.rows;
    let plan = ewca.plan().dense(usize::MAX)?;
    let of_pca = Projected::new(&pca.mean, &pca.components, &pca.scores);
    let of_ewca = Projected::new(ewca.mean(), ewca.components(), ewca.scores());
    let page = drawn(&data, &made.labels.classes, [&of_pca, &of_ewca], &plan);
    let table = tabulated(&data, &made.labels, &of_pca, &of_ewca);
    let inside: f64 =
        (0..n * n).filter(|at| (at / n) / EACH == (at % n) / EACH).map(|at| plan.get(at / n, at % n)).sum();
    let caption = format!(
        "Two clusters of {EACH} points in the plane. Points, their projections to the line of one component, and links from each \
         point to the projections that its mass goes to, as dark as the plan's entry. Epsilon {EPSILON}, seed {seed}."
    );
    Ok(ExperimentReport {
        title: "Figure 1: what EWCA does".into(),
        text: "The variance along the clusters is larger than that between them, so PCA projects them onto each other. EWCA \
               lets each point be represented by its neighbours, so variance within a cluster counts for less, and the \
               component separates the clusters."
            .into(),
        figures: vec![Figure::new("illustration", "PCA and EWCA of two clusters, and the plan", caption, &page, table)],
        facts: vec![Comparison::new("mass of the plan within the clusters", None, format!("{:.1} %", 100.0 * inside))],
    })
}

/// A line through two features, and where the samples fall on it.
struct Projected {
    ends: [(f64, f64); 2],
    points: Vec<(f64, f64)>,
}

impl Projected {
    fn new(mean: &[f64], components: &Matrix, scores: &Matrix) -> Self {
        let at = |z: f64| (mean[0] + z * components.get(0, 0), mean[1] + z * components.get(1, 0));
        Self { ends: [at(-1e2), at(1e2)], points: scores.column(0).iter().map(|&z| at(z)).collect() }
    }
}

/// The clusters under both methods, and EWCA's plan.
fn drawn(data: &[f64], classes: &[usize], projected: [&Projected; 2], plan: &Matrix) -> Page {
    let n = classes.len();
    let mut page = Page::new(3.0 * SIZE + 200.0, SIZE + 95.0);
    // Of PCA's plan every sample keeps its mass to itself.
    let kept = Matrix::from_fn(n, n, |i, j| if i == j { 1.0 / n as f64 } else { 0.0 });
    for (at, (plan, title)) in [(&kept, "PCA"), (plan, "EWCA")].into_iter().enumerate() {
        draw_clusters(&mut page, 50.0 + at as f64 * (SIZE + 30.0), data, classes, projected[at], plan, title);
    }
    let share = |i: usize, j: usize| 100.0 * n as f64 * plan.get(i, j);
    let place = (50.0 + 2.0 * (SIZE + 30.0), 40.0);
    let panel = Panel::new(&mut page, place, (SIZE, SIZE), Axis::bare("samples", []), Axis::bare("", []));
    panel.title(&mut page, "EWCA's plan");
    let range = plan_cells(&panel, &mut page, n, &share);
    for cluster in 0..2 {
        panel.diagonal_square(&mut page, cluster * EACH, (cluster + 1) * EACH, n, Stroke::new("#d55e00", 1.8));
    }
    panel.colour_bar(&mut page, Colours::Sequential, range, "n × plan (%)");
    page
}

fn tabulated(data: &[f64], labels: &EncodedLabels, of_pca: &Projected, of_ewca: &Projected) -> Tidy {
    let mut table = Tidy::new("sample,cluster,x,y,pca_x,pca_y,ewca_x,ewca_y");
    for (i, &class) in labels.classes.iter().enumerate() {
        let (p, e) = (of_pca.points[i], of_ewca.points[i]);
        table.row(&[&i, &labels.names[class], &data[2 * i], &data[2 * i + 1], &p.0, &p.1, &e.0, &e.1]);
    }
    table
}

fn draw_clusters(
    page: &mut Page,
    left: f64,
    data: &[f64],
    classes: &[usize],
    projected: &Projected,
    plan: &Matrix,
    title: &str,
) {
    let n = classes.len();
    let axis = |name: &str, c: usize| Axis::linear(name, data.iter().skip(c).step_by(2).copied());
    let (x, y) = Axis::square(axis("feature 1", 0), axis(if title == "PCA" { "feature 2" } else { "" }, 1), SIZE, SIZE);
    let panel = Panel::new(page, (left, 40.0), (SIZE, SIZE), x, y);
    panel.title(page, title);
    panel.segment(page, projected.ends[0], projected.ends[1], Stroke::new("#222222", 1.2));
    let mut links = Vec::new();
    for i in 0..n {
        for j in 0..n {
            let share = n as f64 * plan.get(i, j);
            if share > 0.01 {
                links.push(((data[2 * i], data[2 * i + 1]), projected.points[j], share.min(0.8)));
            }
        }
    }
    panel.links(page, &links, "#444444", 0.8);
    for class in 0..2 {
        let series = class_series(class);
        let own = (0..n).filter(|&i| classes[i] == class);
        let points: Vec<(f64, f64)> = own.clone().map(|i| (data[2 * i], data[2 * i + 1])).collect();
        let shadows: Vec<(f64, f64)> = own.map(|i| projected.points[i]).collect();
        let Some(marker) = series.marker else { continue };
        panel.points(page, &shadows, series.colour, marker, 2.8);
        panel.points(page, &points, series.colour, marker, 4.4);
    }
}
