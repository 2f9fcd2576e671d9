//! What a fit is worth, in words for someone who sees the method for the first time.

use ewca::{Approximation, Model, Termination};

use crate::report::Fact;

/// A number with four significant digits, in scientific form when it is very small or large.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(1e-3..1e6).contains(&size) {
        return format!("{value:.2e}");
    }
    let before_point = size.log10().floor() as i32 + 1;
    format!("{value:.*}", (4 - before_point).max(0) as usize)
}

fn accuracy(value: f64) -> String {
    if value == 0.0 { "0".into() } else { format!("{value:.0e}") }
}

/// One sentence.
pub fn verdict(model: &Model) -> String {
    let certificate = &model.certificate;
    let ended = match model.termination {
        Termination::Converged => "Converged".into(),
        Termination::Stalled => "Not converged (no step lowers the loss any more)".into(),
        other => format!("Not converged ({other})"),
    };
    let collapsed = if certificate.collapsed { "collapsed" } else { "not collapsed" };
    if let Some(near) = &certificate.approximation {
        let error = accuracy(near.marginal_error);
        let landmarks = near.landmarks;
        return format!(
            "{ended}, for an approximate kernel ({landmarks} landmarks); by exact rows the plan is accurate to {error}; {collapsed}."
        );
    }
    format!("{ended}; plan accurate to {}; {collapsed}.", accuracy(certificate.marginal_error))
}

/// What the reader should know before believing the result, and what to do about it.
pub fn warnings(model: &Model) -> Vec<String> {
    let certificate = &model.certificate;
    let mut warnings = Vec::new();
    if !model.converged() {
        let advice = match model.termination {
            Termination::Stalled => "Ask for a tolerance above that.",
            Termination::Interrupted => "Fit again, or go on from a checkpoint.",
            _ => "Allow more iterations, or a looser tolerance.",
        };
        warnings.push(format!(
            "The fit did not converge: it ended at a relative gradient of {} after {} iterations. {advice}",
            accuracy(certificate.relative_gradient),
            model.iterations
        ));
    }
    if let Some(near) = certificate.approximation.filter(Approximation::is_poor) {
        warnings.push(format!(
            "The kernel is approximate, and by exact rows of {} samples the plan is off by {:.1} %. Ask for more than {} landmarks, \
             for a larger perplexity (it is {}), or for the exact kernel.",
            near.rows,
            100.0 * near.marginal_error,
            near.landmarks,
            number(model.perplexity.overall)
        ));
    }
    if certificate.collapsed {
        warnings.push(format!(
            "The fit has collapsed: epsilon is too large, and the components shrink the data instead of showing them. Ask for \
             a smaller perplexity (it is {}) or a smaller epsilon (it is {}).",
            number(model.perplexity.overall),
            number(model.epsilon)
        ));
    }
    if let Some(floor) = model.perplexity.floor {
        warnings.push(format!(
            "Samples repeat, and share with their copies whatever epsilon is: {} is the smallest perplexity that can be had, and the \
             fit is just above it.",
            number(floor)
        ));
    }
    warnings
}

/// The parameters and the certificate.
pub fn facts(model: &Model) -> Vec<Fact> {
    let certificate = &model.certificate;
    let spread = &model.perplexity;
    let fact =
        |name: &str, value: String, meaning: &str| Fact { name: name.into(), value, meaning: meaning.to_string() };
    let mut facts = vec![
        fact(
            "Components",
            format!("{} of {} possible", model.n_components(), model.rank),
            "the rank of the data is the most there can be",
        ),
        fact(
            "Epsilon",
            number(model.epsilon),
            "how far mass spreads, in squared units of the data; towards 0 it is PCA",
        ),
        fact(
            "Perplexity",
            format!("{} (rows {} to {})", number(spread.overall), number(spread.min), number(spread.max)),
            "over how many samples each one spreads: by the mean entropy, and at the extremes",
        ),
        fact("Distance to PCA", number(model.distance_to_pca), "between the subspaces; 0 is the same"),
        fact(
            "Relative gradient",
            accuracy(certificate.relative_gradient),
            "how far any component is from being stationary, relative to itself",
        ),
        fact("Marginal error", accuracy(certificate.marginal_error), "how far the plan is from being a plan"),
        fact(
            "Duality gap",
            accuracy(certificate.duality_gap),
            "the most that the plan can cost beyond the optimum, in units of the loss",
        ),
        fact(
            "Loss",
            number(model.loss),
            "what the fit minimises: the entropic cost of moving samples to their projections",
        ),
        fact(
            "Solver",
            format!("{}, {} iterations, {} kernel passes", model.solver.name(), model.iterations, model.kernel_passes),
            "what the fit took",
        ),
    ];
    if let Some(near) = &certificate.approximation {
        facts.push(fact(
            "Approximate kernel",
            format!("{} landmarks, plan off by {}", near.landmarks, accuracy(near.marginal_error)),
            "by the exact rows of a sample, as is the perplexity; what else is said of the plan holds for the approximate kernel",
        ));
    }
    facts
}
