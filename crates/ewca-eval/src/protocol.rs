//! The splits of the paper's protocol, and the choice on the inner ones.

use crate::{Neighbours, Split};

/// How often to split, and from which seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocol {
    /// Splits into a train and a test half.
    pub splits: usize,
    /// Splits of each train half, on which epsilon is chosen.
    pub inner_splits: usize,
    /// The seed of all splits.
    pub seed: u64,
}

impl Default for Protocol {
    fn default() -> Self {
        Self { splits: 100, inner_splits: 20, seed: 0 }
    }
}

impl Protocol {
    /// The splits into a train and a test half.
    pub fn outer_splits(self, classes: &[usize]) -> Vec<Split> {
        let all: Vec<usize> = (0..classes.len()).collect();
        (0..self.splits).map(|s| Split::stratified(&all, classes, self.seed, s as u64)).collect()
    }

    /// Which of the `candidates` has the fewest errors over inner splits of `members` alone; ties go to the last. Outer split s
    /// has `number` s + 1, and all samples have 0.
    pub fn chosen(self, candidates: &[Neighbours], members: &[usize], classes: &[usize], number: u64) -> usize {
        // Streams of their own: no inner split repeats an outer one.
        let stream = |inner: usize| (number << 32) + (1 << 31) + inner as u64;
        let splits: Vec<Split> =
            (0..self.inner_splits).map(|inner| Split::stratified(members, classes, self.seed, stream(inner))).collect();
        let count = |n: &Neighbours| splits.iter().map(|s| n.errors(&s.train, &s.test, classes)).sum::<usize>();
        let counts: Vec<usize> = candidates.iter().map(count).collect();
        let fewest = counts.iter().min().copied().unwrap_or(0);
        counts.iter().rposition(|&c| c == fewest).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ewca::Matrix;

    #[test]
    fn nothing_of_a_test_half_reaches_the_choice_of_epsilon() {
        let n = 40;
        let classes: Vec<usize> = (0..n).map(|i| i % 2).collect();
        let noise = |i: usize, c: usize| (((i * 37 + c * 101) as f64 * 12.9898).sin() * 43758.5453).fract();
        let neighbours: Vec<Neighbours> = (0..6)
            .map(|c| Neighbours::new(&Matrix::from_fn(n, 2, |i, j| 0.4 * (i % 2) as f64 + noise(i, 2 * c + j))))
            .collect();
        let all: Vec<usize> = (0..n).collect();
        let mut picks = Vec::new();
        for number in 0..20 {
            let split = Split::stratified(&all, &classes, 5, number);
            let pick = Protocol::default().chosen(&neighbours, &split.train, &classes, number + 1);
            let mut lied = classes.clone();
            split.test.iter().for_each(|&i| lied[i] = 1 - lied[i]);
            assert_eq!(pick, Protocol::default().chosen(&neighbours, &split.train, &lied, number + 1));
            picks.push(pick);
        }
        assert!(
            picks.iter().any(|p| *p != picks[0]),
            "the choice must depend on the split for this test to mean anything"
        );
    }

    #[test]
    fn ties_go_to_the_largest_epsilon() {
        let points = Matrix::from_fn(20, 1, |i, _| (i % 2) as f64 * 10.0 + 0.1 * i as f64);
        let neighbours = vec![Neighbours::new(&points); 3];
        let classes: Vec<usize> = (0..20).map(|i| i % 2).collect();
        let all: Vec<usize> = (0..20).collect();
        assert_eq!(Protocol::default().chosen(&neighbours, &all, &classes, 0), 2);
    }
}
