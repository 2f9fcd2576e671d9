//! From coarse to fine: many samples begin where a few of them ended.
//!
//! A fit of every 25th sample, then of every 5th, costs a 625th and a 25th of a fit of all, and its subspace is a far better start
//! than PCA. Its plan is extended to the other samples by one pass: f_i = -log sum_j a_j K_ij exp(f_j) over the few.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::params::{Params, Smoothing, Start};
use super::perplexity_search::first_epsilon;
use super::session::{Session, StartingPoint};
use super::{Control, Model, Observer, Phase, Progress};
use crate::error::Result;
use crate::kernel::{KernelLayout, KernelOptions, neighbours_together};
use crate::matrix::Matrix;
use crate::samples::{Samples, Span};
use crate::subspace::polar_factor;
use crate::team::TeamHandle;
use crate::transport::{MANY_SAMPLES, Scalings};

/// The fewest samples to begin with.
const FEWEST_SAMPLES: usize = 1600;
/// From one level to the next.
const FACTOR: usize = 5;
/// Accurate enough for a start.
const TOLERANCE: f64 = 1e-3;
const MOST_ITERATIONS: usize = 50;

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
        max_iterations: params.max_iterations.min(MOST_ITERATIONS),
        restarts: 0,
        // Landmarks pay from four times as many samples on.
        landmarks: params.landmarks.filter(|m| few.len() / 4 > *m),
        ..params.clone()
    };
    let kept_bytes = session.kept_bytes;
    let mut observer = Preparing(session.observer);
    let mut of_few = Session::open(&samples.data, &params, member.clone(), &mut observer)?;
    // The data of all are held at the same time.
    of_few.kept_bytes = of_few.kept_bytes.min(kept_bytes);
    let potential = start.potential.map(|potential| few.iter().map(|&i| potential[i]).collect());
    let state = of_few.begin(StartingPoint { frame: of_few.first.clone(), potential }, None)?;
    let (end, model) = of_few.run_to_model(&samples.data, state)?;
    let own = &of_few.span;
    let (frame, _) = own.loadings(&samples.data, &end.frame)?;
    let (own_axes, _) = own.loadings(&samples.data, &own.pca_frame(params.components))?;
    let frame = carried_over(&own_axes, &span.pca_frame(params.components), &frame)?;
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
    span: &Span<'_>,
    member: &TeamHandle,
    few: &[usize],
    (frame, potential): (&Matrix, &[f64]),
    model: &Model,
    landmarks: Option<usize>,
) -> Vec<f64> {
    let mut u = vec![0.0; span.weights.len()];
    for (&i, scaling) in few.iter().zip(&*Scalings::new(model.weights(), potential)) {
        u[i] = *scaling;
    }
    let sums = {
        let scores = span.scores(frame);
        let options = KernelOptions { landmarks, ..KernelOptions::default() };
        let mut layout = KernelLayout::of_team(&scores, options, member.clone());
        let right = Matrix::from_fn(u.len(), 1, |i, _| u[i]);
        layout.at(&scores, model.epsilon()).apply(&right, &span.weights)
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::error::Error;
    use crate::fit::Ewca;
    use crate::matrix::qr_factor;
    use crate::subspace::{grassmann_distance, random_frame};
    use crate::testing::groups;

    struct Silent;

    impl Observer for Silent {
        fn observe(&mut self, _: &Progress<'_>) -> Control {
            panic!("fits of a few samples are not shown")
        }
    }

    /// Remembers how many samples fits began with.
    #[derive(Default)]
    struct Phases {
        samples: Vec<usize>,
        stop: Arc<AtomicBool>,
    }

    impl Observer for Phases {
        fn observe(&mut self, _: &Progress<'_>) -> Control {
            Control::Continue
        }

        fn phase(&mut self, phase: Phase) {
            if let Phase::Coarse { samples } = phase {
                self.samples.push(samples);
            }
        }

        fn stop_flag(&self) -> Option<Arc<AtomicBool>> {
            Some(self.stop.clone())
        }
    }

    /// The first two of some axes.
    fn pca_frame(axes: usize) -> Matrix {
        Matrix::identity(axes).leading_columns(2)
    }

    /// A session of `rows` samples in groups.
    fn session<'a>(rows: usize, weights: &[f64], params: &'a Params, observer: &'a mut dyn Observer) -> Session<'a> {
        let data = groups(rows, 4);
        let samples = Samples::new(&data, rows, 4).unwrap().with_weights(weights).unwrap();
        Session::open(&samples.data, params, TeamHandle::default(), observer).unwrap()
    }

    /// Parameters with this epsilon in units of the span of so many samples.
    fn at_epsilon(epsilon: f64, components: usize, rows: usize, weights: &[f64]) -> Params {
        let params = Ewca::params(components);
        let unit = session(rows, weights, &params, &mut Silent).span.unit;
        params.epsilon(epsilon * unit * unit)
    }

    #[test]
    fn a_frame_turns_as_the_axes_of_the_few_do() {
        let [from, other] = [0, 1].map(|stream| random_frame(6, 2, 4, stream));
        let mut to = from.clone();
        to.add_scaled(0.2, &other);
        let to = polar_factor(&to).unwrap();
        // Axes become axes, and angles to them stay.
        assert!(grassmann_distance(&carried_over(&from, &to, &from).unwrap(), &to).unwrap() < 1e-7);
        let frame = random_frame(6, 2, 4, 2);
        let carried = carried_over(&from, &to, &frame).unwrap();
        let [before, after] = [(&from, &frame), (&to, &carried)].map(|(x, y)| grassmann_distance(x, y).unwrap());
        assert!((before - after).abs() < 1e-9);
        // What is orthogonal to both stays where it is.
        let both = qr_factor(&Matrix::from_fn(6, 4, |i, j| if j < 2 { from.get(i, j) } else { to.get(i, j - 2) }));
        let mut across = random_frame(6, 1, 4, 3);
        across.add_scaled(-1.0, &both.times(&both.transposed_times(&across)));
        let across = qr_factor(&across);
        assert!(grassmann_distance(&carried_over(&from, &to, &across).unwrap(), &across).unwrap() < 1e-7);
    }

    #[test]
    fn the_few_tell_where_all_end_and_what_their_potential_is() {
        let n = 120;
        let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 2) as f64).collect();
        let epsilon = 0.5;
        let params = at_epsilon(epsilon, 2, n, &weights);
        let mut observer = Silent;
        let mut session = session(n, &weights, &params, &mut observer);
        let span = session.span.clone();
        let few: Vec<usize> = (0..n).step_by(3).collect();
        let start = StartingPoint { frame: pca_frame(4), potential: None };
        let warm = level(&mut session, &few, start).unwrap();
        // Everyone's fit at this epsilon, which the few only nearly know.
        let data = span.rows(&(0..n).collect::<Vec<_>>());
        let samples = Samples::new(&data, n, 4).unwrap().with_weights(&weights).unwrap();
        let all = Ewca::params(2).epsilon(epsilon).fit(&samples).unwrap();
        let distance = grassmann_distance(&warm.frame, all.components()).unwrap();
        assert!(distance < 0.5 * all.distance_to_pca(), "{distance} {}", all.distance_to_pca());
        // f_i = -log sum_j a_j K_ij exp(f_j) over the few, whose plan is balanced: for them the potential is their own.
        let scores = span.scores(&warm.frame);
        let potential = warm.potential.unwrap();
        let mass = |i: usize| -> f64 {
            let term = |j: usize| {
                let distance: f64 = (0..2).map(|l| (scores.get(i, l) - scores.get(j, l)).powi(2)).sum();
                weights[j] * (potential[j] - distance / epsilon).exp()
            };
            few.iter().map(|&j| term(j)).sum::<f64>() / few.iter().map(|&j| weights[j]).sum::<f64>()
        };
        for (i, f) in potential.iter().enumerate() {
            assert!((f + mass(i).ln()).abs() < 0.05, "{i}: {f} {}", mass(i).ln());
        }
        // A start with a potential is taken as it is: from the end there is nothing left to do but to say so.
        let again = StartingPoint { frame: warm.frame.clone(), potential: Some(potential.clone()) };
        let more = level(&mut session, &few, again).unwrap();
        assert!(grassmann_distance(&warm.frame, &more.frame).unwrap() < 0.1);
    }

    #[test]
    fn the_potential_of_a_far_sample_balances_it_with_itself() {
        let n = 40;
        let params = Ewca::params(2);
        let mut observer = Silent;
        let span = session(n, &vec![1.0; n], &params, &mut observer).span;
        let few: Vec<usize> = (0..n).step_by(2).collect();
        let frame = pca_frame(4);
        let scores = span.scores(&frame);
        let data = span.rows(&few);
        let samples = Samples::new(&data, few.len(), 4).unwrap();
        let mut model = Ewca::params(2).epsilon(0.5).fit(&samples).unwrap();
        let own: Vec<f64> = (0..few.len()).map(|at| 0.01 * at as f64).collect();
        for (epsilon, landmarks) in [(0.5, None), (1e-4, None), (50.0, Some(n - 1))] {
            model.parts.epsilon = epsilon;
            let found = extended(&span, &TeamHandle::default(), &few, (&frame, &own), &model, landmarks);
            for (i, found) in found.iter().enumerate() {
                let term = |(at, &j): (usize, &usize)| {
                    let distance: f64 = (0..2).map(|l| (scores.get(i, l) - scores.get(j, l)).powi(2)).sum();
                    model.weights()[at] * (own[at] - distance / epsilon).exp()
                };
                let sum: f64 = few.iter().enumerate().map(term).sum();
                let wanted = (-sum.ln()).min(-0.5 * span.weights[i].ln());
                let slack = if landmarks.is_some() { 1e-2 } else { 1e-9 };
                assert!((found - wanted).abs() < slack, "{i} at {epsilon}: {found} {wanted}");
            }
        }
    }

    #[test]
    fn many_samples_begin_with_a_fifth_of_them() {
        for (n, wanted) in [(MANY_SAMPLES - 1, vec![]), (MANY_SAMPLES, vec![1638])] {
            let weights = vec![1.0; n];
            let mut phases = Phases::default();
            let params = at_epsilon(1e-3, 1, n, &weights).tolerance(0.3);
            let start = starting_point(&mut session(n, &weights, &params, &mut phases)).unwrap();
            assert_eq!((start.potential.is_some(), phases.samples), (n >= MANY_SAMPLES, wanted));
        }
        // From 40000 on also with a 25th.
        let n = 25 * FEWEST_SAMPLES;
        let weights = vec![1.0; n];
        let mut observer = Phases::default();
        let stop = observer.stop.clone();
        let params = at_epsilon(1e-3, 1, n, &weights);
        let mut session = session(n, &weights, &params, &mut observer);
        stop.store(true, Ordering::Relaxed);
        let error = starting_point(&mut session).unwrap_err();
        assert_eq!((error, observer.samples), (Error::Stopped, vec![FEWEST_SAMPLES]));
    }

    #[test]
    fn landmarks_are_for_four_times_as_many_samples_and_stopping_reaches_the_few() {
        let n = 120;
        let weights = vec![1.0; n];
        let few: Vec<usize> = (0..n).step_by(3).collect();
        let start = || StartingPoint { frame: pca_frame(4), potential: None };
        let at = |params: &Params| level(&mut session(n, &weights, params, &mut Silent), &few, start()).unwrap();
        let params = at_epsilon(0.5, 2, n, &weights);
        let exact = at(&params);
        // 40 samples take 9 landmarks, and not 10; the 120 take 119.
        for (landmarks, few_use_them, all_use_them) in
            [(9, true, true), (10, false, true), (119, false, true), (120, false, false)]
        {
            let warm = at(&params.clone().landmarks(landmarks));
            assert_eq!(warm.frame != exact.frame, few_use_them, "{landmarks}");
            assert_eq!(warm.potential != exact.potential, all_use_them, "{landmarks}");
        }
        let mut observer = Phases::default();
        let stop = observer.stop.clone();
        let mut session = session(n, &weights, &params, &mut observer);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(level(&mut session, &few, start()).unwrap_err(), Error::Stopped);
    }
}
