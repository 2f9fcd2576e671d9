//! What there is to say about a fit, as values: whoever shows a fit puts them into words.

use super::certificate::{Approximation, Termination};
use super::model::Model;

/// A single feature has the first component to itself from this squared loading on ...
const DOMINANT_LOADING: f64 = 0.95;
/// ... and the data too, from this part of their variance on.
const DOMINANT_VARIANCE: f64 = 0.9;
/// Variance outside of the axes, and mass between samples that were not looked at, from which on they are worth a word.
const MUCH_OMITTED_VARIANCE: f64 = 0.01;
const MUCH_SKIPPED_MASS: f64 = 1e-9;

/// Something that one should know before believing a fit: see [`Model::findings`].
///
/// ```
/// use ewca::{Ewca, Finding, Samples};
/// let data: Vec<f64> = (0..40).map(|i| f64::from(i * i % 17)).collect();
/// let model = Ewca::params(2).epsilon(1e9).fit(&Samples::new(&data, 10, 4)?)?;
/// assert!(model.findings().iter().any(|finding| matches!(finding, Finding::Collapsed)));
/// # Ok::<(), ewca::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Finding {
    /// The fit ended before the tolerance was met.
    NotConverged {
        /// Why it ended.
        termination: Termination,
    },
    /// The kernel is approximated by landmarks, and not well.
    PoorApproximation(Approximation),
    /// Epsilon is too large: the components no longer reflect the data.
    Collapsed,
    /// Samples repeat, and no epsilon gives a perplexity below this one, which is above the one that was wanted.
    PerplexityFloor {
        /// The smallest perplexity that can be had.
        smallest: f64,
    },
    /// The optimum jumps as epsilon grows, and no epsilon gives the perplexity that was wanted.
    PerplexityMissed {
        /// The one that was wanted.
        wanted: f64,
    },
    /// One feature has most of the variance and the first component to itself: the features may need a common scale.
    DominantFeature {
        /// Its position, from 0.
        feature: usize,
        /// The part of the variance that its component explains.
        variance: f64,
    },
    /// The fit worked with the leading principal axes, and this part of the variance is outside of them.
    OmittedVariance {
        /// The part of the variance.
        share: f64,
    },
    /// Samples too far apart to matter were left out, and their share of the plan may be as large as this.
    SkippedMass {
        /// A bound of the share.
        share: f64,
    },
}

impl Finding {
    /// Whether the result should not be used as it is; the others are only good to know.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        match self {
            Self::NotConverged { .. } | Self::PoorApproximation(_) | Self::Collapsed => true,
            Self::PerplexityFloor { .. } | Self::PerplexityMissed { .. } | Self::SkippedMass { .. } => true,
            Self::DominantFeature { .. } | Self::OmittedVariance { .. } => false,
        }
    }
}

impl Model {
    /// What one should know before believing the fit, the gravest first; nothing where all is well.
    pub fn findings(&self) -> Vec<Finding> {
        let certificate = self.certificate();
        let perplexity = match (self.perplexity().floor, self.perplexity().wanted) {
            (Some(smallest), _) => Some(Finding::PerplexityFloor { smallest }),
            (None, Some(wanted)) if self.converged() && self.perplexity().is_missed() => {
                Some(Finding::PerplexityMissed { wanted })
            }
            _ => None,
        };
        let much = |share: f64, least: f64| (share > least).then_some(share);
        let found = [
            (!self.converged()).then_some(Finding::NotConverged { termination: self.termination() }),
            certificate.approximation.filter(Approximation::is_poor).map(Finding::PoorApproximation),
            certificate.collapsed.then_some(Finding::Collapsed),
            perplexity,
            much(certificate.skipped_mass, MUCH_SKIPPED_MASS).map(|share| Finding::SkippedMass { share }),
            self.dominant_feature(),
            much(certificate.omitted_variance, MUCH_OMITTED_VARIANCE).map(|share| Finding::OmittedVariance { share }),
        ];
        found.into_iter().flatten().collect()
    }

    fn dominant_feature(&self) -> Option<Finding> {
        let &variance = self.explained_variance_ratio().first()?;
        let (feature, loading) =
            self.components().column(0).iter().enumerate().max_by(|x, y| x.1.abs().total_cmp(&y.1.abs()))?;
        // One of two features is half of all there is.
        let dominates = self.mean().len() > 2 && loading * loading >= DOMINANT_LOADING && variance >= DOMINANT_VARIANCE;
        dominates.then_some(Finding::DominantFeature { feature, variance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::groups;
    use crate::{Ewca, Samples};

    #[test]
    fn each_finding_is_told_where_it_holds_and_nowhere_else() {
        let data = groups(20, 4);
        let good = Ewca::params(2).perplexity(3.0).fit(&Samples::new(&data, 20, 4).unwrap()).unwrap();
        assert_eq!(good.findings(), []);
        let found = |change: &dyn Fn(&mut Model)| {
            let mut model = good.clone();
            change(&mut model);
            model.findings()
        };
        for termination in [Termination::MaxIterations, Termination::Interrupted, Termination::Stalled] {
            assert_eq!(found(&|m| m.parts.termination = termination), [Finding::NotConverged { termination }]);
        }
        assert_eq!(found(&|m| m.parts.certificate.collapsed = true), [Finding::Collapsed]);
        let near = |marginal_error| Approximation {
            landmarks: 5,
            rows: 9,
            marginal_error,
            worst_row: 0.1,
            relative_gradient: 0.0,
        };
        assert_eq!(
            found(&|m| m.parts.certificate.approximation = Some(near(0.02)))[0],
            Finding::PoorApproximation(near(0.02))
        );
        assert_eq!(found(&|m| m.parts.certificate.approximation = Some(near(0.005))), []);
        // A floor explains why the perplexity is not the wanted one; and so does a fit that has not converged.
        assert_eq!(found(&|m| m.parts.perplexity.wanted = Some(4.0)), [Finding::PerplexityMissed { wanted: 4.0 }]);
        let floor = found(&|m| (m.parts.perplexity.wanted, m.parts.perplexity.floor) = (Some(2.0), Some(2.9)));
        assert_eq!(floor, [Finding::PerplexityFloor { smallest: 2.9 }]);
        let early = found(&|m| (m.parts.perplexity.wanted, m.parts.termination) = (Some(4.0), Termination::Stalled));
        assert_eq!(early, [Finding::NotConverged { termination: Termination::Stalled }]);
        assert_eq!(found(&|m| m.parts.certificate.skipped_mass = 1e-6), [Finding::SkippedMass { share: 1e-6 }]);
        assert_eq!(found(&|m| m.parts.certificate.skipped_mass = 1e-13), []);
        assert_eq!(found(&|m| m.parts.certificate.omitted_variance = 0.02), [Finding::OmittedVariance { share: 0.02 }]);
        assert_eq!(found(&|m| m.parts.certificate.omitted_variance = 0.005), []);
        // The gravest first; and only some are warnings.
        let all = found(&|m| {
            (m.parts.certificate.omitted_variance, m.parts.certificate.collapsed) = (0.5, true);
            m.parts.termination = Termination::MaxIterations;
        });
        assert_eq!(all.iter().map(Finding::is_warning).collect::<Vec<_>>(), [true, true, false]);
    }

    #[test]
    fn a_feature_dominates_that_has_the_first_component_to_itself() {
        let of = |scale: f64, d: usize| {
            let mut data = groups(30, d);
            data.iter_mut().skip(1).step_by(d).for_each(|x| *x *= scale);
            Ewca::params(1).epsilon(1e-3).fit(&Samples::new(&data, 30, d).unwrap()).unwrap()
        };
        assert_eq!(of(1.0, 4).findings(), []);
        let model = of(100.0, 4);
        let [Finding::DominantFeature { feature: 1, variance }] = model.findings()[..] else { panic!("not told") };
        assert_eq!(variance, model.explained_variance_ratio()[0]);
        assert!(variance > 0.9);
        // Of two features either may well have half of the variance.
        assert_eq!(of(100.0, 2).findings(), []);
        // Alone in a component that explains little it says nothing about the data.
        let mut small = model.clone();
        small.parts.explained_variance_ratio[0] = 0.89;
        assert_eq!(small.findings(), []);
        let mut shared = model;
        let loadings: Vec<f64> = vec![0.3, 0.94f64.sqrt(), 0.0, 0.0];
        shared.parts.components = crate::Matrix::from_column_major(4, 1, loadings).unwrap();
        assert_eq!(shared.findings(), []);
    }

    #[test]
    fn findings_have_names_in_files() {
        let text = |finding: Finding| serde_json::to_string(&finding).unwrap();
        assert_eq!(text(Finding::Collapsed), r#"{"kind":"collapsed"}"#);
        let early = Finding::NotConverged { termination: Termination::Stalled };
        assert_eq!(text(early), r#"{"kind":"not_converged","termination":"stalled"}"#);
    }
}
