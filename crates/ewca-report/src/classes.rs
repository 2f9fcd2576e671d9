//! Classes: their numbers, and how scores keep them apart.

use ewca::Matrix;
use ewca_eval::{nearest_others, silhouettes};

use crate::annotation::{Annotation, AnnotationValues};
use crate::report::{Classes, Confusion, Silhouette};
use crate::sample::shown_samples;

/// The most classes that are compared: a matrix of more is no picture.
pub const MOST_COMPARED: usize = 60;
/// The most samples whose nearest neighbours and silhouettes are looked for, each among all.
const MOST_ASKED: usize = 2000;

/// What samples without a class are called, where they are a group of their own.
const MISSING: &str = "(missing)";

/// Classes by number.
#[derive(Debug)]
pub struct ClassIndex {
    /// The class of each sample.
    pub classes: Vec<usize>,
    /// The names of the classes.
    pub names: Vec<String>,
    /// The samples that are asked for their neighbours.
    pub asked: Vec<usize>,
}

impl ClassIndex {
    /// The classes of the first annotation that has any. Samples without one are a class of their own, after all others.
    pub fn first(annotations: &[Annotation]) -> Option<Self> {
        annotations.iter().find_map(|annotation| match &annotation.values {
            AnnotationValues::Classes { names, codes, .. } => Some(Self::new(names, codes)),
            AnnotationValues::Numbers(_) => None,
        })
    }

    fn new(names: &[String], codes: &[Option<usize>]) -> Self {
        let missing = names.len();
        let classes: Vec<usize> = codes.iter().map(|code| code.map_or(missing, |code| code.min(missing))).collect();
        let mut names = names.to_vec();
        if classes.contains(&missing) {
            names.push(MISSING.into());
        }
        let asked = shown_samples(classes.len(), Some(&classes), MOST_ASKED);
        Self { classes, names, asked }
    }

    /// The part of the samples whose nearest other one is of another class.
    pub fn error(&self, scores: &Matrix) -> f64 {
        let nearest = nearest_others(scores, &self.asked);
        let wrong = self.asked.iter().zip(nearest).filter(|&(&i, j)| self.classes[i] != self.classes[j]).count();
        wrong as f64 / self.asked.len() as f64
    }

    /// The class of the nearest other sample.
    fn confusion(&self, scores: &Matrix) -> Confusion {
        let mut counts = vec![vec![0; self.names.len()]; self.names.len()];
        for (&i, j) in self.asked.iter().zip(nearest_others(scores, &self.asked)) {
            counts[self.classes[i]][self.classes[j]] += 1;
        }
        let right: usize = (0..counts.len()).map(|class| counts[class][class]).sum();
        Confusion { counts, error: 1.0 - right as f64 / self.asked.len() as f64 }
    }

    /// How the fit keeps the classes apart, and PCA where it is here.
    pub fn compared(&self, scores: &Matrix, pca: Option<&Matrix>) -> Classes {
        let sizes = self.sums(&vec![1.0; self.asked.len()]);
        let by_class = |scores: &Matrix| -> Vec<Option<f64>> {
            let sums = self.sums(&silhouettes(scores, &self.classes, &self.asked));
            sums.iter().zip(&sizes).map(|(sum, size)| Some(sum / size).filter(|mean| mean.is_finite())).collect()
        };
        let (ewca, of_pca) = (by_class(scores), pca.map(by_class));
        let silhouettes = (0..self.names.len()).map(|class| Silhouette {
            name: self.names[class].clone(),
            samples: sizes[class] as usize,
            ewca: ewca[class],
            pca: of_pca.as_ref().and_then(|means| means[class]),
        });
        Classes {
            asked: self.asked.len(),
            silhouettes: silhouettes.collect(),
            ewca: self.confusion(scores),
            pca: pca.map(|scores| self.confusion(scores)),
        }
    }

    /// The sum of values of the samples that were asked, by class.
    fn sums(&self, values: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.names.len()];
        self.asked.iter().zip(values).for_each(|(&i, value)| sums[self.classes[i]] += value);
        sums
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn index(labels: &[&str]) -> ClassIndex {
        ClassIndex::first(&[Annotation::from_texts("kind", labels.iter().map(|label| Some(*label)))]).unwrap()
    }

    #[test]
    fn neighbours_of_another_class_are_counted() {
        let index = index(&["b", "b", "a", "a", "b"]);
        assert_eq!(
            (index.names.as_slice(), index.classes.as_slice()),
            (&["a".into(), "b".into()][..], &[1, 1, 0, 0, 1][..])
        );
        let line = Matrix::from_row_major(5, 1, &[0.0, 1.0, 10.0, 11.0, 10.4]).unwrap();
        // 10.4's neighbour is 10 (a), 10's and 11's is 10.4 (b).
        let confusion = index.confusion(&line);
        assert_eq!(confusion.counts, [[0, 2], [1, 2]]);
        assert!((confusion.error - 0.6).abs() < 1e-15);
        assert!((index.error(&line) - 0.6).abs() < 1e-15);
        let classes = index.compared(&line, Some(&line));
        assert_eq!(classes.silhouettes[1].samples, 3);
        assert_eq!(classes.silhouettes[0].ewca, classes.silhouettes[0].pca);
        let alone = index.compared(&line, None);
        assert_eq!((alone.ewca, alone.pca, alone.silhouettes[0].pca), (classes.ewca, None, None));
    }

    #[test]
    fn samples_without_a_class_are_a_group() {
        let numbers = Annotation::numbers("age", vec![1.0; 3]);
        assert!(ClassIndex::first(std::slice::from_ref(&numbers)).is_none());
        let gaps = Annotation::from_texts("kind", [None, Some("b"), Some("a")].into_iter());
        let index = ClassIndex::first(&[numbers, gaps]).unwrap();
        assert_eq!((index.names, index.classes), (["a", "b", "(missing)"].map(String::from).to_vec(), vec![2, 1, 0]));
    }

    #[test]
    fn one_class_has_no_silhouette() {
        let index = index(&["a", "a"]);
        let line = Matrix::from_row_major(2, 1, &[0.0, 1.0]).unwrap();
        assert_eq!(index.compared(&line, Some(&line)).silhouettes[0].ewca, None);
    }
}
