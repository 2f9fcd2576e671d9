//! From coarse to fine: many samples begin where a few of them ended.
//!
//! A fit of every 25th sample, then of every 5th, costs a 625th and a 25th of a fit of all, and its subspace is a far better start
//! than PCA. Its plan is extended to the other samples by one pass: f_i = -log sum_j a_j K_ij exp(f_j) over the few.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::params::{Params, Smoothing, Start};
use super::perplexity_search::first_epsilon;
use super::session::{MANY_SAMPLES, Session, StartingPoint, pca_frame};
use super::{Control, Model, Observer, Phase, Progress};
use crate::error::Result;
use crate::kernel::{Kernel, neighbours_together};
use crate::matrix::Matrix;
use crate::samples::{Samples, Span};
use crate::subspace::polar_factor;
use crate::team::Member;

/// The fewest samples to begin with.
const FEWEST_SAMPLES: usize = 1600;
/// From one level to the next.
const FACTOR: usize = 5;
/// Accurate enough for a start.
const TOLERANCE: f64 = 1e-3;

/// Where a fit begins: at its first frame, or, where there are so many samples that it pays, where fits of fewer samples ended.
pub(super) fn starting_point(session: &mut Session<'_>) -> Result<StartingPoint> {
    let mut start = StartingPoint { frame: session.first.clone(), potential: None };
    let n = session.span.weights.len();
    if n < MANY_SAMPLES || !session.params.coarse_to_fine {
        return Ok(start);
    }
    let order = neighbours_together(&session.span.leading_axes(session.params.components));
    let mut steps: Vec<usize> = std::iter::successors(Some(FACTOR), |step| Some(step * FACTOR))
        .take_while(|s| n / s >= FEWEST_SAMPLES)
        .collect();
    while let Some(step) = steps.pop() {
        // Neighbours stand together: every so-many-th sample is a fair share of each neighbourhood.
        let few: Vec<usize> = order.iter().copied().skip(step / 2).step_by(step).collect();
        session.observer.phase(Phase::Coarse { samples: few.len() });
        start = level(session, &few, start)?;
        session.stop.check()?;
    }
    Ok(start)
}

/// The start after a fit of a `few` samples.
fn level(session: &mut Session<'_>, few: &[usize], start: StartingPoint) -> Result<StartingPoint> {
    let (span, params, member) = (session.span.clone(), session.params, &session.member);
    let rows = span.rows(few);
    let weights: Vec<f64> = few.iter().map(|&i| span.weights[i]).collect();
    let samples = Samples::new(&rows, few.len(), span.rank())?.with_weights(&weights)?;
    let (epsilon, _) = first_epsilon(&span, params, &start.frame, start.potential.as_deref());
    let all_landmarks = params.landmarks.filter(|m| *m < span.weights.len());
    let params = Params {
        smoothing: Smoothing::Epsilon(epsilon),
        start: Start::Loadings(start.frame),
        tolerance: params.tolerance.max(TOLERANCE),
        max_iterations: 50,
        restarts: 0,
        // Landmarks pay from four times as many samples on.
        landmarks: params.landmarks.filter(|m| few.len() / 4 > *m),
        ..params.clone()
    };
    let mut observer = Preparing(session.observer);
    let mut of_few = Session::open(&samples, &params, member.clone(), &mut observer)?;
    let potential = start.potential.map(|potential| few.iter().map(|&i| potential[i]).collect());
    let state = of_few.begin(StartingPoint { frame: of_few.first.clone(), potential }, None)?;
    let (end, model) = of_few.run_to_model(&samples, state)?;
    let own = &of_few.span;
    let (frame, _) = own.loadings(&samples, &end.frame)?;
    let (own_axes, _) = own.loadings(&samples, &pca_frame(own.rank(), params.components))?;
    let frame = carried_over(&own_axes, &pca_frame(span.rank(), params.components), &frame)?;
    let potential = end.potential.map(|of_few| extended(&span, member, few, (&frame, &of_few), &model, all_landmarks));
    Ok(StartingPoint { frame, potential })
}

/// `frame` turned as `from` must be turned to become `to`. The principal axes of a few samples differ from those of all by chance, and
/// so does their EWCA frame, in the same way: what the few can tell is how EWCA differs from PCA.
///
/// The turn is the product of two reflections, at the subspace half-way between and at `to`.
fn carried_over(from: &Matrix, to: &Matrix, frame: &Matrix) -> Result<Matrix> {
    let mut between = from.times(&polar_factor(&from.transposed_times(to))?);
    between.add_scaled(1.0, to);
    let between = polar_factor(&between)?;
    let reflected = |at: &Matrix, frame: &Matrix| {
        let mut out = at.times(&at.transposed_times(frame)).scaled(2.0);
        out.add_scaled(-1.0, frame);
        out
    };
    polar_factor(&reflected(to, &reflected(&between, frame)))
}

/// The potential of all samples by that of a few.
fn extended(
    span: &Span,
    member: &Member,
    few: &[usize],
    (frame, potential): (&Matrix, &[f64]),
    model: &Model,
    landmarks: Option<usize>,
) -> Vec<f64> {
    let mut u = vec![0.0; span.weights.len()];
    for (&i, (a, f)) in few.iter().zip(model.weights.iter().zip(potential)) {
        u[i] = a * f.exp();
    }
    let sums = {
        let scores = span.scores(frame);
        let mut kernel = Kernel::new(&scores, false);
        if let Some(landmarks) = landmarks {
            kernel.approximate(&scores, landmarks);
        }
        kernel.set_points(&scores, model.epsilon);
        kernel.share(member.clone());
        kernel.apply(&Matrix::from_fn(u.len(), 1, |i, _| u[i]), &span.weights)
    };
    // A sample that is far from the few gets the potential that balances it with itself alone.
    let bound = |i: usize| -0.5 * span.weights[i].ln();
    (0..u.len()).map(|i| (-sums.get(i, 0).ln()).min(bound(i))).collect()
}

/// Fits of a few samples are not shown to the observer; but it may stop them.
struct Preparing<'o>(&'o mut dyn Observer);

impl Observer for Preparing<'_> {
    fn observe(&mut self, _: &Progress<'_>) -> Control {
        Control::Continue
    }

    fn stop_flag(&self) -> Option<Arc<AtomicBool>> {
        self.0.stop_flag()
    }
}
