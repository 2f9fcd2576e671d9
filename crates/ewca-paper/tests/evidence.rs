//! The evidence on small made-up sets: two groups that are easy to tell apart along a weak direction.

use std::sync::atomic::{AtomicUsize, Ordering};

use ewca_eval::Protocol;
use ewca_paper::{EvidenceSet, Measure, Row, evidence, evidence_markdown, rows_csv, summaries};

/// Groups differ along one of the directions; the others are noise of the given size.
fn made(name: &str, n: usize, features: usize, noise: f64, seed: u64) -> EvidenceSet {
    let wave = |i: usize, j: usize| ((i * 7919 + j * 104_729 + seed as usize * 31) as f64 * 0.618).sin();
    let data: Vec<f64> = (0..n * features)
        .map(|at| (at / features, at % features))
        .map(|(i, j)| noise * wave(i, j) + if j == 0 { 4.0 * (i % 2) as f64 - 2.0 } else { 0.0 })
        .collect();
    let labels: Vec<String> = (0..n).map(|i| format!("class {}", i % 2)).collect();
    EvidenceSet::new(name, name, &data, features, &labels)
}

fn judged(sets: &[EvidenceSet], seed: u64) -> Vec<Row> {
    let protocol = Protocol { splits: 8, inner_splits: 4, seed };
    evidence(sets, &[2, 3, 50], protocol, &|_, _| true).unwrap().unwrap()
}

#[test]
fn every_measure_of_every_method_is_there_and_sensible() {
    let sets = [made("easy", 24, 6, 0.3, 1), made("harder", 30, 8, 2.0, 2)];
    let rows = judged(&sets, 0);
    // k = 50 is beyond the rank.
    assert!(rows.iter().all(|r| r.k == 2 || r.k == 3));
    for method in ["raw", "pca", "ewca", "barycentric"] {
        for measure in Measure::ALL {
            let of: Vec<&Row> =
                rows.iter().filter(|r| r.set == "easy" && r.method == method && r.measure == measure).collect();
            assert!(!of.is_empty(), "{method} {measure:?}");
            assert!(of.iter().all(|r| r.value.low <= r.value.mean && r.value.mean <= r.value.high));
        }
    }
    let find = |set: &str, method: &str, rule: &str, measure: Measure| {
        rows.iter()
            .find(|r| r.set == set && r.k == 2 && r.method == method && r.rule == rule && r.measure == measure)
            .unwrap()
    };
    assert_eq!(find("easy", "pca", "", Measure::Error).value.mean, 0.0);
    assert_eq!(find("easy", "ewca", "nested", Measure::Ari).value.mean, 100.0);
    for measure in Measure::ALL {
        assert_eq!(find("harder", "pca", "", measure).gain.mean, 0.0);
        // The oracle is at least as good as each epsilon of the grid.
        let oracle = find("harder", "ewca", "oracle", measure).gain.mean;
        let grid = rows.iter().filter(|r| r.set == "harder" && r.k == 2 && r.method == "ewca" && r.measure == measure);
        assert!(grid.filter(|r| r.rule.starts_with("multiple")).all(|r| r.gain.mean <= oracle + 1e-9));
    }
    // That of the easy set jumps over 5 (`the_nearer_side_of_a_jump_is_taken` in the library's tests).
    let perplexity = find("harder", "ewca", "perplexity 5", Measure::Error).perplexity;
    assert!((perplexity - 5.0).abs() < 0.1, "{perplexity}");
    let text = evidence_markdown(&sets, &rows, &summaries(&rows));
    assert!(text.contains("| easy | 24 | 6 | 2 |") && !text.contains("NaN"), "{text}");
}

#[test]
fn the_same_seed_gives_the_same_bits_on_any_number_of_threads() {
    let sets = [made("one", 20, 5, 1.0, 3), made("two", 22, 5, 1.5, 4)];
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| rows_csv(&judged(&sets, 7)))
    };
    assert_eq!(on(1), on(3));
    assert_ne!(on(1), rows_csv(&judged(&sets, 8)));
}

#[test]
fn it_tells_how_far_it_is_and_can_be_stopped() {
    let sets = [made("one", 20, 5, 1.0, 3)];
    let last = AtomicUsize::new(0);
    let protocol = Protocol { splits: 2, inner_splits: 2, seed: 0 };
    let heard = |done: usize, of: usize| {
        assert_eq!(of, 2);
        last.fetch_max(done, Ordering::Relaxed);
        true
    };
    assert!(evidence(&sets, &[2, 3], protocol, &heard).unwrap().is_some());
    assert_eq!(last.into_inner(), 2);
    assert!(evidence(&sets, &[2, 3], protocol, &|_, _| false).unwrap().is_none());
}
