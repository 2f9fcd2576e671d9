//! Manual pages and completions as the Python package brings them: those of the program. `cargo xtask manual` writes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::Workshop;

/// What pip puts beside Python's own `share`.
const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/ewca.data/data/share");
/// Where the shells look for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/ewca"),
    ("zsh", "zsh/site-functions/_ewca"),
    ("fish", "fish/vendor_completions.d/ewca.fish"),
];

#[test]
fn the_python_package_has_the_manual_of_the_program() {
    let shop = Workshop::new();
    shop.run(&["man", "-o", "man"]).succeeded();
    let pages =
        shop.list("man").into_iter().map(|name| (format!("man/man1/{name}").into(), shop.read(&format!("man/{name}"))));
    let completions = COMPLETIONS.map(|(shell, path)| (path.into(), shop.run(&["completions", shell]).succeeded().out));
    let made: BTreeMap<PathBuf, String> = pages.chain(completions).collect();
    assert!(made.len() > 12, "{:?}", made.keys());
    if std::env::var_os("EWCA_UPDATE").is_some() {
        let _ = fs::remove_dir_all(COMMITTED);
        for (path, text) in &made {
            let path = Path::new(COMMITTED).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    let mut committed = BTreeMap::new();
    gather(Path::new(COMMITTED), &mut committed);
    assert!(
        committed.keys().eq(made.keys()),
        "run `cargo xtask manual`: {:?}, not {:?}",
        committed.keys(),
        made.keys()
    );
    for (path, text) in made {
        assert!(committed[&path] == text, "{} is not what the program says: run `cargo xtask manual`", path.display());
    }
}

fn gather(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => gather(&path, found),
            false => {
                let text = fs::read_to_string(&path).unwrap();
                found.insert(path.strip_prefix(COMMITTED).unwrap().into(), text);
            }
        }
    }
}
