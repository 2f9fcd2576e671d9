//! What each column of a table is for, by its name.

use crate::error::{closest, excerpt};
use crate::{Error, ReadOptions, Role};

/// The columns of a table that has named columns: which are numbers, and which are text with a role.
pub(crate) struct Columns {
    /// The columns that are kept out of the numbers, in order.
    pub texts: Vec<TextColumn>,
    pub roles: Roles,
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
    /// The number of kept texts in a row, or 1 if there are none.
    pub stride: usize,
}

impl Columns {
    /// Finds the columns that the options name. `index` is a column that holds ids unless the options
    /// name another, and is never a number.
    pub fn assign(names: &[String], index: Option<usize>, file: &str, options: &ReadOptions) -> Result<Columns, Error> {
        if options.transpose && options.filter.is_some() {
            return Err(Error::Options {
                problem: "--where chooses rows, and --transpose makes features of them".into(),
                advice: "leave out one of the two".into(),
            });
        }
        let find = |name: &String, role| column(names, name, role, file);
        let id = options.id.as_ref().map(|name| find(name, Role::Id)).transpose()?.or(index);
        // In a transposed table the labels are a row, not a column.
        let label = options.label.as_ref().filter(|_| !options.transpose);
        let label = label.map(|name| find(name, Role::Label)).transpose()?;
        let filter = options.filter.as_ref().map(|(name, _)| find(name, Role::Filter)).transpose()?;
        let kept: Vec<usize> = [id, label, filter].into_iter().flatten().collect();
        let mut columns = kept.clone();
        columns.extend(index);
        for name in &options.ignore {
            columns.push(find(name, Role::Ignore)?);
        }
        columns.sort_unstable();
        columns.dedup();
        let texts = columns.into_iter().map(|column| TextColumn { column, kept: kept.contains(&column) }).collect();
        Ok(Columns { texts, roles: Roles { id, label, filter } })
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
            stride: kept.len().max(1),
        }
    }

    /// The names of the columns that are numbers.
    pub fn numeric_names(&self, names: Vec<String>) -> Vec<String> {
        let numeric = names.into_iter().enumerate().filter(|&(column, _)| !self.is_text(column));
        numeric.map(|(_, name)| name).collect()
    }
}

/// The position of the column called `name`.
pub(crate) fn column(names: &[String], name: &str, role: Role, file: &str) -> Result<usize, Error> {
    names.iter().position(|known| known == name).ok_or_else(|| Error::NoColumn {
        file: file.into(),
        role,
        name: excerpt(name.as_bytes()),
        known: closest(name, names.iter().map(String::as_str).filter(|name| !name.is_empty())),
    })
}
