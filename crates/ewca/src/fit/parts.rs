//! What a model is made of, and the checked way back from it.

use super::{Certificate, CheckedParams, Iteration, Model, Perplexity, Termination, Timings};
use crate::error::{Error, Result};
use crate::matrix::{Matrix, dot};
use crate::samples::variance_divisor;
use crate::solvers::Solver;

/// How far the components may be from orthonormal, and the sum of the weights from 1: far beyond rounding, far below anything else.
const ORTHONORMAL: f64 = 1e-6;

/// What a [`Model`] is made of, for those who save and open models: each field is what the model's method of this name returns.
/// [`Model::from_parts`] checks that they make one.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct ModelParts {
    pub components: Matrix,
    pub mean: Vec<f64>,
    pub scores: Matrix,
    pub weights: Vec<f64>,
    #[cfg_attr(feature = "serde", serde(default, alias = "repeated"))]
    pub total_count: Option<f64>,
    pub potential: Vec<f64>,
    pub explained_variance: Vec<f64>,
    pub explained_variance_ratio: Vec<f64>,
    pub epsilon: f64,
    pub perplexity: Perplexity,
    pub loss: f64,
    pub certificate: Certificate,
    pub termination: Termination,
    pub solver: Solver,
    pub rank: usize,
    pub distance_to_pca: f64,
    pub iterations: usize,
    pub attempt: usize,
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub starts: usize,
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub agreeing_starts: usize,
    pub kernel_passes: usize,
    #[cfg_attr(feature = "serde", serde(default = "all_of_it"))]
    pub kernel_share: f64,
    pub history: Vec<Iteration>,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub timings: Timings,
    /// Models of earlier versions have them elsewhere.
    #[cfg_attr(feature = "serde", serde(default = "CheckedParams::of_no_model"))]
    pub params: CheckedParams,
}

#[cfg(feature = "serde")]
fn one() -> usize {
    1
}

#[cfg(feature = "serde")]
fn all_of_it() -> f64 {
    1.0
}

impl ModelParts {
    /// What the explained variances are divided by: see [`Model::variance_divisor`].
    #[must_use]
    pub fn variance_divisor(&self) -> f64 {
        variance_divisor(&self.weights, self.total_count)
    }

    /// Refuses shapes that do not fit together, and numbers that no fit gives.
    fn check(&self) -> Result<()> {
        let (n, d, k) = (self.scores.rows(), self.components.rows(), self.components.columns());
        if k == 0 || k > d || n == 0 {
            return refused(format!("no model has {n} samples, {d} features and {k} components"));
        }
        let lengths = [
            ("columns of the scores", self.scores.columns(), k),
            ("mean", self.mean.len(), d),
            ("weights", self.weights.len(), n),
            ("potential", self.potential.len(), n),
            ("explained variances", self.explained_variance.len(), k),
            ("explained variance ratios", self.explained_variance_ratio.len(), k),
            ("eigenvalues", self.certificate.eigenvalues.len(), k),
        ];
        if let Some((what, found, expected)) = lengths.into_iter().find(|(_, found, expected)| found != expected) {
            return refused(format!("{what}: {found} instead of {expected}"));
        }
        if self.params.components() != k {
            return refused(format!(
                "its parameters ask for {} components, but the model has {k}",
                self.params.components()
            ));
        }
        self.check_numbers()
    }

    fn check_numbers(&self) -> Result<()> {
        let named = [
            ("components", self.components.as_column_major()),
            ("mean", &self.mean),
            ("scores", self.scores.as_column_major()),
            ("weights", &self.weights),
            ("potential", &self.potential),
            ("explained_variance", &self.explained_variance),
            ("explained_variance_ratio", &self.explained_variance_ratio),
            ("eigenvalues", &self.certificate.eigenvalues),
        ];
        for (name, values) in named {
            if let Some(at) = values.iter().position(|value| !value.is_finite()) {
                return refused(format!("'{name}' has {} at position {at}", values[at]));
            }
        }
        if !(self.epsilon.is_normal() && self.epsilon > 0.0) {
            return refused(format!("epsilon is {}", self.epsilon));
        }
        if !self.loss.is_finite() {
            return refused(format!("the loss is {}", self.loss));
        }
        if let Some(count) = self.total_count.filter(|count| !(count.is_finite() && *count > 0.0)) {
            return refused(format!("the weights stand for {count} samples"));
        }
        let total: f64 = self.weights.iter().sum();
        if self.weights.iter().any(|&weight| weight < 0.0) || (total - 1.0).abs() > ORTHONORMAL {
            return refused("the weights are negative, or do not sum to 1".into());
        }
        // Each component against itself and the one before it: enough to tell damage, in time that their size bounds.
        let u = &self.components;
        let off =
            |value: f64, expected: f64| (value - expected).abs().is_nan() || (value - expected).abs() > ORTHONORMAL;
        let is_wrong = |j: usize| {
            off(dot(u.column(j), u.column(j)), 1.0) || (j > 0 && off(dot(u.column(j - 1), u.column(j)), 0.0))
        };
        match (0..u.columns()).find(|&j| is_wrong(j)) {
            Some(j) => refused(format!("component {} is not orthonormal to the others", j + 1)),
            None => Ok(()),
        }
    }
}

fn refused(what: String) -> Result<()> {
    Err(Error::Model { what })
}

impl Model {
    /// A model of its parts, once it is known that they make one: shapes fit together, numbers are finite, components orthonormal.
    ///
    /// # Errors
    /// [`Error::Model`] with what is wrong.
    pub fn from_parts(parts: ModelParts) -> Result<Self> {
        parts.check()?;
        Ok(Self { parts })
    }

    /// What it is made of.
    #[must_use]
    pub fn into_parts(self) -> ModelParts {
        self.parts
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Model {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serde::Serialize::serialize(&self.parts, serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Model {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Self::from_parts(serde::Deserialize::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ewca, Params, Samples};

    fn fitted() -> Model {
        let data = crate::testing::groups(20, 4);
        Ewca::params(2).epsilon(5.0).seed(3).fit(&Samples::new(&data, 20, 4).unwrap()).unwrap()
    }

    #[test]
    fn a_model_comes_back_from_its_parts_and_from_text() {
        let model = fitted();
        let text = serde_json::to_string(&model).unwrap();
        let again = Model::from_parts(model.clone().into_parts()).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), text);
        let read: Model = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        // Text is checked as parts are: without parameters, or with others, it is no model.
        let refused = |from: &str, to: &str| {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "no {from}");
            serde_json::from_str::<Model>(&changed).unwrap_err().to_string()
        };
        assert!(refused("\"params\":", "\"other\":").contains("ask for 0 components, but the model has 2"));
        assert!(refused("\"tolerance\":1e-6", "\"tolerance\":7.0").contains("its parameters: tolerance is 7"));
        assert!(refused("\"epsilon\":5.0,\"perplexity", "\"epsilon\":-5.0,\"perplexity").contains("epsilon is -5"));
    }

    #[test]
    fn models_know_what_was_asked_of_them() {
        let data = crate::testing::groups(20, 4);
        let samples = Samples::new(&data, 20, 4).unwrap();
        let asked: Params = Ewca::params(2).perplexity(3.0).seed(9).tolerance(1e-5);
        // All but what belongs to the machine.
        let model = asked.clone().threads(2).memory_budget(1 << 30).fit(&samples).unwrap();
        assert_eq!(model.params().params(), &asked);
        let again = model.params().fit(&samples).unwrap();
        assert_eq!((again.scores(), again.loss()), (model.scores(), model.loss()));
        // Along a path each has its own epsilon.
        let path = asked.clone().check().unwrap().path(&samples, &[9.0, 1.0]).unwrap();
        for (model, epsilon) in path.iter().zip([9.0, 1.0]) {
            assert_eq!(model.params().params(), &asked.clone().epsilon(epsilon));
        }
    }

    #[test]
    fn parts_that_make_no_model_are_refused() {
        let refused = |change: &dyn Fn(&mut ModelParts), wanted: &str| {
            let mut parts = fitted().into_parts();
            change(&mut parts);
            let Err(Error::Model { what }) = Model::from_parts(parts) else { panic!("taken: {wanted}") };
            assert!(what.contains(wanted), "no '{wanted}' in: {what}");
        };
        let wide = Matrix::zeros(20, 3);
        refused(&|p| p.components = Matrix::zeros(4, 0), "no model has 20 samples, 4 features and 0 components");
        refused(&|p| p.components = Matrix::zeros(1, 2), "no model has 20 samples, 1 features and 2 components");
        refused(&|p| p.scores = Matrix::zeros(0, 2), "no model has 0 samples");
        refused(&|p| p.scores = wide.clone(), "columns of the scores: 3 instead of 2");
        refused(&|p| p.mean.truncate(3), "mean: 3 instead of 4");
        refused(&|p| p.weights.truncate(3), "weights: 3 instead of 20");
        refused(&|p| p.potential.truncate(3), "potential: 3 instead of 20");
        refused(&|p| p.explained_variance.truncate(1), "explained variances: 1 instead of 2");
        refused(&|p| p.explained_variance_ratio.truncate(1), "explained variance ratios: 1 instead of 2");
        refused(&|p| p.certificate.eigenvalues.truncate(1), "eigenvalues: 1 instead of 2");
        refused(&|p| p.params = Ewca::params(3).check().unwrap(), "ask for 3 components, but the model has 2");
        refused(&|p| p.components.set(2, 1, f64::NAN), "'components' has NaN at position 6");
        refused(&|p| p.mean[1] = f64::INFINITY, "'mean' has inf at position 1");
        refused(&|p| p.scores.set(0, 0, f64::NAN), "'scores' has NaN at position 0");
        refused(&|p| p.weights[2] = f64::NAN, "'weights' has NaN at position 2");
        refused(&|p| p.potential[2] = f64::NEG_INFINITY, "'potential' has -inf at position 2");
        refused(&|p| p.explained_variance[0] = f64::INFINITY, "'explained_variance' has inf");
        refused(&|p| p.explained_variance_ratio[0] = f64::NAN, "'explained_variance_ratio' has NaN");
        refused(&|p| p.certificate.eigenvalues[0] = f64::NAN, "'eigenvalues' has NaN");
        for epsilon in [0.0, -1.0, 1e-310, f64::NAN, f64::INFINITY] {
            refused(&|p| p.epsilon = epsilon, "epsilon is");
        }
        refused(&|p| p.loss = f64::NAN, "the loss is NaN");
        for count in [0.0, -1.0, f64::INFINITY] {
            refused(&|p| p.total_count = Some(count), "stand for");
        }
        refused(&|p| p.weights[0] += 1e-3, "do not sum to 1");
        refused(&|p| (p.weights[0], p.weights[1]) = (-0.1, 0.2), "negative");
        refused(&|p| p.components.set(0, 0, p.components.get(0, 0) + 1e-3), "component 1 is not orthonormal");
        refused(&|p| (0..4).for_each(|i| p.components.set(i, 1, p.components.get(i, 0))), "component 2");
    }
}
