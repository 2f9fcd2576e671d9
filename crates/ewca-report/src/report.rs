//! What the page gets to show: plain data. `page/src/report.ts` is made from these types.

use ewca_eval::covariates::Association;
use serde::Serialize;

use crate::arrays::Column;

/// Everything that a page shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Report {
    /// The version of the program.
    pub version: String,
    /// What was fitted.
    pub data: Data,
    /// One sentence on what the fit is worth.
    pub verdict: String,
    /// Whether the verdict is a good one.
    pub sound: bool,
    /// What the reader should know before believing anything.
    pub warnings: Vec<String>,
    /// What the report leaves out, and why.
    pub notes: Vec<String>,
    /// The parameters and the certificate.
    pub facts: Vec<Fact>,
    /// The components of the fit.
    pub components: Vec<Component>,
    /// The principal components beside those of chance, where that was asked.
    pub chance: Option<Chance>,
    /// Epsilon of the fit.
    pub epsilon: f64,
    /// The number of samples that are shown.
    pub shown: usize,
    /// Their names; their numbers from 1 when there are none.
    pub ids: Option<Vec<String>>,
    /// What is known of them besides their features. The first one with classes is the default colour, and its classes are those
    /// that are compared.
    pub annotations: Vec<ShownAnnotation>,
    /// Which annotation goes with which component.
    pub covariates: Vec<Covariate>,
    /// Where they are, in several ways.
    pub views: Vec<View>,
    /// Over how many samples each of them spreads.
    pub perplexities: Column,
    /// Features to colour by; none where the data are not here.
    pub features: Vec<Feature>,
    /// The strongest partners of each.
    pub partners: Partners,
    /// The plan, ordered by class and by similarity.
    pub heat_maps: Vec<HeatMap>,
    /// The loadings.
    pub loadings: Loadings,
    /// How the fit went.
    pub convergence: Convergence,
    /// Fits along epsilon.
    pub path: Option<Path>,
    /// How the classes are kept apart.
    pub classes: Option<Classes>,
}

/// What was fitted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Data {
    /// The file, without folders.
    pub name: String,
    /// All samples.
    pub samples: usize,
    /// All features.
    pub features: usize,
    /// What was done to the table before the fit, in words.
    pub preprocessing: Vec<String>,
}

/// A name and a value, in words.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What it means.
    pub meaning: String,
}

/// One component.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Component {
    /// Its name in all files.
    pub name: String,
    /// Its variance.
    pub variance: f64,
    /// The same as a part of all.
    pub ratio: f64,
    /// The part that the principal component of the same number has, where there is PCA beside the fit.
    pub pca_ratio: Option<f64>,
    /// The eigenvalue of M of the same number, in parts of all variance: what the component takes off the cost of moving samples. It is
    /// the variance of PCA where samples keep to themselves, and not positive where the fit has collapsed.
    pub eigenvalue: Option<f64>,
}

/// Parallel analysis: the principal components beside those of tables whose features were permuted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Chance {
    /// How many leading components have more variance than chance gives.
    pub above: usize,
    /// The part of the variance that each principal component has.
    pub variances: Vec<f64>,
    /// The part that those of permuted tables have: a quantile of it.
    pub permuted: Vec<f64>,
    /// Which quantile.
    pub quantile: f64,
    /// How many tables.
    pub permutations: usize,
}

/// A column of what is known of the samples that are shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShownAnnotation {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: ShownValues,
}

/// The values of an annotation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum ShownValues {
    /// Classes.
    Classes(ShownClasses),
    /// Numbers.
    Numbers(ShownNumbers),
}

/// The classes of the samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShownClasses {
    /// Their names, in order.
    pub names: Vec<String>,
    /// The class of each sample, in 16 bits; 65535 where it is missing.
    pub codes: String,
    /// The colour of each class, where the data have their own.
    pub colours: Option<Vec<String>>,
}

/// A number of each sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShownNumbers {
    /// The numbers.
    pub column: Column,
    /// The samples whose number is missing, in 32 bits.
    pub missing: String,
}

/// How strongly an annotation goes with a component.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Covariate {
    /// The component, as in `ewca2`.
    pub component: String,
    /// The name of the annotation.
    pub column: String,
    /// What the effect is, in words: eta squared, or rank correlation.
    pub effect_name: String,
    /// The effect.
    pub effect: f64,
    /// The probability of one as large by chance, corrected for the number of tests.
    pub p: f64,
}

impl Covariate {
    /// What was found of a component and the column of this name.
    pub fn of(found: &Association, column: &str) -> Self {
        Self {
            component: format!("ewca{}", found.component + 1),
            column: column.into(),
            effect_name: found.measure.name().into(),
            effect: found.effect,
            p: found.p_corrected,
        }
    }
}

/// One way to place the samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct View {
    /// Which one.
    pub key: ViewKey,
    /// Its name.
    pub name: String,
    /// The names of the axes.
    pub axes: Vec<String>,
    /// The part of the variance that each of them has, where that is known.
    pub ratios: Vec<f64>,
    /// One column per axis.
    pub columns: Vec<Column>,
}

/// The ways to place the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum ViewKey {
    /// By the scores of the fit, or of a step of the path.
    Ewca,
    /// By those of PCA.
    Pca,
    /// Where the plan moves the samples, on average.
    Barycentric,
    /// By t-SNE of the scores.
    Tsne,
}

/// A feature, as far as colours go.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// Its value for each sample.
    pub column: Column,
}

/// The strongest partners of each sample, apart from itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Partners {
    /// How many each has.
    pub count: usize,
    /// Their positions among the samples that are shown, in 32 bits, strongest first.
    pub samples: String,
    /// Their shares of the sample's mass: 65535 is all of it.
    pub shares: String,
    /// What each sample keeps to itself, likewise.
    pub own: String,
}

/// The plan as a picture.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HeatMap {
    /// How its samples are ordered.
    pub key: HeatMapOrder,
    /// The blocks along each side.
    pub blocks: usize,
    /// What each block holds.
    pub names: Vec<String>,
    /// Whether a block is one sample.
    pub single: bool,
    /// The mean share between two blocks, row after row, as a part of 1.
    pub values: Column,
    /// The classes along the diagonal.
    pub squares: Vec<Square>,
}

/// The orders of the samples along the sides of a heat map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum HeatMapOrder {
    /// By class, and by similarity within.
    Label,
    /// Samples that exchange mass are near each other.
    Similarity,
}

/// A class along the diagonal of a heat map.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Square {
    /// The number of the class.
    pub class: usize,
    /// Its first block.
    pub from: usize,
    /// The block after its last.
    pub to: usize,
}

/// Loadings of features.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Loadings {
    /// The features that are listed.
    pub features: Vec<String>,
    /// Their loadings, one array of 32-bit numbers per component.
    pub columns: Vec<String>,
}

/// The iterations of the attempt that was kept; nothing where a number is not finite.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Convergence {
    /// Passes over the kernel so far.
    pub passes: Vec<usize>,
    /// The loss.
    pub loss: Vec<Option<f64>>,
    /// The relative gradient.
    pub gradient: Vec<Option<f64>>,
    /// The marginal error.
    pub marginal: Vec<Option<f64>>,
    /// Whether epsilon moved, as it does while a perplexity is sought.
    pub sought: bool,
}

/// Fits along epsilon, ascending.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Path {
    /// The fits.
    pub steps: Vec<Step>,
    /// The step whose epsilon is nearest to that of the fit.
    pub current: usize,
}

/// One fit of a path.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Step {
    /// Epsilon.
    pub epsilon: f64,
    /// The mean perplexity.
    pub perplexity: f64,
    /// The loss.
    pub loss: f64,
    /// The part of the variance that is explained.
    pub explained: f64,
    /// The same by component.
    pub ratios: Vec<f64>,
    /// The part of the samples whose nearest other one is of another class.
    pub error: Option<f64>,
    /// Whether the fit has collapsed.
    pub collapsed: bool,
    /// Whether it has converged.
    pub converged: bool,
    /// Where the samples are.
    pub columns: Vec<Column>,
}

/// How the classes are kept apart, by the scores.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Classes {
    /// The samples that were asked.
    pub asked: usize,
    /// By the scores of the fit.
    pub ewca: Confusion,
    /// By those of PCA, where it is here.
    pub pca: Option<Confusion>,
    /// By class.
    pub silhouettes: Vec<Silhouette>,
}

/// The class of the nearest other sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Confusion {
    /// Samples of class i (rows) with a nearest neighbour of class j (columns).
    pub counts: Vec<Vec<usize>>,
    /// The part that is not on the diagonal.
    pub error: f64,
}

/// How far a class is from the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Silhouette {
    /// The class.
    pub name: String,
    /// Its samples among those that were asked.
    pub samples: usize,
    /// The mean silhouette by the scores of the fit; nothing where it is not defined.
    pub ewca: Option<f64>,
    /// By those of PCA; nothing too where it is not here.
    pub pca: Option<f64>,
}
