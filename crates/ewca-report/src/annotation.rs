//! What is known of the samples besides their features: columns of classes and of numbers.

use crate::arrays::{Column, shorts, words};
use crate::report::{ShownAnnotation, ShownClasses, ShownNumbers, ShownValues};

/// The code of a sample without a class on the page, whose codes have 16 bits.
const MISSING: u16 = u16::MAX;

/// A named column, with a value for each sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotation {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: AnnotationValues,
}

/// The values of an annotation.
#[derive(Debug, Clone, PartialEq)]
pub enum AnnotationValues {
    /// Classes, by their numbers.
    Classes {
        /// The names of the classes.
        names: Vec<String>,
        /// The class of each sample, where it is known.
        codes: Vec<Option<usize>>,
        /// The data's own colour of each class, as `#rrggbb`; where a text is no such colour, or there are too few, the page's
        /// own colours are taken.
        colours: Option<Vec<String>>,
    },
    /// Numbers; those that are not finite are missing.
    Numbers(Vec<f64>),
}

impl Annotation {
    /// Classes by their texts: as numbers in their order where all of them are numbers, else by the alphabet.
    pub fn from_texts<'t>(name: &str, texts: impl Iterator<Item = Option<&'t str>>) -> Self {
        let texts: Vec<Option<&str>> = texts.collect();
        let mut names: Vec<&str> = texts.iter().copied().flatten().collect();
        names.sort_unstable();
        names.dedup();
        let numbers: Option<Vec<f64>> = names.iter().map(|name| name.parse().ok()).collect();
        if let Some(numbers) = numbers {
            let mut pairs: Vec<(f64, &str)> = numbers.into_iter().zip(names).collect();
            pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
            names = pairs.into_iter().map(|(_, name)| name).collect();
        }
        let places: std::collections::HashMap<&str, usize> =
            names.iter().enumerate().map(|(at, &name)| (name, at)).collect();
        Self {
            name: name.into(),
            values: AnnotationValues::Classes {
                codes: texts.iter().map(|text| text.map(|text| places[text])).collect(),
                names: names.into_iter().map(String::from).collect(),
                colours: None,
            },
        }
    }

    /// Classes by their numbers, with the data's own colours, if there are any.
    pub fn classes(name: &str, names: Vec<String>, codes: &[Option<u32>], colours: Vec<String>) -> Self {
        let codes = codes.iter().map(|code| code.map(|code| code as usize)).collect();
        let colours = Some(colours).filter(|colours| !colours.is_empty());
        Self { name: name.into(), values: AnnotationValues::Classes { names, codes, colours } }
    }

    /// Numbers, where those that are not finite are missing.
    pub fn numbers(name: &str, values: Vec<f64>) -> Self {
        Self { name: name.into(), values: AnnotationValues::Numbers(values) }
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        match &self.values {
            AnnotationValues::Classes { codes, .. } => codes.len(),
            AnnotationValues::Numbers(values) => values.len(),
        }
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The data's own colours, where there is one for each class.
    pub(crate) fn own_colours(&self) -> Option<&[String]> {
        match &self.values {
            AnnotationValues::Classes { names, colours: Some(colours), .. } if are_colours(colours, names.len()) => {
                Some(colours)
            }
            _ => None,
        }
    }

    /// What the page gets of it; nothing where it has more classes than the page can number.
    pub(crate) fn shown(&self, samples: &[usize]) -> Option<ShownAnnotation> {
        let values = match &self.values {
            AnnotationValues::Classes { names, codes, .. } => {
                if names.len() >= usize::from(MISSING) {
                    return None;
                }
                let code = |&i: &usize| codes[i].filter(|&code| code < names.len()).map_or(MISSING, |code| code as u16);
                ShownValues::Classes(ShownClasses {
                    names: names.clone(),
                    codes: shorts(samples.iter().map(code)),
                    colours: self.own_colours().map(<[String]>::to_vec),
                })
            }
            AnnotationValues::Numbers(values) => {
                let numbers: Vec<f64> = samples.iter().map(|&i| values[i]).collect();
                let missing = numbers.iter().enumerate().filter(|(_, value)| !value.is_finite());
                ShownValues::Numbers(ShownNumbers {
                    missing: words(missing.map(|(at, _)| at as u32)),
                    column: Column::new(&numbers),
                })
            }
        };
        Some(ShownAnnotation { name: self.name.clone(), values })
    }
}

/// Whether there is a colour `#rrggbb` for each class.
fn are_colours(colours: &[String], classes: usize) -> bool {
    let is_colour = |text: &String| {
        text.strip_prefix('#')
            .is_some_and(|digits| digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    colours.len() == classes && colours.iter().all(is_colour)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(annotation: &Annotation) -> (Vec<&str>, Vec<Option<usize>>) {
        match &annotation.values {
            AnnotationValues::Classes { names, codes, .. } => {
                (names.iter().map(String::as_str).collect(), codes.clone())
            }
            AnnotationValues::Numbers(_) => panic!("no classes"),
        }
    }

    #[test]
    fn texts_become_classes_in_order() {
        let some = |texts: &[&'static str]| Annotation::from_texts("x", texts.iter().copied().map(Some));
        assert_eq!(classes(&some(&["b", "a", "b"])), (vec!["a", "b"], vec![Some(1), Some(0), Some(1)]));
        assert_eq!(classes(&some(&["10", "9", "-1", "10"])).0, ["-1", "9", "10"]);
        assert_eq!(classes(&some(&["10", "9", "x"])).0, ["10", "9", "x"]);
        let gaps = Annotation::from_texts("x", [Some("b"), None].into_iter());
        assert_eq!(classes(&gaps), (vec!["b"], vec![Some(0), None]));
    }

    #[test]
    fn what_is_missing_is_said() {
        let gaps = Annotation::from_texts("x", [Some("b"), None, Some("a")].into_iter()).shown(&[2, 1]).unwrap();
        let ShownValues::Classes(ShownClasses { codes, .. }) = gaps.values else { panic!("no classes") };
        assert_eq!(codes, shorts([0, MISSING].into_iter()));
        let numbers = Annotation::numbers("age", vec![1.0, f64::NAN, 3.0, f64::INFINITY]).shown(&[0, 1, 2, 3]).unwrap();
        let ShownValues::Numbers(ShownNumbers { column, missing }) = numbers.values else { panic!("no numbers") };
        assert_eq!((column.low, column.high, missing), (1.0, 3.0, words([1, 3].into_iter())));
    }

    #[test]
    fn only_colours_pass_for_colours() {
        let colours = |texts: &[&str]| are_colours(&texts.iter().map(ToString::to_string).collect::<Vec<_>>(), 2);
        assert!(colours(&["#1f77b4", "#AABBCC"]));
        for wrong in [
            &["#1f77b4"][..],
            &["#1f77b4", "red"],
            &["#1f77b4", "#12345"],
            &["#1f77b4", "url(x)"],
            &["#1f77b4", "#12345\u{e9}"],
        ] {
            assert!(!colours(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn more_classes_than_can_be_numbered_are_left_out() {
        let ids: Vec<String> = (0..70_000).map(|i| i.to_string()).collect();
        assert!(Annotation::from_texts("id", ids.iter().map(|id| Some(id.as_str()))).shown(&[0]).is_none());
    }
}
