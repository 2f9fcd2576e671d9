//! `ewca path`, from the outside.

use crate::common::{Workshop, exists, numbers};

/// The columns of a path's table, by their name.
fn column(table: &str, name: &str) -> Vec<f64> {
    let at = table.lines().next().unwrap().split(',').position(|column| column == name).expect(name);
    table.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
}

#[test]
fn a_bare_path_goes_from_pca_past_the_collapse() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(60, 5));
    let run = shop.run(&["path", "data.csv", "-k", "2"]).succeeded();
    assert!(run.out.contains("Collapses between epsilon"), "{}", run.out);
    assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    let table = shop.read("ewca-out/path.csv");
    let (epsilons, perplexities) = (column(&table, "epsilon"), column(&table, "perplexity"));
    assert!(epsilons.len() >= 20 && epsilons.is_sorted() && perplexities.is_sorted());
    let collapsed = column(&table, "collapsed");
    assert_eq!((collapsed[0], collapsed[collapsed.len() - 1]), (0.0, 1.0), "{collapsed:?}");
    assert!(column(&table, "distance_to_pca")[0] < 0.1);
    for (collapsed, eigenvalue) in collapsed.iter().zip(column(&table, "eigenvalue")) {
        assert_eq!(*collapsed == 1.0, eigenvalue <= 0.0);
    }
}

#[test]
fn given_epsilons_and_perplexities_are_kept_in_their_order() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(60, 5));
    let run = shop.run(&["path", "data.csv", "--epsilons", "3,0.5,1", "-o", "a.csv"]).succeeded();
    assert!(run.out.contains("Written to a.csv: 3 rows"), "{}", run.out);
    assert_eq!(column(&shop.read("a.csv"), "epsilon"), [3.0, 0.5, 1.0]);
    shop.run(&["path", "data.csv", "--perplexities", "4,8", "-o", "b.csv", "-q"]).succeeded();
    let found = column(&shop.read("b.csv"), "perplexity");
    assert!(found.iter().zip([4.0, 8.0]).all(|(found, asked)| (found / asked - 1.0).abs() < 0.01), "{found:?}");
    assert!(!exists(&shop.path("ewca-out")));
    // The same epsilon gives the same as a fit.
    shop.run(&["fit", "data.csv", "--epsilon", "0.5"]).succeeded();
    let loss = shop.summary("ewca-out")["loss"].as_f64().unwrap();
    assert!((column(&shop.read("a.csv"), "loss")[1] / loss - 1.0).abs() < 1e-9);
}

#[test]
fn a_path_for_programs_is_json_lines() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(40, 4));
    let run = shop.run(&["path", "data.csv", "--epsilons", "1:1e6:3", "--json"]).succeeded();
    let lines: Vec<serde_json::Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!((&lines[0]["event"], &lines[0]["collapsed"]), (&"step".into(), &false.into()));
    assert_eq!((&lines[3]["event"], &lines[3]["collapse"][1]), (&"path".into(), &lines[1]["epsilon"]));
}

#[test]
fn fits_that_do_not_converge_are_marked() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(60, 5));
    let arguments = ["path", "data.csv", "--epsilons", "1,3", "--max-iterations", "1"];
    let run = shop.run(&arguments);
    assert_eq!((run.code, run.err.as_str()), (Some(3), ""));
    assert!(run.out.contains(" ?\n") && run.out.contains("did not converge; raise --max-iterations"), "{}", run.out);
    assert_eq!(column(&shop.read("ewca-out/path.csv"), "converged"), [0.0, 0.0]);
    let quiet = shop.run(&[&arguments[..], &["-q"]].concat());
    assert!(quiet.out.is_empty() && quiet.err.contains("warning: 2 of 2 fits did not converge"), "{}", quiet.err);
}

#[test]
fn a_path_that_cannot_be_written_leaves_nothing() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(40, 4));
    shop.run(&["path", "data.csv", "-o", "data.csv/path.csv"]).failed_saying(&["data.csv", "folder"]);
    shop.run(&["path", "data.csv", "-k", "9"]).failed_saying(&["-k 9", "have 4 dimensions"]);
    assert_eq!(shop.list("."), ["data.csv"]);
}
