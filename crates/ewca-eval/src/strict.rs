//! A stricter protocol than the paper's: the subspaces too are fitted on the train half alone, and the test half is transformed.

use ewca::{Ewca, Matrix, Model, Samples, Scalar};
use rayon::prelude::*;

use crate::select::points;
use crate::{Neighbours, Protocol, Split, errors_of_new};

/// One number of components under the strict protocol: errors of the nearest neighbour in percent, one for each split.
#[derive(Debug, Clone, PartialEq)]
pub struct StrictCell {
    /// Number of components.
    pub k: usize,
    /// In the scores of PCA.
    pub pca: Vec<f64>,
    /// In the scores of EWCA, at the epsilon that inner splits of the train half chose.
    pub ewca: Vec<f64>,
    /// The epsilon that each split chose.
    pub chosen: Vec<f64>,
}

/// Judges each k of `ks` on the same splits as [`crate::select`] makes. `done` is called after each split, from any thread, and
/// may stop by returning false: nothing is returned then. Numbers of components that a train half cannot have are left out.
pub fn strict<T: Scalar>(
    samples: &Samples<'_, T>,
    classes: &[usize],
    ks: &[usize],
    epsilons: &[f64],
    protocol: Protocol,
    done: &(dyn Fn() -> bool + Sync),
) -> ewca::Result<Option<Vec<StrictCell>>> {
    let mut epsilons = epsilons.to_vec();
    epsilons.sort_by(f64::total_cmp);
    let splits = protocol.outer_splits(classes);
    let smallest = splits.iter().map(|s| s.train.len()).min().unwrap_or(0);
    let ks: Vec<usize> = ks.iter().copied().filter(|&k| k < smallest && k <= samples.columns()).collect();
    let rows: Option<Vec<Vec<Judgement>>> = splits
        .par_iter()
        .enumerate()
        .map(|(number, split)| {
            let half = Half::of(samples, split)?;
            let judge = |k: &usize| half.judged(*k, split, classes, &epsilons, protocol, number as u64 + 1);
            let row = ks.iter().map(judge).collect::<ewca::Result<Vec<_>>>()?;
            Ok(done().then_some(row))
        })
        .collect::<ewca::Result<_>>()?;
    let Some(rows) = rows else { return Ok(None) };
    let cell = |at: usize| StrictCell {
        k: ks[at],
        pca: rows.iter().map(|row| row[at].pca).collect(),
        ewca: rows.iter().map(|row| row[at].ewca).collect(),
        chosen: rows.iter().map(|row| epsilons[row[at].pick]).collect(),
    };
    Ok(Some((0..ks.len()).map(cell).collect()))
}

/// One k on one split.
struct Judgement {
    pca: f64,
    ewca: f64,
    pick: usize,
}

/// Both halves in the principal axes of the train half. Subspaces lie in the span of the samples that they are fitted on, so this
/// loses nothing of either half that any fit could see, and all fits share one reduction.
struct Half {
    train: Matrix,
    test: Matrix,
}

impl Half {
    fn of<T: Scalar>(samples: &Samples<'_, T>, split: &Split) -> ewca::Result<Self> {
        let train = points(samples, &split.train)?.to_row_major();
        let test = points(samples, &split.test)?.to_row_major();
        let train = Samples::new(&train, split.train.len(), samples.columns())?;
        let rank = Ewca::params(1).pca(&train)?.rank;
        let pca = Ewca::params(rank).pca(&train)?;
        let test = pca.transform(&Samples::new(&test, split.test.len(), samples.columns())?)?;
        Ok(Self { train: pca.scores, test })
    }

    fn judged(
        &self,
        k: usize,
        split: &Split,
        classes: &[usize],
        epsilons: &[f64],
        protocol: Protocol,
        number: u64,
    ) -> ewca::Result<Judgement> {
        let data = self.train.to_row_major();
        let train = Samples::new(&data, self.train.rows(), self.train.columns())?;
        let pca = Ewca::params(k).pca(&train)?;
        let models = Ewca::params(k).check()?.path(&train, epsilons)?;
        let train_classes: Vec<usize> = split.train.iter().map(|&i| classes[i]).collect();
        let pick = chosen_on_train(&models, &train_classes, protocol, number);
        let test_classes: Vec<usize> = split.test.iter().map(|&i| classes[i]).collect();
        let test = self.test.to_row_major();
        let of_pca = pca.transform(&Samples::new(&test, self.test.rows(), self.test.columns())?)?;
        let of_ewca = models[pick].transform(&test, self.test.rows())?;
        let error = |train: &Matrix, test: &Matrix| {
            let wrong = errors_of_new(train, &train_classes, test, &test_classes);
            100.0 * wrong as f64 / test_classes.len().max(1) as f64
        };
        Ok(Judgement { pca: error(&pca.scores, &of_pca), ewca: error(models[pick].scores(), &of_ewca), pick })
    }
}

/// The choice of epsilon sees the models and classes of the train half, and nothing else.
fn chosen_on_train(models: &[Model], train_classes: &[usize], protocol: Protocol, number: u64) -> usize {
    let neighbours: Vec<Neighbours> = models.iter().map(|model| Neighbours::new(model.scores())).collect();
    let members: Vec<usize> = (0..train_classes.len()).collect();
    protocol.chosen(&neighbours, &members, train_classes, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(seed: usize) -> f64 {
        ((seed as f64 * 12.9898).sin() * 43758.5453).fract()
    }

    /// Two classes that overlap, in six dimensions.
    fn data(n: usize) -> (Vec<f64>, Vec<usize>) {
        let classes: Vec<usize> = (0..n).map(|i| i % 2).collect();
        let cell = |i: usize, j: usize| noise(i * 61 + j * 7 + 1) + if j == 0 { 0.6 * (i % 2) as f64 } else { 0.0 };
        ((0..n).flat_map(|i| (0..6).map(move |j| cell(i, j))).collect(), classes)
    }

    #[test]
    fn nothing_of_a_test_half_reaches_fit_or_choice() {
        let (data, classes) = data(40);
        let epsilons = [0.05, 0.1, 0.2, 0.4, 0.8];
        let all: Vec<usize> = (0..40).collect();
        let mut picks = Vec::new();
        for number in 0..12 {
            let split = Split::stratified(&all, &classes, 4, number);
            let (mut other, mut lied) = (data.clone(), classes.clone());
            for &i in &split.test {
                lied[i] = 1 - lied[i];
                (0..6).for_each(|j| other[i * 6 + j] = 1e3 * noise(i + 5 * j));
            }
            let judge = |data: &[f64], classes: &[usize]| {
                let samples = Samples::new(data, 40, 6).unwrap();
                let half = Half::of(&samples, &split).unwrap();
                half.judged(2, &split, classes, &epsilons, Protocol::default(), number + 1).unwrap()
            };
            let (honest, changed) = (judge(&data, &classes), judge(&other, &lied));
            assert_eq!(honest.pick, changed.pick);
            picks.push(honest.pick);
        }
        assert!(
            picks.iter().any(|p| *p != picks[0]),
            "the choice must depend on the split for this test to mean anything"
        );
    }

    #[test]
    fn one_reduction_for_all_fits_changes_no_error() {
        let (data, classes) = data(40);
        let samples = Samples::new(&data, 40, 6).unwrap();
        let protocol = Protocol { splits: 5, inner_splits: 10, seed: 2 };
        let cells = strict(&samples, &classes, &[2], &[0.1, 0.3], protocol, &|| true).unwrap().unwrap();
        for (number, split) in protocol.outer_splits(&classes).iter().enumerate() {
            // The same by hand, in all features.
            let half = |members: &[usize]| points(&samples, members).unwrap().to_row_major();
            let (train, test) = (half(&split.train), half(&split.test));
            let train_samples = Samples::new(&train, split.train.len(), 6).unwrap();
            let model = Ewca::params(2).epsilon(cells[0].chosen[number]).fit(&train_samples).unwrap();
            let scores = model.transform(&test, split.test.len()).unwrap();
            let distance = |i: usize, j: usize| -> f64 {
                (0..2).map(|l| (scores.get(i, l) - model.scores().get(j, l)).powi(2)).sum()
            };
            let wrong = (0..split.test.len()).filter(|&i| {
                let nearest =
                    (0..split.train.len()).min_by(|&a, &b| distance(i, a).total_cmp(&distance(i, b))).unwrap();
                classes[split.train[nearest]] != classes[split.test[i]]
            });
            assert_eq!(cells[0].ewca[number], 100.0 * wrong.count() as f64 / split.test.len() as f64);
        }
        assert_eq!(strict(&samples, &classes, &[2], &[0.1], protocol, &|| false).unwrap(), None);
    }
}
