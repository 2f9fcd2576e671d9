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

/// The colour of a value between 0 (white) and 1 (dark).
pub fn sequential(value: f64) -> String {
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
}
