//! Names that a spreadsheet would run as formulas: harmless in what is written, and themselves again when it is read.

use crate::common::Workshop;

const TABLE: &str = "name,kind,=cmd|'/c calc'!A1,@x,plain,-y\n\
    =1+1,+a,1,2,3,4\n\
    -s,b,2,1,7,1\n\
    -2,+a,8,3,1,0\n\
    \"\t=t\",b,0,5,2,9\n\
    plain,b,4,4,9,2\n\
    '=q,+a,1,7,3,5\n";

#[test]
fn formulas_are_defused_unless_asked_for() {
    let shop = Workshop::new();
    shop.write("t.csv", TABLE);
    let options = ["--id", "name", "--label", "kind"];
    shop.run(&[&["fit", "t.csv", "-q", "-o", "safe", "--epsilon", "0.1"], &options[..]].concat()).succeeded();
    shop.run(&[&["fit", "t.csv", "-q", "-o", "raw", "--epsilon", "0.1", "--raw-text"], &options[..]].concat())
        .succeeded();
    let first = |file: &str| -> Vec<String> {
        shop.read(file).lines().skip(1).map(|line| line.split(',').next().unwrap().to_string()).collect()
    };
    assert_eq!(first("safe/loadings.csv"), ["'=cmd|'/c calc'!A1", "'@x", "plain", "'-y"]);
    assert_eq!(first("raw/loadings.csv"), ["=cmd|'/c calc'!A1", "@x", "plain", "-y"]);
    // The apostrophe that was in the table means that what follows is text.
    assert_eq!(first("safe/scores.csv"), ["'=1+1", "'-s", "-2", "'=t", "plain", "'=q"]);
    assert_eq!(first("raw/scores.csv"), ["=1+1", "-s", "-2", "=t", "plain", "=q"]);
    assert!(shop.read("safe/scores.csv").contains(",'+a,") && shop.read("raw/scores.csv").contains(",+a,"));
    // On standard output too.
    let printed = shop.run(&[&["transform", "safe", "t.csv"], &options[..]].concat()).succeeded().out;
    assert!(printed.contains("\n'=1+1,'+a,") && printed.contains("\n-2,'+a,"), "{printed}");
}

#[test]
fn what_was_defused_is_read_as_it_was() {
    let shop = Workshop::new();
    shop.write("t.csv", TABLE);
    let options = ["--id", "name", "--label", "kind"];
    shop.run(&[&["fit", "t.csv", "-q", "-k", "3", "--epsilon", "0.1"], &options[..]].concat()).succeeded();
    let again = ["reconstruct", "ewca-out", "ewca-out/scores.csv", "-o", "again.csv", "-q"];
    shop.run(&again).succeeded();
    assert!(shop.read("again.csv").starts_with("id,label,'=cmd|'/c calc'!A1,'@x,plain,'-y\n"));
    // The features are found by their names, and the samples have theirs.
    let scores = shop.run(&["transform", "ewca-out", "again.csv", "--id", "id", "--label", "label"]).succeeded().out;
    let names = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split(',').take(2).collect::<Vec<_>>().join(",")).collect()
    };
    assert_eq!(names(&scores), names(&shop.read("ewca-out/scores.csv")));
}
