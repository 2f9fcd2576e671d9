//! The results as text: tidy CSV and Markdown.

use std::fmt::Write;

use ewca_eval::spearman;

use super::summary::DEFAULT_RULE;
use super::{EvidenceSet, EvidenceSummary, Measure, Row, ascending, mean};
use crate::figures::Tidy;

/// One line per set, k, method, rule and measure.
pub fn rows_csv(rows: &[Row]) -> String {
    let mut table = Tidy::new(
        "set,study,k,method,rule,measure,mean,low,high,gain,gain_low,gain_high,epsilon,multiple,perplexity,clusters",
    );
    for Row { set, study, k, method, rule, measure, value, gain, epsilon, multiple, perplexity, clusters } in rows {
        table.row(&[
            set,
            study,
            k,
            method,
            rule,
            &measure.name(),
            &value.mean,
            &value.low,
            &value.high,
            &gain.mean,
            &gain.low,
            &gain.high,
            epsilon,
            multiple,
            perplexity,
            clusters,
        ]);
    }
    table.csv()
}

/// One line per k, method, rule and measure.
pub fn summaries_csv(summaries: &[EvidenceSummary]) -> String {
    let mut table = Tidy::new(
        "k,method,rule,measure,sets,mean,gain,gain_over_default,wins,ties,losses,p,p_studies,p_studies_default,multiple,perplexity",
    );
    for s in summaries {
        let k = s.k.map_or("all".to_string(), |k| k.to_string());
        table.row(&[
            &k,
            &s.method,
            &s.rule,
            &s.measure.name(),
            &s.sets,
            &s.value,
            &s.gain,
            &s.gain_over_default,
            &s.wins,
            &s.ties,
            &s.losses,
            &s.p,
            &s.p_studies,
            &s.p_studies_default,
            &s.multiple,
            &s.perplexity,
        ]);
    }
    table.csv()
}

/// All tables: a main one for each measure, one of all rules, one of all sets.
pub fn evidence_markdown(sets: &[EvidenceSet], rows: &[Row], summaries: &[EvidenceSummary]) -> String {
    let mut text = String::new();
    for measure in Measure::ALL {
        let _ = writeln!(text, "### {}\n\n{}", measure.title(), main_table(summaries, measure));
    }
    let _ = writeln!(text, "### Ways to choose epsilon\n\n{}", rules_table(summaries));
    let _ = writeln!(text, "### Whether it can be told beforehand\n\n{}", hints_table(sets, rows));
    let _ = writeln!(text, "### Each set\n\n{}", sets_table(sets, rows));
    text
}

/// Rules that the main tables show.
const SHOWN: [&str; 4] = [DEFAULT_RULE, "nested", "nested, ties to PCA", "oracle"];

/// Raw, PCA, and EWCA by a few rules: the mean over sets and k, gains over PCA for each k and all, the paired test.
fn main_table(summaries: &[EvidenceSummary], measure: Measure) -> String {
    let ks = ascending(summaries.iter().filter_map(|s| s.k));
    let columns: String = ks.iter().map(|k| format!(" gain, k = {k} |")).collect();
    let mut text = format!(
        "| method | epsilon | mean |{columns} gain, all k | wins / ties / losses | p, sets | p, studies |\n|---|---|{}---|---|---|---|---|\n",
        "---|".repeat(ks.len())
    );
    let own = summaries.iter().filter(|s| s.measure == measure && s.k.is_none());
    for all in own.filter(|s| matches!(s.method, "raw" | "pca") || SHOWN.contains(&s.rule.as_str())) {
        let _ = write!(text, "| {} | {} | {:.1} |", all.method, all.rule, all.value);
        if all.method == "pca" {
            let _ = writeln!(text, "{} | | | |", " |".repeat(ks.len()));
            continue;
        }
        for k in &ks {
            let one = summaries
                .iter()
                .find(|s| s.k == Some(*k) && s.measure == measure && s.method == all.method && s.rule == all.rule);
            let _ = write!(text, " {} |", one.map_or(String::new(), |s| format!("{:+.1}", s.gain)));
        }
        let _ = writeln!(
            text,
            " {:+.1} | {} / {} / {} | {} | {} |",
            all.gain,
            all.wins,
            all.ties,
            all.losses,
            chance(all.p),
            chance(all.p_studies)
        );
    }
    text
}

/// Every rule, for the scores of EWCA over all k, the least error first.
fn rules_table(summaries: &[EvidenceSummary]) -> String {
    let of = |rule: &str, measure| {
        summaries.iter().find(|s| s.k.is_none() && s.method == "ewca" && s.rule == rule && s.measure == measure)
    };
    let mut errors: Vec<&EvidenceSummary> =
        summaries.iter().filter(|s| s.k.is_none() && s.method == "ewca" && s.measure == Measure::Error).collect();
    errors.sort_by(|x, y| y.gain.total_cmp(&x.gain));
    let mut text = String::from(
        "| epsilon | error: gain over PCA (p) | over the default (p) | ARI: gain over PCA (p) | silhouette: gain over PCA (p) | median \
         multiple of the k-th variance | median perplexity |\n|---|---|---|---|---|---|---|\n",
    );
    let gain =
        |s: Option<&EvidenceSummary>| s.map_or(String::new(), |s| format!("{:+.2} ({})", s.gain, chance(s.p_studies)));
    for error in errors {
        let default = if error.rule == DEFAULT_RULE {
            String::new()
        } else {
            format!("{:+.2} ({})", error.gain_over_default, chance(error.p_studies_default))
        };
        let _ = writeln!(
            text,
            "| {} | {} | {default} | {} | {} | {:.2} | {:.1} |",
            error.rule,
            gain(Some(error)),
            gain(of(&error.rule, Measure::Ari)),
            gain(of(&error.rule, Measure::Silhouette)),
            error.multiple,
            error.perplexity
        );
    }
    text
}

/// What might tell how much EWCA gains: Spearman's correlation over the studies.
fn hints_table(sets: &[EvidenceSet], rows: &[Row]) -> String {
    let studies = ascending(sets.iter().map(|s| s.study.as_str()));
    let over_studies = |value: &dyn Fn(&Row) -> Option<f64>| -> Vec<f64> {
        studies
            .iter()
            .map(|study| mean(&rows.iter().filter(|r| r.study == *study).filter_map(value).collect::<Vec<_>>()))
            .collect()
    };
    let size = |r: &Row| sets.iter().find(|s| s.name == r.set).map(|s| s.samples() as f64);
    let classes = |r: &Row| sets.iter().find(|s| s.name == r.set).map(|s| s.labels.names.len() as f64);
    let pca = |measure: Measure| move |r: &Row| (r.method == "pca" && r.measure == measure).then_some(r.value.mean);
    let hints: [(&str, Vec<f64>); 5] = [
        ("samples", over_studies(&size)),
        ("classes", over_studies(&classes)),
        (
            "how far PCA's scores fall into clusters (silhouette of k-means, no labels)",
            over_studies(&|r| Some(r.clusters)),
        ),
        ("PCA's error", over_studies(&pca(Measure::Error))),
        ("PCA's silhouette of the classes", over_studies(&pca(Measure::Silhouette))),
    ];
    let mut text = format!(
        "Spearman's correlation with the gain of EWCA's scores over PCA's, over {} studies.\n\n| hint |",
        studies.len()
    );
    let rules = [DEFAULT_RULE, "nested"];
    for (rule, measure) in pairs(&rules) {
        let _ = write!(text, " {}, {rule} |", measure.name());
    }
    let _ = writeln!(text, "\n|---|{}", "---|".repeat(rules.len() * Measure::ALL.len()));
    for (hint, values) in &hints {
        let _ = write!(text, "| {hint} |");
        for (rule, measure) in pairs(&rules) {
            let gain = |r: &Row| (r.method == "ewca" && r.rule == rule && r.measure == measure).then_some(r.gain.mean);
            let _ = write!(text, " {:+.2} |", spearman(values, &over_studies(&gain)));
        }
        text.push('\n');
    }
    text
}

fn pairs<'a>(rules: &'a [&'a str]) -> impl Iterator<Item = (&'a str, Measure)> {
    rules.iter().flat_map(|rule| Measure::ALL.map(|measure| (*rule, measure)))
}

/// Each set: its size, PCA's error, and the gain of EWCA with the nested epsilon, with its interval.
fn sets_table(sets: &[EvidenceSet], rows: &[Row]) -> String {
    let ks = ascending(rows.iter().map(|r| r.k));
    let columns: String = ks.iter().map(|k| format!(" k = {k}: PCA, gain (95% interval) |")).collect();
    let mut text = format!(
        "| set | samples | features | classes | log2 |{columns}\n|---|---|---|---|---|{}\n",
        "---|".repeat(ks.len())
    );
    for set in sets {
        let logged = if set.logged { "yes" } else { "" };
        let (n, d, classes) = (set.samples(), set.features, set.labels.names.len());
        let _ = write!(text, "| {} | {n} | {d} | {classes} | {logged} |", set.name);
        for &k in &ks {
            let of = |method: &str, rule: &str| {
                rows.iter().find(|r| {
                    r.set == set.name && r.k == k && r.method == method && r.rule == rule && r.measure == Measure::Error
                })
            };
            let cell = of("pca", "").zip(of("ewca", "nested")).map_or(String::new(), |(pca, ewca)| {
                let gain = &ewca.gain;
                format!("{:.1}, {:+.1} ({:+.1} to {:+.1})", pca.value.mean, gain.mean, gain.low, gain.high)
            });
            let _ = write!(text, " {cell} |");
        }
        text.push('\n');
    }
    text
}

fn chance(p: f64) -> String {
    match p {
        p if p.is_nan() => String::new(),
        p if p < 0.001 => "< 0.001".to_string(),
        p => format!("{p:.3}"),
    }
}
