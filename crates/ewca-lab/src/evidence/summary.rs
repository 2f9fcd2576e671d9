//! Over the sets: means, wins, ties, losses, and a paired test.

use std::fmt::Write;

use serde::Serialize;

use super::{Measure, Row};
use crate::wilcoxon;

/// A set counts as a tie where the two methods differ by less than this, in points.
const TIE: f64 = 0.5;

/// One method and rule over all sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
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
const DEFAULT_RULE: &str = "perplexity 5";

/// Summaries for each k and for all k together, in order of appearance.
pub fn summaries(rows: &[Row]) -> Vec<Summary> {
    let mut ks: Vec<usize> = rows.iter().map(|r| r.k).collect();
    ks.sort_unstable();
    ks.dedup();
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

fn summary(rows: &[&Row], k: Option<usize>, (method, rule, measure): (&'static str, &str, Measure)) -> Summary {
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
    Summary {
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

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// One line per set, k, method, rule and measure.
pub fn rows_csv(rows: &[Row]) -> String {
    let mut text = String::from(
        "set,study,k,method,rule,measure,mean,low,high,gain,gain_low,gain_high,epsilon,multiple,perplexity,clusters\n",
    );
    for r in rows {
        let _ = writeln!(
            text,
            "{},{},{},{},\"{}\",{},{},{},{},{},{},{},{},{},{},{}",
            r.set,
            r.study,
            r.k,
            r.method,
            r.rule,
            r.measure.name(),
            r.value.mean,
            r.value.low,
            r.value.high,
            r.gain.mean,
            r.gain.low,
            r.gain.high,
            r.epsilon,
            r.multiple,
            r.perplexity,
            r.clusters
        );
    }
    text
}

/// One line per k, method, rule and measure.
pub fn summaries_csv(summaries: &[Summary]) -> String {
    let mut text = String::from(
        "k,method,rule,measure,sets,mean,gain,gain_over_default,wins,ties,losses,p,p_studies,p_studies_default,multiple,perplexity\n",
    );
    for s in summaries {
        let k = s.k.map_or("all".to_string(), |k| k.to_string());
        let _ = writeln!(
            text,
            "{k},{},\"{}\",{},{},{},{},{},{},{},{},{},{},{},{},{}",
            s.method,
            s.rule,
            s.measure.name(),
            s.sets,
            s.value,
            s.gain,
            s.gain_over_default,
            s.wins,
            s.ties,
            s.losses,
            s.p,
            s.p_studies,
            s.p_studies_default,
            s.multiple,
            s.perplexity
        );
    }
    text
}

/// The main table: raw, PCA, and EWCA by default, nested and oracle epsilon, for each k and measure.
pub fn summary_markdown(summaries: &[Summary]) -> String {
    let mut text = String::from(
        "| measure | k | method | epsilon | mean | gain over PCA | wins / ties / losses | p, sets | p, studies |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let wanted = |s: &&Summary| s.method == "raw" || s.method == "pca" || SHOWN.contains(&s.rule.as_str());
    for measure in Measure::ALL {
        for s in summaries.iter().filter(|s| s.measure == measure).filter(wanted) {
            let k = s.k.map_or("all".to_string(), |k| k.to_string());
            let compared = if s.method == "pca" {
                "| | | |".to_string()
            } else {
                format!(
                    "{:+.1} | {} / {} / {} | {} | {}",
                    s.gain,
                    s.wins,
                    s.ties,
                    s.losses,
                    chance(s.p),
                    chance(s.p_studies)
                )
            };
            let _ = writeln!(
                text,
                "| {} | {k} | {} | {} | {:.1} | {compared} |",
                measure.name(),
                s.method,
                s.rule,
                s.value
            );
        }
    }
    text
}

/// Rules that the main table shows.
const SHOWN: [&str; 3] = [DEFAULT_RULE, "nested", "oracle"];

fn chance(p: f64) -> String {
    if p.is_nan() {
        String::new()
    } else if p < 0.001 {
        "< 0.001".to_string()
    } else {
        format!("{p:.3}")
    }
}
