//! What each column of a table is for, by its name.

use std::collections::HashSet;

use crate::error::{closest, excerpt, phrase};
use crate::{Error, OptionName, ReadOptions};

/// The columns of a table that has named columns: which are numbers, and which are text with a role.
pub(crate) struct Columns {
    /// The columns that are kept out of the numbers, in order.
    pub texts: Vec<TextColumn>,
    pub roles: Roles,
    /// Annotations, and columns of text that are no expected features, and have no role: their text is kept.
    pub others: Vec<usize>,
    /// Columns of numbers that are no expected features: they are left out.
    pub left_out: Vec<usize>,
}

/// A column that is kept out of the numbers.
#[derive(Clone, Copy)]
pub(crate) struct TextColumn {
    pub column: usize,
    /// Whether its text is kept.
    pub kept: bool,
}

/// The columns with a meaning of their own.
#[derive(Clone, Copy, Default)]
pub(crate) struct Roles {
    pub id: Option<usize>,
    pub label: Option<usize>,
    pub filter: Option<usize>,
}

/// Where among the kept texts of a row the id, the label and the filter are.
pub(crate) struct Slots {
    pub id: Option<usize>,
    pub label: Option<usize>,
    pub filter: Option<usize>,
    /// Those of the other columns of text.
    pub others: Vec<usize>,
    /// The number of kept texts in a row, or 1 if there are none.
    pub stride: usize,
}

impl Columns {
    /// Finds the columns that the options name. `index` is a column that holds ids unless the options
    /// name another, and is never a number; nor are so many columns behind the first, which describe the rows. Where features are expected, `holds_text` tells what else a column is.
    pub fn assign(
        names: &[String],
        index: Option<usize>,
        described: usize,
        file: &str,
        options: &ReadOptions,
        holds_text: impl Fn(usize) -> bool,
    ) -> Result<Columns, Error> {
        if options.transpose && options.filter.is_some() {
            return Err(Error::Options {
                problem: phrase![
                    OptionName::Filter,
                    " selects samples, and ",
                    OptionName::Transpose,
                    " turns rows into features"
                ],
                advice: "remove one of the two options".into(),
            });
        }
        let find = |name: &String, role| column(names, name, role, file);
        let id = options.id.as_ref().map(|name| find(name, OptionName::Id)).transpose()?.or(index);
        // In a transposed table the labels are a row, not a column.
        let label = options.label.as_ref().filter(|_| !options.transpose);
        let label = label.map(|name| find(name, OptionName::Label)).transpose()?;
        let filter = options.filter.as_ref().map(|(name, _)| find(name, OptionName::Filter)).transpose()?;
        check_turned(options)?;
        let annotations = options.annotations.iter().map(|name| find(name, OptionName::Label));
        let mut others: Vec<usize> = annotations.collect::<Result<_, _>>()?;
        let mut kept: Vec<usize> = [id, label, filter].into_iter().flatten().chain(others.iter().copied()).collect();
        let mut columns: Vec<usize> = kept.clone();
        columns.extend(index);
        columns.extend((1..names.len()).take(described));
        for name in &options.ignore {
            columns.push(find(name, OptionName::Ignore)?);
        }
        let mut left_out = Vec::new();
        // In a transposed table the features are rows.
        let expected = options.expected.as_ref().filter(|_| !options.transpose);
        if let Some(expected) = expected.filter(|expected| !expected.are_in_place(names)) {
            let features: HashSet<&str> = expected.features.iter().map(String::as_str).collect();
            let strange = |at: &usize| !features.contains(names[*at].as_str()) && !columns.contains(at);
            let texts;
            (texts, left_out) = (0..names.len()).filter(strange).partition::<Vec<_>, _>(|&at| holds_text(at));
            // Known before any cell is read.
            let known: HashSet<&str> = names.iter().map(String::as_str).collect();
            let shown = |name: &str| excerpt(name.as_bytes());
            let missing = expected.features.iter().filter(|name| !known.contains(name.as_str()));
            let missing: Vec<String> = missing.map(|name| shown(name)).collect();
            if !missing.is_empty() {
                let extra = left_out.iter().map(|&at| shown(&names[at])).collect();
                return Err(Error::Features { file: file.into(), missing, extra });
            }
            kept.extend(&texts);
            columns.extend(texts.iter().chain(&left_out));
            others.extend(texts);
        }
        columns.sort_unstable();
        columns.dedup();
        let texts = columns.into_iter().map(|column| TextColumn { column, kept: kept.contains(&column) }).collect();
        Ok(Columns { texts, roles: Roles { id, label, filter }, others, left_out })
    }

    /// Whether a column is kept out of the numbers.
    pub fn is_text(&self, column: usize) -> bool {
        self.texts.binary_search_by_key(&column, |text| text.column).is_ok()
    }

    pub fn slots(&self) -> Slots {
        let kept: Vec<usize> = self.texts.iter().filter(|text| text.kept).map(|text| text.column).collect();
        let slot = |column: Option<usize>| column.and_then(|c| kept.iter().position(|&k| k == c));
        Slots {
            id: slot(self.roles.id),
            label: slot(self.roles.label),
            filter: slot(self.roles.filter),
            others: self.others.iter().filter_map(|&column| slot(Some(column))).collect(),
            stride: kept.len().max(1),
        }
    }

    /// The names of the columns that are numbers.
    pub fn numeric_names(&self, names: Vec<String>) -> Vec<String> {
        let numeric = names.into_iter().enumerate().filter(|&(column, _)| !self.is_text(column));
        numeric.map(|(_, name)| name).collect()
    }
}

/// Refuses annotations of a table whose columns are samples.
pub(crate) fn check_turned(options: &ReadOptions) -> Result<(), Error> {
    if !options.transpose || options.annotations.is_empty() {
        return Ok(());
    }
    Err(Error::Options {
        problem: phrase![
            "a table with samples in columns can have only one ",
            OptionName::Label,
            ", and '",
            excerpt(options.annotations[0].as_bytes()),
            "' is a second one"
        ],
        advice: phrase![
            "put the annotations of the samples into a separate table, and pass it with ",
            OptionName::Metadata
        ],
    })
}

/// The position of the column called `name`.
pub(crate) fn column(names: &[String], name: &str, role: OptionName, file: &str) -> Result<usize, Error> {
    names.iter().position(|known| known == name).ok_or_else(|| Error::NoColumn {
        file: file.into(),
        role,
        name: excerpt(name.as_bytes()),
        known: closest(name, names.iter().map(String::as_str).filter(|name| !name.is_empty())),
    })
}
