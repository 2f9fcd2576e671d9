//! Messages that name options, without knowing what a program calls them.

use std::borrow::Cow;
use std::fmt;

/// An option of reading or of preprocessing, where a message names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionName {
    /// [`ReadOptions::label`](crate::ReadOptions::label).
    Label,
    /// [`ReadOptions::id`](crate::ReadOptions::id).
    Id,
    /// [`ReadOptions::ignore`](crate::ReadOptions::ignore).
    Ignore,
    /// [`ReadOptions::filter`](crate::ReadOptions::filter).
    Filter,
    /// [`ReadOptions::header`](crate::ReadOptions::header); messages ask to set it to false.
    Header,
    /// [`ReadOptions::delimiter`](crate::ReadOptions::delimiter).
    Delimiter,
    /// [`ReadOptions::decimal`](crate::ReadOptions::decimal).
    Decimal,
    /// [`ReadOptions::encoding`](crate::ReadOptions::encoding).
    Encoding,
    /// [`ReadOptions::missing_values`](crate::ReadOptions::missing_values).
    MissingValues,
    /// [`ReadOptions::missing`](crate::ReadOptions::missing).
    Missing,
    /// [`ReadOptions::array`](crate::ReadOptions::array).
    Array,
    /// [`ReadOptions::feature_type`](crate::ReadOptions::feature_type).
    FeatureType,
    /// [`ReadOptions::transpose`](crate::ReadOptions::transpose).
    Transpose,
    /// [`ReadOptions::format`](crate::ReadOptions::format).
    Format,
    /// [`ReadOptions::max_bytes`](crate::ReadOptions::max_bytes).
    MaxBytes,
    /// [`Preprocessing::normalize_total`](crate::Preprocessing::normalize_total).
    NormalizeTotal,
    /// [`Preprocessing::top_variable`](crate::Preprocessing::top_variable).
    TopVariable,
    /// A table of what is known of the samples: [`Metadata`](crate::Metadata).
    Metadata,
}

impl OptionName {
    /// All of them in their order, with the names of the fields that hold them.
    pub const ALL: [(OptionName, &str); 18] = [
        (OptionName::Label, "label"),
        (OptionName::Id, "id"),
        (OptionName::Ignore, "ignore"),
        (OptionName::Filter, "filter"),
        (OptionName::Header, "header"),
        (OptionName::Delimiter, "delimiter"),
        (OptionName::Decimal, "decimal"),
        (OptionName::Encoding, "encoding"),
        (OptionName::MissingValues, "missing_values"),
        (OptionName::Missing, "missing"),
        (OptionName::Array, "array"),
        (OptionName::FeatureType, "feature_type"),
        (OptionName::Transpose, "transpose"),
        (OptionName::Format, "format"),
        (OptionName::MaxBytes, "max_bytes"),
        (OptionName::NormalizeTotal, "normalize_total"),
        (OptionName::TopVariable, "top_variable"),
        (OptionName::Metadata, "metadata"),
    ];

    /// The name of the field that holds it.
    pub fn field(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The option with a value.
    pub(crate) fn set_to(self, value: impl Into<String>) -> Piece {
        Piece::Option(self, Some(value.into()))
    }
}

/// A text that may name options. Whoever shows it says what they are called; shown as it is, it names the fields that hold them.
///
/// ```
/// use ewca_io::Error;
///
/// let error = Error::AllMissing { file: "t.csv".into(), what: "row" };
/// assert_eq!(error.to_string(), "t.csv: every row has a missing value; choose another `missing`");
/// let mine = error.message().in_words(|option, _| format!("/{}", option.field()));
/// assert_eq!(mine, "t.csv: every row has a missing value; choose another /missing");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase(Vec<Piece>);

/// A part of a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(Cow<'static, str>),
    /// An option, perhaps with the value that it is to have.
    Option(OptionName, Option<String>),
    Phrase(Phrase),
}

impl Phrase {
    pub(crate) fn of(pieces: impl Into<Vec<Piece>>) -> Phrase {
        Phrase(pieces.into())
    }

    /// The text. `words` says what an option is called, or how it is given a value.
    pub fn in_words(&self, words: impl Fn(OptionName, Option<&str>) -> String) -> String {
        self.put(&words)
    }

    fn put(&self, words: &dyn Fn(OptionName, Option<&str>) -> String) -> String {
        let put = |piece: &Piece| match piece {
            Piece::Text(text) => text.to_string(),
            Piece::Option(option, value) => words(*option, value.as_deref()),
            Piece::Phrase(phrase) => phrase.put(words),
        };
        self.0.iter().map(put).collect()
    }
}

impl fmt::Display for Phrase {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(&self.in_words(|option, value| match value {
            Some(value) => format!("`{}` = {value}", option.field()),
            None => format!("`{}`", option.field()),
        }))
    }
}

/// A phrase of pieces: texts, options, options with values, phrases.
macro_rules! phrase {
    ($($piece:expr),+ $(,)?) => { $crate::error::Phrase::of([$($crate::error::Piece::from($piece)),+]) };
}
pub(crate) use phrase;

impl<T: Into<Piece>> From<T> for Phrase {
    fn from(piece: T) -> Phrase {
        Phrase::of([piece.into()])
    }
}

impl From<&'static str> for Piece {
    fn from(text: &'static str) -> Piece {
        Piece::Text(text.into())
    }
}

impl From<String> for Piece {
    fn from(text: String) -> Piece {
        Piece::Text(text.into())
    }
}

impl From<OptionName> for Piece {
    fn from(option: OptionName) -> Piece {
        Piece::Option(option, None)
    }
}

impl From<&Phrase> for Piece {
    fn from(phrase: &Phrase) -> Piece {
        Piece::Phrase(phrase.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_listed_in_their_order() {
        for (at, (option, field)) in OptionName::ALL.into_iter().enumerate() {
            assert_eq!((option as usize, option.field()), (at, field));
        }
    }
}
