//! Every format in, several formats out.

use crate::common::{Workshop, clouds, exists, numbers};
use ewca_io::{ReadOptions, Values, read_table};

/// Files that hold the same 6 x 4 table, written by the tools that users have.
fn golden(name: &str) -> String {
    format!("{}/../ewca-io/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// 40 samples x 6 features with many zeros, as Matrix Market, as CSV, and as CSV with features in rows.
fn sparse_in_three_ways(shop: &Workshop) {
    let (rows, columns) = (40, 6);
    let mut noise = crate::common::noise(3);
    let cells: Vec<Vec<f64>> = (0..rows)
        .map(|i| {
            (0..columns)
                .map(|j| if (i + j) % 3 == 0 { ((noise() + 1.0) * 20.0 * (1.0 + j as f64)).round() } else { 0.0 })
                .collect()
        })
        .collect();
    let mut entries = String::new();
    let mut stored = 0;
    for (i, row) in cells.iter().enumerate() {
        for (j, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            entries.push_str(&format!("{} {} {value}\n", i + 1, j + 1));
            stored += 1;
        }
    }
    shop.write(
        "data.mtx",
        format!("%%MatrixMarket matrix coordinate real general\n{rows} {columns} {stored}\n{entries}"),
    );
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let mut csv = line((1..=columns).map(|j| format!("column{j}")).collect());
    csv.extend(cells.iter().map(|row| line(row.iter().map(f64::to_string).collect())));
    shop.write("data.csv", csv);
    let mut turned = line(["feature".into()].into_iter().chain((1..=rows).map(|i| i.to_string())).collect());
    for j in 0..columns {
        let name = [format!("column{}", j + 1)];
        turned.push_str(&line(name.into_iter().chain(cells.iter().map(|row| row[j].to_string())).collect()));
    }
    shop.write("turned.csv", turned);
}

#[test]
fn sparse_dense_and_transposed_tables_give_the_same_result() {
    let shop = Workshop::new();
    sparse_in_three_ways(&shop);
    let steps = ["--normalize-total", "1e2", "--log1p", "--top-variable", "5", "--scale", "unit-variance"];
    let mut losses = Vec::new();
    for (file, more) in [("data.mtx", &[][..]), ("data.csv", &[]), ("turned.csv", &["--transpose", "--id", "feature"])]
    {
        for steps in [&[][..], &steps[..]] {
            let run = shop.run(&[&["fit", file, "--perplexity", "4"], more, steps].concat()).succeeded();
            assert_eq!(run.out.contains("sparse ("), file == "data.mtx", "{}", run.out);
            let summary = shop.summary("ewca-out");
            assert_eq!(summary["preprocessing"]["log1p"], !steps.is_empty());
            assert_eq!(summary["n_features"], if steps.is_empty() { 6 } else { 5 });
            losses.push(summary["loss"].as_f64().unwrap());
        }
    }
    for at in 2..losses.len() {
        assert!((losses[at] / losses[at % 2] - 1.0).abs() < 1e-10, "{losses:?}");
    }
}

#[test]
fn the_same_data_in_every_format_give_the_same_scores() {
    let shop = Workshop::new();
    // Scores without ids and labels, which some formats do not have.
    let scores = |file: &str, more: &[&str]| -> Vec<Vec<f64>> {
        let file = golden(file);
        let fixed = ["fit", &file, "--scale", "unit-variance", "--epsilon", "0.5", "-q"];
        shop.run(&[&fixed[..], more].concat()).succeeded();
        let table = shop.read("ewca-out/scores.csv");
        let columns = table.lines().next().unwrap().split(',').count();
        let numbers = |line: &str| line.split(',').skip(columns - 2).map(|cell| cell.parse().unwrap()).collect();
        table.lines().skip(1).map(numbers).collect()
    };
    let label = &["--label", "class"][..];
    let expected = scores("table.csv", label);
    assert_eq!(expected.len(), 6);
    for name in [
        "table.csv.gz",
        "table.csv.zst",
        "table.tsv",
        "table.parquet",
        "table.feather",
        "table.arrow",
        "dense.h5ad",
        "table.xlsx",
        "book.xlsx",
    ] {
        assert_eq!(scores(name, label), expected, "{name}");
    }
    assert_eq!(scores("transposed.csv", &["--transpose", "--label", "class"]), expected);
    assert_eq!(scores("book.xlsx", &["--sheet", "by gene", "--transpose", "--id", "Name"]), expected);
    assert_eq!(scores("notes.gct", &["--transpose", "--id", "id", "--label", "class", "--label", "dose"]), expected);
    for name in ["c.npy", "fortran.npy", "one.npz", "plain.mat", "compressed.mat", "array.mtx"] {
        assert_eq!(scores(name, &[]), expected, "{name}");
    }
    // Sparse tables are centred on the way: the same bits among themselves, and the same numbers but for rounding.
    let sparse = scores("coordinate.mtx", &[]);
    for (found, expected) in sparse.concat().iter().zip(expected.concat()) {
        assert!((found - expected).abs() < 1e-10, "{found} {expected}");
    }
    let unlabelled = ["coordinate.mtx.gz", "sparse.mat", "scipy_csr.npz", "scipy_csc.npz", "tenx2", "tenx3"];
    for (name, more) in
        unlabelled.map(|name| (name, &[][..])).into_iter().chain([("csr.h5ad", label), ("csc.h5ad", label)])
    {
        assert_eq!(scores(name, more), sparse, "{name}");
    }
}

#[test]
fn what_inspect_suggests_can_be_fitted() {
    let shop = Workshop::new();
    let arrays = ["several.mat", "several.npz", "holes.parquet", "c.npy", "coordinate.mtx", "v73.mat"];
    let cells = ["csr.h5ad", "tenx3", "tenx3.h5", "tenx2.h5", "cells.loom", "old.h5ad", "zstd.h5ad", "blosc.h5ad"];
    let texts = ["table.csv", "utf16.csv", "latin1.csv", "decimal.csv", "sep_line.csv", "trailing.csv", "comments.csv"];
    let others = [
        "table.csv.bz2",
        "table.csv.xz",
        "table.csv.zip",
        "savetxt.txt",
        "r_csv2.csv",
        "r_table.txt",
        "table.xlsx",
        "book.xlsx",
    ];
    for name in arrays.into_iter().chain(cells).chain(texts).chain(others) {
        let run = shop.run(&["inspect", &golden(name)]).succeeded();
        let fitted = shop.run_printed(&run.out, " -k 1 -q");
        // Of some of these small tables the rows repeat, which is told.
        let told = fitted.err.is_empty() || fitted.err.starts_with("ewca: warning: some samples are identical");
        assert!(fitted.code == Some(0) && told, "{name}: {fitted:?}");
    }
}

/// Genes in rows, as GEO, GenePattern and featureCounts write them: what inspect suggests makes features of them.
#[test]
fn tables_of_genes_are_turned() {
    let shop = Workshop::new();
    let mut noise = crate::common::noise(4);
    let samples: Vec<String> = (0..8).map(|at| format!("s{at}")).collect();
    let mut table = |names: &str, notes: &str| {
        let mut text = format!("{names}\t{}\n", samples.join("\t"));
        for gene in 0..12 {
            let cells: Vec<String> = samples.iter().map(|_| format!("{:.3}", noise())).collect();
            text += &format!("g{gene}{notes}\t{}\n", cells.join("\t"));
        }
        text
    };
    shop.write("a.gct", format!("#1.2\n12\t8\n{}", table("Name\tDescription", "\ta note")));
    let series = table("\"ID_REF\"", "");
    shop.write(
        "b.txt",
        format!("!Series_title\t\"x\"\n!series_matrix_table_begin\n{series}!series_matrix_table_end\n"),
    );
    let counts = table("Geneid\tChr\tStart\tEnd\tStrand\tLength", "\t1\t5;9\t12\t+\t8");
    shop.write("c.txt", format!("# Program:featureCounts v2.0.3; Command:\"featureCounts\" \"-a\"\n{counts}"));
    for (name, said) in [
        ("a.gct", "ewca fit a.gct --id Name --transpose --ignore Description"),
        ("b.txt", "ewca fit b.txt --id ID_REF --transpose"),
        ("c.txt", "ewca fit c.txt --id Geneid --transpose --ignore Start --ignore Strand"),
    ] {
        let run = shop.run(&["inspect", name]).succeeded();
        let words: Vec<&str> = run.out.split_whitespace().filter(|word| *word != "\\").collect();
        assert!(words.join(" ").contains(said), "{}", run.out);
        shop.run_printed(&run.out, " -q").succeeded();
        let summary = shop.summary("ewca-out");
        assert_eq!((&summary["n_samples"], &summary["n_features"]), (&8.into(), &12.into()), "{name}");
    }
}

#[test]
fn scores_and_loadings_go_to_any_format() {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(30, 5, ","));
    for (file, loadings) in
        [("s.npy", "l.npy"), ("s.parquet", "l.parquet"), ("s.csv.gz", "l.tsv"), ("s.arrow", "l.feather")]
    {
        let arguments =
            ["fit", "data.csv", "--label", "kind", "--id", "name", "--scores", file, "--loadings", loadings];
        let run = shop.run(&arguments).succeeded();
        assert!(run.out.contains(&format!("Written to {file}: 30 samples x 2 components")), "{}", run.out);
        let options = |id: &str| ReadOptions {
            id: (!file.ends_with("npy")).then(|| id.into()),
            ignore: if file.ends_with("npy") || id != "id" { vec![] } else { vec!["label".into()] },
            ..ReadOptions::default()
        };
        for (written, own, id) in [(file, "scores.csv", "id"), (loadings, "loadings.csv", "feature")] {
            let table = read_table(&shop.path(written), &options(id)).unwrap();
            let plain = ReadOptions {
                id: Some(id.into()),
                ignore: if id == "id" { vec!["label".into()] } else { vec![] },
                ..ReadOptions::default()
            };
            let expected = read_table(&shop.path(&format!("ewca-out/{own}")), &plain).unwrap();
            let (Values::Dense(found), Values::Dense(expected)) = (table.values, expected.values) else {
                panic!("dense")
            };
            assert_eq!(found, expected, "{written}");
        }
    }
}

#[test]
fn the_plan_is_written_as_partners_and_whole() {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(20, 5, ","));
    let arguments =
        "fit data.csv --label kind --id name --plan plan.csv --partners 20 --dense-plan plan.npy --perplexity 4";
    shop.run(&arguments.split(' ').collect::<Vec<_>>()).succeeded();
    let Values::Dense(whole) = read_table(&shop.path("plan.npy"), &ReadOptions::default()).unwrap().values else {
        panic!("dense")
    };
    assert_eq!((whole.rows, whole.columns), (20, 20));
    for row in whole.data.chunks(20) {
        assert!((row.iter().sum::<f64>() - 0.05).abs() < 1e-8);
    }
    let plan = shop.read("plan.csv");
    assert_eq!(plan.lines().next(), Some("sample,partner,weight"));
    assert_eq!(plan.lines().count(), 401);
    for line in plan.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let place = |name: &str| name[1..].parse::<usize>().unwrap();
        let expected = whole.data[place(cells[0]) * 20 + place(cells[1])];
        assert!((cells[2].parse::<f64>().unwrap() - expected).abs() < 1e-9, "{line}: {expected}");
    }
}

#[test]
fn anndata_gets_its_results() {
    let shop = Workshop::new();
    let files = std::fs::read_dir(golden("")).unwrap().map(|entry| entry.unwrap().path());
    let Some(file) = files.into_iter().find(|path| path.extension().is_some_and(|e| e == "h5ad")) else {
        panic!("no .h5ad among the golden files")
    };
    std::fs::copy(file, shop.path("in.h5ad")).unwrap();
    let before = shop.bytes("in.h5ad");
    let run = shop.run(&["fit", "in.h5ad", "-k", "1", "--write-anndata", "out.h5ad"]).succeeded();
    assert!(run.out.contains("Written to out.h5ad: obsm X_ewca"), "{}", run.out);
    assert_eq!(shop.bytes("in.h5ad"), before, "the input is left alone");
    // Still the same table, and fitted to the same result.
    let scores = shop.read("ewca-out/scores.csv");
    shop.run(&["fit", "out.h5ad", "-k", "1"]).succeeded();
    assert_eq!(shop.read("ewca-out/scores.csv"), scores);
}

#[test]
fn files_that_cannot_be_written_are_refused_before_the_fit() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(30, 4));
    for option in ["--scores", "--loadings", "--plan"] {
        shop.run(&["fit", "data.csv", option, "no/where.csv"]).failed_saying(&["no/where.csv", "no such"]);
        assert!(!exists(&shop.path("ewca-out")));
    }
    shop.run(&["fit", "data.csv", "--checkpoint", "no/state"]).failed_saying(&["no/state", "no such"]);
    assert_eq!(shop.list("."), ["data.csv"]);
}
