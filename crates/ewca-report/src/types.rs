//! The types of the page's data in TypeScript: made from those of this crate, committed, and held equal by a test.

use std::collections::BTreeMap;
use std::{env, fs};

use ts_rs::{Config, TS, TypeVisitor};

use crate::Report;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/page/src/report.ts");
/// Set by `cargo xtask report-types`, to have the file written.
const WRITE: &str = "EWCA_WRITE_TYPES";
const HEAD: &str =
    "// What the program puts into the page: made from src/report.rs of the crate by `cargo xtask report-types`.\n";

/// Declarations by the names of their types: ts-rs comes upon them in another order in every build.
#[derive(Default)]
struct Declarations {
    config: Config,
    texts: BTreeMap<String, String>,
}

impl TypeVisitor for Declarations {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        let name = T::ident(&self.config);
        // Numbers, texts and lists need no declaration.
        if T::output_path().is_none() || self.texts.contains_key(&name) {
            return;
        }
        let declaration = format!("{}export {}", T::docs().unwrap_or_default(), T::decl(&self.config));
        self.texts.insert(name, tidy(&declaration));
        T::visit_dependencies(self);
    }
}

/// A comment or a field in each line, fields indented.
fn tidy(declaration: &str) -> String {
    let short = declaration.replace("/**\n * ", "/** ").replace("\n */\n", " */\n").replace(", };", ",\n};");
    let mut fields = false;
    let mut text = String::from("\n");
    for line in short.lines().map(str::trim_end) {
        fields &= line != "};";
        text += if fields { "  " } else { "" };
        text += line;
        text += "\n";
        fields |= line.ends_with('{');
    }
    text
}

#[test]
fn the_page_knows_the_types_of_its_data() {
    let mut declarations = Declarations::default();
    declarations.visit::<Report>();
    let made = declarations.texts.values().fold(HEAD.to_string(), |made, text| made + text);
    if env::var_os(WRITE).is_some() {
        fs::write(COMMITTED, &made).unwrap();
    }
    let committed = fs::read_to_string(COMMITTED).unwrap();
    assert!(committed == made, "{COMMITTED} is not what the types of the crate say: run `cargo xtask report-types`");
}
