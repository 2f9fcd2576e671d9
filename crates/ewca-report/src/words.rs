//! What a fit is worth, in words for someone who sees the method for the first time.

use ewca::{Finding, Model, Termination};

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

/// An accuracy: one digit and its magnitude.
pub fn accuracy(value: f64) -> String {
    if value == 0.0 { "0".into() } else { format!("{value:.0e}") }
}

/// One sentence.
pub fn verdict(model: &Model) -> String {
    let certificate = model.certificate();
    let ended = match model.termination() {
        Termination::Converged => "Converged".into(),
        Termination::Stalled => "Not converged (the loss cannot be lowered further)".into(),
        other => format!("Not converged ({other})"),
    };
    let collapsed = if certificate.collapsed { "collapsed" } else { "not collapsed" };
    if let Some(near) = &certificate.approximation {
        let error = accuracy(near.marginal_error);
        let landmarks = near.landmarks;
        return format!(
            "{ended}, {collapsed}. Approximate fit ({landmarks} landmarks): checked on exact rows, the error in the plan's row and column sums is {error}."
        );
    }
    format!("{ended}, {collapsed}. Error in the plan's row and column sums: {}.", accuracy(certificate.marginal_error))
}

/// What the reader should know before believing the result, and what to do about it: warnings, or what is only good to know.
pub fn findings(model: &Model, features: &[String], warnings: bool) -> Vec<String> {
    let found = model.findings().into_iter().filter(|finding| finding.is_warning() == warnings);
    found.filter_map(|finding| in_words(model, features, &finding)).collect()
}

fn in_words(model: &Model, features: &[String], finding: &Finding) -> Option<String> {
    let (perplexity, epsilon) = (number(model.perplexity().overall), number(model.epsilon()));
    let part = |share: f64| format!("{:.1} %", 100.0 * share);
    Some(match finding {
        Finding::NotConverged { termination } => format!(
            "The fit did not converge: it ended at a relative gradient of {} after {} iterations. {}",
            accuracy(model.certificate().relative_gradient),
            model.iterations(),
            match termination {
                Termination::Stalled => "Use a tolerance above that.",
                Termination::Interrupted => "Fit again, or continue from a checkpoint.",
                _ => "Allow more iterations, or use a larger tolerance.",
            }
        ),
        Finding::PoorApproximation(near) => format!(
            "The approximation is poor: checked on exact rows of {} samples, the plan is off by {}. Use more than {} landmarks, \
             a larger perplexity (now {perplexity}), or an exact fit.",
            near.rows,
            part(near.marginal_error),
            near.landmarks
        ),
        Finding::Collapsed => format!(
            "The fit has collapsed: smoothing is too strong, and the components no longer reflect the data. Use a smaller \
             perplexity (now {perplexity}) or a smaller epsilon (now {epsilon})."
        ),
        Finding::PerplexityFloor { smallest } => format!(
            "Some samples are identical, and identical samples are always matched with each other: {} is the smallest possible \
             perplexity, and the fit is just above it.",
            number(*smallest)
        ),
        Finding::PerplexityMissed { wanted } => format!(
            "The perplexity is {perplexity}, not {} as requested: the optimum jumps near epsilon {epsilon}, and no epsilon \
             gives a perplexity in between.",
            number(*wanted)
        ),
        Finding::SkippedMass { share } => format!(
            "Pairs of samples that are far apart were left out of the plan; their share of it may be as large as {}.",
            accuracy(*share)
        ),
        Finding::DominantFeature { feature, variance } => format!(
            "One feature, {}, dominates the first component, with {} of the variance. If the features have different units, scale \
             them to unit variance (--scale unit-variance).",
            features.get(*feature).map_or_else(|| format!("number {}", feature + 1), String::clone),
            part(*variance)
        ),
        Finding::OmittedVariance { share } => format!(
            "The fit used the leading principal components; {} of the variance is outside them, and was included in the check of the result.",
            part(*share)
        ),
        // One that came with a later version of the library.
        _ => return None,
    })
}

/// The parameters and the certificate.
pub fn facts(model: &Model) -> Vec<Fact> {
    let certificate = model.certificate();
    let spread = &model.perplexity();
    let fact =
        |name: &str, value: String, meaning: &str| Fact { name: name.into(), value, meaning: meaning.to_string() };
    let mut facts = vec![
        fact(
            "Components",
            format!("{} of {} possible", model.n_components(), model.rank()),
            "at most the rank of the data",
        ),
        fact(
            "Epsilon",
            number(model.epsilon()),
            "how strong the smoothing is, in squared units of the data; towards 0 the result is PCA",
        ),
        fact(
            "Perplexity",
            format!("{} ({} to {})", number(spread.overall), number(spread.min), number(spread.max)),
            "how many neighbours each sample is matched with on average; in brackets, the fewest and the most of any sample",
        ),
        fact(
            "Distance to PCA",
            number(model.distance_to_pca()),
            "between the two subspaces; 0 means that they are the same",
        ),
        fact(
            "Relative gradient",
            accuracy(certificate.relative_gradient),
            "how much the components could still improve; near 0 the fit has converged",
        ),
        fact("Marginal error", accuracy(certificate.marginal_error), "error in the plan's row and column sums"),
        fact(
            "Duality gap",
            accuracy(certificate.duality_gap),
            "how much better the best plan could be at most, in units of the loss",
        ),
        fact(
            "Loss",
            number(model.loss()),
            "what the fit minimises: the entropic cost of moving samples to their projections",
        ),
        fact(
            "Solver",
            format!(
                "{}, {} iterations, {} kernel passes",
                model.solver().name(),
                model.iterations(),
                model.kernel_passes()
            ),
            "how the fit was computed",
        ),
    ];
    if let Some(near) = &certificate.approximation {
        facts.push(fact(
            "Approximation",
            format!("{} landmarks, plan off by {}", near.landmarks, accuracy(near.marginal_error)),
            "error and perplexity were computed on exact rows of some samples; other numbers about the plan are approximate",
        ));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        let shown: Vec<String> = [0.0, 1.0, 12.3456, -1234.56, 98765.4, 0.012345, 1e-5, 2.5e7].map(number).to_vec();
        assert_eq!(shown, ["0", "1.000", "12.35", "-1235", "98765", "0.01235", "1.00e-5", "2.50e7"]);
    }
}
