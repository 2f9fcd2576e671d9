//! The paper's protocol for judging k and choosing epsilon.

use ewca::{Ewca, Matrix, Model, Samples, Scalar};
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
    /// The method with the smaller error, each at its best k; EWCA where they are equal, unless it collapses everywhere.
    pub method: Method,
    /// Its best k.
    pub k: usize,
    /// The epsilon to fit with. For PCA, one that is too small to matter.
    pub epsilon: f64,
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
/// Times the smallest epsilon: too small to matter, so that the fit is PCA.
const PCA_EPSILON: f64 = 1e-9;

impl Selection {
    /// What to use by this table.
    pub fn recommendation(&self) -> Recommendation {
        let at = smallest(self.cells.iter().map(|cell| cell.pca.mean));
        let (pca, ewca) = (&self.cells[at], &self.cells[self.best]);
        let pca_epsilon = PCA_EPSILON * self.epsilons[0];
        let count = |ahead: &dyn Fn(f64, f64) -> bool| {
            ewca.ewca_errors.iter().zip(&pca.pca_errors).filter(|(ewca, pca)| ahead(**ewca, **pca)).count()
        };
        let (lower, higher) = (count(&|ewca, pca| ewca < pca), count(&|ewca, pca| ewca > pca));
        let of_pca = |other, ahead, behind| Recommendation {
            method: Method::Pca,
            k: pca.k,
            epsilon: pca_epsilon,
            error: pca.pca.mean,
            other,
            ahead,
            behind,
        };
        if !ewca.stands {
            return of_pca(None, 0, 0);
        }
        if pca.pca.mean < ewca.ewca.mean - EQUAL {
            return of_pca(Some((ewca.k, ewca.ewca.mean)), higher, lower);
        }
        Recommendation {
            method: Method::Ewca,
            k: ewca.k,
            epsilon: ewca.epsilon,
            error: ewca.ewca.mean,
            other: Some((pca.k, pca.pca.mean)),
            ahead: lower,
            behind: higher,
        }
    }
}

impl Recommendation {
    /// By how many points the recommended method is better; none where the two are equal or cannot be compared.
    pub fn better_by(&self) -> Option<f64> {
        self.other.map(|(_, error)| error - self.error).filter(|points| points.abs() > EQUAL)
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
    let mut epsilons = epsilons.to_vec();
    epsilons.sort_by(f64::total_cmp);
    let classes = &labels.classes;
    let all: Vec<usize> = (0..samples.rows()).collect();
    let splits = protocol.outer_splits(classes);
    let raw_errors = errors(&Neighbours::new(&points(samples, &all)?), &splits, classes);
    let mut cells = Vec::new();
    for &k in ks {
        let pca = Ewca::params(k).pca(samples)?;
        let models = Ewca::params(k).check()?.path(samples, &epsilons)?;
        let judge = Judge { epsilons: &epsilons, splits: &splits, classes, candidates, protocol };
        cells.push(judge.judged(k, &pca.scores, &models));
        if !fitted(k) {
            return Ok(None);
        }
    }
    let any = cells.iter().any(|cell: &Cell| cell.stands);
    let best = smallest(cells.iter().map(|cell| if cell.stands || !any { cell.ewca.mean } else { f64::INFINITY }));
    Ok(Some(Selection { epsilons, raw: Spread::of(&raw_errors), raw_errors, cells, best }))
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
            by_epsilon: vec![ewca; 2],
            collapsed: vec![false, !stands],
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
        let found = selection(vec![cell(5, 30.0, 30.0, true)], 0).recommendation();
        assert_eq!((found.method, found.better_by()), (Method::Ewca, None));
    }

    #[test]
    fn what_collapses_is_not_recommended() {
        let found = selection(vec![cell(5, 41.0, 10.0, false)], 0).recommendation();
        assert_eq!((found.method, found.k, found.other), (Method::Pca, 5, None));
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
