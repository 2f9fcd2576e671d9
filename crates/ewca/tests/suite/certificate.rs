//! "Converged" means converged, the perplexity is the one that is named, and what is reported depends on the data and the parameters alone:
//! each of these failed once.

use crate::common::{audited, check_fit, subspace_distance, weighted_variances};
use crate::many::clouds;
use ewca::{
    Control, Error, Ewca, FitState, Matrix, MmParams, Model, Progress, Samples, Solver, Termination, Unobserved,
    self_transport, sinkhorn_knopp, sinkhorn_log,
};

fn degrees(one: &Model, other: &Model) -> f64 {
    subspace_distance(one.components(), other.components()).to_degrees()
}

/// Data in which one direction dominates: name, data, rows, columns, components, and about how far the subspace is from PCA's.
fn dominated() -> Vec<(&'static str, Vec<f64>, usize, usize, usize)> {
    let (mut normal, n, d) = audited("normal150x10");
    normal[7 * d + 3] = -9999.0;
    let (mut digits, rows, columns) = audited("digits600");
    digits[11 * columns + 20] = 99999.0;
    let (wine, samples, features) = audited("wine");
    vec![
        ("normal data with one -9999", normal, n, d, 2),
        ("digits with one 99999", digits, rows, columns, 3),
        ("unscaled wine", wine, samples, features, 4),
    ]
}

/// Fits ended where they began, "converged", since the gradient was compared with the largest variance.
#[test]
fn a_dominating_direction_does_not_hide_the_others() {
    for (name, data, n, d, k) in dominated() {
        let samples = Samples::new(&data, n, d).unwrap();
        let model = Ewca::params(k).perplexity(20.0).fit(&samples).unwrap();
        check_fit(&samples, &model);
        assert!(model.converged(), "{name}: {} {:?}", model.termination(), model.certificate());
        assert!(
            model.certificate().residuals.iter().all(|rho| *rho <= 1e-6),
            "{name}: {:?}",
            model.certificate().residuals
        );
        let strict = Ewca::params(k).epsilon(model.epsilon()).tolerance(1e-9).fit(&samples).unwrap();
        check_fit(&samples, &strict);
        assert!(degrees(&model, &strict) < 0.01, "{name}: {} degrees", degrees(&model, &strict));
        assert!(
            (model.loss() - strict.loss()).abs() <= 1e-9 * strict.loss(),
            "{name}: {} {}",
            model.loss(),
            strict.loss()
        );
        // What the certificate says of the angle holds.
        let said = model.certificate().angles.iter().sum::<f64>() + strict.certificate().angles.iter().sum::<f64>();
        assert!(degrees(&model, &strict) <= 10.0 * said + 1e-6, "{name}: said {said}");
        if name.starts_with("normal") {
            assert!(model.distance_to_pca().to_degrees() > 1.0, "{name}: {} from PCA", model.distance_to_pca());
        }
    }
}

/// Block-MM called a loss converged that was 6e-7 too high.
#[test]
fn block_mm_says_when_it_has_not_arrived() {
    let (data, n, d) = audited("wine");
    let samples = Samples::new(&data, n, d).unwrap();
    let best = Ewca::params(4).perplexity(20.0).fit(&samples).unwrap();
    let mm = Ewca::params(4).epsilon(best.epsilon()).solver(Solver::Mm(MmParams::default())).max_iterations(200);
    let mm = mm.fit(&samples).unwrap();
    check_fit(&samples, &mm);
    assert!(!mm.converged() || mm.loss() <= best.loss() * (1.0 + 1e-9), "{} above {}", mm.loss(), best.loss());
}

/// Rows that repeat: an epsilon of 1e-308 was "found", and a perplexity of 1.69 told where it was 13.24.
#[test]
fn repeated_rows_have_the_perplexity_that_is_told() {
    // 4 rows of bits, each 30 times.
    let bits: Vec<f64> = (0..120)
        .flat_map(|i| {
            [0, 1, 2, 3, 4, 5].map(|j| f64::from(u8::from((0b10_1100_0110_1101u32 >> ((i % 4) * 3 + j)) & 1 == 1)))
        })
        .collect();
    // 1, 2 or 3 in each of 4 columns.
    let mut state = 5u64;
    let mut digit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1.0 + (state >> 33) as f64 % 3.0
    };
    let small: Vec<f64> = (0..4000).map(|_| digit()).collect();
    for (name, data, n, d) in [("bits", bits, 120, 6), ("small integers", small, 1000, 4)] {
        let samples = Samples::new(&data, n, d).unwrap();
        let model = Ewca::params(2).fit(&samples).unwrap();
        check_fit(&samples, &model);
        assert!(model.converged() && model.epsilon() > 1e-10, "{name}: epsilon {}", model.epsilon());
        // How far the copies alone spread.
        let row = |i: usize| &data[i * d..(i + 1) * d];
        let copies = |i: usize| (0..n).filter(|&j| row(i) == row(j)).count() as f64;
        let least = ((0..n).map(|i| copies(i).ln()).sum::<f64>() / n as f64).exp();
        assert!(
            model.perplexity().overall >= least && model.perplexity().is_missed(),
            "{name}: {:?}",
            model.perplexity()
        );
        let floor = model.perplexity().floor.expect("rows repeat more often than the perplexity that is wanted");
        assert!(floor >= least * (1.0 - 1e-6), "{name}: floor {floor}, copies alone {least}");
        assert!(
            model.perplexity().overall >= floor && model.perplexity().overall < 1.05 * floor,
            "{name}: {:?}",
            model.perplexity()
        );
        let wider = Ewca::params(2).perplexity(2.0 * floor).fit(&samples).unwrap();
        check_fit(&samples, &wider);
        assert_eq!((wider.perplexity().floor, wider.perplexity().wanted), (None, Some(2.0 * floor)));
        has_its_perplexity_or_jumps(&samples, &wider);
        let text = serde_json::to_string(&model).unwrap();
        assert_eq!(serde_json::from_str::<Model>(&text).unwrap().epsilon(), model.epsilon());
    }
}

/// The perplexity is the wanted one, or the optimum jumps over it: fits a little further on are on the other side, at the latest after two hundredths, and not
/// nearer. (One or another of them may end at an optimum of this side again.)
fn has_its_perplexity_or_jumps(samples: &Samples<'_>, model: &Model) {
    let wanted = model.perplexity().wanted.unwrap();
    let off = |model: &Model| (model.perplexity().overall / wanted).ln();
    if off(model).abs() <= 8.1e-3 {
        return;
    }
    let beyond = [1e-3, 2e-3, 4e-3, 6e-3, 8e-3, 1.2e-2, 2.1e-2].map(|further| {
        let epsilon = model.epsilon() * (-further * off(model).signum()).exp();
        let model = Ewca::params(model.components().columns()).epsilon(epsilon).fit(samples).unwrap();
        check_fit(samples, &model);
        off(&model)
    });
    let other_side = |off_there: &&f64| **off_there * off(model) < 0.0;
    assert!(beyond.iter().any(|x| other_side(&x)), "{:?} and {beyond:?}", model.perplexity());
    let nearest = beyond.iter().filter(other_side).fold(f64::INFINITY, |least, x| x.abs().min(least));
    assert!(nearest >= off(model).abs(), "{beyond:?} is nearer than {:?}", model.perplexity());
}

/// Where the optimum jumps over a perplexity, the nearer side is taken. Two groups along one direction, and waves in the others.
#[test]
fn the_nearer_side_of_a_jump_is_taken() {
    let (n, d) = (24, 6);
    let wave = |i: usize, j: usize| ((i * 7919 + j * 104_729 + 31) as f64 * 0.618).sin();
    let group = |i: usize, j: usize| if j == 0 { 4.0 * (i % 2) as f64 - 2.0 } else { 0.0 };
    let data: Vec<f64> = (0..n * d).map(|at| 0.3 * wave(at / d, at % d) + group(at / d, at % d)).collect();
    let samples = Samples::new(&data, n, d).unwrap();
    let fits = [4.6, 5.0, 5.5].map(|wanted| {
        let model = Ewca::params(2).perplexity(wanted).fit(&samples).unwrap();
        check_fit(&samples, &model);
        assert!(model.converged() && model.perplexity().is_missed(), "{:?}", model.perplexity());
        has_its_perplexity_or_jumps(&samples, &model);
        model.perplexity().overall
    });
    assert!(fits[0] < 4.6 && fits[2] > 5.5, "{fits:?}");
}

/// The epsilon that a search had found, given as epsilon, ended 73 degrees away.
#[test]
fn a_fit_depends_on_epsilon_and_not_on_how_it_was_found() {
    let (data, n, d) = audited("normal40x300");
    let samples = Samples::new(&data, n, d).unwrap();
    for perplexity in [3.0, 5.0, 10.0] {
        let found = Ewca::params(5).perplexity(perplexity).fit(&samples).unwrap();
        check_fit(&samples, &found);
        has_its_perplexity_or_jumps(&samples, &found);
        assert_eq!(found.perplexity().wanted, Some(perplexity));
        let given = Ewca::params(5).epsilon(found.epsilon()).fit(&samples).unwrap();
        assert_eq!(given.components(), found.components());
        assert_eq!(
            (given.loss(), given.starts(), given.agreeing_starts()),
            (found.loss(), found.starts(), found.agreeing_starts())
        );
        assert_eq!(given.starts(), 2);
        // Restarts add to the same starts.
        let more = Ewca::params(5).epsilon(found.epsilon()).restarts(8).fit(&samples).unwrap();
        check_fit(&samples, &more);
        assert!(more.starts() == 10 && more.loss() <= found.loss() + 1e-9 * found.loss().abs());
    }
}

/// Weights of 2.0 were repetitions and 2.000000001 were not, so that epsilon jumped by a factor of three.
#[test]
fn weights_and_counts_are_two_things_and_both_are_smooth() {
    let x = &clouds(40);
    let d = x.len() / 40;
    let whole: Vec<f64> = (0..40).map(|i| (1 + i % 3) as f64).collect();
    let nearly: Vec<f64> = whole.iter().map(|w| w + 1e-9).collect();
    let fit = |samples: Samples<'_>| {
        let model = Ewca::params(2).perplexity(6.0).fit(&samples).unwrap();
        check_fit(&samples, &model);
        model
    };
    let samples = || Samples::new(x, 40, d).unwrap();
    let weighted = fit(samples().with_weights(&whole).unwrap());
    let counted = fit(samples().with_counts(&whole).unwrap());
    for (one, other) in [
        (&weighted, fit(samples().with_weights(&nearly).unwrap())),
        (&counted, fit(samples().with_counts(&nearly).unwrap())),
    ] {
        assert!((one.epsilon() / other.epsilon() - 1.0).abs() < 1e-6, "{} {}", one.epsilon(), other.epsilon());
    }
    // The scale of weights does not matter, at any size; that of counts does.
    for scale in [1e-200, 0.5, 1e200] {
        let scaled: Vec<f64> = whole.iter().map(|w| w * scale).collect();
        let model = fit(samples().with_weights(&scaled).unwrap());
        assert!((model.epsilon() / weighted.epsilon() - 1.0).abs() < 1e-9);
    }
    let halves: Vec<f64> = whole.iter().map(|w| 0.5 * w).collect();
    let half = fit(samples().with_counts(&halves).unwrap());
    assert!(half.epsilon() > 1.1 * counted.epsilon(), "{} {}", half.epsilon(), counted.epsilon());
    // Counts that cannot carry the perplexity.
    let few = samples().with_counts(&[0.1; 40]).unwrap();
    assert_eq!(few.count().round(), 4.0);
    let refused = Ewca::params(2).perplexity(6.0).fit(&few).unwrap_err().to_string();
    assert!(refused.contains("perplexity is 6") && refused.contains("sum of their counts"), "{refused}");
    let fewer = samples().with_counts(&[0.01; 40]).unwrap();
    assert!(matches!(Ewca::params(2).fit(&fewer), Err(Error::Parameter { name: "perplexity", .. })));
    assert!(matches!(samples().with_counts(&[1e200; 40]), Err(Error::Counts { .. })));
}

/// Resumed fits of many samples told another share of skipped pairs than those that were not interrupted.
#[test]
fn a_resumed_fit_of_many_samples_reports_the_same() {
    let n = 4300;
    let data = clouds(n);
    let samples = Samples::new(&data, n, data.len() / n).unwrap();
    let params = Ewca::params(2).perplexity(8.0).check().unwrap();
    let mut saved = Vec::new();
    let whole = params
        .fit_observed(&samples, &mut |progress: &Progress<'_>| {
            saved.push(serde_json::to_string(progress.state).unwrap());
            Control::Continue
        })
        .unwrap();
    assert!(whole.kernel_share() < 1.0, "nothing was skipped: {}", whole.kernel_share());
    let state: FitState = serde_json::from_str(&saved[saved.len() / 2]).unwrap();
    let resumed = params.resume(&samples, state, &mut Unobserved).unwrap();
    assert_eq!(serde_json::to_string(&whole).unwrap(), serde_json::to_string(&resumed).unwrap());
}

/// Numbers in a saved state that would keep a fit busy for ever, or poison it, are refused.
#[test]
fn forged_states_are_refused() {
    let (data, n, d) = audited("normal150x10");
    let samples = Samples::new(&data, n, d).unwrap();
    let params = Ewca::params(2).perplexity(9.0).check().unwrap();
    let mut saved = None;
    params
        .fit_observed(&samples, &mut |progress: &Progress<'_>| {
            saved.get_or_insert_with(|| serde_json::to_value(progress.state).unwrap());
            Control::Stop
        })
        .unwrap();
    let saved = saved.unwrap();
    for (path, value) in [
        ("/epsilon", serde_json::json!(-1.0)),
        ("/epsilon", serde_json::json!(0.0)),
        ("/unit", serde_json::json!(0.0)),
        ("/total_variance", serde_json::json!(-3.0)),
        ("/start", serde_json::json!(99)),
        ("/rounds", serde_json::json!(1_000_000)),
        ("/iteration", serde_json::json!(u64::MAX)),
        ("/attempt", serde_json::json!(u64::MAX)),
        ("/tally/passes", serde_json::json!(u64::MAX)),
        ("/search/slope", serde_json::json!(-1.0)),
        ("/stage", serde_json::json!({"Ladder": {"rung": 1_000_000, "epsilon": 1.0}})),
        ("/starts/random", serde_json::json!(1_000_000_000)),
    ] {
        let mut forged = saved.clone();
        *forged.pointer_mut(path).unwrap_or_else(|| panic!("{path} is not there")) = value;
        let Ok(state) = serde_json::from_value::<FitState>(forged) else { continue };
        let refused = params.resume(&samples, state, &mut Unobserved).unwrap_err();
        assert!(matches!(refused, Error::State { .. }), "{path}: {refused}");
    }
}

/// At a huge epsilon rounding, times epsilon, was 5 % of the loss, with a gap of 0.
#[test]
fn wide_epsilons_are_exact_or_refused() {
    let (data, n, d) = audited("normal150x10");
    let samples = Samples::new(&data, n, d).unwrap();
    for epsilon in [1e5, 1e7, 1e9, 1e12, 1e15] {
        let model = Ewca::params(3).epsilon(epsilon).fit(&samples).unwrap();
        check_fit(&samples, &model);
        // The plan is a a': what is kept counts twice as transport, and once less as reconstruction; 2 |S|^2 / epsilon is left.
        let variances = weighted_variances(&model);
        let kept: f64 = variances.iter().sum();
        let left: f64 = variances.iter().map(|v| 2.0 * v * v / epsilon).sum();
        let want = variances[0] / model.explained_variance_ratio()[0] + kept - left;
        assert!((model.loss() / want - 1.0).abs() < 1e-9, "epsilon {epsilon}: {} {want}", model.loss());
        let certificate = model.certificate();
        assert!(certificate.collapsed && certificate.duality_gap < 1e-9 * want, "epsilon {epsilon}: {certificate:?}");
    }
    let refused = Ewca::params(3).epsilon(1e300).fit(&samples).unwrap_err();
    assert!(matches!(refused, Error::Parameter { name: "epsilon", .. }), "{refused}");
    let path = Ewca::params(3).check().unwrap().path(&samples, &[1.0, 1e300]);
    assert!(matches!(path, Err(Error::Parameter { name: "epsilon", .. })));
}

/// With an offset of 1e15 the mean itself is rounded: the gradient was 2e-5, and 1e-7 was told.
#[test]
fn an_offset_that_hides_the_digits_is_told() {
    let (data, n, d) = audited("normal150x10");
    for (offset, told) in [(1e6, true), (1e9, true), (1e15, false)] {
        let moved: Vec<f64> = data.iter().map(|x| 10.0 * x + offset).collect();
        let samples = Samples::new(&moved, n, d).unwrap();
        let model = Ewca::params(3).perplexity(10.0).fit(&samples).unwrap();
        assert_eq!(model.converged(), told, "offset {offset}: {:?}", model.certificate());
        assert_eq!(model.certificate().rounding.iter().all(|x| *x <= 1e-6), told);
        assert!(told || model.termination() == Termination::Stalled);
    }
}

#[test]
fn what_returns_a_result_does_not_panic() {
    let (data, n, d) = audited("normal150x10");
    let samples = Samples::new(&data, n, d).unwrap();
    assert_eq!(samples.row(n).unwrap_err(), Error::NoSuchRow { row: n, rows: n });
    let nothing = Matrix::zeros(0, 2);
    assert!(matches!(self_transport(&nothing, &[], 1.0, 1e-9), Err(Error::Empty { .. })));
    let cost = Matrix::zeros(2, 3);
    for (a, b) in [(&[0.5; 2][..], &[1.0][..]), (&[1.0][..], &[0.3; 3][..]), (&[][..], &[][..])] {
        assert!(sinkhorn_knopp(&cost, a, b, 1.0, Default::default()).is_err());
        assert!(sinkhorn_log(&cost, a, b, 1.0, Default::default()).is_err());
    }
    assert!(Samples::new(&[1.0, 2.0], usize::MAX, 2).is_err());
    assert!(Samples::sparse(&[], &[], &[1.0f64; 0], 3).is_err());
    assert!(Samples::sparse(&[0, 9], &[0], &[1.0], 3).is_err());
    let model = Ewca::params(2).fit(&samples).unwrap();
    assert!(model.plan_row(&[1.0; 3]).is_err());
    assert!(model.transform(&[1.0; 7], usize::MAX).is_err());
    assert!(model.transform_sparse(&[0, 1], &[99], &[1.0]).is_err());
}
