//! The table, and the survivors by name: the section of bench/MUTANTS.md between two marks.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

const BEGIN: &str = "<!-- rust -->";
const END: &str = "<!-- /rust -->";
const HEAD: &str = "| file | viable | caught | of these by the time limit | missed | missed, % | unviable |\n|---|---|---|---|---|---|---|\n";
/// Stands between a survivor and the reason for which it survives, which people write.
const REASON: &str = " — ";
/// How the reason of a survivor begins that a test should catch: it is tried again.
const OPEN: &str = "open: ";
const UNKNOWN: &str = "open: not looked at yet";

/// The results of one file.
#[derive(Debug, Default)]
pub struct Row {
    pub path: String,
    pub caught: usize,
    pub too_late: usize,
    pub missed: Vec<Survivor>,
    pub unviable: usize,
    pub untried: usize,
}

#[derive(Debug)]
pub struct Survivor {
    pub name: String,
    pub line: usize,
    /// How many tests reach it, and whether all of them were run.
    pub tests: usize,
    pub all: bool,
    /// Not tried, since it was looked at before.
    pub explained: bool,
}

/// The survivors that were looked at and stay: a reason is written beside them.
pub fn explained(path: &Path) -> HashSet<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(REASON));
    lines.filter(|(_, reason)| !reason.starts_with(OPEN)).map(|(name, _)| name.to_string()).collect()
}

/// Prints the survivors, and writes the section: files that were not tried now keep what it says of them, unless they are gone; reasons and
/// the text above the table stay.
pub fn write(path: &Path, rows: &[Row]) -> Result<(), String> {
    for row in rows {
        for survivor in &row.missed {
            let tests = match (survivor.tests, survivor.all) {
                _ if survivor.explained => continue,
                (0, _) => "no test reaches it".to_string(),
                (tests, true) => format!("{tests} tests reach it"),
                (tests, false) => format!("{tests} tests reach it, and there was no time for all"),
            };
            println!("missed: {} ({}:{}, {tests})", survivor.name, row.path, survivor.line);
        }
        if row.untried > 0 {
            println!("{}: {} mutants were not tried", row.path, row.untried);
        }
    }
    let old = std::fs::read_to_string(path).unwrap_or_else(|_| format!("# Mutants\n\n{BEGIN}\n{END}\n"));
    let (Some(begin), Some(end)) = (old.find(BEGIN), old.find(END)) else {
        return Err(format!("{}: the marks {BEGIN} and {END} are missing", path.display()));
    };
    let root = path.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    let section = section(&old[begin + BEGIN.len()..end], rows, |file| root.join(file).exists());
    let new = format!("{}{BEGIN}\n{section}{}", &old[..begin], &old[end..]);
    std::fs::write(path, new).map_err(|error| format!("{}: {error}", path.display()))
}

fn section(old: &str, rows: &[Row], is_there: impl Fn(&str) -> bool) -> String {
    let mut lines: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    let mut reasons: HashMap<&str, &str> = HashMap::new();
    let mut survivors: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in old.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let [_, path, _, caught, late, missed, _, unviable, _] = cells.as_slice()
            && let [Ok(caught), Ok(late), Ok(missed), Ok(unviable)] =
                [caught, late, missed, unviable].map(|cell| cell.parse())
            && path.ends_with(".rs")
            && is_there(path)
        {
            lines.insert(path.to_string(), [caught, late, missed, unviable]);
        }
        if let Some((name, reason)) = line.strip_prefix("- ").and_then(|line| line.split_once(REASON)) {
            reasons.insert(name, reason);
            let path = name.split_whitespace().next().unwrap_or_default();
            if is_there(path) {
                survivors.entry(path.to_string()).or_default().push(line.to_string());
            }
        }
    }
    for row in rows {
        lines.insert(row.path.clone(), [row.caught, row.too_late, row.missed.len(), row.unviable]);
        let list = row.missed.iter().map(|Survivor { name, .. }| {
            let reason = reasons.get(name.as_str()).copied().unwrap_or(UNKNOWN);
            format!("- {name}{REASON}{reason}")
        });
        survivors.insert(row.path.clone(), list.collect());
    }
    let above = old.find("| file |").map_or("\n", |at| old[..at].trim_start_matches('\n'));
    let mut text = format!("{above}{HEAD}");
    let mut total = [0; 4];
    for (path, counts) in &lines {
        text += &table_line(path, counts);
        total.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    text += &table_line("all", &total);
    let survivors: Vec<String> = survivors.into_values().flatten().collect();
    if !survivors.is_empty() {
        text += &format!("\nThe survivors, and why:\n\n{}\n", survivors.join("\n"));
    }
    text + "\n"
}

fn table_line(path: &str, [caught, late, missed, unviable]: &[usize; 4]) -> String {
    let viable = caught + missed;
    let share = 100.0 * *missed as f64 / viable.max(1) as f64;
    format!("| {path} | {viable} | {caught} | {late} | {missed} | {share:.1} | {unviable} |\n")
}
