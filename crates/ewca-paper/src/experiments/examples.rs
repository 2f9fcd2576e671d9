//! The small examples of the authors' code: PCA against EWCA, with the plan and the loss.

use ewca::{Ewca, Matrix, Model, Samples, Solver};
use ewca_eval::Neighbours;

use super::drawing::{EWCA, MM, PCA, class_keys, class_points, plan_cells};
use super::synthetic::{Synthetic, clusters};
use super::{Comparison, ExperimentReport, Watch, tell};
use crate::Result;
use crate::figures::{Axis, Colours, Figure, Key, Page, Panel, Series, Stroke, Tidy, legend_rows};

const SIZE: f64 = 240.0;

struct Example {
    name: &'static str,
    title: &'static str,
    made: Synthetic,
    components: usize,
    epsilon: f64,
}

pub fn run(seed: u64, watch: Watch<'_>) -> Result<ExperimentReport> {
    let examples = all(seed);
    let (mut figures, mut facts) = (Vec::new(), Vec::new());
    for (at, example) in examples.iter().enumerate() {
        tell(watch, "the examples", at, examples.len())?;
        let (figure, fact) = example.shown(seed)?;
        figures.push(figure);
        facts.push(fact);
    }
    tell(watch, "the examples", examples.len(), examples.len())?;
    Ok(ExperimentReport {
        title: "The small examples".into(),
        text: "PCA, EWCA, its plan, and how its loss falls, on simulated data: three clusters in 20 dimensions, a few of which are strong \
               noise, and Gaussian clusters in 2 and 3 dimensions. EWCA is the best of 21 starts; the losses are those of one start, from PCA, for each \
               algorithm."
            .into(),
        figures,
        facts,
    })
}

fn all(seed: u64) -> [Example; 3] {
    let mut deviations = vec![0.3; 20];
    deviations[2..5].fill(2.0);
    let corner = |angle: f64| {
        let mut centre = vec![0.0; 20];
        (centre[0], centre[1]) = (2.6 * angle.cos(), 2.6 * angle.sin());
        centre
    };
    let third = std::f64::consts::TAU / 3.0;
    [
        Example {
            name: "example-20d",
            title: "Three clusters in 20 dimensions",
            made: clusters(&[corner(0.0), corner(third), corner(2.0 * third)], &deviations, 25, seed, 2),
            components: 2,
            epsilon: 4.0,
        },
        Example {
            name: "example-2d",
            title: "Two Gaussians in 2 dimensions",
            made: clusters(&[vec![0.0, -1.8], vec![0.0, 1.8]], &[2.0, 0.3], 40, seed, 3),
            components: 1,
            epsilon: 6.0,
        },
        Example {
            name: "example-3d",
            title: "Two Gaussians in 3 dimensions",
            made: clusters(&[vec![0.0, 0.0, -1.8], vec![0.0, 0.0, 1.8]], &[2.2, 2.0, 0.3], 30, seed, 4),
            components: 2,
            epsilon: 4.0,
        },
    ]
}

impl Example {
    fn shown(&self, seed: u64) -> Result<(Figure, Comparison)> {
        let Synthetic { data, rows, columns, labels } = &self.made;
        let samples = Samples::new(data, *rows, *columns)?;
        let params = || Ewca::params(self.components).epsilon(self.epsilon);
        let pca = Ewca::params(self.components).pca(&samples)?;
        let ewca = params().restarts(20).seed(seed).fit(&samples)?;

        let mut page = Page::new(4.0 * SIZE + 375.0, SIZE + 100.0);
        legend_rows(&mut page, (55.0, 20.0), 600.0, &class_keys(labels), false);
        let mut left = 55.0;
        for (scores, components, title) in
            [(&pca.scores, &pca.components, "PCA"), (ewca.scores(), ewca.components(), "EWCA")]
        {
            self.scatter(&mut page, left, &pca.mean, components, scores, title);
            left += SIZE + 55.0;
        }
        self.plan(&mut page, left - 20.0, &ewca)?;
        left += SIZE + 145.0;
        let losses = [
            ("L-BFGS", EWCA, Solver::Lbfgs),
            ("BCD", PCA, Solver::Bcd),
            ("block-MM", MM, Solver::Mm(Default::default())),
        ];
        let mut curves = Vec::new();
        for (name, series, solver) in losses {
            curves.push((name, series, params().solver(solver).fit(&samples)?));
        }
        self.losses(&mut page, left, &curves);

        let table = self.tabulated([("pca", &pca.scores), ("ewca", ewca.scores())], &curves);
        let caption = format!(
            "{rows} samples x {columns} features, k = {}, epsilon {}, seed {seed}.",
            self.components, self.epsilon
        );
        let wrong = |scores: &Matrix| Neighbours::new(scores).leave_one_out_errors(&labels.classes);
        let fact = Comparison::new(
            format!("{}: samples whose nearest neighbour is in another cluster", self.title),
            None,
            format!("PCA {}, EWCA {} of {rows}", wrong(&pca.scores), wrong(ewca.scores())),
        );
        Ok((Figure::new(self.name, self.title, caption, &page, table), fact))
    }

    fn tabulated(&self, scores: [(&str, &Matrix); 2], curves: &[(&str, Series, Model)]) -> Tidy {
        let Synthetic { rows, labels, .. } = &self.made;
        let mut table = Tidy::new("series,index,cluster,x,y");
        for (name, scores) in scores {
            for i in 0..*rows {
                let second = if self.components > 1 { scores.get(i, 1) } else { 0.0 };
                table.row(&[&name, &i, &labels.names[labels.classes[i]], &scores.get(i, 0), &second]);
            }
        }
        for (name, _, model) in curves {
            for step in model.history() {
                table.row(&[&format!("loss {name}"), &step.iteration, &"", &step.iteration, &step.loss]);
            }
        }
        table
    }

    /// The scores; in two dimensions the data themselves with the component's line.
    fn scatter(&self, page: &mut Page, left: f64, mean: &[f64], components: &Matrix, scores: &Matrix, title: &str) {
        let Synthetic { data, rows, labels, .. } = &self.made;
        let flat = self.components == 1;
        let point = |i: usize| match flat {
            true => (data[2 * i], data[2 * i + 1]),
            false => (scores.get(i, 0), scores.get(i, 1)),
        };
        let names = if flat { ["feature 1", "feature 2"] } else { ["component 1", "component 2"] };
        let (x, y) = Axis::square(
            Axis::linear(names[0], (0..*rows).map(|i| point(i).0)),
            Axis::linear(names[1], (0..*rows).map(|i| point(i).1)),
            SIZE,
            SIZE,
        );
        let panel = Panel::new(page, (left, 55.0), (SIZE, SIZE), x, y);
        panel.title(page, title);
        if flat {
            let far = |t: f64| (mean[0] + t * components.get(0, 0), mean[1] + t * components.get(1, 0));
            panel.segment(page, far(-1e2), far(1e2), Stroke::new("#222222", 1.4));
        }
        class_points(&panel, page, &labels.classes, point, 3.8);
    }

    fn plan(&self, page: &mut Page, left: f64, model: &Model) -> Result<()> {
        let n = self.made.rows;
        let plan = model.plan().dense(usize::MAX)?;
        let share = |i: usize, j: usize| 100.0 * n as f64 * plan.get(i, j);
        let panel =
            Panel::new(page, (left, 55.0), (SIZE, SIZE), Axis::bare("samples by cluster", []), Axis::bare("", []));
        panel.title(page, "EWCA's plan");
        let range = plan_cells(&panel, page, n, &share);
        panel.colour_bar(page, Colours::Sequential, range, "n × plan (%)");
        Ok(())
    }

    fn losses(&self, page: &mut Page, left: f64, curves: &[(&str, Series, Model)]) {
        let curve = |model: &Model| -> Vec<(f64, f64)> {
            model.history().iter().map(|step| ((step.iteration + 1) as f64, step.loss)).collect()
        };
        let all: Vec<(f64, f64)> = curves.iter().flat_map(|c| curve(&c.2)).collect();
        let x = Axis::logarithmic("iteration + 1", all.iter().map(|p| p.0).chain([10.0]));
        let panel = Panel::new(page, (left, 55.0), (SIZE, SIZE), x, Axis::linear("loss", all.iter().map(|p| p.1)));
        for (_, series, model) in curves {
            panel.line(page, &curve(model), Series { marker: None, ..*series });
        }
        let keys: Vec<Key<'_>> = curves.iter().map(|c| (c.0, Series { marker: None, ..c.1 })).collect();
        legend_rows(page, (left - 40.0, 20.0), SIZE + 80.0, &keys, true);
    }
}
