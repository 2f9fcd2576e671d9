//! Over the sets: means, wins, ties, losses, and a paired test.

use ewca_eval::wilcoxon;
use serde::Serialize;

use super::{Measure, Row, ascending, mean};

/// A set counts as a tie where the two methods differ by less than this, in points.
const TIE: f64 = 0.5;

/// One method and rule over all sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvidenceSummary {
    /// Number of components; `None`: the mean over all k of each set.
    pub k: Option<usize>,
    /// As in [`Row`].
    pub method: &'static str,
    /// As in [`Row`].
    pub rule: String,
    /// As in [`Row`].
    pub measure: Measure,
    /// How many sets.
    pub sets: usize,
    /// The mean over the sets, in percent.
    pub value: f64,
    /// The mean gain over PCA, in points.
    pub gain: f64,
    /// The mean gain over EWCA at its default perplexity, in points.
    pub gain_over_default: f64,
    /// Sets with a gain over PCA of at least half a point.
    pub wins: usize,
    /// Sets that differ by less.
    pub ties: usize,
    /// Sets with a loss of at least half a point.
    pub losses: usize,
    /// Wilcoxon's signed-rank test of the gains over PCA, two-sided.
    pub p: f64,
    /// The same over studies (the mean of each study's sets): the honest one, since sets of one study share samples.
    pub p_studies: f64,
    /// Over studies, for the gains over the default perplexity.
    pub p_studies_default: f64,
    /// The median over the sets of epsilon, as a multiple of the variance of the k-th principal component.
    pub multiple: f64,
    /// The median over the sets of the mean perplexity.
    pub perplexity: f64,
}

/// The rule that a user gets who asks for nothing.
pub const DEFAULT_RULE: &str = "perplexity 5";

/// Summaries for each k and for all k together, in order of appearance.
pub fn summaries(rows: &[Row]) -> Vec<EvidenceSummary> {
    let ks = ascending(rows.iter().map(|r| r.k));
    let mut keys: Vec<(&'static str, &str, Measure)> = Vec::new();
    for row in rows {
        let key = (row.method, row.rule.as_str(), row.measure);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let mut found = Vec::new();
    for k in ks.into_iter().map(Some).chain([None]) {
        let here: Vec<&Row> = rows.iter().filter(|r| k.is_none_or(|k| r.k == k)).collect();
        found.extend(keys.iter().map(|&key| summary(&here, k, key)));
    }
    found
}

fn summary(rows: &[&Row], k: Option<usize>, (method, rule, measure): (&'static str, &str, Measure)) -> EvidenceSummary {
    let of = |method: &str, rule: &str| -> Vec<&Row> {
        rows.iter().copied().filter(|r| r.method == method && r.rule == rule && r.measure == measure).collect()
    };
    let own = of(method, rule);
    let values = by(&own, |r| &r.set, |r| r.value.mean);
    let gains = by(&own, |r| &r.set, |r| r.gain.mean);
    let default = by(&of("ewca", DEFAULT_RULE), |r| &r.set, |r| r.gain.mean);
    let over_default: Vec<(String, f64)> = gains
        .iter()
        .filter_map(|(set, gain)| default.iter().find(|d| d.0 == *set).map(|d| (set.clone(), gain - d.1)))
        .collect();
    let study = |set: &str| own.iter().find(|r| r.set == set).map_or(String::new(), |r| r.study.clone());
    let studies = |of_sets: &[(String, f64)]| -> Vec<f64> {
        let named: Vec<(String, f64)> = of_sets.iter().map(|(set, v)| (study(set), *v)).collect();
        averaged(named.iter().map(|(s, v)| (s.as_str(), *v))).into_iter().map(|s| s.1).collect()
    };
    let numbers = |pairs: &[(String, f64)]| pairs.iter().map(|p| p.1).collect::<Vec<f64>>();
    let count = |test: &dyn Fn(f64) -> bool| gains.iter().filter(|g| test(g.1)).count();
    EvidenceSummary {
        k,
        method,
        rule: rule.to_string(),
        measure,
        sets: gains.len(),
        value: mean(&numbers(&values)),
        gain: mean(&numbers(&gains)),
        gain_over_default: mean(&numbers(&over_default)),
        wins: count(&|g| g >= TIE),
        ties: count(&|g| g.abs() < TIE),
        losses: count(&|g| g <= -TIE),
        p: wilcoxon(&numbers(&gains)),
        p_studies: wilcoxon(&studies(&gains)),
        p_studies_default: wilcoxon(&studies(&over_default)),
        multiple: median(own.iter().map(|r| r.multiple).collect()),
        perplexity: median(own.iter().map(|r| r.perplexity).collect()),
    }
}

/// The mean for each name, in order of first appearance.
fn averaged<'a>(pairs: impl Iterator<Item = (&'a str, f64)>) -> Vec<(String, f64)> {
    let mut sums: Vec<(String, f64, f64)> = Vec::new();
    for (name, value) in pairs {
        match sums.iter_mut().find(|s| s.0 == name) {
            Some(sum) => (sum.1, sum.2) = (sum.1 + value, sum.2 + 1.0),
            None => sums.push((name.to_string(), value, 1.0)),
        }
    }
    sums.into_iter().map(|(name, sum, count)| (name, sum / count)).collect()
}

fn by<'a>(rows: &[&'a Row], name: impl Fn(&'a Row) -> &'a str, value: impl Fn(&Row) -> f64) -> Vec<(String, f64)> {
    averaged(rows.iter().map(|r| (name(r), value(r))))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Estimate;

    fn row(set: &str, study: &str, k: usize, method: &'static str, gain: f64) -> Row {
        let sure = |mean| Estimate { mean, low: mean, high: mean };
        Row {
            set: set.into(),
            study: study.into(),
            k,
            method,
            rule: if method == "pca" { String::new() } else { DEFAULT_RULE.into() },
            measure: Measure::Error,
            value: sure(10.0 - gain),
            gain: sure(gain),
            epsilon: 1.0,
            multiple: 1.0,
            perplexity: 5.0,
            clusters: 0.0,
        }
    }

    #[test]
    fn sets_are_averaged_over_k_and_studies_over_sets() {
        let rows = [
            row("a1", "a", 3, "ewca", 1.0),
            row("a1", "a", 5, "ewca", 3.0),
            row("a2", "a", 3, "ewca", -4.0),
            row("a2", "a", 5, "ewca", -4.0),
            row("b", "b", 3, "ewca", 0.4),
            row("b", "b", 5, "ewca", 0.4),
        ];
        let found = summaries(&rows);
        assert_eq!(found.iter().map(|s| s.k).collect::<Vec<_>>(), [Some(3), Some(5), None]);
        let all = &found[2];
        assert!((all.gain - (2.0 - 4.0 + 0.4) / 3.0).abs() < 1e-12 && (all.value - 10.0 + all.gain).abs() < 1e-12);
        assert_eq!((all.sets, all.wins, all.ties, all.losses), (3, 1, 1, 1));
        // Gains 2, -4, 0.4 of the sets; -1 and 0.4 of the studies.
        assert_eq!(all.p, wilcoxon(&[2.0, -4.0, 0.4]));
        assert_eq!(all.p_studies, wilcoxon(&[-1.0, 0.4]));
        assert_eq!(all.gain_over_default, 0.0);
    }
}
