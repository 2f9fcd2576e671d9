//! A source file with all its mutants inside, each behind a switch.

use std::collections::HashSet;
use std::ops::Range;

use crate::find::{Kind, Site};

/// A rewritten file, and where in it each mutant's own code and each site stand.
#[derive(Debug, Default)]
pub struct Rendered {
    pub text: String,
    /// Mutant and the bytes of its branch.
    pub branches: Vec<(u32, Range<usize>)>,
    /// The mutants of a site and the bytes of all its branches.
    pub sites: Vec<(Vec<u32>, Range<usize>)>,
}

/// Rewrites `source` with all mutants but those of `dropped`. A branch has the code as it was written, since only one mutant is
/// switched on at a time; so the text grows with the depth of nesting only.
pub fn render(source: &str, sites: &[Site], dropped: &HashSet<u32>) -> Rendered {
    let mut renderer = Renderer { source, dropped, out: Rendered::default() };
    renderer.copy(0..source.len(), sites);
    renderer.out
}

struct Renderer<'a> {
    source: &'a str,
    dropped: &'a HashSet<u32>,
    out: Rendered,
}

impl Renderer<'_> {
    fn push(&mut self, text: &str) {
        self.out.text.push_str(text);
    }

    /// The bytes `range` of the source, with the `sites` that lie in it.
    fn copy(&mut self, range: Range<usize>, sites: &[Site]) {
        let (mut at, mut next) = (range.start, 0);
        while let Some(site) = sites.get(next) {
            let inside = sites[next + 1..].iter().take_while(|inner| inner.range.start < site.range.end).count();
            self.push(&self.source[at..site.range.start]);
            self.site(site, &sites[next + 1..next + 1 + inside]);
            at = site.range.end;
            next += 1 + inside;
        }
        self.push(&self.source[at..range.end]);
    }

    fn site(&mut self, site: &Site, inner: &[Site]) {
        let within = |range: &Range<usize>| -> Vec<Site> {
            inner.iter().filter(|s| range.start <= s.range.start && s.range.end <= range.end).cloned().collect()
        };
        let start = self.out.text.len();
        let live: Vec<_> = site.mutants.iter().filter(|mutant| !self.dropped.contains(&mutant.id)).collect();
        if let Kind::Body = site.kind {
            for mutant in live {
                let begin = self.out.text.len();
                self.push(&format!(" if crate::mutant({}) {{ return {}; }}", mutant.id, mutant.replacement));
                self.out.branches.push((mutant.id, begin..self.out.text.len()));
            }
            return;
        }
        if !live.is_empty() {
            self.push("(");
        }
        for mutant in &live {
            self.push(&format!("if crate::mutant({}) ", mutant.id));
            let begin = self.out.text.len();
            let branch = match &site.kind {
                Kind::Binary { left, right, .. } => {
                    format!("({}) {} ({})", &self.source[left.clone()], mutant.replacement, &self.source[right.clone()])
                }
                Kind::Unary { operand, .. } => self.source[operand.clone()].to_string(),
                Kind::Guard | Kind::Body => mutant.replacement.clone(),
            };
            self.push(&format!("{{ {branch} }}"));
            self.out.branches.push((mutant.id, begin..self.out.text.len()));
            self.push(" else ");
        }
        if !live.is_empty() {
            self.push("{ ");
        }
        match &site.kind {
            Kind::Binary { left, operator, right } => {
                self.push("(");
                self.copy(left.clone(), &within(left));
                self.push(&format!(") {operator} ("));
                self.copy(right.clone(), &within(right));
                self.push(")");
            }
            Kind::Unary { operator, operand } => {
                self.push(&operator.to_string());
                self.copy(operand.clone(), &within(operand));
            }
            Kind::Guard | Kind::Body => self.copy(site.range.clone(), inner),
        }
        if !live.is_empty() {
            self.push(" })");
            let ids = live.iter().map(|mutant| mutant.id).collect();
            self.out.sites.push((ids, start..self.out.text.len()));
        }
    }
}

/// The switch, which stands at the end of the crate's root. While a recording is wanted, each mutant that is reached is written to
/// a file, once.
pub fn switch(mutants: u32) -> String {
    format!(
        r#"

/// Whether the mutant with this number is switched on.
#[inline(always)]
pub(crate) fn mutant(id: u32) -> bool {{
    let active = mutants::ACTIVE.load(std::sync::atomic::Ordering::Relaxed);
    if active < mutants::RECORDING {{ active == id }} else {{ mutants::first(id) }}
}}

mod mutants {{
    use std::io::Write;
    use std::sync::atomic::{{AtomicBool, AtomicU32, Ordering}};

    pub const UNKNOWN: u32 = u32::MAX;
    pub const RECORDING: u32 = u32::MAX - 1;
    pub static ACTIVE: AtomicU32 = AtomicU32::new(UNKNOWN);
    static REACHED: [AtomicBool; {mutants}] = [const {{ AtomicBool::new(false) }}; {mutants}];

    #[cold]
    #[inline(never)]
    pub fn first(id: u32) -> bool {{
        if ACTIVE.load(Ordering::Relaxed) == UNKNOWN {{
            let wanted = std::env::var("EWCA_MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
            let recording = std::env::var_os("EWCA_MUTANTS_REACHED").is_some();
            ACTIVE.store(if recording {{ RECORDING }} else {{ wanted }}, Ordering::Relaxed);
        }}
        let active = ACTIVE.load(Ordering::Relaxed);
        let reached = &REACHED[id as usize];
        if active == RECORDING && !reached.load(Ordering::Relaxed) && !reached.swap(true, Ordering::Relaxed) {{
            let file = std::env::var_os("EWCA_MUTANTS_REACHED").unwrap_or_default();
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).expect("the record");
            file.write_all(format!("{{id}}\n").as_bytes()).expect("the record");
        }}
        active == id
    }}
}}
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::find;

    const SOURCE: &str = r#"
        const SIZE: usize = 3 * 4;

        fn area(sides: [f64; 1 + 1]) -> f64 {
            if let [a, b] = sides && a > 0.0 { a * -b + 1.0 } else { 0.5 }
        }

        #[cfg(test)]
        mod tests {
            fn helper() -> usize { 1 + 1 }
        }
    "#;

    fn names(source: &str) -> Vec<String> {
        let found = find(source, &mut 1).unwrap();
        let sites = found.sites.iter();
        sites.flat_map(|s| s.mutants.iter().map(|m| format!("{}:{} {}", s.line, s.function, m.replacement))).collect()
    }

    #[test]
    fn constants_types_and_tests_are_left_alone() {
        let wanted =
            ["4:area 0.0", "4:area 1.0", "4:area -1.0", "5:area ==", "5:area <", "5:area >=", "5:area -", "5:area *"];
        assert_eq!(names(SOURCE)[..8], wanted);
        assert_eq!(names(SOURCE)[8..], ["5:area +", "5:area /", "5:area left out"]);
    }

    #[test]
    fn every_mutant_has_its_own_branch_in_code_that_parses() {
        let found = find(SOURCE, &mut 1).unwrap();
        let rendered = render(SOURCE, &found.sites, &HashSet::new());
        syn::parse_file(&rendered.text).unwrap();
        let mut ids: Vec<u32> = rendered.branches.iter().map(|(id, _)| *id).collect();
        ids.sort();
        assert_eq!(ids, (1..=11).collect::<Vec<_>>());
        let branch = |id| {
            let (_, range) = rendered.branches.iter().find(|(other, _)| *other == id).unwrap();
            &rendered.text[range.clone()]
        };
        assert_eq!(branch(7), "{ (a * -b) - (1.0) }");
        assert_eq!(branch(11), "{ b }");
    }

    #[test]
    fn without_mutants_the_code_is_what_it_was() {
        let found = find(SOURCE, &mut 1).unwrap();
        let rendered = render(SOURCE, &found.sites, &(1..=11).collect());
        assert_eq!(rendered.text.replace(['(', ')'], ""), SOURCE.replace(['(', ')'], ""));
    }

    #[test]
    fn the_switch_parses() {
        syn::parse_file(&switch(10)).unwrap();
    }
}
