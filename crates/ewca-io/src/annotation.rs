//! What is known of samples beside their features: a class, or a number, for each, where it is known.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::Palette;
use crate::csv::{known, measured};

/// Whole numbers with at most so many different values are classes, such as the numbers of batches.
const MOST_NUMBERED_CLASSES: usize = 12;

/// A column of what is known of samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Annotation {
    /// The name of the column.
    pub name: String,
    /// What is known, sample by sample.
    #[serde(flatten)]
    pub known: Known,
    /// The data's own colour of each class, as `#rrggbb`; none where they have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub colours: Vec<String>,
}

/// What is known of each sample; nothing where it is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Known {
    /// Its class.
    Classes {
        /// The names of the classes, each once: by size where they are numbers, otherwise by letter.
        classes: Vec<String>,
        /// Which of them each sample has.
        codes: Vec<Option<u32>>,
    },
    /// A finite number.
    Numbers {
        /// One per sample.
        numbers: Vec<Option<f64>>,
    },
}

impl Annotation {
    /// A column of text: numbers, where all cells that are known are numbers and nobody says that they are classes; whole numbers with a
    /// few values are classes. A missing cell is empty, or one of the usual words or of `missing_values`; a number that is not
    /// finite is missing too.
    pub fn of_texts<'t>(
        name: &str,
        cells: impl Iterator<Item = &'t str> + Clone,
        categorical: bool,
        missing_values: &[String],
    ) -> Annotation {
        Annotation::read(name, cells, categorical, false, missing_values)
    }

    pub(crate) fn read<'t>(
        name: &str,
        cells: impl Iterator<Item = &'t str> + Clone,
        categorical: bool,
        decimal_comma: bool,
        missing_values: &[String],
    ) -> Annotation {
        let known_cells = || cells.clone().map(|cell| known(cell, missing_values));
        let number = |cell: &str| measured(cell, decimal_comma);
        let mut names: Vec<&str> = known_cells().flatten().collect();
        names.sort_unstable();
        names.dedup();
        let values: Option<Vec<f64>> = names.iter().map(|cell| number(cell)).collect();
        let is_class = |values: &Vec<f64>| {
            categorical || values.len() <= MOST_NUMBERED_CLASSES && values.iter().all(|value| value.fract() == 0.0)
        };
        let known = match values {
            Some(values) if !is_class(&values) => {
                let finite = |cell: &str| number(cell).filter(|value| value.is_finite());
                Known::Numbers { numbers: known_cells().map(|cell| cell.and_then(finite)).collect() }
            }
            values => {
                if values.is_some() {
                    names.sort_by(|a, b| number(a).unwrap_or(0.0).total_cmp(&number(b).unwrap_or(0.0)));
                }
                let places: HashMap<&str, u32> = names.iter().zip(0..).map(|(&name, at)| (name, at)).collect();
                let codes = known_cells().map(|cell| cell.and_then(|cell| places.get(cell).copied())).collect();
                Known::Classes { classes: names.iter().map(|name| name.to_string()).collect(), codes }
            }
        };
        Annotation { name: name.into(), known, colours: Vec::new() }
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        match &self.known {
            Known::Classes { codes, .. } => codes.len(),
            Known::Numbers { numbers } => numbers.len(),
        }
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Of how many samples it is not known.
    pub fn missing(&self) -> usize {
        match &self.known {
            Known::Classes { codes, .. } => codes.iter().filter(|code| code.is_none()).count(),
            Known::Numbers { numbers } => numbers.iter().filter(|number| number.is_none()).count(),
        }
    }

    /// Written out, sample by sample; a missing cell is empty.
    pub fn texts(&self) -> Vec<String> {
        match &self.known {
            Known::Classes { classes, codes } => codes
                .iter()
                .map(|code| code.and_then(|code| classes.get(code as usize)).cloned().unwrap_or_default())
                .collect(),
            Known::Numbers { numbers } => {
                numbers.iter().map(|number| number.map_or(String::new(), |number| number.to_string())).collect()
            }
        }
    }

    /// The class of every sample, where each has one.
    pub fn classes(&self) -> Option<Vec<String>> {
        match &self.known {
            Known::Classes { .. } if self.missing() == 0 => Some(self.texts()),
            _ => None,
        }
    }

    /// With the colours that a file has for its classes, where each has one.
    pub fn with_palette(mut self, palettes: &[Palette]) -> Annotation {
        let Some(palette) = palettes.iter().find(|palette| palette.column == self.name) else { return self };
        if let Known::Classes { classes, .. } = &self.known {
            let colours: HashMap<&str, &String> =
                palette.colours.iter().map(|(class, colour)| (class.trim(), colour)).collect();
            let own: Option<Vec<String>> =
                classes.iter().map(|class| colours.get(class.as_str()).map(|colour| colour.to_string())).collect();
            self.colours = own.unwrap_or_default();
        }
        self
    }

    /// The same of some samples, in their order.
    pub fn of_rows(&self, rows: &[usize]) -> Annotation {
        let known = match &self.known {
            Known::Classes { classes, codes } => {
                Known::Classes { classes: classes.clone(), codes: rows.iter().map(|&row| codes[row]).collect() }
            }
            Known::Numbers { numbers } => Known::Numbers { numbers: rows.iter().map(|&row| numbers[row]).collect() },
        };
        Annotation { name: self.name.clone(), known, colours: self.colours.clone() }
    }

    /// What is wrong with one that a file holds, for so many samples.
    pub(crate) fn problem(&self, samples: usize) -> Option<String> {
        if self.len() != samples {
            return Some(format!("{} values of metadata instead of {samples}", self.len()));
        }
        let classes = if let Known::Classes { classes, .. } = &self.known { classes.len() } else { 0 };
        let is_colour = |text: &String| colour(text).as_ref() == Some(text);
        let are_colours = self.colours.len() == classes && self.colours.iter().all(is_colour);
        if !self.colours.is_empty() && !are_colours {
            return Some("its metadata have invalid colours, or not one per class".into());
        }
        match &self.known {
            Known::Classes { classes, codes } if codes.iter().flatten().any(|&code| code as usize >= classes.len()) => {
                Some("its metadata have a class without a name".into())
            }
            Known::Numbers { numbers } if numbers.iter().flatten().any(|number| !number.is_finite()) => {
                Some("its metadata have a number that is not finite".into())
            }
            _ => None,
        }
    }
}

/// A colour in small letters as `#rrggbb`, of one with so many digits, half as many, or others for how much shines through; nothing of any other text.
pub(crate) fn colour(text: &str) -> Option<String> {
    let digits = text.strip_prefix('#')?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let digits = digits.to_ascii_lowercase();
    match digits.len() {
        3 => Some(digits.chars().fold("#".to_string(), |all, digit| all + &format!("{digit}{digit}"))),
        6 | 8 => Some(format!("#{}", &digits[..6])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cells: &[&str], categorical: bool) -> Known {
        Annotation::of_texts("x", cells.iter().copied(), categorical, &["gone".into()]).known
    }

    #[test]
    fn what_is_missing_is_never_a_class() {
        let words = ["b", "", "NA", "nan", "N/A", "gone", " a ", "b", "<NA>", "."];
        let known = Known::Classes {
            classes: vec!["a".into(), "b".into()],
            codes: vec![Some(1), None, None, None, None, None, Some(0), Some(1), None, None],
        };
        assert_eq!(of(&words, false), known);
        let annotation = Annotation { name: "x".into(), known, colours: Vec::new() };
        assert_eq!((annotation.missing(), annotation.classes()), (7, None));
        assert_eq!(annotation.texts().join(","), "b,,,,,,a,b,,");
    }

    #[test]
    fn numbers_are_numbers_unless_they_number_classes() {
        assert_eq!(of(&["1.5", "", "-2"], false), Known::Numbers { numbers: vec![Some(1.5), None, Some(-2.0)] });
        // 10 after 9, not after 1.
        let batches = Known::Classes {
            classes: vec!["1".into(), "9".into(), "10".into()],
            codes: vec![Some(2), Some(1), Some(0)],
        };
        assert_eq!(of(&["10", "9", "1"], false), batches);
        let ages: Vec<String> = (20..40).map(|age| age.to_string()).collect();
        let ages: Vec<&str> = ages.iter().map(String::as_str).collect();
        assert!(matches!(of(&ages, false), Known::Numbers { .. }));
        // AnnData's clusters may be many.
        assert!(matches!(of(&ages, true), Known::Classes { .. }));
        // A number that is not finite cannot be compared with others.
        assert_eq!(of(&["0.5", "inf", "1e999"], false), Known::Numbers { numbers: vec![Some(0.5), None, None] });
        assert_eq!(of(&["", "NA"], false), Known::Classes { classes: vec![], codes: vec![None, None] });
    }
}
