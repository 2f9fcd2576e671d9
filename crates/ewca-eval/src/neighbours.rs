//! Nearest neighbours of all samples, sorted once, asked often.

use std::sync::atomic::{AtomicBool, Ordering};

use ewca::Matrix;
use rayon::prelude::*;

use crate::distance::{rows, squared_distance};

/// The nearest other sample of each of `queries`, by Euclidean distance between the rows of `points`; the first of equals. Takes
/// no more memory than the points, for any number of samples.
///
/// # Panics
/// If there are fewer than two points.
pub fn nearest_others(points: &Matrix, queries: &[usize]) -> Vec<usize> {
    let rows = rows(points);
    let nearest = |&i: &usize| {
        let others = (0..rows.len()).filter(|&j| j != i).map(|j| (squared_distance(&rows[i], &rows[j]), j));
        others.min_by(|x, y| x.0.total_cmp(&y.0)).expect("there is another point").1
    };
    queries.par_iter().map(nearest).collect()
}

/// For each sample all others, nearest first; ties in order of number.
#[derive(Debug, Clone)]
pub struct Neighbours {
    order: Vec<Vec<u32>>,
}

impl Neighbours {
    /// By Euclidean distance between the rows of `points`.
    pub fn new(points: &Matrix) -> Self {
        Self::until(points, &AtomicBool::new(false)).unwrap_or_else(|| Self { order: Vec::new() })
    }

    /// The same, unless somebody raises the flag before it is done.
    pub fn until(points: &Matrix, stop: &AtomicBool) -> Option<Self> {
        let rows = rows(points);
        let others = |i: usize| {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let distance = |j: usize| (squared_distance(&rows[i], &rows[j]), j as u32);
            let mut others: Vec<(f64, u32)> = (0..rows.len()).filter(|&j| j != i).map(distance).collect();
            others.sort_unstable_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
            Some(others.into_iter().map(|(_, j)| j).collect())
        };
        let order = (0..rows.len()).into_par_iter().map(others).collect::<Option<_>>()?;
        Some(Self { order })
    }

    /// The share of the `count` nearest samples that the two have in common, on average.
    pub fn agreement(&self, other: &Self, count: usize) -> f64 {
        let count = count.min(self.order.len().saturating_sub(1)).max(1);
        let common = |(one, other): (&Vec<u32>, &Vec<u32>)| {
            let other = &other[..count.min(other.len())];
            one.iter().take(count).filter(|j| other.contains(j)).count()
        };
        let total: usize = self.order.iter().zip(&other.order).map(common).sum();
        total as f64 / (count * self.order.len()) as f64
    }

    /// How many of `test` have a nearest neighbour among `train` of another class.
    pub fn errors(&self, train: &[usize], test: &[usize], classes: &[usize]) -> usize {
        let mut known = vec![false; self.order.len()];
        train.iter().for_each(|&i| known[i] = true);
        test.iter()
            .filter(|&&i| {
                let nearest = self.order[i].iter().map(|&j| j as usize).find(|&j| known[j]);
                nearest.is_none_or(|j| classes[j] != classes[i])
            })
            .count()
    }

    /// How many samples have a nearest other sample of another class.
    pub fn leave_one_out_errors(&self, classes: &[usize]) -> usize {
        let all: Vec<usize> = (0..self.order.len()).collect();
        self.errors(&all, &all, classes)
    }
}

/// How many new points (`test`) have a nearest known one (`train`) of another class.
pub fn errors_of_new(train: &Matrix, train_classes: &[usize], test: &Matrix, test_classes: &[usize]) -> usize {
    let n = train.rows();
    let both = Matrix::from_fn(n + test.rows(), test.columns(), |i, j| match i.checked_sub(n) {
        Some(i) => test.get(i, j),
        None => train.get(i, j),
    });
    let members: Vec<usize> = (0..both.rows()).collect();
    let classes = [train_classes, test_classes].concat();
    Neighbours::new(&both).errors(&members[..n], &members[n..], &classes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_not_its_own_neighbour() {
        let line = |points: &[f64]| Matrix::from_row_major(points.len(), 1, points).unwrap();
        let (scores, classes) = (line(&[0.0, 1.0, 10.0, 11.0, 10.4]), [0, 0, 1, 1, 0]);
        // 10.4's neighbour is 10 (1), 10's is 10.4 (0), 11's is 10.4 (0).
        assert_eq!(Neighbours::new(&scores).leave_one_out_errors(&classes), 3);
        assert_eq!(errors_of_new(&scores, &classes, &line(&[0.4, 11.0]), &[0, 1]), 0);
        assert_eq!(errors_of_new(&scores, &classes, &line(&[0.4, 11.0, 10.3]), &[1, 0, 0]), 2);
    }

    #[test]
    fn the_nearest_of_the_train_half_decides() {
        // On a line: 0 1 2 10 11; classes 0 0 1 1 1.
        let points = Matrix::from_row_major(5, 1, &[0.0, 1.0, 2.0, 10.0, 11.0]).unwrap();
        let neighbours = Neighbours::new(&points);
        let classes = [0, 0, 1, 1, 1];
        assert_eq!(neighbours.errors(&[0, 3], &[1, 2, 4], &classes), 1); // 2 is nearest to 0
        assert_eq!(neighbours.errors(&[1, 2], &[0, 3, 4], &classes), 0);
        assert_eq!(neighbours.errors(&[4], &[0, 1, 2, 3], &classes), 2);
        // 1 is as far from 0 as from 2: the smaller number wins.
        assert_eq!(neighbours.errors(&[0, 2], &[1], &classes), 0);
        assert_eq!(nearest_others(&points, &[0, 1, 2, 3, 4]), [1, 0, 1, 4, 3]);
        assert_eq!(nearest_others(&points, &[3]), [4]);
    }
}
