//! What the columns of a text table hold, for people who want to know before they read it.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::cell::is_number_or_missing;
use super::layout::{Layout, cells, record_end, skip_blank};
use super::text::Text;
use crate::inspect::ColumnFacts;
use crate::{Error, ReadOptions};

/// The first column, and those of these names.
pub(crate) fn facts(
    raw: &[u8],
    file: &str,
    options: &ReadOptions,
    names: &[String],
) -> Result<Vec<ColumnFacts>, Error> {
    let text = Text::find(raw, file, options)?;
    let (layout, body) = Layout::find(&text, file, options)?;
    let wanted: Vec<usize> = (0..layout.width()).filter(|&at| at == 0 || names.contains(&layout.names[at])).collect();
    let mut tallies: Vec<Tally> = wanted.iter().map(|_| Tally::default()).collect();
    let hasher = RandomState::new();
    let mut start = skip_blank(&text.bytes, body);
    while start < text.bytes.len() {
        let end = record_end(&text.bytes, start);
        let record = cells(&text.bytes[start..end], layout.delimiter);
        if record.len() >= layout.width() {
            wanted.iter().zip(&mut tallies).for_each(|(&at, tally)| tally.add(record[at].trim_ascii(), &hasher));
        }
        start = skip_blank(&text.bytes, end);
    }
    Ok(wanted.into_iter().zip(tallies).map(|(at, tally)| tally.facts(layout.names[at].clone())).collect())
}

/// Whether the first line looks like data: numbers stand where the next line has numbers, and do not only count up, as names that
/// are years, hours or numbers of columns do.
pub(crate) fn begins_with_data(raw: &[u8], file: &str, options: &ReadOptions) -> bool {
    let Ok(text) = Text::find(raw, file, options) else { return false };
    let body = record_end(&text.bytes, text.start);
    let next = skip_blank(&text.bytes, body);
    let first = cells(&text.bytes[text.start..body], text.delimiter);
    let second = cells(&text.bytes[next..record_end(&text.bytes, next)], text.delimiter);
    let number = |cell: &[u8]| fast_float2::parse::<f64, _>(cell.trim_ascii()).ok();
    let pairs = || first.iter().zip(&second).filter_map(|(first, second)| Some((number(first), number(second)?)));
    let numbers: Vec<f64> = first.iter().filter_map(|cell| number(cell)).collect();
    let is_count = numbers.iter().all(|value| value.fract() == 0.0) && numbers.windows(2).all(|pair| pair[0] < pair[1]);
    first.len() == second.len() && pairs().next().is_some() && pairs().all(|(first, _)| first.is_some()) && !is_count
}

#[derive(Default)]
struct Tally {
    rows: usize,
    empty: usize,
    numbers: usize,
    genes: usize,
    seen: HashSet<u64>,
}

impl Tally {
    fn add(&mut self, cell: &[u8], hasher: &RandomState) {
        self.rows += 1;
        self.empty += usize::from(cell.is_empty());
        self.numbers += usize::from(is_number_or_missing(cell, &[]));
        self.genes += usize::from(names_a_gene(cell));
        self.seen.insert(hasher.hash_one(cell));
    }

    fn facts(self, name: String) -> ColumnFacts {
        ColumnFacts {
            name,
            distinct: self.seen.len(),
            is_distinct: self.seen.len() == self.rows,
            has_empty: self.empty > 0,
            is_text: self.numbers < self.rows,
            names_genes: self.genes * 2 > self.rows,
        }
    }
}

/// Whether a text is an identifier of a gene or a probe, of those that are made by a rule: Ensembl, Affymetrix, Illumina.
fn names_a_gene(text: &[u8]) -> bool {
    let ensembl = text.starts_with(b"ENS")
        && text.len() > 14
        && text[text.len() - 6..].iter().filter(|b| b.is_ascii_digit()).count() > 3;
    ensembl || text.ends_with(b"_at") || text.starts_with(b"AFFX") || text.starts_with(b"ILMN_")
}
