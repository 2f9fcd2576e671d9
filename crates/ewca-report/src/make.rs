//! From a fit to what the page shows of it.

use ewca::{Iteration, Matrix, Model, Pca};
use ewca_eval::tsne;
use rayon::prelude::*;

use crate::annotation::Annotation;
use crate::arrays::{Column, floats};
use crate::classes::{ClassIndex, MOST_COMPARED};
use crate::error::{Error, Result};
use crate::plan::{MOST_BLOCKS, PARTNERS, plan_views};
use crate::report::{
    Chance, Classes, Component, Convergence, Covariate, Data, Feature, HeatMap, Loadings, Path, Report,
    ShownAnnotation, Step, View, ViewKey,
};
use crate::sample::{MOST_SAMPLES, SampleRows, shown_samples};
use crate::words;

/// The most samples that t-SNE is made of: the lists of their neighbours are not among the memory that a report is said to take.
pub const MOST_TSNE_SAMPLES: usize = 3000;
/// The perplexity of t-SNE, and its largest part of the samples.
const TSNE_PERPLEXITY: f64 = 30.0;
const TSNE_PART: f64 = 0.2;

// What parts of the page may take, in bytes before base64: a page of 10 000 samples and 20 epsilons stays below 5 MB.
const PATH_BYTES: usize = 1_200_000;
const VIEW_BYTES: usize = 600_000;
const FEATURE_BYTES: usize = 400_000;
const LOADING_BYTES: usize = 300_000;
const ANNOTATION_BYTES: usize = 2_000_000;
/// What the path may take where there are too many samples for that.
const LONG_PATH_BYTES: usize = 2_000_000;
/// The samples that say which features vary most, and the relative difference below which all vary alike.
const VARIANCE_SAMPLES: usize = 2000;
const SAME_VARIANCE: f64 = 1e-6;
/// Components of chance that are shown beyond those that are taken.
const CHANCE_BEYOND: usize = 5;
/// A picture needs two components.
const FEWEST_COMPONENTS: usize = 2;
/// The bytes of a number in a [`Column`].
const SHORT: usize = 2;

/// About how many bytes a page takes, from the shape of what it shows.
pub fn page_bytes(samples: usize, features: usize, components: usize, steps: usize) -> usize {
    let shown = samples.min(most_shown(steps)).max(1);
    let drawn = drawn_components(shown, components);
    let coordinates = SHORT * shown * (3 * drawn + steps * slid_components(shown, steps, drawn));
    let coloured = SHORT * shown * coloured_features(shown, features);
    let listed = listed_features(components, features);
    let loadings = size_of::<f32>() * components * listed;
    let side = shown.min(MOST_BLOCKS);
    let maps = 2 * SHORT * side * side;
    let partners = shown * (PARTNERS * (size_of::<u32>() + SHORT) + 3 * SHORT);
    // Four characters for three bytes; names are a dozen characters, with their quotes.
    let names = 16 * (shown + listed + 4 * coloured_features(shown, features));
    PAGE + 4 * (coordinates + coloured + loadings + maps + partners) / 3 + names
}

/// The page without its data.
const PAGE: usize = 155_000;

fn most_shown(steps: usize) -> usize {
    match steps {
        0 => MOST_SAMPLES,
        steps => (LONG_PATH_BYTES / (steps * FEWEST_COMPONENTS * SHORT)).clamp(1, MOST_SAMPLES),
    }
}

fn drawn_components(shown: usize, components: usize) -> usize {
    (VIEW_BYTES / (3 * SHORT * shown.max(1))).max(FEWEST_COMPONENTS).min(components)
}

fn slid_components(shown: usize, steps: usize, drawn: usize) -> usize {
    (PATH_BYTES / (steps * SHORT * shown).max(1)).max(FEWEST_COMPONENTS).min(drawn)
}

fn coloured_features(shown: usize, features: usize) -> usize {
    (FEATURE_BYTES / (SHORT * shown.max(1))).clamp(1, features.max(1))
}

fn listed_features(components: usize, features: usize) -> usize {
    (LOADING_BYTES / (size_of::<f32>() * components.max(1))).clamp(1, features.max(1))
}

/// A fit, and all that a report tells about it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The name of the data, without folders.
    pub name: &'a str,
    /// What was done to the table before the fit, in words.
    pub preprocessing: &'a [String],
    /// The data, as they were fitted. Without them, points cannot be coloured by features.
    pub samples: Option<&'a dyn SampleRows>,
    /// The names of the features.
    pub features: &'a [String],
    /// The names of the samples.
    pub ids: &'a [String],
    /// What else is known of them. The first one with classes is the default colour, and its classes are those that are compared.
    pub annotations: &'a [Annotation],
    /// Which of these go with which component, where that was asked.
    pub covariates: &'a [Covariate],
    /// The principal components beside those of chance, where that was asked.
    pub scree: Option<&'a ewca_eval::Scree>,
    /// The fit.
    pub model: &'a Model,
    /// PCA of the same samples, where it is to be shown beside the fit.
    pub pca: Option<&'a Pca>,
    /// Fits along epsilon, in any order; none when there is no path.
    pub path: &'a [Model],
    /// Whether t-SNE of the scores is wanted.
    pub tsne: bool,
}

impl Report {
    /// The report of a fit.
    pub fn new(subject: &Subject<'_>) -> Result<Self> {
        subject.check()?;
        let Subject { model, pca, .. } = *subject;
        let classes = ClassIndex::first(subject.annotations);
        let steps = subject.ascending_path();
        let shown = Shown::new(subject, classes.as_ref(), steps.len());
        let aligned = Aligned::new(model, pca, &steps);
        let (partners, heat_maps) = plan_views(model, subject.ids, classes.as_ref(), &shown.samples);
        let comparable = classes.as_ref().filter(|classes| classes.names.len() <= MOST_COMPARED);
        let compared = comparable.map(|classes| classes.compared(model.scores(), pca.map(|pca| &pca.scores)));
        let mut notes = shown.notes(subject, classes.is_some(), steps.len());
        notes.extend(notes_on_work(subject, &heat_maps, classes.as_ref(), compared.as_ref()));
        notes.extend(words::findings(model, subject.features, false));
        let perplexities = model.plan().perplexities();
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").into(),
            data: Data {
                name: subject.name.into(),
                samples: model.n_samples(),
                features: model.n_features(),
                preprocessing: subject.preprocessing.to_vec(),
            },
            verdict: words::verdict(model),
            sound: model.converged()
                && !model.certificate().collapsed
                && !model.certificate().approximation.is_some_and(|near| near.is_poor()),
            warnings: words::findings(model, subject.features, true),
            facts: words::facts(model),
            components: components(model, pca),
            chance: subject.scree.map(|scree| chance(scree, model.n_components())),
            epsilon: model.epsilon(),
            shown: shown.samples.len(),
            ids: shown.ids(subject.ids),
            annotations: shown.annotations(subject.annotations, &mut notes),
            covariates: subject
                .covariates
                .iter()
                .filter(|row| row.effect.is_finite() && row.p.is_finite())
                .cloned()
                .collect(),
            views: shown.views(subject, &aligned)?,
            perplexities: Column::new(&shown.samples.iter().map(|&i| perplexities[i]).collect::<Vec<f64>>()),
            features: shown.features(subject)?,
            partners,
            heat_maps,
            loadings: loadings(subject, &shown.ranked[..shown.listed]),
            convergence: convergence(model),
            path: shown.path(&steps, &aligned, classes.as_ref()),
            classes: compared,
            notes,
        })
    }
}

/// What of a fit is on the page.
struct Shown {
    /// The samples.
    samples: Vec<usize>,
    /// How many components are drawn, and how many of them move along the path.
    drawn: usize,
    slid: usize,
    /// The features, those that load most first; how many of them points can be coloured by, and how many loadings are listed.
    ranked: Vec<usize>,
    coloured: usize,
    listed: usize,
}

impl Shown {
    fn new(subject: &Subject<'_>, classes: Option<&ClassIndex>, steps: usize) -> Self {
        let (n, k) = (subject.model.n_samples(), subject.model.n_components());
        let samples = shown_samples(n, classes.map(|classes| &classes.classes[..]), most_shown(steps));
        let drawn = drawn_components(samples.len(), k);
        let ranked = ranked_features(subject.model);
        Self {
            drawn,
            slid: slid_components(samples.len(), steps, drawn),
            coloured: coloured_features(samples.len(), ranked.len()),
            listed: listed_features(k, ranked.len()),
            ranked,
            samples,
        }
    }

    /// The features that points can be coloured by, where the data are here.
    fn features(&self, subject: &Subject<'_>) -> Result<Vec<Feature>> {
        let Some(samples) = subject.samples else { return Ok(Vec::new()) };
        features(samples, subject.features, &self.coloured(samples)?, &self.samples)
    }

    /// Which features these are: all of them, or those that vary most, in that order.
    fn coloured(&self, samples: &dyn SampleRows) -> Result<Vec<usize>> {
        if self.coloured == self.ranked.len() {
            return Ok(self.ranked.clone());
        }
        let variances = variances(samples, &self.samples)?;
        let (least, most) = variances.iter().fold((f64::INFINITY, 0.0f64), |(low, high), &x| (low.min(x), high.max(x)));
        let mut chosen = self.ranked.clone();
        // Features of unit variance vary alike: there, those stay first that load most.
        if most > (1.0 + SAME_VARIANCE) * least {
            chosen.sort_by(|&i, &j| variances[j].total_cmp(&variances[i]));
        }
        chosen.truncate(self.coloured);
        Ok(chosen)
    }

    /// What is not on the page.
    fn notes(&self, subject: &Subject<'_>, has_classes: bool, steps: usize) -> Vec<String> {
        let (n, k) = (subject.model.n_samples(), subject.model.n_components());
        let Self { samples, drawn, slid, ranked, coloured, listed } = self;
        let evenly = if has_classes { "evenly from each class" } else { "evenly spaced" };
        let features = ranked.len();
        let notes = [
            (
                samples.len() < n,
                format!("This page shows {} of {n} samples, {evenly}. The fit used all samples.", samples.len()),
            ),
            (*drawn < k, format!("The embedding shows the first {drawn} of {k} components.")),
            (steps > 0 && slid < drawn, format!("The epsilon slider moves the first {slid} of {k} components.")),
            (
                subject.samples.is_none(),
                "This page was made without the data, so it has no PCA, and points cannot be coloured by features."
                    .into(),
            ),
            (
                subject.samples.is_some() && *coloured < features,
                format!("Points can be coloured by {coloured} of {features} features: those that vary most."),
            ),
            (
                *listed < features,
                format!(
                    "The loadings list {listed} of {features} features: those with the largest loadings. The model has all of them."
                ),
            ),
        ];
        notes.into_iter().filter(|(holds, _)| *holds).map(|(_, note)| note).collect()
    }

    fn views(&self, subject: &Subject<'_>, aligned: &Aligned) -> Result<Vec<View>> {
        let Subject { model, pca, .. } = *subject;
        let columns = |scores: &Matrix, flipped: &[bool], count| columns(scores, &self.samples, flipped, count);
        let barycentric = columns(&model.barycentric_scores(), &[], self.drawn);
        let scores = columns(model.scores(), &[], self.drawn);
        let mut views = vec![view(ViewKey::Ewca, "EWCA", "ewca", scores, model.explained_variance_ratio())];
        if let Some(pca) = pca {
            let scores = columns(&pca.scores, &aligned.pca, self.drawn);
            views.push(view(ViewKey::Pca, "PCA", "pc", scores, &pca.explained_variance_ratio));
        }
        views.push(view(ViewKey::Barycentric, "Barycentric", "ewca", barycentric, &[]));
        if subject.tsne {
            let perplexity = TSNE_PERPLEXITY.min(TSNE_PART * model.n_samples() as f64).max(2.0);
            let map = tsne::embed(model.scores(), perplexity)?;
            views.push(view(ViewKey::Tsne, "t-SNE", "t-SNE ", columns(&map, &[], 2), &[]));
        }
        Ok(views)
    }

    fn path(&self, steps: &[&Model], aligned: &Aligned, classes: Option<&ClassIndex>) -> Option<Path> {
        let step = |(model, signs): (&&Model, &Vec<bool>)| Step {
            epsilon: model.epsilon(),
            perplexity: model.perplexity().overall,
            loss: model.loss(),
            explained: model.explained_variance_ratio().iter().sum(),
            ratios: model.explained_variance_ratio().to_vec(),
            error: classes.map(|classes| classes.error(model.scores())),
            collapsed: model.certificate().collapsed,
            converged: model.converged(),
            columns: columns(model.scores(), &self.samples, signs, self.slid),
        };
        let current = aligned.nearest?;
        Some(Path { steps: steps.iter().zip(&aligned.steps).map(step).collect(), current })
    }

    /// The names of the samples, unless they are the numbers of all.
    fn ids(&self, ids: &[String]) -> Option<Vec<String>> {
        let numbered = (1..=ids.len()).zip(ids).all(|(number, id)| *id == number.to_string());
        let is_plain = numbered && self.samples.len() == ids.len();
        (!is_plain).then(|| self.samples.iter().map(|&i| ids[i].clone()).collect())
    }

    /// The annotations that there is room for, and notes on the others.
    fn annotations(&self, annotations: &[Annotation], notes: &mut Vec<String>) -> Vec<ShownAnnotation> {
        let most = (ANNOTATION_BYTES / (SHORT * self.samples.len().max(1))).max(1);
        if annotations.len() > most {
            notes.push(format!("This page has the first {most} of {} columns of annotations.", annotations.len()));
        }
        let mut shown = Vec::new();
        for annotation in &annotations[..most.min(annotations.len())] {
            match annotation.shown(&self.samples) {
                Some(column) => shown.push(column),
                None => notes.push(format!("The column {} has too many classes to colour by.", annotation.name)),
            }
        }
        shown
    }
}

/// What was not computed of everything.
fn notes_on_work(
    subject: &Subject<'_>,
    heat_maps: &[HeatMap],
    classes: Option<&ClassIndex>,
    compared: Option<&Classes>,
) -> Vec<String> {
    let n = subject.model.n_samples();
    let mut notes = Vec::new();
    if heat_maps.iter().any(|map| !map.single) {
        notes.push("The plan is shown as means of blocks of samples.".into());
    }
    match (classes, compared) {
        (Some(classes), None) => {
            notes.push(format!("There are too many classes ({}) to compare one by one.", classes.names.len()));
        }
        (_, Some(compared)) if compared.asked < n => notes.push(format!(
            "Nearest neighbours and silhouettes were computed for {} samples, each compared with all {n}.",
            compared.asked
        )),
        _ => {}
    }
    notes
}

impl<'a> Subject<'a> {
    fn check(&self) -> Result<()> {
        let (n, d) = (self.model.n_samples(), self.model.n_features());
        let expect = |what, found, expected| match found == expected {
            true => Ok(()),
            false => Err(Error::Mismatch { what, found, expected }),
        };
        if let Some(samples) = self.samples {
            expect("samples", samples.rows(), n)?;
            expect("features", samples.columns(), d)?;
        }
        expect("names of features", self.features.len(), d)?;
        expect("names of samples", self.ids.len(), n)?;
        for annotation in self.annotations {
            expect("values of an annotation", annotation.len(), n)?;
        }
        for scores in self.path.iter().map(|model| model.scores()).chain(self.pca.map(|pca| &pca.scores)) {
            expect("samples of another fit", scores.rows(), n)?;
            expect("components of another fit", scores.columns(), self.model.n_components())?;
        }
        if self.tsne && n > MOST_TSNE_SAMPLES {
            return Err(Error::TooManyForTsne { samples: n, most: MOST_TSNE_SAMPLES });
        }
        Ok(())
    }

    fn ascending_path(&self) -> Vec<&'a Model> {
        let mut steps: Vec<&Model> = self.path.iter().collect();
        steps.sort_by(|a, b| a.epsilon().total_cmp(&b.epsilon()));
        steps
    }
}

/// Which components are shown with the other sign. Each fit chooses signs by its own loadings; a picture that moves from fit to
/// fit should not flip.
struct Aligned {
    pca: Vec<bool>,
    steps: Vec<Vec<bool>>,
    /// The step whose epsilon is nearest to that of the fit.
    nearest: Option<usize>,
}

impl Aligned {
    fn new(model: &Model, pca: Option<&Pca>, steps: &[&Model]) -> Self {
        let of_pca = |other: &Matrix, others_flipped: &[bool]| {
            pca.map_or(Vec::new(), |pca| flipped(&pca.scores, other, others_flipped))
        };
        let distance = |step: &Model| (step.epsilon() / model.epsilon()).ln().abs();
        let nearest = (0..steps.len()).min_by(|&i, &j| distance(steps[i]).total_cmp(&distance(steps[j])));
        let same = vec![false; model.n_components()];
        let mut flips = vec![Vec::new(); steps.len()];
        let Some(at) = nearest else {
            return Self { pca: of_pca(model.scores(), &same), steps: flips, nearest };
        };
        flips[at] = flipped(steps[at].scores(), model.scores(), &same);
        for i in at + 1..steps.len() {
            flips[i] = flipped(steps[i].scores(), steps[i - 1].scores(), &flips[i - 1]);
        }
        for i in (0..at).rev() {
            flips[i] = flipped(steps[i].scores(), steps[i + 1].scores(), &flips[i + 1]);
        }
        Self { pca: of_pca(steps[0].scores(), &flips[0]), steps: flips, nearest }
    }
}

/// Which columns point away from those of `other`, of which `others_flipped` are seen with the other sign.
fn flipped(scores: &Matrix, other: &Matrix, others_flipped: &[bool]) -> Vec<bool> {
    let product = |c: usize| -> f64 { scores.column(c).iter().zip(other.column(c)).map(|(x, y)| x * y).sum() };
    (0..scores.columns()).map(|c| (product(c) < 0.0) != others_flipped[c]).collect()
}

fn columns(scores: &Matrix, shown: &[usize], flipped: &[bool], count: usize) -> Vec<Column> {
    let column = |c: usize| {
        let sign = if flipped.get(c).copied().unwrap_or(false) { -1.0 } else { 1.0 };
        Column::new(&shown.iter().map(|&i| sign * scores.get(i, c)).collect::<Vec<f64>>())
    };
    (0..count).map(column).collect()
}

fn view(key: ViewKey, name: &str, axis: &str, columns: Vec<Column>, ratios: &[f64]) -> View {
    let axes = (1..=columns.len()).map(|number| format!("{axis}{number}")).collect();
    let ratios = ratios.iter().take(columns.len()).copied().collect();
    View { key, name: name.into(), axes, ratios, columns }
}

/// The name of a component with its part of the variance, as beside the axes of the page.
pub fn axis_title(name: &str, ratio: f64) -> String {
    format!("{name} ({:.1}% of variance)", 100.0 * ratio)
}

fn components(model: &Model, pca: Option<&Pca>) -> Vec<Component> {
    // The eigenvalues of M are in the units of those of Sigma.
    let total = pca.map_or_else(|| total_variance(model), |pca| pca.eigenvalues[0] / pca.explained_variance_ratio[0]);
    let eigenvalue = |c: usize| model.certificate().eigenvalues.get(c).map(|value| value / total);
    let component = |c: usize| Component {
        name: format!("ewca{}", c + 1),
        variance: model.explained_variance()[c],
        ratio: model.explained_variance_ratio()[c],
        pca_ratio: pca.map(|pca| pca.explained_variance_ratio[c]),
        eigenvalue: eigenvalue(c).filter(|value| value.is_finite()),
    };
    (0..model.n_components()).map(component).collect()
}

/// The variance of the data, by the weights of the samples: that of a component, and its part of all, tell it.
fn total_variance(model: &Model) -> f64 {
    let squares = model.scores().column(0).iter().zip(model.weights()).map(|(score, weight)| weight * score * score);
    squares.sum::<f64>() / model.explained_variance_ratio()[0]
}

/// The components of chance, as far as a picture of those of a fit needs them.
fn chance(scree: &ewca_eval::Scree, components: usize) -> Chance {
    let shown = scree.variances.len().min(components.max(scree.above) + CHANCE_BEYOND);
    Chance {
        above: scree.above,
        variances: scree.variances[..shown].to_vec(),
        permuted: scree.permuted[..shown].to_vec(),
        quantile: scree.quantile,
        permutations: scree.permutations,
    }
}

/// The features, those first whose loading is the largest part of the largest in any component.
fn ranked_features(model: &Model) -> Vec<usize> {
    let u = model.components();
    let mut weights = vec![0.0f64; u.rows()];
    for c in 0..u.columns() {
        let column = u.column(c);
        let largest = column.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
        weights.iter_mut().zip(column).for_each(|(weight, x)| *weight = weight.max(x.abs() / largest));
    }
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&i, &j| weights[j].total_cmp(&weights[i]).then(i.cmp(&j)));
    order
}

/// The sums of squares of each feature about its mean, over some of the samples, evenly spaced.
fn variances(samples: &dyn SampleRows, shown: &[usize]) -> Result<Vec<f64>> {
    let asked: Vec<usize> =
        shown_samples(shown.len(), None, VARIANCE_SAMPLES).into_iter().map(|at| shown[at]).collect();
    let sums = |rows: &[usize]| {
        let mut sums = vec![0.0; samples.columns()];
        for &i in rows {
            let row = samples.row(i)?;
            sums.iter_mut().zip(row).zip(samples.mean()).for_each(|((sum, x), mean)| *sum += (x - mean) * (x - mean));
        }
        Ok(sums)
    };
    // Summed in the order of the rows, whatever the threads do.
    let parts: Vec<Vec<f64>> = asked.par_chunks(64).map(sums).collect::<Result<_>>()?;
    let mut totals = vec![0.0; samples.columns()];
    parts.iter().for_each(|part| totals.iter_mut().zip(part).for_each(|(total, sum)| *total += sum));
    Ok(totals)
}

fn features(samples: &dyn SampleRows, names: &[String], chosen: &[usize], shown: &[usize]) -> Result<Vec<Feature>> {
    let cells = |&i: &usize| {
        let row = samples.row(i)?;
        Ok(chosen.iter().map(|&j| row[j]).collect::<Vec<f64>>())
    };
    let rows: Vec<Vec<f64>> = shown.par_iter().map(cells).collect::<Result<_>>()?;
    let feature = |(at, &j): (usize, &usize)| Feature {
        name: names[j].clone(),
        column: Column::new(&rows.iter().map(|row| row[at]).collect::<Vec<f64>>()),
    };
    Ok(chosen.iter().enumerate().map(feature).collect())
}

fn loadings(subject: &Subject<'_>, chosen: &[usize]) -> Loadings {
    let mut listed = chosen.to_vec();
    listed.sort_unstable();
    let u = subject.model.components();
    Loadings {
        features: listed.iter().map(|&j| subject.features[j].clone()).collect(),
        columns: (0..u.columns()).map(|c| floats(listed.iter().map(|&j| u.get(j, c) as f32))).collect(),
    }
}

fn convergence(model: &Model) -> Convergence {
    let kept: Vec<_> = model.history().iter().filter(|iteration| iteration.attempt == model.attempt()).collect();
    let course = |number: fn(&Iteration) -> f64| {
        kept.iter().map(|iteration| Some(number(iteration)).filter(|value| value.is_finite())).collect()
    };
    Convergence {
        passes: kept.iter().map(|iteration| iteration.kernel_passes).collect(),
        loss: course(|iteration| iteration.loss),
        gradient: course(|iteration| iteration.relative_gradient),
        marginal: course(|iteration| iteration.marginal_error),
        sought: kept.windows(2).any(|pair| pair[0].epsilon != pair[1].epsilon),
    }
}
