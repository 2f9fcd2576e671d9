//! Model files taken apart, changed, and put together again with a checksum that holds: what a forger can do. The checksum is
//! computed here by its description alone.
#![allow(dead_code)]

use std::collections::{BTreeMap, HashMap};

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use sha2::{Digest, Sha256};

/// A tensor: its type, its shape and its bytes.
pub type Tensor = (Dtype, Vec<usize>, Vec<u8>);

/// A model file in parts.
pub struct Parts {
    pub version: String,
    pub tensors: BTreeMap<String, Tensor>,
}

impl Parts {
    pub fn of(bytes: &[u8]) -> Self {
        let (_, header) = SafeTensors::read_metadata(bytes).unwrap();
        let tensors = SafeTensors::deserialize(bytes).unwrap();
        let own = |(name, view): (String, TensorView<'_>)| {
            (name, (view.dtype(), view.shape().to_vec(), view.data().to_vec()))
        };
        Self {
            version: header.metadata().as_ref().unwrap()["ewca"].clone(),
            tensors: tensors.tensors().into_iter().map(own).collect(),
        }
    }

    /// The JSON record, changed.
    pub fn change_record(&mut self, from: &str, to: &str) {
        let (_, shape, bytes) = self.tensors.get_mut("record").unwrap();
        let text = std::str::from_utf8(bytes).unwrap();
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "no {from} in {text}");
        (*shape, *bytes) = (vec![changed.len()], changed.into_bytes());
    }

    /// Floats in the place of a tensor.
    pub fn put_numbers(&mut self, name: &str, shape: &[usize], values: &[f64]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensors.insert(name.into(), (Dtype::F64, shape.to_vec(), bytes));
    }

    /// Names in the place of others.
    pub fn put_names(&mut self, name: &str, names: &[&str]) {
        let mut end = 0i64;
        let ends = names.iter().flat_map(|name| {
            end += name.len() as i64;
            end.to_le_bytes()
        });
        self.tensors.insert(format!("{name}.ends"), (Dtype::I64, vec![names.len()], ends.collect()));
        let text: Vec<u8> = names.concat().into_bytes();
        self.tensors.insert(name.into(), (Dtype::U8, vec![text.len()], text));
    }

    /// The checksum of it all.
    pub fn checksum(&self) -> Vec<u8> {
        let mut sum = Sha256::new();
        let text = |text: &str, sum: &mut Sha256| {
            sum.update((text.len() as u64).to_le_bytes());
            sum.update(text);
        };
        text(&self.version, &mut sum);
        let mut order: Vec<&String> = self.tensors.keys().filter(|name| *name != "sha256").collect();
        order.sort_by_key(|name| (usize::MAX - self.tensors[*name].0.bitsize(), name.to_string()));
        for name in order {
            let (dtype, shape, bytes) = &self.tensors[name];
            text(name, &mut sum);
            text(&dtype.to_string(), &mut sum);
            sum.update((shape.len() as u64).to_le_bytes());
            shape.iter().for_each(|size| sum.update((*size as u64).to_le_bytes()));
            sum.update(bytes);
        }
        sum.finalize().to_vec()
    }

    /// The file again, as another program arranges it, with the checksum that it should have.
    pub fn signed(mut self) -> Vec<u8> {
        let checksum = self.checksum();
        self.tensors.insert("sha256".into(), (Dtype::U8, vec![32], checksum));
        self.unsigned()
    }

    /// The file again, with the checksum that it had.
    pub fn unsigned(self) -> Vec<u8> {
        let views: Vec<(String, TensorView<'_>)> = self
            .tensors
            .iter()
            .map(|(name, (dtype, shape, bytes))| (name.clone(), TensorView::new(*dtype, shape.clone(), bytes).unwrap()))
            .collect();
        safetensors::serialize(views, Some(HashMap::from([("ewca".to_string(), self.version.clone())]))).unwrap()
    }
}
