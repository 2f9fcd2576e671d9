//! The frames of AnnData before version 0.7: `obs` and `var` are lists of records, one for each row.

use rust_hdf5::{DatatypeMessage, H5Dataset};

use super::read::{H5ad, has};
use crate::Error;
use crate::anndata::{AnnData, pick};
use crate::error::truth_name;

/// One field of every record.
struct Field {
    name: String,
    start: usize,
    end: usize,
    kind: FieldKind,
}

enum FieldKind {
    Text,
    Integer { signed: bool, big: bool },
    Float { big: bool },
    Truth,
}

impl H5ad<'_> {
    /// The records of a frame, if it is of the old kind.
    fn records(&self, frame: &str) -> Option<(H5Dataset, Vec<Field>)> {
        if !has(&self.root.dataset_names(), frame) {
            return None;
        }
        let dataset = self.dataset(frame).ok()?;
        let DatatypeMessage::Compound { members, .. } = dataset.datatype().ok()? else { return None };
        let fields = members.into_iter().filter_map(|member| {
            let big = |order: &rust_hdf5::format::messages::datatype::ByteOrder| {
                matches!(order, rust_hdf5::format::messages::datatype::ByteOrder::BigEndian)
            };
            let size = member.datatype.element_size() as usize;
            let kind = match &member.datatype {
                DatatypeMessage::FixedString { .. } => FieldKind::Text,
                DatatypeMessage::FixedPoint { signed, byte_order, .. } => {
                    FieldKind::Integer { signed: *signed, big: big(byte_order) }
                }
                DatatypeMessage::FloatingPoint { byte_order, .. } if [4, 8].contains(&size) => {
                    FieldKind::Float { big: big(byte_order) }
                }
                DatatypeMessage::Enum { .. } if size == 1 => FieldKind::Truth,
                _ => return None,
            };
            let start = member.offset as usize;
            Some(Field { name: member.name, start, end: start.checked_add(size)?, kind })
        });
        let fields = fields.collect();
        Some((dataset, fields))
    }

    /// The names of the fields of an old frame, but for the index.
    pub fn names_of_fields(&self, frame: &str) -> Option<Vec<String>> {
        let (_, fields) = self.records(frame)?;
        Some(fields.into_iter().map(|field| field.name).filter(|name| !is_index(name)).collect())
    }

    /// A field of an old frame as text; the index where no name is given. Categories are beside the frames, in `uns`.
    pub fn texts_of_field(&self, frame: &str, name: Option<&str>) -> Option<Result<Vec<String>, Error>> {
        let (dataset, fields) = self.records(frame)?;
        let wanted = |field: &&Field| name.map_or(is_index(&field.name), |name| field.name == name);
        let field = fields.iter().find(wanted)?;
        Some(self.decoded(&dataset, field, frame))
    }

    /// Whether a field of an old frame holds numbers that are no codes of classes; nothing where the frame is of another kind.
    pub fn field_is_measured(&self, frame: &str, name: &str) -> Option<bool> {
        let (_, fields) = self.records(frame)?;
        let field = fields.iter().find(|field| field.name == name)?;
        let is_number = matches!(field.kind, FieldKind::Integer { .. } | FieldKind::Float { .. });
        Some(is_number && self.file.dataset(&format!("uns/{name}_categories")).is_err())
    }

    fn decoded(&self, dataset: &H5Dataset, field: &Field, frame: &str) -> Result<Vec<String>, Error> {
        self.check_room(dataset, &dataset.shape())?;
        let bytes = dataset.read_raw_bytes().map_err(self.because(frame))?;
        let size = dataset.element_size();
        if size == 0 || field.end > size {
            return Err(self.malformed(format!("{frame} has a field outside of its records")));
        }
        let cells: Vec<Cell> =
            bytes.chunks_exact(size).map(|record| field.cell(&record[field.start..field.end])).collect();
        let words = format!("uns/{}_categories", field.name);
        if matches!(field.kind, FieldKind::Integer { .. }) && self.file.dataset(&words).is_ok() {
            let words = self.plain_texts(&self.dataset(&words)?, &words)?;
            let codes: Vec<f64> =
                cells.iter().map(|cell| if let Cell::Number(code) = cell { *code } else { -1.0 }).collect();
            return Ok(pick(&codes, &words));
        }
        Ok(cells.into_iter().map(Cell::text).collect())
    }
}

enum Cell {
    Text(String),
    Number(f64),
}

impl Cell {
    fn text(self) -> String {
        match self {
            Cell::Text(text) => text,
            Cell::Number(number) if number.is_nan() => String::new(),
            Cell::Number(number) => number.to_string(),
        }
    }
}

impl Field {
    fn cell(&self, bytes: &[u8]) -> Cell {
        let little =
            |big: bool| -> Vec<u8> { if big { bytes.iter().rev().copied().collect() } else { bytes.to_vec() } };
        let whole =
            |big: bool| little(big).iter().take(8).rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        match self.kind {
            FieldKind::Text => {
                let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
                Cell::Text(String::from_utf8_lossy(&bytes[..end]).into_owned())
            }
            FieldKind::Truth => Cell::Text(truth_name(bytes.first() != Some(&0))),
            FieldKind::Integer { signed, big } => {
                let value = whole(big);
                let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
                Cell::Number(if signed { ((value << unused) as i64 >> unused) as f64 } else { value as f64 })
            }
            FieldKind::Float { big } if bytes.len() == 4 => Cell::Number(f64::from(f32::from_bits(whole(big) as u32))),
            FieldKind::Float { big } => Cell::Number(f64::from_bits(whole(big))),
        }
    }
}

fn is_index(name: &str) -> bool {
    name == "index" || name == "_index"
}
