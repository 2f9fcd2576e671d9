//! A labelled set, made ready.

use ewca_eval::EncodedLabels;

/// Classes with fewer samples are left out: each half of a split must have two of each class, so that it can be split again.
pub const FEWEST: usize = 4;

/// A labelled data set, ready to be judged.
#[derive(Debug, Clone)]
pub struct EvidenceSet {
    /// What it is called.
    pub name: String,
    /// The study it comes from: sets of one study share samples, so they are not independent.
    pub study: String,
    /// The values, one row per sample.
    pub data: Vec<f64>,
    /// Number of features.
    pub features: usize,
    /// The classes.
    pub labels: EncodedLabels,
    /// Whether logarithms were taken.
    pub logged: bool,
    /// Samples that were left out, since their class is too small.
    pub left_out: usize,
}

impl EvidenceSet {
    /// Makes a set ready: samples of classes with fewer than [`FEWEST`] samples are left out, and where no value is negative the
    /// values are intensities or ratios, so that log2 is taken; zeros count as the smallest positive value. Features are neither
    /// scaled nor selected.
    ///
    /// # Panics
    /// If `data` does not hold `features` values for each label.
    pub fn new(name: &str, study: &str, data: &[f64], features: usize, labels: &[String]) -> Self {
        assert_eq!(data.len(), features * labels.len(), "values for other samples than the labelled ones");
        let size = |label: &String| labels.iter().filter(|other| *other == label).count();
        let kept: Vec<usize> = (0..labels.len()).filter(|&i| size(&labels[i]) >= FEWEST).collect();
        let names: Vec<&String> = kept.iter().map(|&i| &labels[i]).collect();
        let mut values: Vec<f64> = kept.iter().flat_map(|&i| &data[i * features..][..features]).copied().collect();
        let logged = data.iter().all(|&x| x >= 0.0);
        if logged {
            let least = data.iter().copied().filter(|&x| x > 0.0).fold(f64::INFINITY, f64::min);
            values.iter_mut().for_each(|x| *x = x.max(least).log2());
        }
        Self {
            name: name.into(),
            study: study.into(),
            data: values,
            features,
            labels: EncodedLabels::new(&names),
            logged,
            left_out: labels.len() - kept.len(),
        }
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.labels.classes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_classes_go_and_intensities_are_logged() {
        let labels: Vec<String> = "aaaabbbc".chars().map(String::from).collect();
        let ratios: Vec<f64> = (0..8).map(f64::from).collect();
        let set = EvidenceSet::new("s", "s", &ratios, 1, &labels);
        assert!(set.logged);
        assert_eq!((set.samples(), set.left_out), (4, 4));
        assert_eq!(set.data, [0.0, 0.0, 1.0, 3f64.log2()]);
        let logs: Vec<f64> = (-4..4).map(f64::from).collect();
        let set = EvidenceSet::new("s", "s", &logs, 1, &labels);
        assert!(!set.logged);
        assert_eq!(set.data, [-4.0, -3.0, -2.0, -1.0]);
    }
}
