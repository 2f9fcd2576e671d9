//! The paper's protocol for judging k and choosing epsilon.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ewca::{Control, Error, Ewca, Matrix, Model, Observer, Progress, Samples, Scalar};
use rayon::prelude::*;
use serde::Serialize;

use crate::{EncodedLabels, Neighbours, Protocol, Split, Spread};

/// One number of components: errors of the nearest neighbour, in percent, over the splits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// Number of components.
    pub k: usize,
    /// In the scores of PCA.
    pub pca: Spread,
    /// In the scores of EWCA, at the epsilon that the train half chose.
    pub ewca: Spread,
    /// The errors of PCA, one for each split.
    #[serde(skip)]
    pub pca_errors: Vec<f64>,
    /// The errors of EWCA, one for each split.
    #[serde(skip)]
    pub ewca_errors: Vec<f64>,
    /// The epsilon that each split chose.
    pub chosen: Vec<f64>,
    /// The epsilon that inner splits of all samples choose: what to use, if `stands`.
    pub epsilon: f64,
    /// Whether the fit at that epsilon does not collapse.
    pub stands: bool,
    /// Mean error at each epsilon of the grid, over all splits. For looking at, not for choosing.
    pub by_epsilon: Vec<f64>,
    /// Which epsilons collapsed.
    pub collapsed: Vec<bool>,
    /// The perplexity of the fit at each epsilon.
    pub perplexities: Vec<f64>,
}

/// The whole table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Selection {
    /// The epsilons that were tried, ascending.
    pub epsilons: Vec<f64>,
    /// In all features, without reduction.
    pub raw: Spread,
    /// The errors in all features, one for each split.
    #[serde(skip)]
    pub raw_errors: Vec<f64>,
    /// One entry for each number of components.
    pub cells: Vec<Cell>,
    /// The entry with the smallest mean error of EWCA, of those that stand where any does; the smallest k of those within a
    /// hundredth of a point.
    pub best: usize,
}

/// Which epsilons may be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Candidates {
    /// All, as in the paper.
    All,
    /// Those at which the fit does not collapse: components that shrink the data are of no use, whatever their neighbours say.
    Standing,
}

/// One of the two methods that are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Principal component analysis.
    Pca,
    /// Entropic Wasserstein component analysis.
    Ewca,
}

/// What the table says should be used, and how sure that is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Recommendation {
    /// EWCA where it is better, each method at its best k; otherwise PCA, which is simpler. Never a fit that collapses.
    pub method: Method,
    /// Its best k.
    pub k: usize,
    /// The epsilon to fit with: the one that all samples choose, or a smaller one that has no more errors. For PCA, one that is too small
    /// to matter.
    pub epsilon: f64,
    /// The perplexity of the fit at that epsilon; 1 for PCA, where each sample keeps to itself.
    pub perplexity: f64,
    /// Its mean error, in percent.
    pub error: f64,
    /// The other method at its best: k and mean error. None where EWCA collapses everywhere.
    pub other: Option<(usize, f64)>,
    /// The splits in which the recommended method has fewer errors than the other.
    pub ahead: usize,
    /// The splits in which it has more.
    pub behind: usize,
}

/// Errors that differ by less, in points, are equal.
const EQUAL: f64 = 0.01;
/// PCA is as good where EWCA is not better by more, in points: a table of errors shows one decimal.
const AS_GOOD: f64 = 0.1;
/// Times the smallest epsilon: too small to matter, so that the fit is PCA.
const PCA_EPSILON: f64 = 1e-9;

impl Selection {
    /// What to use by this table.
    pub fn recommendation(&self) -> Recommendation {
        let pca = &self.cells[smallest(self.cells.iter().map(|cell| cell.pca.mean))];
        let of_pca = Recommendation {
            method: Method::Pca,
            k: pca.k,
            epsilon: PCA_EPSILON * self.epsilons[0],
            perplexity: 1.0,
            error: pca.pca.mean,
            other: None,
            ahead: 0,
            behind: 0,
        };
        let ewca = &self.cells[self.best];
        if !ewca.stands {
            return of_pca;
        }
        let pairs = || ewca.ewca_errors.iter().zip(&pca.pca_errors);
        let lower = pairs().filter(|(ewca, pca)| ewca < pca).count();
        let higher = pairs().filter(|(ewca, pca)| ewca > pca).count();
        if pca.pca.mean < ewca.ewca.mean + AS_GOOD || lower <= higher {
            return Recommendation { other: Some((ewca.k, ewca.ewca.mean)), ahead: higher, behind: lower, ..of_pca };
        }
        let at = self.least_epsilon(ewca);
        Recommendation {
            method: Method::Ewca,
            k: ewca.k,
            epsilon: self.epsilons[at],
            perplexity: ewca.perplexities[at],
            error: ewca.ewca.mean,
            other: Some((pca.k, pca.pca.mean)),
            ahead: lower,
            behind: higher,
        }
    }

    /// Takes note that the fit that was recommended for this k collapses when it is made by itself: another one is recommended then.
    pub fn note_collapse(&mut self, k: usize) {
        self.cells.iter_mut().filter(|cell| cell.k == k).for_each(|cell| cell.stands = false);
        self.best = best(&self.cells);
    }

    /// The place of the smallest epsilon with no more errors than the chosen one: where less spread is as good, it is nearer to PCA, and
    /// farther from a collapse.
    fn least_epsilon(&self, cell: &Cell) -> usize {
        let chosen = self.epsilons.iter().position(|epsilon| *epsilon == cell.epsilon).unwrap_or(0);
        let as_good = |at: &usize| !cell.collapsed[*at] && cell.by_epsilon[*at] <= cell.by_epsilon[chosen];
        (0..chosen).find(as_good).unwrap_or(chosen)
    }
}

impl Recommendation {
    /// By how many points the recommended method is better; none where the two are as good as each other or cannot be compared.
    pub fn better_by(&self) -> Option<f64> {
        self.other.map(|(_, error)| error - self.error).filter(|points| *points >= AS_GOOD && self.ahead > self.behind)
    }
}

/// The first place whose value is within a hundredth of the smallest.
fn smallest(values: impl Iterator<Item = f64> + Clone) -> usize {
    let lowest = values.clone().fold(f64::INFINITY, f64::min);
    values.into_iter().position(|value| value <= lowest + EQUAL).unwrap_or(0)
}

/// Judges each k of `ks`, and chooses among `epsilons` for it, as far as they are `candidates`. `fitted` is called after each k, and may stop by returning false.
pub fn select<T: Scalar>(
    samples: &Samples<'_, T>,
    labels: &EncodedLabels,
    ks: &[usize],
    epsilons: &[f64],
    candidates: Candidates,
    protocol: Protocol,
    fitted: &mut (dyn FnMut(usize) -> bool + Send),
) -> ewca::Result<Option<Selection>> {
    let never = Arc::new(AtomicBool::new(false));
    select_until(samples, labels, ks, epsilons, candidates, protocol, fitted, &never)
}

/// The same, which also ends, without a result, soon after somebody raises the flag `stop`: in the middle of a fit too.
#[allow(clippy::too_many_arguments)]
pub fn select_until<T: Scalar>(
    samples: &Samples<'_, T>,
    labels: &EncodedLabels,
    ks: &[usize],
    epsilons: &[f64],
    candidates: Candidates,
    protocol: Protocol,
    fitted: &mut (dyn FnMut(usize) -> bool + Send),
    stop: &Arc<AtomicBool>,
) -> ewca::Result<Option<Selection>> {
    let mut epsilons = epsilons.to_vec();
    epsilons.sort_by(f64::total_cmp);
    let classes = &labels.classes;
    let all: Vec<usize> = (0..samples.rows()).collect();
    let splits = protocol.outer_splits(classes);
    let Some(raw) = Neighbours::until(&points(samples, &all)?, stop) else { return Ok(None) };
    let raw_errors = errors(&raw, &splits, classes);
    let mut cells = Vec::new();
    for &k in ks {
        let Some((pca_scores, models)) = fits(samples, k, &epsilons, stop)? else { return Ok(None) };
        let judge = Judge { epsilons: &epsilons, splits: &splits, classes, candidates, protocol };
        cells.push(judge.judged(k, &pca_scores, &models));
        if !fitted(k) || stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
    }
    let best = best(&cells);
    Ok(Some(Selection { epsilons, raw: Spread::of(&raw_errors), raw_errors, cells, best }))
}

/// What is judged for one k: the scores of PCA, and a fit for each epsilon. None where the flag is raised.
fn fits<T: Scalar>(
    samples: &Samples<'_, T>,
    k: usize,
    epsilons: &[f64],
    stop: &Arc<AtomicBool>,
) -> ewca::Result<Option<(Matrix, Vec<Model>)>> {
    let params = Ewca::params(k).check()?;
    let mut watch = StopWatch(stop.clone());
    let scores = params.pca_observed(samples, &mut watch).map(|pca| pca.scores);
    let made = scores.and_then(|scores| Ok((scores, params.path_observed(samples, epsilons, &mut watch)?)));
    match made {
        // A path that is stopped has the fits that it came to.
        _ if stop.load(Ordering::Relaxed) => Ok(None),
        Err(Error::Stopped) => Ok(None),
        other => other.map(Some),
    }
}

/// Ends a fit when the flag is raised.
struct StopWatch(Arc<AtomicBool>);

impl Observer for StopWatch {
    fn observe(&mut self, _: &Progress<'_>) -> Control {
        if self.0.load(Ordering::Relaxed) { Control::Stop } else { Control::Continue }
    }

    fn stop_flag(&self) -> Option<Arc<AtomicBool>> {
        Some(self.0.clone())
    }
}

/// The place of the smallest mean error of EWCA, of those that stand where any does.
fn best(cells: &[Cell]) -> usize {
    let any = cells.iter().any(|cell| cell.stands);
    smallest(cells.iter().map(|cell| if cell.stands || !any { cell.ewca.mean } else { f64::INFINITY }))
}

/// What every k is judged with.
struct Judge<'a> {
    epsilons: &'a [f64],
    splits: &'a [Split],
    classes: &'a [usize],
    candidates: Candidates,
    protocol: Protocol,
}

impl Judge<'_> {
    fn judged(&self, k: usize, pca_scores: &Matrix, models: &[Model]) -> Cell {
        let Self { epsilons, splits, classes, protocol, .. } = *self;
        let pca = errors(&Neighbours::new(pca_scores), splits, classes);
        let neighbours: Vec<Neighbours> = models.par_iter().map(|model| Neighbours::new(model.scores())).collect();
        let by_epsilon: Vec<Vec<f64>> = neighbours.par_iter().map(|n| errors(n, splits, classes)).collect();
        let collapsed: Vec<bool> = models.iter().map(|model| model.certificate().collapsed).collect();
        let places = self.places(&collapsed);
        let candidates: Vec<Neighbours> = places.iter().map(|&at| neighbours[at].clone()).collect();
        let pick = |members: &[usize], number: u64| places[protocol.chosen(&candidates, members, classes, number)];
        let picks: Vec<usize> =
            splits.par_iter().enumerate().map(|(number, split)| pick(&split.train, number as u64 + 1)).collect();
        let ewca: Vec<f64> = picks.iter().enumerate().map(|(split, &pick)| by_epsilon[pick][split]).collect();
        let all: Vec<usize> = (0..classes.len()).collect();
        let choice = pick(&all, 0);
        Cell {
            k,
            pca: Spread::of(&pca),
            ewca: Spread::of(&ewca),
            pca_errors: pca,
            ewca_errors: ewca,
            chosen: picks.iter().map(|&pick| epsilons[pick]).collect(),
            epsilon: epsilons[choice],
            stands: !collapsed[choice],
            by_epsilon: by_epsilon.iter().map(|e| e.iter().sum::<f64>() / e.len() as f64).collect(),
            collapsed,
            perplexities: models.iter().map(|model| model.perplexity().overall).collect(),
        }
    }

    /// The places of the epsilons that may be chosen; the smallest alone where none may.
    fn places(&self, collapsed: &[bool]) -> Vec<usize> {
        let standing = |at: &usize| self.candidates == Candidates::All || !collapsed[*at];
        let places: Vec<usize> = (0..collapsed.len()).filter(standing).collect();
        if places.is_empty() { vec![0] } else { places }
    }
}

/// The error of each split, in percent.
fn errors(neighbours: &Neighbours, splits: &[Split], classes: &[usize]) -> Vec<f64> {
    splits
        .iter()
        .map(|s| 100.0 * neighbours.errors(&s.train, &s.test, classes) as f64 / s.test.len().max(1) as f64)
        .collect()
}

/// Some of the samples themselves as points.
pub(crate) fn points<T: Scalar>(samples: &Samples<'_, T>, members: &[usize]) -> ewca::Result<Matrix> {
    let rows: Vec<Vec<f64>> = members.iter().map(|&i| samples.row(i)).collect::<ewca::Result<_>>()?;
    Ok(Matrix::from_fn(rows.len(), samples.columns(), |i, j| rows[i][j]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(k: usize, pca: f64, ewca: f64, stands: bool) -> Cell {
        Cell {
            k,
            pca: Spread::of(&[pca - 1.0, pca + 1.0]),
            ewca: Spread::of(&[ewca - 1.0, ewca + 1.0]),
            pca_errors: vec![pca - 1.0, pca + 1.0],
            ewca_errors: vec![ewca - 1.0, ewca + 1.0],
            chosen: vec![2.0; 2],
            epsilon: 2.0,
            stands,
            by_epsilon: vec![ewca + 1.0, ewca],
            collapsed: vec![!stands; 2],
            perplexities: vec![3.0, 8.0],
        }
    }

    fn selection(cells: Vec<Cell>, best: usize) -> Selection {
        let raw_errors = vec![40.0; 2];
        Selection { epsilons: vec![1.0, 2.0], raw: Spread::of(&raw_errors), raw_errors, cells, best }
    }

    /// On NCI60 (k = 10) EWCA was recommended with 38.7 against 35.4 of PCA.
    #[test]
    fn the_better_method_is_recommended() {
        let found = selection(vec![cell(5, 41.0, 40.0, true), cell(10, 35.4, 38.7, true)], 1).recommendation();
        assert_eq!((found.method, found.k, found.error, found.other), (Method::Pca, 10, 35.4, Some((10, 38.7))));
        assert!((found.better_by().unwrap() - 3.3).abs() < 1e-9 && found.epsilon < 1e-6);
        assert_eq!((found.ahead, found.behind), (2, 0));
        let found = selection(vec![cell(5, 41.0, 30.0, true), cell(10, 35.4, 38.7, true)], 0).recommendation();
        assert_eq!((found.method, found.k, found.epsilon, found.other), (Method::Ewca, 5, 2.0, Some((10, 35.4))));
        assert_eq!((found.ahead, found.behind), (2, 0));
        assert_eq!((found.perplexity, found.better_by().map(|points| points.round())), (8.0, Some(5.0)));
    }

    /// EWCA was recommended where both were equal, or where it was ahead by less than the table shows.
    #[test]
    fn pca_is_recommended_where_it_is_as_good() {
        for ewca in [30.0, 29.95, 30.05] {
            let found = selection(vec![cell(5, 30.0, ewca, true)], 0).recommendation();
            assert_eq!((found.method, found.k, found.better_by()), (Method::Pca, 5, None), "{ewca}");
            assert_eq!((found.perplexity, found.other), (1.0, Some((5, ewca))));
        }
        // Better on average, by one split of two alone.
        let mut row = cell(5, 30.0, 28.0, true);
        row.ewca_errors = vec![24.0, 32.0];
        let found = selection(vec![row], 0).recommendation();
        assert_eq!((found.method, found.ahead, found.behind, found.better_by()), (Method::Pca, 1, 1, None));
    }

    #[test]
    fn a_smaller_epsilon_is_recommended_where_it_is_as_good() {
        let mut row = cell(5, 41.0, 30.0, true);
        row.by_epsilon = vec![30.0, 30.0];
        let found = selection(vec![row.clone()], 0).recommendation();
        assert_eq!((found.method, found.epsilon, found.perplexity), (Method::Ewca, 1.0, 3.0));
        // Unless it collapses.
        row.collapsed = vec![true, false];
        assert_eq!(selection(vec![row], 0).recommendation().epsilon, 2.0);
    }

    #[test]
    fn what_collapses_is_not_recommended() {
        // The row with the fewest errors collapses; another one stands.
        let (fallen, standing) = (cell(5, 41.0, 10.0, false), cell(10, 35.0, 30.0, true));
        let cells = vec![fallen.clone(), standing];
        let best = best(&cells);
        assert_eq!(best, 1);
        let found = selection(cells, best).recommendation();
        assert_eq!((found.method, found.k, found.error), (Method::Ewca, 10, 30.0));
        let found = selection(vec![fallen], 0).recommendation();
        assert_eq!((found.method, found.k, found.other, found.perplexity), (Method::Pca, 5, None, 1.0));
        // Nor what turns out to collapse when it is made by itself.
        let mut found = selection(vec![cell(5, 41.0, 10.0, true), cell(10, 35.0, 30.0, true)], 0);
        assert_eq!(found.recommendation().k, 5);
        found.note_collapse(5);
        assert_eq!((found.recommendation().method, found.recommendation().k), (Method::Ewca, 10));
        found.note_collapse(10);
        assert_eq!((found.recommendation().method, found.recommendation().k), (Method::Pca, 10));
        let judge = |candidates| Judge {
            epsilons: &[1.0, 2.0, 3.0],
            splits: &[],
            classes: &[],
            candidates,
            protocol: Protocol::default(),
        };
        assert_eq!(judge(Candidates::Standing).places(&[false, true, false]), [0, 2]);
        assert_eq!(judge(Candidates::Standing).places(&[true, true, true]), [0]);
        assert_eq!(judge(Candidates::All).places(&[false, true, true]), [0, 1, 2]);
    }
}
