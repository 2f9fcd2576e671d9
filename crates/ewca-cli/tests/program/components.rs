//! `-k auto`: as many components as have more variance than chance gives.

use crate::common::{Workshop, clouds, noise};
use ewca_io::{Frame, write_table};
use serde_json::{Value, json};

/// So many factors under noise, as rows of cells.
fn table(rows: usize, columns: usize, factors: usize) -> Vec<Vec<f64>> {
    let mut next = noise(21);
    // Nearly normal.
    let mut normal = move || (0..6).map(|_| next()).sum::<f64>();
    let loadings: Vec<Vec<f64>> = (0..factors).map(|_| (0..columns).map(|_| normal()).collect()).collect();
    let row = |_| {
        let scores: Vec<f64> = (0..factors).map(|_| normal()).collect();
        let common = |j: usize| scores.iter().zip(&loadings).map(|(score, loading)| score * loading[j]).sum::<f64>();
        let cells: Vec<f64> = (0..columns).map(common).collect();
        cells.into_iter().map(|cell| cell + normal()).collect()
    };
    (0..rows).map(row).collect()
}

fn csv(table: &[Vec<f64>]) -> String {
    let names: Vec<String> = (1..=table[0].len()).map(|j| format!("x{j}")).collect();
    let line = |row: &Vec<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",") + "\n";
    names.join(",") + "\n" + &table.iter().map(line).collect::<String>()
}

/// The variances of principal components as parts of the total: the power method on the covariance, from its definition.
fn first_two(table: &[Vec<f64>]) -> [f64; 2] {
    let (n, d) = (table.len(), table[0].len());
    let mean: Vec<f64> = (0..d).map(|j| table.iter().map(|row| row[j]).sum::<f64>() / n as f64).collect();
    let mut covariance = vec![vec![0.0; d]; d];
    for row in table {
        for j in 0..d {
            for l in 0..d {
                covariance[j][l] += (row[j] - mean[j]) * (row[l] - mean[l]);
            }
        }
    }
    let total: f64 = (0..d).map(|j| covariance[j][j]).sum();
    [0, 1].map(|_| {
        let mut vector: Vec<f64> = (0..d).map(|j| 1.0 + 0.1 * j as f64).collect();
        let mut value = 0.0;
        for _ in 0..2000 {
            let next: Vec<f64> =
                covariance.iter().map(|row| row.iter().zip(&vector).map(|(a, b)| a * b).sum()).collect();
            value = next.iter().map(|x| x * x).sum::<f64>().sqrt();
            vector = next.iter().map(|x| x / value).collect();
        }
        for j in 0..d {
            for l in 0..d {
                covariance[j][l] -= value * vector[j] * vector[l];
            }
        }
        value / total
    })
}

/// The data that a report holds.
fn held(shop: &Workshop, file: &str) -> Value {
    let html = shop.read(file);
    let data = html.split_once(r#"id="report">"#).expect("data").1.split_once("</script>").unwrap().0;
    serde_json::from_str(data).unwrap()
}

#[test]
fn a_fit_takes_as_many_as_stand_out_and_says_so() {
    let shop = Workshop::new();
    let data = table(90, 12, 3);
    shop.write("data.csv", csv(&data));
    let run = shop.run(&["fit", "data.csv", "-k", "auto", "--report", "a.html"]).succeeded();
    // Its lines are indented from the second on.
    let out = run.out.replace("\n  ", " ");
    let said = out.lines().find(|line| line.starts_with("-k auto")).unwrap();
    assert!(said.starts_with("-k auto: 3 components; component 4 explains "), "{said}");
    assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    let summary = shop.summary("ewca-out");
    let found = &summary["parallel_analysis"];
    assert_eq!((&summary["n_components"], &found["above"]), (&json!(3), &json!(3)));
    assert_eq!((&found["permutations"], &found["quantile"]), (&json!(20), &json!(0.95)));
    let part = |key: &str, at: usize| found[key][at].as_f64().unwrap();
    for (at, expected) in first_two(&data).into_iter().enumerate() {
        assert!((part("variances", at) - expected).abs() < 1e-6, "{found} {expected}");
    }
    assert!(part("variances", 2) > part("permuted", 2) && part("variances", 3) <= part("permuted", 3));
    assert!(said.contains(&format!("{:.1}%", 100.0 * part("variances", 3))), "{said}");
    assert!(shop.read("ewca-out/scores.csv").starts_with("id,ewca1,ewca2,ewca3\n"));
    let chance = &held(&shop, "a.html")["chance"];
    assert_eq!((&chance["above"], &chance["permuted"][3]), (&json!(3), &found["permuted"][3]));
    // The same by the number; then nothing is permuted, and nothing is said of it.
    let given = shop.run(&["fit", "data.csv", "-k", "3", "-o", "given", "--report", "b.html"]).succeeded();
    assert!(!given.out.contains("auto"), "{}", given.out);
    assert_eq!(shop.read("given/scores.csv"), shop.read("ewca-out/scores.csv"));
    assert_eq!(shop.summary("given")["parallel_analysis"], Value::Null);
    assert_eq!(held(&shop, "b.html")["chance"], Value::Null);
    // The same seed, the same numbers, on any number of threads; other seeds permute otherwise.
    let again = |seed: &str| {
        shop.run(&["fit", "data.csv", "-k", "auto", "-q", "--threads", "1", "--seed", seed, "-o", "again"]).succeeded();
        shop.summary("again")["parallel_analysis"].clone()
    };
    assert_eq!(again("0"), *found);
    assert_ne!(again("5")["permuted"], found["permuted"]);
}

#[test]
fn noise_is_called_noise() {
    let shop = Workshop::new();
    shop.write("data.csv", csv(&table(60, 9, 0)));
    let run = shop.run(&["fit", "data.csv", "-k", "auto", "--epsilon", "0.5"]).succeeded();
    // Its lines are indented from the second on.
    let out = run.out.replace("\n  ", " ");
    let said = out.lines().find(|line| line.starts_with("-k auto")).unwrap();
    assert!(
        said.starts_with("-k auto: 1 component, although none explains more variance than chance (")
            && said.ends_with("%)"),
        "{said}"
    );
    let summary = shop.summary("ewca-out");
    assert_eq!((&summary["n_components"], &summary["parallel_analysis"]["above"]), (&json!(1), &json!(0)));
    // Programs hear of it, too.
    let json = shop.run(&["fit", "data.csv", "-k", "auto", "--epsilon", "0.5", "--json"]);
    assert_eq!(json.code, Some(0), "{json:?}");
    let warning: Value = serde_json::from_str(json.err.lines().next().unwrap()).unwrap();
    assert_eq!(warning["level"], "warning");
    assert!(warning["message"].as_str().unwrap().contains("none explains more variance than chance"), "{warning}");
}

#[test]
fn paths_and_selections_take_it_too() {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(60, 6, ","));
    let columns = ["--id", "name", "--label", "kind"];
    let with = |words: &[&str]| shop.run(&[words, &columns].concat()).succeeded();
    // Three clouds in a plane.
    let path = with(&["path", "data.csv", "-k", "auto", "--epsilons", "0.5,1", "--report", "p.html"]);
    assert!(path.out.contains("-k auto: 2 components") && path.out.contains("eigenvalue 2"), "{}", path.out);
    assert_eq!(held(&shop, "p.html")["chance"]["above"], 2);
    let json = with(&["path", "data.csv", "-k", "auto", "--epsilons", "0.5,1", "--json", "-o", "j.csv"]);
    let last: Value = serde_json::from_str(json.out.lines().last().unwrap()).unwrap();
    assert_eq!(last["parallel_analysis"]["above"], 2);
    let select = with(&["select", "data.csv", "-k", "auto", "--splits", "5", "--inner-splits", "3"]);
    assert!(select.out.contains("-k auto: 2 components"), "{}", select.out);
    let ks: Vec<String> =
        shop.read("ewca-out/select.csv").lines().skip(1).map(|line| line.split(',').nth(1).unwrap().into()).collect();
    assert_eq!(ks, ["1.0", "1.0", "1.0", "2.0", "2.0", "2.0"]);
    let suggested = shop.run(&["select", "data.csv", "-k", "auto", "--ignore", "name", "--ignore", "kind"]).succeeded();
    assert!(suggested.out.contains("Suggested: -k 2 "), "{}", suggested.out);
    let reason = suggested.out.replace('\n', " ");
    assert!(reason.contains("2 principal components explain more variance than chance (20 tables"), "{reason}");
}

/// Counts with mostly zeros, as a sparse table and as a dense one.
#[test]
fn sparse_tables_are_permuted_as_they_are() {
    let shop = Workshop::new();
    let counts: Vec<Vec<f64>> = table(80, 15, 2)
        .iter()
        .map(|row| row.iter().map(|x| if *x > 2.5 { x.round() } else { 0.0 }).collect())
        .collect();
    shop.write("dense.csv", csv(&counts));
    let cells: Vec<String> = counts
        .iter()
        .enumerate()
        .flat_map(|(i, row)| {
            let stored = row.iter().enumerate().filter(|(_, x)| **x != 0.0);
            stored.map(move |(j, x)| format!("{} {} {x}\n", i + 1, j + 1)).collect::<Vec<_>>()
        })
        .collect();
    assert!(cells.len() < 80 * 15 * 3 / 10, "{}", cells.len());
    let head = format!("%%MatrixMarket matrix coordinate real general\n80 15 {}\n", cells.len());
    shop.write("sparse.mtx", head + &cells.concat());
    let [dense, sparse] = ["dense.csv", "sparse.mtx"].map(|file| {
        shop.run(&["fit", file, "-k", "auto", "-q", "-o", "out"]).succeeded();
        shop.summary("out")["parallel_analysis"].clone()
    });
    assert_eq!(dense["above"], sparse["above"]);
    assert!(dense["above"].as_u64().unwrap() >= 1, "{dense}");
    for key in ["variances", "permuted"] {
        let numbers = |found: &Value| -> Vec<f64> {
            found[key].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
        };
        for (x, y) in numbers(&dense).into_iter().zip(numbers(&sparse)) {
            assert!((x - y).abs() < 1e-9, "{key}: {x} {y}");
        }
    }
}

#[test]
fn what_is_never_whole_cannot_be_permuted() {
    let shop = Workshop::new();
    let refused = shop.run(&["fit", "data.npy", "-k", "auto", "--in-parts"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("-k auto") && refused.err.contains("pass it with -k"), "{}", refused.err);
    let wrong = shop.run(&["fit", "data.npy", "-k", "some"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("at least 1, or auto"), "{}", wrong.err);
    // A table that fits the memory once, but not with its copy: with a number it is fitted.
    let (rows, columns) = (20_000, 100);
    let mut next = noise(3);
    let values: Vec<f64> = (0..rows * columns).map(|_| next()).collect();
    let names: Vec<String> = (1..=columns).map(|j| format!("x{j}")).collect();
    write_table(&shop.path("data.npy"), &Frame { rows, texts: &[], columns: &names, values: &values }).unwrap();
    shop.run(&["fit", "data.npy", "-k", "auto", "--max-memory", "110MiB"])
        .failed_saying(&["data.npy: -k auto needs the table and a shuffled copy of it in memory", "with -k"]);
}
