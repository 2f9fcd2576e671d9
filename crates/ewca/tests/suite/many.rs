//! Many samples: what is left out, begun coarsely or computed in single precision does not show in the result.

use crate::common::{check_fit, subspace_distance};
use ewca::{Control, Error, Ewca, Observer, Params, Phase, Progress, Samples, Termination};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const D: usize = 6;

/// Samples around 12 centres, row after row.
pub fn clouds(n: usize) -> Vec<f64> {
    let mut state = 1u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    // Sums of uniform numbers are normal enough.
    let mut normal = move || (0..6).map(|_| uniform() - 0.5).sum::<f64>() * std::f64::consts::SQRT_2;
    let centres: Vec<f64> = (0..12 * D).map(|at| 9.0 * normal() / (1 + at % D) as f64).collect();
    (0..n * D).map(|at| centres[at / D % 12 * D + at % D] + normal()).collect()
}

fn params() -> Params {
    Ewca::params(2).perplexity(40.0)
}

#[test]
fn skipping_coarse_starts_and_single_precision_agree_with_neither() {
    let n = 8300;
    let data = clouds(n);
    let samples = Samples::new(&data, n, D).unwrap();
    let plain = params().skip_far_pairs(false).coarse_to_fine(false).fit(&samples).unwrap();
    check_fit(&samples, &plain);
    assert_eq!((plain.certificate().skipped_mass, plain.kernel_share()), (0.0, 1.0));
    let ways =
        [params().coarse_to_fine(false), params().skip_far_pairs(false), params(), params().single_precision(false)];
    for (way, params) in ways.into_iter().enumerate() {
        let model = params.fit(&samples).unwrap();
        check_fit(&samples, &model);
        assert!(model.converged(), "way {way}: {}", model.termination());
        assert!(model.certificate().marginal_error <= 1e-9 && model.certificate().relative_gradient <= 1e-6);
        // A search for a perplexity ends within 0.8% of it, on either side.
        assert!(
            (model.epsilon() / plain.epsilon() - 1.0).abs() < 1.6e-2,
            "way {way}: {} {}",
            model.epsilon(),
            plain.epsilon()
        );
        assert!(subspace_distance(model.components(), plain.components()) < 8e-3, "way {way}");
        if way != 1 {
            assert!(model.kernel_share() < 0.6, "way {way}: {}", model.kernel_share());
            assert!(model.certificate().skipped_mass > 0.0 && model.certificate().skipped_mass <= 1e-13);
        }
    }
    // At the same epsilon they agree to the tolerance.
    let at = |params: Params| params.epsilon(plain.epsilon()).tolerance(1e-8).fit(&samples).unwrap();
    let exact = at(params().skip_far_pairs(false).coarse_to_fine(false));
    for params in [params(), params().single_precision(false)] {
        let model = at(params);
        check_fit(&samples, &model);
        assert!((model.loss() / exact.loss() - 1.0).abs() < 1e-11);
        assert!(subspace_distance(model.components(), exact.components()) < 1e-6);
    }
    check_fit(&samples, &exact);
}

/// Raises its flag when the given phase begins.
struct Impatient {
    when: fn(Phase) -> bool,
    flag: Arc<AtomicBool>,
    shown: usize,
}

impl Observer for Impatient {
    fn observe(&mut self, _: &Progress<'_>) -> Control {
        self.shown += 1;
        Control::Continue
    }

    fn phase(&mut self, phase: Phase) {
        self.flag.fetch_or((self.when)(phase), Ordering::Relaxed);
    }

    fn stop_flag(&self) -> Option<Arc<AtomicBool>> {
        Some(self.flag.clone())
    }
}

#[test]
fn fits_can_be_stopped_in_every_phase() {
    let n = 8300;
    let data = clouds(n);
    let samples = Samples::new(&data, n, D).unwrap();
    let stopped = |when: fn(Phase) -> bool| {
        let mut impatient = Impatient { when, flag: Arc::default(), shown: 0 };
        (params().check().unwrap().fit_observed(&samples, &mut impatient), impatient.shown)
    };
    // There is nothing to return yet.
    for when in [|phase| phase == Phase::Reduction, |phase| matches!(phase, Phase::Coarse { samples: 1660 })] {
        let (result, shown) = stopped(when);
        assert_eq!((result.unwrap_err(), shown), (Error::Stopped, 0));
    }
    let (result, shown) = stopped(|phase| phase == Phase::Iterations);
    assert_eq!((result.unwrap().termination(), shown), (Termination::Interrupted, 1));
    // What is finished is returned as it is.
    let (result, _) = stopped(|phase| phase == Phase::Finish);
    assert!(result.unwrap().converged());
}

/// What is easy for a few samples must hold for many: duplicates, coordinates that never change, epsilons without bounds.
#[test]
fn odd_data_of_many_samples() {
    let n = 4500;
    let mut data = clouds(n);
    // Every sample of the second half is one of the first; two features are constant.
    data.copy_within(0..n / 2 * D, n / 2 * D);
    data.chunks_exact_mut(D).for_each(|row| (row[2], row[5]) = (7.0, -1e6));
    let samples = Samples::new(&data, n, D).unwrap();
    for epsilon in [1e-12, 1e-3, 1.0, 1e12] {
        let fit =
            |skip| Ewca::params(2).epsilon(epsilon).skip_far_pairs(skip).max_iterations(60).fit(&samples).unwrap();
        let (model, plain) = (fit(true), fit(false));
        check_fit(&samples, &model);
        assert!(model.converged(), "epsilon {epsilon}: {}", model.termination());
        assert!(
            (model.loss() / plain.loss() - 1.0).abs() < 1e-9,
            "epsilon {epsilon}: {} {}",
            model.loss(),
            plain.loss()
        );
        assert_eq!(model.rank(), 4);
        assert_eq!(model.certificate().collapsed, epsilon > 1e6, "epsilon {epsilon}");
        // Two equal samples share all they have.
        let smallest = if epsilon < 1.0 { 2.0 - 1e-6 } else { 2.0 };
        assert!(model.perplexity().min >= smallest, "epsilon {epsilon}: {}", model.perplexity().min);
    }
    // Far from the origin, in tiny and huge units.
    let reference = Ewca::params(2).epsilon(0.5).fit(&samples).unwrap();
    for scale in [1e-60, 1e60] {
        let scaled: Vec<f64> = data.iter().map(|x| x * scale).collect();
        let samples = Samples::new(&scaled, n, D).unwrap();
        let model = Ewca::params(2).epsilon(0.5 * scale * scale).fit(&samples).unwrap();
        assert!((model.loss() / (scale * scale) / reference.loss() - 1.0).abs() < 1e-9);
        assert!(subspace_distance(model.components(), reference.components()) < 1e-5);
    }
}
