//! The embedding for MultiQC: a file `*_mqc.json` of its custom content, which its report shows beside those of other tools.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::annotation::{Annotation, AnnotationValues};
use crate::make::{Subject, axis_title};
use crate::sample::shown_samples;

/// The most samples: each is an element of MultiQC's page.
const MOST_SAMPLES: usize = 5000;
/// The colours of classes that have none of their own, as on the report's page.
const COLOURS: [&str; 12] = [
    "#0072b2", "#e69f00", "#007755", "#ff2277", "#4422aa", "#99dd77", "#d55e00", "#ff99ff", "#664411", "#0000ff",
    "#662255", "#ff22ff",
];
const MISSING: &str = "#b9bfc7";

#[derive(Serialize)]
struct Content<'a> {
    id: &'a str,
    section_name: &'a str,
    description: String,
    plot_type: &'a str,
    pconfig: Config,
    /// Several points where samples share a name.
    data: BTreeMap<&'a str, Vec<Point>>,
}

#[derive(Serialize)]
struct Config {
    id: &'static str,
    title: String,
    xlab: String,
    ylab: String,
}

#[derive(Serialize)]
struct Point {
    x: f64,
    y: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    color: Option<String>,
}

/// The first two components as MultiQC draws them, coloured by the first annotation with classes.
pub fn multiqc(subject: &Subject<'_>) -> String {
    let scores = subject.model.scores();
    let classes =
        subject.annotations.iter().find(|annotation| matches!(annotation.values, AnnotationValues::Classes { .. }));
    let shown = shown_samples(scores.rows(), None, MOST_SAMPLES);
    let second = usize::from(scores.columns() > 1);
    let title = |c: usize| axis_title(&format!("ewca{}", c + 1), subject.model.explained_variance_ratio()[c]);
    let mut data: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
    for &i in &shown {
        let y = if second == 1 { scores.get(i, 1) } else { 0.0 };
        let point = Point { x: scores.get(i, 0), y, color: classes.and_then(|classes| colour(classes, i)) };
        data.entry(&subject.ids[i]).or_default().push(point);
    }
    let content = Content {
        id: "ewca_embedding",
        section_name: "EWCA",
        description: description(subject, classes, shown.len()),
        plot_type: "scatter",
        pconfig: Config {
            id: "ewca_embedding_plot",
            title: format!("EWCA: {}", subject.name),
            xlab: title(0),
            ylab: if second == 1 { title(1) } else { String::new() },
        },
        data,
    };
    serde_json::to_string(&content).expect("texts and finite numbers")
}

fn description(subject: &Subject<'_>, classes: Option<&Annotation>, shown: usize) -> String {
    let mut text = String::from("Samples by the first two components of Entropic Wasserstein Component Analysis");
    if let Some(classes) = classes {
        text += &format!(", coloured by {}", escaped(&classes.name));
    }
    match subject.ids.len() {
        all if shown < all => text + &format!(". Shows {shown} of {all} samples, evenly spaced."),
        _ => text + ".",
    }
}

/// MultiQC takes a description for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn colour(annotation: &Annotation, sample: usize) -> Option<String> {
    let AnnotationValues::Classes { codes, .. } = &annotation.values else { return None };
    let Some(code) = codes[sample] else { return Some(MISSING.into()) };
    let own = annotation.own_colours().and_then(|colours| colours.get(code).cloned());
    own.or_else(|| Some(COLOURS[code % COLOURS.len()].into()))
}
