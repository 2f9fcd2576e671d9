//! The cells of one Arrow array, as numbers or as text.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use crate::error::truth_name;

use super::{is_text, plain_texts};

/// The numbers of an array, with NaN where one is missing; nothing if it does not hold numbers.
pub(super) fn numbers(cells: &ArrayRef) -> Option<Vec<f64>> {
    macro_rules! convert {
        ($type:ty, $convert:expr) => {{
            let cells = cells.as_primitive::<$type>();
            if cells.null_count() == 0 {
                cells.values().iter().map(|&value| $convert(value)).collect()
            } else {
                cells.iter().map(|value| value.map_or(f64::NAN, $convert)).collect()
            }
        }};
    }
    Some(match cells.data_type() {
        DataType::Float16 => convert!(Float16Type, |value: <Float16Type as ArrowPrimitiveType>::Native| value.to_f64()),
        DataType::Float32 => convert!(Float32Type, f64::from),
        DataType::Float64 => convert!(Float64Type, |value: f64| value),
        DataType::Int8 => convert!(Int8Type, f64::from),
        DataType::Int16 => convert!(Int16Type, f64::from),
        DataType::Int32 => convert!(Int32Type, f64::from),
        DataType::Int64 => convert!(Int64Type, |value: i64| value as f64),
        DataType::UInt8 => convert!(UInt8Type, f64::from),
        DataType::UInt16 => convert!(UInt16Type, f64::from),
        DataType::UInt32 => convert!(UInt32Type, f64::from),
        DataType::UInt64 => convert!(UInt64Type, |value: u64| value as f64),
        DataType::Boolean => {
            let number = |value: Option<bool>| value.map_or(f64::NAN, |value| f64::from(u8::from(value)));
            cells.as_boolean().iter().map(number).collect()
        }
        DataType::Null => vec![f64::NAN; cells.len()],
        _ => return None,
    })
}

/// Whether an array of this type holds numbers that may measure something.
pub(super) fn is_numeric(kind: &DataType) -> bool {
    kind.is_numeric()
}

/// The cells of an array as text, empty where one is missing; nothing if they are nested or the like.
pub(super) fn texts(cells: &ArrayRef) -> Option<Vec<String>> {
    match cells.data_type() {
        kind if is_text(kind) => plain_texts(cells),
        DataType::Boolean => {
            let text = |value: Option<bool>| value.map_or(String::new(), truth_name);
            Some(cells.as_boolean().iter().map(text).collect())
        }
        DataType::Dictionary(_, _) => {
            let dictionary = cells.as_any_dictionary();
            let words = texts(dictionary.values())?;
            let keys = numbers(&dictionary.keys().slice(0, dictionary.keys().len()))?;
            // A missing key is NaN, and a wrong one is out of range: both are missing texts.
            let word = |key: f64| {
                if key >= 0.0 { words.get(key as usize).cloned() } else { None }
            };
            Some(keys.into_iter().map(|key| word(key).unwrap_or_default()).collect())
        }
        _ => {
            let text = |number: f64| {
                if number.is_nan() { String::new() } else { number.to_string() }
            };
            Some(numbers(cells)?.into_iter().map(text).collect())
        }
    }
}
