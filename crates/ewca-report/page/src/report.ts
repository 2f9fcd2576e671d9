// What the program puts into the page: made from src/report.rs of the crate by `cargo xtask report-types`.

/** Parallel analysis: the principal components beside those of tables whose features were permuted. */
export type Chance = {
  /** How many leading components have more variance than chance gives. */
  above: number,
  /** The part of the variance that each principal component has. */
  variances: Array<number>,
  /** The part that those of permuted tables have: a quantile of it. */
  permuted: Array<number>,
  /** Which quantile. */
  quantile: number,
  /** How many tables. */
  permutations: number,
};

/** How the classes are kept apart, by the scores. */
export type Classes = {
  /** The samples that were asked. */
  asked: number,
  /** By the scores of the fit. */
  ewca: Confusion,
  /** By those of PCA, where it is here. */
  pca: Confusion | null,
  /** By class. */
  silhouettes: Array<Silhouette>,
};

/** Numbers in 16 bits each: value = low + (high - low) q / 65535. A screen has fewer pixels than that. */
export type Column = {
  /** The smallest. */
  low: number,
  /** The largest. */
  high: number,
  /** The q, in base64. */
  values: string,
};

/** One component. */
export type Component = {
  /** Its name in all files. */
  name: string,
  /** Its variance. */
  variance: number,
  /** The same as a part of all. */
  ratio: number,
  /** The part that the principal component of the same number has, where there is PCA beside the fit. */
  pca_ratio: number | null,
  /** The eigenvalue of M of the same number, in parts of all variance: what the component takes off the cost of moving samples. It is
   * the variance of PCA where samples keep to themselves, and not positive where the fit has collapsed. */
  eigenvalue: number | null,
};

/** The class of the nearest other sample. */
export type Confusion = {
  /** Samples of class i (rows) with a nearest neighbour of class j (columns). */
  counts: Array<Array<number>>,
  /** The part that is not on the diagonal. */
  error: number,
};

/** The iterations of the attempt that was kept; nothing where a number is not finite. */
export type Convergence = {
  /** Passes over the kernel so far. */
  passes: Array<number>,
  /** The loss. */
  loss: Array<number | null>,
  /** The relative gradient. */
  gradient: Array<number | null>,
  /** The marginal error. */
  marginal: Array<number | null>,
  /** Whether epsilon moved, as it does while a perplexity is sought. */
  sought: boolean,
};

/** How strongly an annotation goes with a component. */
export type Covariate = {
  /** The component, as in `ewca2`. */
  component: string,
  /** The name of the annotation. */
  column: string,
  /** What the effect is, in words: eta squared, or rank correlation. */
  effect_name: string,
  /** The effect. */
  effect: number,
  /** The probability of one as large by chance, corrected for the number of tests. */
  p: number,
};

/** What was fitted. */
export type Data = {
  /** The file, without folders. */
  name: string,
  /** All samples. */
  samples: number,
  /** All features. */
  features: number,
  /** What was done to the table before the fit, in words. */
  preprocessing: Array<string>,
};

/** A name and a value, in words. */
export type Fact = {
  /** What it is. */
  name: string,
  /** Its value. */
  value: string,
  /** What it means. */
  meaning: string,
};

/** A feature, as far as colours go. */
export type Feature = {
  /** Its name. */
  name: string,
  /** Its value for each sample. */
  column: Column,
};

/** The plan as a picture. */
export type HeatMap = {
  /** How its samples are ordered. */
  key: HeatMapOrder,
  /** The blocks along each side. */
  blocks: number,
  /** What each block holds. */
  names: Array<string>,
  /** Whether a block is one sample. */
  single: boolean,
  /** The mean share between two blocks, row after row, as a part of 1. */
  values: Column,
  /** The classes along the diagonal. */
  squares: Array<Square>,
};

/** The orders of the samples along the sides of a heat map. */
export type HeatMapOrder = "label" | "similarity";

/** Loadings of features. */
export type Loadings = {
  /** The features that are listed. */
  features: Array<string>,
  /** Their loadings, one array of 32-bit numbers per component. */
  columns: Array<string>,
};

/** The strongest partners of each sample, apart from itself. */
export type Partners = {
  /** How many each has. */
  count: number,
  /** Their positions among the samples that are shown, in 32 bits, strongest first. */
  samples: string,
  /** Their shares of the sample's mass: 65535 is all of it. */
  shares: string,
  /** What each sample keeps to itself, likewise. */
  own: string,
};

/** Fits along epsilon, ascending. */
export type Path = {
  /** The fits. */
  steps: Array<Step>,
  /** The step whose epsilon is nearest to that of the fit. */
  current: number,
};

/** Everything that a page shows. */
export type Report = {
  /** The version of the program. */
  version: string,
  /** What was fitted. */
  data: Data,
  /** One sentence on what the fit is worth. */
  verdict: string,
  /** Whether the verdict is a good one. */
  sound: boolean,
  /** What the reader should know before believing anything. */
  warnings: Array<string>,
  /** What the report leaves out, and why. */
  notes: Array<string>,
  /** The parameters and the certificate. */
  facts: Array<Fact>,
  /** The components of the fit. */
  components: Array<Component>,
  /** The principal components beside those of chance, where that was asked. */
  chance: Chance | null,
  /** Epsilon of the fit. */
  epsilon: number,
  /** The number of samples that are shown. */
  shown: number,
  /** Their names; their numbers from 1 when there are none. */
  ids: Array<string> | null,
  /** What is known of them besides their features. The first one with classes is the default colour, and its classes are those
   * that are compared. */
  annotations: Array<ShownAnnotation>,
  /** Which annotation goes with which component. */
  covariates: Array<Covariate>,
  /** Where they are, in several ways. */
  views: Array<View>,
  /** Over how many samples each of them spreads. */
  perplexities: Column,
  /** Features to colour by; none where the data are not here. */
  features: Array<Feature>,
  /** The strongest partners of each. */
  partners: Partners,
  /** The plan, ordered by class and by similarity. */
  heat_maps: Array<HeatMap>,
  /** The loadings. */
  loadings: Loadings,
  /** How the fit went. */
  convergence: Convergence,
  /** Fits along epsilon. */
  path: Path | null,
  /** How the classes are kept apart. */
  classes: Classes | null,
};

/** A column of what is known of the samples that are shown. */
export type ShownAnnotation = {
  /** Its name. */
  name: string,
  /** Its values. */
  values: ShownValues,
};

/** The classes of the samples. */
export type ShownClasses = {
  /** Their names, in order. */
  names: Array<string>,
  /** The class of each sample, in 16 bits; 65535 where it is missing. */
  codes: string,
  /** The colour of each class, where the data have their own. */
  colours: Array<string> | null,
};

/** A number of each sample. */
export type ShownNumbers = {
  /** The numbers. */
  column: Column,
  /** The samples whose number is missing, in 32 bits. */
  missing: string,
};

/** The values of an annotation. */
export type ShownValues = { "kind": "classes" } & ShownClasses | { "kind": "numbers" } & ShownNumbers;

/** How far a class is from the others. */
export type Silhouette = {
  /** The class. */
  name: string,
  /** Its samples among those that were asked. */
  samples: number,
  /** The mean silhouette by the scores of the fit; nothing where it is not defined. */
  ewca: number | null,
  /** By those of PCA; nothing too where it is not here. */
  pca: number | null,
};

/** A class along the diagonal of a heat map. */
export type Square = {
  /** The number of the class. */
  class: number,
  /** Its first block. */
  from: number,
  /** The block after its last. */
  to: number,
};

/** One fit of a path. */
export type Step = {
  /** Epsilon. */
  epsilon: number,
  /** The mean perplexity. */
  perplexity: number,
  /** The loss. */
  loss: number,
  /** The part of the variance that is explained. */
  explained: number,
  /** The same by component. */
  ratios: Array<number>,
  /** The part of the samples whose nearest other one is of another class. */
  error: number | null,
  /** Whether the fit has collapsed. */
  collapsed: boolean,
  /** Whether it has converged. */
  converged: boolean,
  /** Where the samples are. */
  columns: Array<Column>,
};

/** One way to place the samples. */
export type View = {
  /** Which one. */
  key: ViewKey,
  /** Its name. */
  name: string,
  /** The names of the axes. */
  axes: Array<string>,
  /** The part of the variance that each of them has, where that is known. */
  ratios: Array<number>,
  /** One column per axis. */
  columns: Array<Column>,
};

/** The ways to place the samples. */
export type ViewKey = "ewca" | "pca" | "barycentric" | "tsne";
