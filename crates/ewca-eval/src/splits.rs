//! Stratified splits into two halves.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Labels as numbers, in order of first appearance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedLabels {
    /// The class of each sample.
    pub classes: Vec<usize>,
    /// The names of the classes.
    pub names: Vec<String>,
}

impl EncodedLabels {
    /// Numbers the distinct texts.
    pub fn new<S: AsRef<str>>(texts: &[S]) -> Self {
        let mut names: Vec<String> = Vec::new();
        let classes = texts
            .iter()
            .map(|text| {
                names.iter().position(|name| name == text.as_ref()).unwrap_or_else(|| {
                    names.push(text.as_ref().to_string());
                    names.len() - 1
                })
            })
            .collect();
        Self { classes, names }
    }
}

/// Two disjoint halves of a set of samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The samples to learn from, ascending.
    pub train: Vec<usize>,
    /// The samples to be judged by, ascending.
    pub test: Vec<usize>,
}

impl Split {
    /// Split number `number` of `members` under `seed`: each class is cut in half at random. Classes of odd size give their odd
    /// sample to the test half, the train half, and so on in turn, so that the halves differ by little; a single sample goes to
    /// the train half.
    pub fn stratified(members: &[usize], classes: &[usize], seed: u64, number: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(number);
        let count = classes.iter().max().map_or(0, |c| c + 1);
        let (mut train, mut test) = (Vec::new(), Vec::new());
        let mut odd_to_train = false;
        for class in 0..count {
            let mut own: Vec<usize> = members.iter().copied().filter(|&i| classes[i] == class).collect();
            own.shuffle(&mut random);
            let half = if own.len() == 1 {
                1
            } else if own.len() % 2 == 1 {
                let half = own.len() / 2 + usize::from(odd_to_train);
                odd_to_train = !odd_to_train;
                half
            } else {
                own.len() / 2
            };
            train.extend_from_slice(&own[..half]);
            test.extend_from_slice(&own[half..]);
        }
        train.sort_unstable();
        test.sort_unstable();
        Self { train, test }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn halves_are_disjoint_complete_and_stratified(sizes in prop::collection::vec(1usize..20, 1..6), seed in 0u64..50) {
            let classes: Vec<usize> = sizes.iter().enumerate().flat_map(|(c, &n)| vec![c; n]).collect();
            let members: Vec<usize> = (0..classes.len()).filter(|i| i % 7 != 3).collect();
            let split = Split::stratified(&members, &classes, seed, 3);
            let mut all = [split.train.clone(), split.test.clone()].concat();
            all.sort_unstable();
            prop_assert_eq!(all, members.clone());
            for class in 0..sizes.len() {
                let of = |half: &[usize]| half.iter().filter(|&&i| classes[i] == class).count();
                let (train, test) = (of(&split.train), of(&split.test));
                prop_assert!(train.abs_diff(test) <= 1);
                prop_assert!(train > 0 || test == 0);
            }
            prop_assert_eq!(&split, &Split::stratified(&members, &classes, seed, 3));
        }
    }

    #[test]
    fn numbers_and_seeds_give_other_splits() {
        let classes = vec![0; 40];
        let members: Vec<usize> = (0..40).collect();
        let one = Split::stratified(&members, &classes, 1, 0);
        assert_ne!(one, Split::stratified(&members, &classes, 1, 1));
        assert_ne!(one, Split::stratified(&members, &classes, 2, 0));
    }

    #[test]
    fn labels_are_numbered_by_appearance() {
        let labels = EncodedLabels::new(&["b", "a", "b", "c"]);
        assert_eq!(labels.classes, [0, 1, 0, 2]);
        assert_eq!(labels.names, ["b", "a", "c"]);
    }
}
