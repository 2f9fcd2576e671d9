//! Arrays in a page of text: little-endian numbers in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// Numbers in 16 bits each: value = low + (high - low) q / 65535. A screen has fewer pixels than that.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Column {
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// The q, in base64.
    pub values: String,
}

impl Column {
    /// The numbers of a column; those that are not finite become the smallest.
    pub fn new(values: &[f64]) -> Self {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let low = finite().reduce(f64::min).unwrap_or(0.0);
        let high = finite().reduce(f64::max).unwrap_or(0.0);
        // Halves, since the difference of the largest numbers overflows.
        let half = high / 2.0 - low / 2.0;
        let step = |value: &f64| {
            let place = if half > 0.0 { (value / 2.0 - low / 2.0) / half } else { 0.0 };
            (place * 65535.0).round() as u16
        };
        Self { low, high, values: shorts(values.iter().map(step)) }
    }
}

/// Numbers of 16 bits.
pub fn shorts(values: impl Iterator<Item = u16>) -> String {
    STANDARD.encode(values.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
}

/// Numbers of 32 bits.
pub fn words(values: impl Iterator<Item = u32>) -> String {
    STANDARD.encode(values.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
}

/// Numbers with seven digits.
pub fn floats(values: impl Iterator<Item = f32>) -> String {
    STANDARD.encode(values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>())
}

/// The SHA-256 of a text, as a content-security policy has it.
pub fn sha256(text: &str) -> String {
    use sha2::Digest;
    STANDARD.encode(sha2::Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_keep_their_ends() {
        let column = Column::new(&[-1.0, 3.0, 1.0]);
        assert_eq!((column.low, column.high), (-1.0, 3.0));
        assert_eq!(STANDARD.decode(&column.values).unwrap(), [0, 0, 255, 255, 0, 128]);
    }

    #[test]
    fn columns_of_anything_are_sound() {
        assert_eq!(Column::new(&[2.0, 2.0]), Column { low: 2.0, high: 2.0, values: shorts([0, 0].into_iter()) });
        assert_eq!(Column::new(&[f64::NAN, 1.0, f64::INFINITY]).low, 1.0);
        let wide = Column::new(&[-f64::MAX, f64::MAX, 0.0]);
        assert_eq!(wide.values, shorts([0, 65535, 32768].into_iter()));
        assert_eq!(Column::new(&[]).values, "");
    }

    #[test]
    fn the_hash_is_sha256() {
        assert_eq!(sha256(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }
}
