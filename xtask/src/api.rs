//! The public API of the library, listed: `crates/ewca/API.txt` changes only where someone meant it to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, Meta, TraitItem, UseTree, Visibility};

#[test]
fn the_public_api_is_the_one_that_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/ewca");
    let (listed, found) = (folder.join("API.txt"), listing(&folder.join("src")));
    if env::var_os("EWCA_UPDATE").is_some() {
        return fs::write(listed, found).unwrap();
    }
    let known = fs::read_to_string(listed).unwrap();
    let lines = |text: &str| text.lines().map(String::from).collect::<BTreeSet<_>>();
    let (known, found) = (lines(&known), lines(&found));
    let new: Vec<_> = found.difference(&known).collect();
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "the public API differs from crates/ewca/API.txt\n  new: {new:#?}\n  gone: {gone:#?}\n\
         If that is meant, write it anew: EWCA_UPDATE=1 cargo test -p xtask api, and tell CHANGELOG.md."
    );
}

/// A source file: the feature that it needs, and its items, tests aside.
struct Source {
    feature: Option<String>,
    items: Vec<Item>,
}

fn listing(folder: &Path) -> String {
    let sources: Vec<Source> = files(folder).iter().map(|path| source(folder, path)).collect();
    let root = source(folder, &folder.join("lib.rs"));
    let mut exported = BTreeSet::new();
    for item in root.items {
        if let Item::Use(item) = item
            && is_public(&item.vis, &item.attrs)
        {
            names(&item.tree, &mut exported);
        }
    }
    // Modules of a feature are exported whole.
    for source in &sources {
        if source.feature.as_ref().is_some_and(|name| exported.contains(name)) {
            exported.extend(source.items.iter().filter_map(type_name));
        }
    }
    let defined = sources.iter().flat_map(|source| &source.items).filter_map(type_name).collect();
    let mut list = List { exported, defined, lines: BTreeSet::new(), suffix: String::new() };
    for source in &sources {
        list.suffix = source.feature.as_ref().map_or(String::new(), |name| format!("  [feature {name}]"));
        source.items.iter().for_each(|item| list.item(item));
    }
    list.lines.into_iter().map(|line| line + "\n").collect()
}

struct List {
    exported: BTreeSet<String>,
    /// All types and traits, public or not.
    defined: BTreeSet<String>,
    lines: BTreeSet<String>,
    suffix: String,
}

impl List {
    fn add(&mut self, place: &str, line: impl AsRef<str>) {
        let line = format!("{place}{}{}", line.as_ref(), self.suffix);
        self.lines.insert(line);
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Impl(block) => self.implementation(block),
            Item::Fn(item) if self.has(&item.sig.ident) => self.add("", text(&item.sig)),
            Item::Type(item) if self.has(&item.ident) => {
                self.add("", format!("type {}{} = {}", item.ident, text(&item.generics), text(&item.ty)));
            }
            Item::Const(item) if self.has(&item.ident) => {
                self.add("", format!("const {}: {}", item.ident, text(&item.ty)));
            }
            Item::Struct(item) if self.has(&item.ident) => {
                let (head, bounds) = (text(&item.generics), text(&item.generics.where_clause));
                self.add("", format!("struct {}{head}{bounds}{}", item.ident, attributes(&item.attrs)));
                for field in item.fields.iter().filter(|field| is_public(&field.vis, &field.attrs)) {
                    let name = field.ident.as_ref().map_or("0".into(), ToString::to_string);
                    self.add(&format!("{}.", item.ident), format!("{name}: {}", text(&field.ty)));
                }
            }
            Item::Enum(item) if self.has(&item.ident) => {
                self.add("", format!("enum {}{}", item.ident, attributes(&item.attrs)));
                for variant in &item.variants {
                    let fields: Vec<String> = variant.fields.iter().map(bare).collect();
                    let fields = match &variant.fields {
                        Fields::Unit => String::new(),
                        Fields::Named(_) => format!(" {{ {} }}", fields.join(", ")),
                        Fields::Unnamed(_) => format!("({})", fields.join(", ")),
                    };
                    self.add(&format!("{}::", item.ident), format!("{}{fields}", variant.ident));
                }
            }
            Item::Trait(item) if self.has(&item.ident) => {
                let above: Vec<String> = item.supertraits.iter().map(text).collect();
                self.add("", format!("trait {}: {}", item.ident, above.join(" + ")));
                for function in item.items.iter().filter_map(|item| match item {
                    TraitItem::Fn(function) => Some(function),
                    _ => None,
                }) {
                    let provided = if function.default.is_some() { " (provided)" } else { "" };
                    self.add(&format!("{}::", item.ident), format!("{}{provided}", text(&function.sig)));
                }
            }
            _ => {}
        }
    }

    fn implementation(&mut self, block: &syn::ItemImpl) {
        let of = text(&block.self_ty);
        let Some((_, implemented, _)) = &block.trait_ else {
            let name = of.split('<').next().unwrap_or_default();
            if !self.exported.contains(name) {
                return;
            }
            for item in &block.items {
                match item {
                    ImplItem::Fn(function) if is_public(&function.vis, &function.attrs) => {
                        self.add(&format!("{name}::"), text(&function.sig));
                    }
                    ImplItem::Const(item) if is_public(&item.vis, &item.attrs) => {
                        self.add(&format!("{name}::"), format!("const {}: {}", item.ident, text(&item.ty)));
                    }
                    _ => {}
                }
            }
            return;
        };
        let needed = features(&block.attrs);
        let line = format!("impl {} for {of}{needed}", text(implemented));
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let known = |word: &&&str| self.exported.contains(**word);
        let hidden = |word: &&str| self.defined.contains(*word) && !self.exported.contains(*word);
        if words.iter().any(|word| known(&word)) && !words.iter().any(hidden) {
            self.add("", line);
        }
    }

    fn has(&self, name: &syn::Ident) -> bool {
        self.exported.contains(&name.to_string())
    }
}

fn type_name(item: &Item) -> Option<String> {
    match item {
        Item::Struct(item) => Some(item.ident.to_string()),
        Item::Enum(item) => Some(item.ident.to_string()),
        Item::Trait(item) => Some(item.ident.to_string()),
        _ => None,
    }
}

fn names(tree: &UseTree, found: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => names(&path.tree, found),
        UseTree::Group(group) => group.items.iter().for_each(|tree| names(tree, found)),
        UseTree::Name(name) => {
            found.insert(name.ident.to_string());
        }
        UseTree::Rename(_) | UseTree::Glob(_) => panic!("names are exported one by one, as they are"),
    }
}

fn is_public(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    matches!(visibility, Visibility::Public(_))
        && !attributes.iter().any(|attribute| text(attribute) == "#[doc(hidden)]")
}

/// What is derived, also with a feature alone, and what a caller must heed.
fn attributes(attributes: &[Attribute]) -> String {
    let kept = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg_attr") => {
            let (feature, given) = with_feature(&list.tokens);
            given.starts_with("derive").then(|| format!("{given} [feature {feature}]"))
        }
        Meta::List(list) if list.path.is_ident("derive") => Some(format!("derive({})", text(&list.tokens))),
        meta if meta.path().is_ident("non_exhaustive") => Some("non_exhaustive".to_string()),
        meta if meta.path().is_ident("must_use") => Some("must_use".to_string()),
        _ => None,
    });
    kept.map(|attribute| format!(" #{attribute}")).collect()
}

/// The feature that an item needs, as a suffix.
fn features(attributes: &[Attribute]) -> String {
    let needed = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => Some(with_feature(&list.tokens).0),
        _ => None,
    });
    needed.map(|feature| format!("  [feature {feature}]")).collect()
}

/// `feature = "name", what` in two; other conditions are not known here.
fn with_feature(tokens: &impl ToTokens) -> (String, String) {
    let condition = text(tokens);
    let (condition, given) = condition.split_once(',').unwrap_or((&condition, ""));
    let name = condition.strip_prefix("feature = \"").and_then(|rest| rest.strip_suffix('"'));
    (name.unwrap_or_else(|| panic!("an unknown condition: {condition}")).into(), given.trim().into())
}

/// A field without its documentation.
fn bare(field: &syn::Field) -> String {
    let name = field.ident.as_ref().map_or(String::new(), |name| format!("{name}: "));
    name + &text(&field.ty)
}

/// Code as one would write it, in one line.
fn text(code: impl ToTokens) -> String {
    let mut text = code.to_token_stream().to_string();
    let spaces = [" ::", ":: ", " ,", " ;", " :", "& ", "< ", " <", " >", "( ", " )", "[ ", " ]", " !", "# ", "? "];
    for wide in spaces {
        text = text.replace(wide, wide.trim());
    }
    for (wide, narrow) in
        [("fn(", "fn ("), ("->", " ->"), ("  ->", " ->"), (",)", ")"), (",>", ">"), ("(mut ", "("), (", mut ", ", ")]
    {
        text = text.replace(wide, narrow);
    }
    let mut out = String::new();
    for c in text.chars() {
        let called = out.len() > 1 && out.ends_with(' ') && {
            let before = out.trim_end();
            before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
                || (before.ends_with('>') && !before.ends_with("->"))
        };
        if matches!(c, '(') && called {
            out.pop();
        }
        out.push(c);
    }
    out
}

fn source(folder: &Path, path: &Path) -> Source {
    let file = syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap();
    let is_test = |attributes: &[Attribute]| attributes.iter().any(|attribute| text(attribute) == "#[cfg(test)]");
    let items =
        file.items.into_iter().filter(|item| !matches!(item, Item::Mod(item) if is_test(&item.attrs))).collect();
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let feature = path.starts_with(folder.join("interop")) && name != "mod";
    Source { feature: feature.then(|| name.to_string()), items }
}

/// All source files but those of tests.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            found.extend(files(&path));
        } else if !["tests", "testing"].contains(&name) {
            found.push(path);
        }
    }
    found
}
