//! The five minutes of the site with the program (docs/start.md), line by line.

use std::path::Path;

use crate::common::{Workshop, exists};

#[test]
fn the_tour_of_the_site_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/start.md")).unwrap();
    let tour = page.split("\n## ").find(|section| section.starts_with("The program")).unwrap();
    let lines: Vec<&str> = tour.lines().filter_map(|line| line.strip_prefix("ewca ")).collect();
    assert!(lines.len() >= 8, "{lines:?}");

    let shop = Workshop::new();
    std::fs::create_dir(shop.path("data")).unwrap();
    std::fs::copy(root.join("data/khan2001.csv.gz"), shop.path("data/khan2001.csv.gz")).unwrap();
    // Everything can be made a second time, but for the slowest.
    let again = lines.iter().filter(|line| !line.starts_with("select"));
    for line in lines.iter().chain(again) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let run = shop.run(&words).succeeded();
        assert!(!run.out.is_empty(), "ewca {line} says nothing");
        if let Some(at) = words.iter().position(|word| *word == "-o") {
            assert!(exists(&shop.path(words[at + 1])), "ewca {line} wrote nothing");
        }
    }
    assert_eq!(shop.read("new.csv").lines().count(), 21);
    assert_eq!(shop.read("partners.csv").lines().count(), 1 + 3 * 63);
}
