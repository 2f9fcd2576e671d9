//! From the text of one argument to its value.

use std::path::{Path, PathBuf};

use ewca_io::Format;

use super::job::Components;
use crate::console::flags::in_flags;

fn number(text: &str, fits: impl Fn(f64) -> bool, expected: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if fits(value) => Ok(value),
        _ => Err(format!("expected {expected}")),
    }
}

pub fn positive(text: &str) -> Result<f64, String> {
    number(text, |x| x.is_normal() && x > 0.0, "a positive number")
}

pub fn above_one(text: &str) -> Result<f64, String> {
    number(text, |x| x.is_finite() && x > 1.0, "a number above 1 and below the number of samples")
}

pub fn fraction(text: &str) -> Result<f64, String> {
    number(text, |x| x > 0.0 && x < 1.0, "a number between 0 and 1, such as 1e-6")
}

pub fn seconds(text: &str) -> Result<f64, String> {
    number(text, |x| (0.0..1e9).contains(&x), "a number of seconds, such as 60")
}

pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count >= 1 => Ok(count),
        _ => Err("expected a whole number, at least 1".into()),
    }
}

/// The number of components: `auto`, or a count.
pub fn components(text: &str) -> Result<Components, String> {
    match text {
        "auto" => Ok(Components::Auto),
        count => at_least_one(count)
            .map(Components::Given)
            .map_err(|_| "expected a whole number, at least 1, or auto".to_string()),
    }
}

pub fn at_least_two(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count >= 2 => Ok(count),
        _ => Err("expected a whole number, at least 2".into()),
    }
}

pub fn thread_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=1024).contains(&count) => Ok(count),
        _ => Err("expected a whole number from 1 to 1024".into()),
    }
}

pub fn condition(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((column, text)) if !column.is_empty() => Ok((column.into(), text.into())),
        _ => Err("expected COLUMN=TEXT, such as split=train".into()),
    }
}

pub fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "space" => Ok(b' '),
        _ => match text.as_bytes() {
            [byte @ (b',' | b';' | b'|' | b'\t' | b' ')] => Ok(*byte),
            _ => Err("expected one of , ; | tab space".into()),
        },
    }
}

pub fn decimal(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [mark @ (b'.' | b',')] => Ok(*mark),
        _ => Err("expected . or ,".into()),
    }
}

pub fn format(text: &str) -> Result<Format, String> {
    text.parse().map_err(|error: ewca_io::Error| in_flags(&error.message()))
}

/// A file for a table: its extension must name a format, and now is the time to know.
pub fn table_file(text: &str) -> Result<PathBuf, String> {
    let name = text.to_ascii_lowercase();
    let plain = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    let extension = Path::new(plain).extension().and_then(|extension| extension.to_str());
    match extension {
        Some("csv" | "tsv" | "tab" | "txt") => Ok(text.into()),
        Some("parquet" | "pq" | "arrow" | "feather" | "npy") if plain == name => Ok(text.into()),
        _ if text == "-" => Ok(text.into()),
        _ => Err("expected a file name that ends in .csv, .tsv, .csv.gz, .csv.zst, .parquet, .arrow or .npy".into()),
    }
}

/// A table of what is known of samples: standard input is for the table itself.
pub fn metadata_file(text: &str) -> Result<PathBuf, String> {
    if text == "-" { Err("expected a file; standard input is used for the table".into()) } else { Ok(text.into()) }
}

/// A file for a NumPy array.
pub fn npy_file(text: &str) -> Result<PathBuf, String> {
    match text.to_ascii_lowercase().ends_with(".npy") {
        true => Ok(text.into()),
        false => Err("expected a file name that ends in .npy".into()),
    }
}

/// A file for a report.
pub fn html_file(text: &str) -> Result<PathBuf, String> {
    let name = text.to_ascii_lowercase();
    match name.ends_with(".html") || name.ends_with(".htm") {
        true => Ok(text.into()),
        false => Err("expected a file name that ends in .html".into()),
    }
}

/// A file for MultiQC, which finds its custom content by the end of its name.
pub fn multiqc_file(text: &str) -> Result<PathBuf, String> {
    match text.ends_with("_mqc.json") {
        true => Ok(text.into()),
        false => Err("expected a file name that ends in _mqc.json, so that MultiQC finds it".into()),
    }
}

/// Several numbers in one argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers(pub Vec<f64>);

/// Several counts in one argument, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts(pub Vec<usize>);

/// Several counts in one argument, ascending, or none where they are to be found.
#[derive(Debug, Clone, PartialEq)]
pub struct CountsOrAuto(pub Option<Vec<usize>>);

/// Counts: `4..12` is all from 4 to 12; `3,5,10` is a list; `3..10,15` is both.
pub fn counts(text: &str) -> Result<Counts, String> {
    let expected = "expected a range, such as 4..12, or a list, such as 3,5,10";
    let wrong = |_| expected.to_string();
    let mut counts = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once("..").unwrap_or((part, part));
        let (from, to) = (at_least_one(from.trim()).map_err(wrong)?, at_least_one(to.trim()).map_err(wrong)?);
        if from > to || to - from >= 10_000 {
            return Err(expected.into());
        }
        counts.extend(from..=to);
    }
    counts.sort_unstable();
    counts.dedup();
    Ok(Counts(counts))
}

/// Counts, or none for `auto`.
pub fn counts_or_auto(text: &str) -> Result<CountsOrAuto, String> {
    match text {
        "auto" => Ok(CountsOrAuto(None)),
        list => counts(list).map(|Counts(counts)| CountsOrAuto(Some(counts))).map_err(|problem| problem + ", or auto"),
    }
}

/// Epsilons: `5:200:20` is 20 of them from 5 to 200, each larger than the one before by the same factor; `5,10,50` is a list.
pub fn epsilons(text: &str) -> Result<Numbers, String> {
    let expected = "expected FROM:TO:COUNT, such as 5:200:20, or a list, such as 5,10,50";
    let wrong = |_| expected.to_string();
    if let [from, to, count] = text.split(':').collect::<Vec<_>>()[..] {
        let (from, to) = (positive(from.trim()).map_err(wrong)?, positive(to.trim()).map_err(wrong)?);
        let count = at_least_one(count.trim()).map_err(wrong)?;
        return match count <= 10_000 {
            true => Ok(Numbers(ewca::geometric(from, to, count))),
            false => Err("expected at most 10000 epsilons".into()),
        };
    }
    text.split(',').map(|part| positive(part.trim())).collect::<Result<_, _>>().map(Numbers).map_err(wrong)
}

/// Perplexities: a list.
pub fn perplexities(text: &str) -> Result<Numbers, String> {
    text.split(',')
        .map(|part| above_one(part.trim()))
        .collect::<Result<_, _>>()
        .map(Numbers)
        .map_err(|_| "expected a list of numbers above 1, such as 2,5,10".into())
}

/// A size such as `8GiB`, `500MB`, `1.5g` or a plain number of bytes.
pub fn size(text: &str) -> Result<usize, String> {
    let wrong = || "expected a size such as 8GiB, 500MB or 1000000".to_string();
    let split = text.find(|c: char| c.is_ascii_alphabetic() || c == ' ').unwrap_or(text.len());
    let (count, unit) = text.split_at(split);
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024f64,
        "m" | "mib" => 1024f64.powi(2),
        "g" | "gib" => 1024f64.powi(3),
        "t" | "tib" => 1024f64.powi(4),
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        _ => return Err(wrong()),
    };
    let bytes = count.parse::<f64>().map_err(|_| wrong())? * factor;
    if bytes >= 1.0 && bytes < usize::MAX as f64 { Ok(bytes as usize) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("8GiB"), Ok(8 << 30));
        assert_eq!(size("1.5 k"), Ok(1536));
        assert_eq!(size("500MB"), Ok(500_000_000));
        assert_eq!(size("7"), Ok(7));
        for wrong in ["", "GiB", "0", "-1G", "1e30G", "nan"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranges_of_epsilons_are_geometric_and_keep_their_ends() {
        let Numbers(values) = epsilons("5:200:20").unwrap();
        assert_eq!((values.len(), values[0], values[19]), (20, 5.0, 200.0));
        let factors: Vec<f64> = values.windows(2).map(|pair| pair[1] / pair[0]).collect();
        assert!(factors.iter().all(|factor| (factor / factors[0] - 1.0).abs() < 1e-12));
        assert_eq!(epsilons("3,1e-2, 7"), Ok(Numbers(vec![3.0, 0.01, 7.0])));
        assert_eq!(epsilons("2:9:1"), Ok(Numbers(vec![2.0])));
        for wrong in ["", "5:200", "5:200:0", "0:1:3", "1,,2", "-1", "1:2:3:4", "1:2:99999999999"] {
            assert!(epsilons(wrong).is_err(), "{wrong}");
        }
        assert_eq!(perplexities("2,5"), Ok(Numbers(vec![2.0, 5.0])));
        assert!(perplexities("1,5").is_err() && perplexities("2:5:3").is_err());
    }

    #[test]
    fn counts_are_ranges_and_lists() {
        assert_eq!(counts("4..6"), Ok(Counts(vec![4, 5, 6])));
        assert_eq!(counts("10, 3,3"), Ok(Counts(vec![3, 10])));
        assert_eq!(counts("3..5,15,20..21"), Ok(Counts(vec![3, 4, 5, 15, 20, 21])));
        for wrong in ["", "0..3", "5..2", "1..2..3", "1..99999999", "2,,3", "-1"] {
            assert!(counts(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn components_may_be_left_to_the_data() {
        assert_eq!(components("7"), Ok(Components::Given(7)));
        assert_eq!(components("auto"), Ok(Components::Auto));
        assert_eq!(counts_or_auto("4..6"), Ok(CountsOrAuto(Some(vec![4, 5, 6]))));
        assert_eq!(counts_or_auto("auto"), Ok(CountsOrAuto(None)));
        for wrong in ["0", "-1", "AUTO", "automatic", "2.5", ""] {
            assert!(components(wrong).unwrap_err().ends_with("or auto"), "{wrong}");
            assert!(counts_or_auto(wrong).unwrap_err().ends_with("or auto"), "{wrong}");
        }
    }

    #[test]
    fn files_for_tables_have_a_known_extension() {
        for right in ["a.csv", "A.TSV.GZ", "b/c.parquet", "x.npy", "-", "d.feather"] {
            assert_eq!(table_file(right), Ok(PathBuf::from(right)));
        }
        for wrong in ["a", "a.xlsx", "a.parquet.gz", "a.gz", ".csv"] {
            assert!(table_file(wrong).is_err(), "{wrong}");
        }
    }
}
