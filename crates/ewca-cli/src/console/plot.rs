//! A scatter plot in letters.

use std::collections::BTreeSet;

/// The plot's inside, in characters.
const COLUMNS: usize = 62;
const ROWS: usize = 18;
/// Where different classes share a place.
const MIXED: char = '*';

/// Points in the plane, each drawn as one character.
#[derive(Debug, Default)]
pub struct Plot {
    points: Vec<(f64, f64, char)>,
}

impl Plot {
    /// Adds a point.
    pub fn add(&mut self, x: f64, y: f64, mark: char) {
        self.points.push((x, y, mark));
    }

    /// The plot in a frame, with the names of its axes.
    pub fn drawn(&self, x_name: &str, y_name: &str) -> String {
        let column = scale(self.points.iter().map(|point| point.0), COLUMNS);
        let row = scale(self.points.iter().map(|point| point.1), ROWS);
        let mut cells = vec![vec![' '; COLUMNS]; ROWS];
        for &(x, y, mark) in &self.points {
            let cell = &mut cells[ROWS - 1 - row(y)][column(x)];
            *cell = if *cell == ' ' || cell.eq_ignore_ascii_case(&mark) { merged(*cell, mark) } else { MIXED };
        }
        let mut text = format!("  {y_name}\n  +{}+\n", "-".repeat(COLUMNS));
        for cells in cells {
            text.push_str(&format!("  |{}|\n", cells.into_iter().collect::<String>()));
        }
        text.push_str(&format!("  +{}+ {x_name}\n", "-".repeat(COLUMNS)));
        text
    }
}

/// Of an upper-case and a lower-case letter, the upper-case one stays.
fn merged(old: char, new: char) -> char {
    if old.is_ascii_uppercase() { old } else { new }
}

/// From a coordinate to one of `steps` places.
fn scale(values: impl Iterator<Item = f64> + Clone, steps: usize) -> impl Fn(f64) -> usize {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    let width = if high > low { high - low } else { 1.0 };
    move |value| (((value - low) / width * (steps - 1) as f64).round().max(0.0) as usize).min(steps - 1)
}

/// A capital letter for each class: the first of its name that no other class has taken, or the next free one.
pub fn letters<'a>(classes: &BTreeSet<&'a str>) -> Vec<(&'a str, char)> {
    let mut taken: Vec<(&str, char)> = Vec::new();
    for &class in classes {
        let own = class.chars().map(|c| c.to_ascii_uppercase()).filter(char::is_ascii_uppercase);
        let letter = own.chain('A'..='Z').find(|letter| taken.iter().all(|(_, other)| other != letter));
        taken.push((class, letter.unwrap_or('?')));
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_in_the_corners_and_shared_places_are_marked() {
        let mut plot = Plot::default();
        for (x, y, mark) in [(-1.0, -1.0, 'A'), (3.0, 5.0, 'B'), (3.0, 5.0, 'b'), (1.0, 2.0, 'A'), (1.0, 2.0, 'B')] {
            plot.add(x, y, mark);
        }
        let text = plot.drawn("x", "y");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), ROWS + 3);
        assert!(lines[2].ends_with("B|"), "{text}");
        assert!(lines[ROWS + 1].starts_with("  |A"), "{text}");
        assert!(text.contains(MIXED) && !text.contains('b'), "{text}");
    }

    #[test]
    fn one_point_is_no_trouble() {
        let mut plot = Plot::default();
        plot.add(7.0, 7.0, 'A');
        assert!(plot.drawn("x", "y").contains('A'));
    }

    #[test]
    fn classes_get_different_letters() {
        let classes = BTreeSet::from(["beech", "birch", "oak", "12"]);
        assert_eq!(letters(&classes), [("12", 'A'), ("beech", 'B'), ("birch", 'I'), ("oak", 'O')]);
    }
}
