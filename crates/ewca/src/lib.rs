//! Entropic Wasserstein Component Analysis: PCA with a sense of neighbourhood.
//!
//! PCA asks for the subspace in which samples lose least when they are projected. EWCA asks for the subspace in which the
//! *cloud* of samples loses least, when each sample may be represented by a weighted mix of its neighbours' projections. One
//! knob, epsilon, says how wide a neighbourhood is: at 0 the answer is PCA, and as it grows the subspace turns towards
//! directions along which groups of samples stay together.
//!
//! # In five lines
//!
//! ```
//! use ewca::{Ewca, Samples};
//!
//! // Six samples with three features: two groups.
//! let data = [
//!     0.0, 0.1, 5.0,   0.2, 0.0, 1.0,   0.1, 0.2, 3.0,
//!     4.0, 4.1, 2.0,   4.2, 4.0, 4.0,   4.1, 3.9, 0.5,
//! ];
//! let samples = Samples::new(&data, 6, 3)?;
//! let model = Ewca::params(1).epsilon(2.0).fit(&samples)?;
//!
//! assert!(model.converged());
//! assert_eq!(model.scores().rows(), 6);
//! println!("{:.0}% of the variance", 100.0 * model.explained_variance_ratio()[0]);
//!
//! // Who is near whom: sample 0 shares its mass with its own group.
//! let partners: Vec<usize> = model.plan().partners(0, 3).iter().map(|p| p.0).collect();
//! assert!(partners.iter().all(|&j| j < 3));
//!
//! // New samples.
//! let scores = model.transform(&[4.0, 4.0, 3.0], 1)?;
//! assert_eq!(scores.columns(), 1);
//! # Ok::<(), ewca::Error>(())
//! ```
//!
//! # The problem
//!
//! `X` is n x d, row i is sample `x_i`, centred by the weighted mean; `a` holds the weights (1/n by default, they sum to 1);
//! `U` is d x k with orthonormal columns, `Z = XU` are the scores. With the transport plans `Pi(a, a)` (matrices `pi >= 0` whose
//! rows and columns sum to `a`),
//!
//! ```text
//! F(U) =   min     sum_ij pi_ij |x_i - UU'x_j|^2  +  epsilon sum_ij pi_ij log(pi_ij / (a_i a_j))
//!        pi in Pi
//!
//! EWCA = the U with the smallest F
//! ```
//!
//! For a fixed plan the best `U` are the k leading eigenvectors of `M(pi) = X'(2 pi - diag(a)) X`. At `epsilon -> 0` the plan is
//! `diag(a)`, `M` is the covariance `Sigma`, and EWCA is PCA. At `epsilon -> infinity` the plan is `aa'`, `M = -Sigma`, and EWCA
//! takes the k *smallest* eigenvectors: far too large an epsilon destroys the embedding. A fit says so: an eigenvalue of `M`
//! that is not positive sets [`Certificate::collapsed`]. For Gaussian data a direction of variance `s2` collapses at
//! `epsilon = 3 s2`.
//!
//! # What makes it fast
//!
//! **Self-transport.** `|x_i - UU'x_j|^2 = (|x_i|^2 - |z_i|^2) + |z_i - z_j|^2`, and the bracket depends on i only. So
//!
//! ```text
//! F(U) = sum_i a_i (|x_i|^2 - |z_i|^2)  +  OT_epsilon(Z, Z)
//!        PCA's reconstruction error        entropic self-transport of the scores, in k dimensions
//! ```
//!
//! and the n x n costs take O(n^2 k), not O(n^2 d).
//!
//! **One potential.** Costs and marginals are symmetric, so
//! `pi_ij = a_i a_j exp((g_i + g_j - |z_i - z_j|^2) / epsilon)`: a plan is n numbers, and [`Plan`] holds just these and the
//! scores. The Gaussian kernel is positive semi-definite, hence so is the plan; therefore the damped iteration
//! `f <- f + (2/3) r` (f = g/epsilon, r the log of what the marginals lack) contracts by 1/3 whatever epsilon, where
//! alternating Sinkhorn slows down without limit as epsilon falls. Anderson acceleration makes it faster still. And since
//! `K_ii = 1`, no row can underflow: small epsilons are easy.
//!
//! **The span.** F depends on `X` only through `XU`, so a fit first rotates the data into their principal axes (one Gram
//! product of the cheaper side and one eigen-decomposition), and all iterations work on n x r coordinates.
//!
//! **L-BFGS.** By the envelope theorem `grad F(U) = -2 M U`; one pass over the kernel with columns `[1, Z]` gives the marginals
//! and `pi Z` together. The default solver is a Riemannian L-BFGS with a preconditioner built from the eigenvalues of `M`, and
//! its plans are only as accurate as the gradient needs. The paper's two algorithms are there as well: [`Solver::Bcd`] and
//! [`Solver::Mm`].
//!
//! Cost is counted in *kernel passes*, applications of the n x n kernel to a few columns; [`Model::kernel_passes`] tells them.
//!
//! **Landmarks.** For a million samples and more, [`Params::landmarks`] approximates the kernel by m landmarks, and a pass costs
//! 2 n m entries of it instead of n^2 / 2. Off by default; such a fit is marked as approximate, and its certificate has an
//! [`Approximation`] that tells how far it is from the exact kernel.
//!
//! # What makes it safe
//!
//! Every model carries a [`Certificate`] and a [`Termination`]:
//!
//! | number | what it bounds |
//! |---|---|
//! | `marginal_error`: `sum_i \|(pi 1)_i - a_i\|` | how far the plan is from being a plan |
//! | `duality_gap` | how much more its transport costs than the best one |
//! | `residuals`: `\|M u_j - U U'M u_j\|` relative to component j | how far each component is from stationary |
//! | `eigen_deficit` | whether a stationary subspace is a saddle: what the eigenvectors of `M` would still win |
//! | `eigenvalues` of `M` | all positive: not collapsed |
//!
//! A stationary point need not be a minimum (at a huge epsilon PCA itself is stationary, and the worst subspace of all), so every
//! solver ends with the eigenvector test and leaves saddles by a step of Algorithm 1.
//!
//! # Choosing epsilon
//!
//! Row i of `diag(a)^-1 pi` is a distribution, and exp of its entropy, its *perplexity*, is the number of samples it spreads over:
//! from 1 (PCA) to n. That of the plan, exp of the mean entropy of its rows, rises with epsilon and does not depend on the data's
//! scale, so it makes a better knob: [`Params::perplexity`]. When nothing is given, it is [`DEFAULT_PERPLEXITY`]. [`CheckedParams::path`] fits a whole sequence of
//! epsilons, each from its smaller neighbour.
//!
//! # Variances
//!
//! Loss, certificate and epsilon are in units of `sum_i a_i z_i^2`, with weights that sum to 1. What is *told* as the variance of a component
//! ([`Model::explained_variance`], [`Pca::explained_variance`]) is divided by `n - 1` as PCA's users expect: by `1 - 1/N` for counts that sum to
//! `N`, by `1 - sum_i a_i^2` for weights.
//!
//! # Limits
//!
//! - F is not convex. The lowest of the starts that a fit makes is usually the best optimum known, not certainly: see [`Model::starts`], and
//!   use [`Params::restarts`].
//! - [`Model::certificate`] tells where rounding hides whether a component has converged; the fit says `Stalled` then.
//! - The reduction to the span squares the data: directions whose standard deviation is below about 3e-7 of the largest are
//!   taken as absent. [`Model::rank`] tells what was kept.
//! - Subspaces stay inside the span of the data. Where fewer than k eigenvalues of `M` are positive, the exact minimiser over all
//!   of R^d would take directions in which every score is 0; the fit stays in the span instead and is marked as collapsed.
//! - Memory: O(min(n, d)^2 + n min(n, d)), and n^2 for the kernel only while n is small; see [`Params::memory_budget`].
//! - Magnitudes beyond 1e140 (or all below 1e-140) are refused, since their squares leave the range of f64.
//!
//! # Reproducible
//!
//! The same data, parameters and seed give the same bits on any number of threads, and a fit that was saved by an
//! [`Observer`] and resumed gives the same bits as one that was not interrupted.
//!
//! # Features
//!
//! None is on by default.
//!
//! | feature | what it adds |
//! |---|---|
//! | `serde` | `Serialize` and `Deserialize` for models, parameters, states of fits, and what they are made of |
//! | `ndarray` | `Samples::try_from(array.view())`; `ArrayView2::from(&matrix)`, `Array2::from(matrix)` and back (ndarray 0.17) |
//! | `faer` | `Samples::try_from(mat.as_ref())`; `MatRef::from(&matrix)` and back (faer 0.24) |
//! | `nalgebra` | `Samples::try_from(&dmatrix)`, `Samples::from_nalgebra_columns`; `DMatrixView::from(&matrix)`, `DMatrix::from(matrix)` and back (nalgebra 0.35) |
//! | `linfa` | module `linfa`: `EwcaParams` with linfa's `Fit`, `EwcaModel` with its `Transformer` (linfa 0.8) |
//!
//! Samples are rows everywhere. They are borrowed where the values of each row or of each column lie side by side, and copied where neither do
//! (for slices with other gaps there is [`Samples::strided`]); a [`Matrix`] is handed out without a copy. All give the same bits as [`Samples::new`].
//!
//! The method is by Collas, Vayer, Flamary and Breloy, "Entropic Wasserstein Component Analysis" (2023).
#![deny(unsafe_code)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc, clippy::must_use_candidate)]

mod error;
mod fit;
mod interop;
mod kernel;
mod matrix;
mod parallel;
mod samples;
mod simd;
mod solvers;
mod subspace;
mod team;
#[cfg(test)]
extern crate self as ewca;
#[cfg(test)]
mod testing;
mod transport;

pub use error::{Cause, Error, Result};
pub use fit::{
    Approximation, Certificate, CheckedParams, Control, DEFAULT_COMPONENTS, DEFAULT_EPSILONS, DEFAULT_PERPLEXITY, Ewca,
    Finding, FitState, Iteration, Model, ModelParts, Observer, Params, Pca, Perplexity, Phase, Progress, Start,
    Termination, Timings, Unobserved, geometric,
};
#[cfg(feature = "linfa")]
pub use interop::linfa;
pub use kernel::Kernel;
#[doc(hidden)] // For bench/.
pub use kernel::{Accuracy, KernelLayout, KernelOptions, Peak, Work};
pub use matrix::Matrix;
pub use samples::{Part, Samples, Scalar, Source};
pub use simd::Simd;
pub use solvers::{EigenvalueBound, MmParams, Solver};
pub use subspace::Orthonormalisation;
pub use team::Team;
pub use transport::{Coupling, Plan, SinkhornLimits, self_transport, sinkhorn_knopp, sinkhorn_log};
