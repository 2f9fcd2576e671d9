//! Colours that differ in lightness as well as in hue.

use super::Marker;

/// A colour and a marker for each class, from the palette of Okabe and Ito, which people with any colour vision can tell apart.
pub const CLASSES: [(&str, Marker); 8] = [
    ("#0072b2", Marker::Circle),
    ("#e69f00", Marker::Square),
    ("#009e73", Marker::Triangle),
    ("#cc79a7", Marker::Diamond),
    ("#222222", Marker::Cross),
    ("#56b4e9", Marker::Wedge),
    ("#d55e00", Marker::Plus),
    ("#999999", Marker::Ring),
];

/// White, through blue, to nearly black: lightness falls all the way, so that it reads the same in grey.
const STOPS: [(f64, [f64; 3]); 5] = [
    (0.0, [255.0, 255.0, 255.0]),
    (0.25, [198.0, 219.0, 239.0]),
    (0.5, [107.0, 174.0, 214.0]),
    (0.75, [33.0, 102.0, 172.0]),
    (1.0, [5.0, 30.0, 80.0]),
];

/// The ends of a scale with a middle: orange below it, blue above it, both as dark.
const BELOW: [f64; 3] = [166.0, 77.0, 0.0];
const ABOVE: [f64; 3] = [5.0, 80.0, 140.0];

/// What a value becomes between the ends of its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// From white to dark.
    Sequential,
    /// From dark orange through white, in the middle, to dark blue; numbers have their sign, which grey would not show.
    Diverging,
}

impl Colours {
    /// The colour of a value between 0 and 1.
    pub fn at(self, value: f64) -> String {
        match self {
            Self::Sequential => sequential(value),
            Self::Diverging => diverging(value),
        }
    }

    /// Whether a text must be white to be read on it.
    pub fn is_dark(self, value: f64) -> bool {
        match self {
            Self::Sequential => value > 0.55,
            Self::Diverging => (value - 0.5).abs() > 0.3,
        }
    }

    /// A number as it is written on it.
    pub fn written(self, value: f64, digits: usize) -> String {
        let text = format!("{value:.digits$}");
        match (self, text.trim_start_matches('-')) {
            (Self::Diverging, size) if size.bytes().all(|c| matches!(c, b'0' | b'.')) => size.to_string(),
            (Self::Diverging, _) => format!("{value:+.digits$}"),
            (Self::Sequential, _) => text,
        }
    }
}

fn diverging(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.5 };
    let (end, part) = if value < 0.5 { (BELOW, 1.0 - 2.0 * value) } else { (ABOVE, 2.0 * value - 1.0) };
    let [red, green, blue] = end.map(|channel| (255.0 + part * (channel - 255.0)).round() as u8);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// The colour of a value between 0 (white) and 1 (dark).
fn sequential(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 };
    let upper = STOPS.iter().position(|stop| stop.0 >= value).unwrap_or(STOPS.len() - 1).max(1);
    let ((from, low), (to, high)) = (STOPS[upper - 1], STOPS[upper]);
    let part = (value - from) / (to - from);
    let channel = |c: usize| (low[c] + part * (high[c] - low[c])).round() as u8;
    format!("#{:02x}{:02x}{:02x}", channel(0), channel(1), channel(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lightness_falls_all_the_way() {
        let lightness = |value: f64| {
            let text = sequential(value);
            let channel = |c: usize| f64::from(u8::from_str_radix(&text[1 + 2 * c..3 + 2 * c], 16).unwrap());
            0.2126 * channel(0) + 0.7152 * channel(1) + 0.0722 * channel(2)
        };
        let along: Vec<f64> = (0..=40).map(|i| lightness(i as f64 / 40.0)).collect();
        assert!(along.windows(2).all(|pair| pair[1] < pair[0]), "{along:?}");
        assert_eq!(sequential(f64::NAN), "#ffffff");
    }

    #[test]
    fn a_scale_with_a_middle_is_white_there_and_as_dark_at_both_ends() {
        let colours = Colours::Diverging;
        assert_eq!([colours.at(0.5), colours.at(f64::NAN)], ["#ffffff", "#ffffff"]);
        assert_eq!(
            [colours.at(0.0), colours.at(-3.0), colours.at(1.0), colours.at(7.0)],
            ["#a64d00", "#a64d00", "#05508c", "#05508c"]
        );
        assert!(colours.is_dark(0.1) && colours.is_dark(0.9) && !colours.is_dark(0.45));
        let written = [12.4, -12.4, -0.4, 0.4, 0.0].map(|value| colours.written(value, 0));
        assert_eq!(written, ["+12", "-12", "0", "0", "0"]);
        assert_eq!(Colours::Sequential.written(12.44, 1), "12.4");
    }
}
