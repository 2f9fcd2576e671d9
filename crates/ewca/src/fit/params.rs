//! What a caller may ask for, and the door where it is checked.

#[cfg(doc)]
use super::Perplexity;
use super::memory::{self, Shape};
use super::{FitState, Model, Observer, Pca, Unobserved};
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::samples::{Samples, Scalar};
use crate::simd::Simd;
use crate::solvers::Solver;

/// The perplexity that is aimed at when neither epsilon nor a perplexity is given (1 + 0.3 (n - 1) below 15 samples).
///
/// Of those tried on six labelled data sets it is the largest at which nearest neighbours in the scores are of the same class as
/// often as in PCA's, within 0.2 points; from 10 on, classes of 10 samples dissolve (`python3 bench/perplexity.py`).
pub const DEFAULT_PERPLEXITY: f64 = 5.0;

/// The entry point: [`Ewca::params`].
#[derive(Debug, Clone, Copy)]
pub struct Ewca;

impl Ewca {
    /// Parameters for a fit with `components` components, everything else at its default.
    pub fn params(components: usize) -> Params {
        Params {
            components,
            smoothing: Smoothing::Default,
            solver: Solver::Auto,
            tolerance: 1e-6,
            max_iterations: 1000,
            start: Start::Pca,
            restarts: 0,
            single_start: false,
            seed: 0,
            threads: None,
            memory_budget: None,
            skip_far_pairs: true,
            single_precision: true,
            coarse_to_fine: true,
            landmarks: None,
        }
    }
}

/// The most threads that can be asked for.
const MAX_THREADS: usize = 1024;

#[cfg(feature = "serde")]
fn yes() -> bool {
    true
}

/// How far a sample's mass spreads.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Smoothing {
    Default,
    Epsilon(f64),
    Perplexity(f64),
}

/// Where the first attempt begins.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Start {
    /// The principal components.
    #[default]
    Pca,
    /// A random subspace of the data's span, from the seed.
    Random,
    /// Given loadings, d x k; only their span inside the data's span matters.
    Loadings(Matrix),
}

/// The parameters of a fit, not yet checked. Made by [`Ewca::params`], changed by its methods, checked by [`Params::check`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[must_use = "parameters do nothing until something is fitted with them"]
pub struct Params {
    pub(crate) components: usize,
    pub(crate) smoothing: Smoothing,
    pub(crate) solver: Solver,
    pub(crate) tolerance: f64,
    pub(crate) max_iterations: usize,
    pub(crate) start: Start,
    pub(crate) restarts: usize,
    pub(crate) seed: u64,
    pub(crate) threads: Option<usize>,
    pub(crate) memory_budget: Option<usize>,
    // Models and checkpoints of earlier versions lack these.
    #[cfg_attr(feature = "serde", serde(default = "yes"))]
    pub(crate) skip_far_pairs: bool,
    #[cfg_attr(feature = "serde", serde(default = "yes"))]
    pub(crate) single_precision: bool,
    #[cfg_attr(feature = "serde", serde(default = "yes"))]
    pub(crate) coarse_to_fine: bool,
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) landmarks: Option<usize>,
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) single_start: bool,
}

impl Params {
    /// The regularisation epsilon, in units of squared distance. Towards 0 the fit is PCA. Overrides a perplexity.
    pub fn epsilon(mut self, epsilon: f64) -> Self {
        self.smoothing = Smoothing::Epsilon(epsilon);
        self
    }

    /// The wanted perplexity of the plan, between 1 and n: over how many samples each one spreads ([`Perplexity::overall`]). Epsilon is then
    /// found by a search, and the fit is that of this epsilon. Overrides an epsilon. When neither is given: [`DEFAULT_PERPLEXITY`].
    pub fn perplexity(mut self, perplexity: f64) -> Self {
        self.smoothing = Smoothing::Perplexity(perplexity);
        self
    }

    /// The algorithm.
    pub fn solver(mut self, solver: Solver) -> Self {
        self.solver = solver;
        self
    }

    /// A fit has converged when the residual of every component, relative to itself, is at most this; 1e-6 by default. See
    /// [`Certificate::residuals`](crate::Certificate::residuals).
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// The largest number of iterations of one attempt; 1000 by default.
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = max_iterations;
        self
    }

    /// Where the first attempt begins; the principal components by default.
    pub fn start(mut self, start: Start) -> Self {
        self.start = start;
        self
    }

    /// Further starts from random subspaces; the lowest loss is kept. 0 by default (bench/STARTS.md).
    ///
    /// F is not convex, and one start may end above the best optimum. Without restarts a fit of L-BFGS that starts at PCA makes two
    /// starts up to 1000 samples, the other by continuation from smaller epsilons, and one beyond. [`Model::starts`] and
    /// [`Model::agreeing_starts`] tell what came of them.
    pub fn restarts(mut self, restarts: usize) -> Self {
        self.restarts = restarts;
        self
    }

    /// Makes the first start alone: no restarts, no continuation. For experiments with the method as published, and where many fits
    /// are made one after the other.
    pub fn single_start(mut self) -> Self {
        self.single_start = true;
        self
    }

    /// The seed of everything random; 0 by default.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The number of threads; all by default. It does not change the result.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// The most memory a fit may take, in bytes, apart from the data themselves. A fit that needs more is refused before it
    /// allocates.
    pub fn memory_budget(mut self, bytes: usize) -> Self {
        self.memory_budget = Some(bytes);
        self
    }

    /// Whether passes over many samples (more than 4096) leave out pairs that are too far apart to matter: by default they do. The
    /// certificate's `skipped_mass` bounds what is lost, less than rounding usually takes.
    pub fn skip_far_pairs(mut self, skip: bool) -> Self {
        self.skip_far_pairs = skip;
        self
    }

    /// Whether plans that need not be accurate yet are solved in single precision, which is about twice as fast among more than 1024
    /// samples, and else not done. The certificate is that of a plan in double precision all the same. On by default.
    pub fn single_precision(mut self, single: bool) -> Self {
        self.single_precision = single;
        self
    }

    /// Whether fits of many samples (8192 and more) begin with fits of fewer: by default they do. The end must meet the same
    /// tolerance.
    pub fn coarse_to_fine(mut self, coarse: bool) -> Self {
        self.coarse_to_fine = coarse;
        self
    }

    /// Approximates the kernel by this many landmarks, samples that are spread over the cloud, for data sets whose n^2 pairs are too
    /// many to go through: a pass costs 2 n m entries of the kernel instead of n^2 / 2. Off by default, and off where there are no
    /// more samples than landmarks.
    ///
    /// The result is **approximate**: all that is said of the fit holds for the approximate kernel, and
    /// [`Certificate::approximation`](crate::Certificate::approximation) tells how far that is from the exact one, by exact rows of a
    /// sample of the data. It is good where neighbourhoods are wide, each with several landmarks in it: at a perplexity well above
    /// n / m. Perplexities are those of the exact rows of about a thousand samples. Pairs are not left out, and single precision is
    /// not used. For the default solver only.
    pub fn landmarks(mut self, landmarks: usize) -> Self {
        self.landmarks = Some(landmarks);
        self
    }

    /// Checks what can be checked without data.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the first that is out of its range.
    pub fn check(self) -> Result<CheckedParams> {
        self.refuse_what_cannot_be()?;
        Ok(CheckedParams { params: self })
    }

    /// The same of parameters that are needed again.
    ///
    /// # Errors
    /// As [`Params::check`].
    pub fn check_ref(&self) -> Result<CheckedParams> {
        self.clone().check()
    }

    fn refuse_what_cannot_be(&self) -> Result<()> {
        let wrong =
            |name, value: String, expected: &str| Err(Error::Parameter { name, value, expected: expected.to_string() });
        if self.components == 0 {
            return wrong("k", "0".into(), "at least one component is needed");
        }
        match self.smoothing {
            Smoothing::Epsilon(e) if !(e.is_normal() && e.is_sign_positive()) => {
                return wrong("epsilon", e.to_string(), "it must be positive and finite");
            }
            Smoothing::Perplexity(p) if !(p.is_finite() && p > 1.0) => {
                return wrong("perplexity", p.to_string(), "it must be above 1 and below the number of samples");
            }
            _ => {}
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return wrong("tolerance", self.tolerance.to_string(), "it must be between 0 and 1");
        }
        if self.max_iterations == 0 {
            return wrong("max_iterations", "0".into(), "at least one iteration is needed");
        }
        if let Some(threads) = self.threads
            && !(1..=MAX_THREADS).contains(&threads)
        {
            return wrong("threads", threads.to_string(), "from 1 to 1024 threads can be used");
        }
        if let Solver::Mm(params) = self.solver
            && params.inner_steps == 0
        {
            return wrong("inner_steps", "0".into(), "at least one inner step is needed");
        }
        if let Some(landmarks) = self.landmarks
            && landmarks < 2
        {
            return wrong("landmarks", landmarks.to_string(), "at least two landmarks are needed");
        }
        if self.landmarks.is_some() && self.solver.resolved() != Solver::Lbfgs {
            let expected = "landmarks work only with the solver lbfgs, which is the default";
            return wrong("solver", self.solver.name().into(), expected);
        }
        if let Start::Loadings(loadings) = &self.start
            && (loadings.columns() != self.components || !loadings.is_finite())
        {
            let value = format!("{} x {}", loadings.rows(), loadings.columns());
            return wrong("start", value, "the loadings must be finite, with one column per component");
        }
        Simd::chosen()?;
        Ok(())
    }

    /// Checks the parameters and fits.
    ///
    /// # Errors
    /// As [`Params::check`] and [`CheckedParams::fit`].
    pub fn fit<T: Scalar>(self, samples: &Samples<'_, T>) -> Result<Model> {
        self.check()?.fit(samples)
    }

    /// Checks the parameters and finds the principal components: see [`CheckedParams::pca`].
    ///
    /// # Errors
    /// As [`Params::check`] and [`CheckedParams::pca`].
    pub fn pca<T: Scalar>(&self, samples: &Samples<'_, T>) -> Result<Pca> {
        self.check_ref()?.pca(samples)
    }
}

/// Parameters that passed [`Params::check`]: what fits.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct CheckedParams {
    pub(crate) params: Params,
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for CheckedParams {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let refused = |error: Error| serde::de::Error::custom(format!("its parameters: {error}"));
        <Params as serde::Deserialize>::deserialize(deserializer)?.check().map_err(refused)
    }
}

impl CheckedParams {
    /// What stands where parameters are missing: no model has them.
    #[cfg(feature = "serde")]
    pub(super) fn of_no_model() -> Self {
        Self { params: Ewca::params(0) }
    }

    /// The same at another epsilon, where one is given, and without what belongs to the machine.
    pub(super) fn of_model(params: &Params, epsilon: Option<f64>) -> Self {
        let mut params = Params { threads: None, memory_budget: None, ..params.clone() };
        params.smoothing = epsilon.map_or(params.smoothing, Smoothing::Epsilon);
        Self { params }
    }

    /// The parameters, to make others of them: `checked.params().clone().seed(1)`.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The number of components k.
    #[must_use]
    pub fn components(&self) -> usize {
        self.params.components
    }

    /// The epsilon that was asked for, unless a perplexity is aimed at.
    #[must_use]
    pub fn epsilon(&self) -> Option<f64> {
        match self.params.smoothing {
            Smoothing::Epsilon(epsilon) => Some(epsilon),
            _ => None,
        }
    }

    /// The perplexity that was asked for. Where neither is given, [`DEFAULT_PERPLEXITY`] is aimed at.
    #[must_use]
    pub fn perplexity(&self) -> Option<f64> {
        match self.params.smoothing {
            Smoothing::Perplexity(perplexity) => Some(perplexity),
            _ => None,
        }
    }

    /// The solver that is used: never [`Solver::Auto`].
    #[must_use]
    pub fn solver(&self) -> Solver {
        self.params.solver.resolved()
    }

    /// The relative gradient at which a fit has converged.
    #[must_use]
    pub fn tolerance(&self) -> f64 {
        self.params.tolerance
    }

    /// The most iterations of a start.
    #[must_use]
    pub fn max_iterations(&self) -> usize {
        self.params.max_iterations
    }

    /// The number of random starts beside the others.
    #[must_use]
    pub fn restarts(&self) -> usize {
        self.params.restarts
    }

    /// What random starts come from.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.params.seed
    }

    /// The number of threads, where one was given.
    #[must_use]
    pub fn threads(&self) -> Option<usize> {
        self.params.threads
    }

    /// The most bytes that a fit may take beside the data, where a limit was given.
    #[must_use]
    pub fn memory_budget(&self) -> Option<usize> {
        self.params.memory_budget
    }

    /// The number of landmarks, where the kernel is approximated.
    #[must_use]
    pub fn landmarks(&self) -> Option<usize> {
        self.params.landmarks
    }

    /// About how many bytes a fit of `samples` x `features` needs beside the data, or an error where that is over the budget.
    ///
    /// # Errors
    /// [`Error::Memory`] where that is over the budget.
    pub fn memory_needed(&self, samples: usize, features: usize) -> Result<usize> {
        self.memory_of_shape(samples, features, false)
    }

    /// How many bytes a fit of so many samples may take beside what it `needed`, where the budget leaves them: what is computed of a kernel is
    /// kept there while points stay. How much of that is used depends on the data.
    #[must_use]
    pub fn memory_kept(&self, samples: usize, needed: usize) -> usize {
        let left = self.params.memory_budget.map_or(usize::MAX, |budget| budget.saturating_sub(needed));
        memory::kept_bytes(samples, self.params.landmarks, left)
    }

    /// The same for samples that are streamed.
    ///
    /// # Errors
    /// As [`CheckedParams::memory_needed`].
    pub fn memory_needed_streamed(&self, samples: usize, features: usize) -> Result<usize> {
        self.memory_of_shape(samples, features, true)
    }

    fn memory_of_shape(&self, samples: usize, features: usize, streamed: bool) -> Result<usize> {
        let components = self.params.components.min(samples).min(features);
        let landmarks = self.params.landmarks;
        let shape = Shape { samples, own: samples, features, components, landmarks, not_in_memory: streamed, streamed };
        memory::plan(&shape, self.params.memory_budget).map(|plan| plan.bytes)
    }

    /// The same for these very samples: those that are streamed, or shared with other processes, take less.
    ///
    /// # Errors
    /// As [`CheckedParams::memory_needed`].
    pub fn memory_needed_for<T: Scalar>(&self, samples: &Samples<'_, T>) -> Result<usize> {
        let shape = Shape::of(&samples.data, self.params.components, self.params.landmarks);
        memory::plan(&shape, self.params.memory_budget).map(|plan| plan.bytes)
    }

    /// The principal components of the samples, as many as EWCA is to find: what there is at epsilon 0. Threads, memory and
    /// tolerance hold here too.
    ///
    /// # Errors
    /// Where there are more components than the data have directions, all samples are equal, the budget of memory is too small, or samples
    /// cannot be read.
    pub fn pca<T: Scalar>(&self, samples: &Samples<'_, T>) -> Result<Pca> {
        self.pca_observed(samples, &mut Unobserved)
    }

    /// The same with an observer, which may stop it: then the error is [`Error::Stopped`].
    ///
    /// # Errors
    /// As [`CheckedParams::pca`].
    pub fn pca_observed<T: Scalar>(&self, samples: &Samples<'_, T>, observer: &mut dyn Observer) -> Result<Pca> {
        super::pca::pca(&samples.data, &self.params, observer)
    }

    /// Fits.
    ///
    /// # Errors
    /// As [`CheckedParams::pca`]; where the start, the perplexity or the landmarks do not fit the samples; and where rounding leaves
    /// nothing of the loss ([`Error::NotANumber`]).
    pub fn fit<T: Scalar>(&self, samples: &Samples<'_, T>) -> Result<Model> {
        self.fit_observed(samples, &mut Unobserved)
    }

    /// Fits under the eyes of an observer, which sees every iteration and may stop the fit. A stopped fit returns its best
    /// model, marked as interrupted.
    ///
    /// # Errors
    /// As [`CheckedParams::fit`], and [`Error::Stopped`] where the observer stops it before its first iteration.
    pub fn fit_observed<T: Scalar>(&self, samples: &Samples<'_, T>, observer: &mut dyn Observer) -> Result<Model> {
        super::fit(&samples.data, &self.params, None, observer)
    }

    /// Goes on from a state that an observer saved. The result has the same bits as that of a fit without interruption.
    ///
    /// # Errors
    /// As [`CheckedParams::fit_observed`], and [`Error::State`] where the state belongs to other samples or parameters.
    pub fn resume<T: Scalar>(
        &self,
        samples: &Samples<'_, T>,
        state: FitState,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        super::fit(&samples.data, &self.params, Some(state), observer)
    }

    /// One model for each epsilon, in the given order. They are fitted in ascending order, each from its smaller neighbour's
    /// result, so that the path follows the branch of PCA: coming down from a large epsilon ends in collapsed optima.
    ///
    /// # Errors
    /// As [`CheckedParams::fit`], and [`Error::Parameter`] where an epsilon is not positive and finite.
    pub fn path<T: Scalar>(&self, samples: &Samples<'_, T>, epsilons: &[f64]) -> Result<Vec<Model>> {
        self.path_observed(samples, epsilons, &mut Unobserved)
    }

    /// The same under the eyes of an observer. When it stops the path, the models up to there are returned, the last one marked as
    /// interrupted.
    ///
    /// # Errors
    /// As [`CheckedParams::path`], and [`Error::Stopped`] where the observer stops it before its first iteration.
    pub fn path_observed<T: Scalar>(
        &self,
        samples: &Samples<'_, T>,
        epsilons: &[f64],
        observer: &mut dyn Observer,
    ) -> Result<Vec<Model>> {
        super::path::fit_path(&samples.data, &self.params, epsilons, observer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checked_parameters_say_what_was_asked_for() {
        let plain = Ewca::params(3).check().unwrap();
        assert_eq!((plain.components(), plain.epsilon(), plain.perplexity()), (3, None, None));
        assert_eq!((plain.solver(), plain.tolerance(), plain.max_iterations()), (Solver::Lbfgs, 1e-6, 1000));
        assert_eq!((plain.restarts(), plain.seed(), plain.threads()), (0, 0, None));
        assert_eq!((plain.memory_budget(), plain.landmarks()), (None, None));
        let asked = Ewca::params(2).perplexity(7.0).tolerance(1e-3).max_iterations(9).restarts(4).seed(5).threads(6);
        let asked = asked.memory_budget(1 << 20).landmarks(8);
        let checked = asked.check_ref().unwrap();
        assert_eq!(checked, asked.check().unwrap());
        assert_eq!((checked.epsilon(), checked.perplexity(), checked.tolerance()), (None, Some(7.0), 1e-3));
        assert_eq!((checked.max_iterations(), checked.restarts(), checked.seed()), (9, 4, 5));
        assert_eq!(
            (checked.threads(), checked.memory_budget(), checked.landmarks()),
            (Some(6), Some(1 << 20), Some(8))
        );
        let other = Ewca::params(2).epsilon(0.5).solver(Solver::Bcd).check().unwrap();
        assert_eq!((other.epsilon(), other.perplexity(), other.solver()), (Some(0.5), None, Solver::Bcd));
    }
}
