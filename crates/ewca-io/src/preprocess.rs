//! What people otherwise do to a table by hand: learned on one table, applied to others.
//!
//! The steps, in this order, each off unless asked for:
//! 1. every sample is scaled to the same total (`normalize_total`);
//! 2. x becomes ln(1 + x) (`log1p`);
//! 3. the features with the largest variance are kept (`top_variable`);
//! 4. every feature is divided by its standard deviation (`unit_variance`).
//!
//! Sparse tables stay sparse: nothing here moves a zero. Variances are those of a sample, with n - 1.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::error::{excerpt, phrase};
use crate::finish::chosen_columns;
use crate::moments::Moments;
use crate::{Error, Expected, OptionName, Place, Table, TableReader, Values};

/// The steps that were asked for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Preprocessing {
    /// The total that every sample is scaled to. A sample whose total is zero stays zero.
    pub normalize_total: Option<f64>,
    /// Whether x becomes ln(1 + x).
    pub log1p: bool,
    /// How many features to keep, those with the largest variance.
    pub top_variable: Option<usize>,
    /// Whether every feature is divided by its standard deviation; a constant one is left alone.
    pub unit_variance: bool,
}

/// Steps with what they learned from the table they were fitted on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedPreprocessing {
    /// The steps.
    pub steps: Preprocessing,
    /// The features that a table must have, in this order.
    pub features: Vec<String>,
    /// The positions of those that are kept, if not all are.
    pub kept: Option<Vec<usize>>,
    /// What each kept feature is divided by, if it is.
    pub scales: Option<Vec<f64>>,
    /// The mean of each feature before any step: what stands for a missing cell of another table. Not learned where there is no
    /// step, since a fit takes the same means.
    #[serde(default)]
    pub means: Option<Vec<f64>>,
}

impl Preprocessing {
    /// Whether there is nothing to do.
    pub fn is_nothing(&self) -> bool {
        *self == Preprocessing::default()
    }

    /// The steps, each in a few words; nothing where there is none.
    pub fn in_words(&self) -> Vec<String> {
        let Preprocessing { normalize_total, log1p, top_variable, unit_variance } = self;
        let mut words = Vec::new();
        words.extend(normalize_total.map(|total| format!("samples scaled to {total}")));
        words.extend(log1p.then(|| "ln(1 + x)".into()));
        words.extend(top_variable.map(|count| format!("{count} most variable features")));
        words.extend(unit_variance.then(|| "unit variance".into()));
        words
    }

    /// Learns from a table, and applies the steps to it. `file` stands for the table in messages.
    pub fn fit(&self, table: Table, file: &str) -> Result<(FittedPreprocessing, Table), Error> {
        self.check()?;
        let mut fitted = FittedPreprocessing::begun(self, &table.features);
        if !self.is_nothing() {
            let mut sums = ColumnSums::default();
            sums.add(&table.values);
            fitted.means = sums.means();
        }
        let mut table = fitted.change_cells(table, file)?;
        if self.needs_variances(table.columns()) {
            fitted.learn(&Moments::of(&table.values).variances());
            table = fitted.keep(table);
            fitted.scale(&mut table);
        }
        Ok((fitted, table))
    }

    /// Learns from a table that is read `part_rows` rows at a time and never held whole; [`FittedPreprocessing::apply`]
    /// then does the steps to its parts. Where no step needs the variances of the features, the table is not read; the means
    /// before the steps are left to who reads it anyway ([`ColumnSums`]).
    /// `file` stands for the table in messages.
    pub fn fit_parts(&self, reader: &TableReader, part_rows: usize, file: &str) -> Result<FittedPreprocessing, Error> {
        self.check()?;
        let mut fitted = FittedPreprocessing::begun(self, reader.features());
        if !self.needs_variances(reader.columns()) {
            return Ok(fitted);
        }
        let mut moments: Option<Moments> = None;
        let part_rows = part_rows.clamp(1, reader.rows());
        for start in (0..reader.rows()).step_by(part_rows) {
            let part = reader.read(start..reader.rows().min(start + part_rows))?;
            let part = fitted.change_cells(part, file).map_err(|error| error.after_rows(start))?;
            match &mut moments {
                None => moments = Some(Moments::of(&part.values)),
                Some(moments) => moments.add(&part.values),
            }
        }
        if let Some(moments) = moments {
            fitted.learn(&moments.variances());
        }
        Ok(fitted)
    }

    /// Whether a step needs the variances of the features, of which there are so many.
    fn needs_variances(&self, features: usize) -> bool {
        self.unit_variance || self.top_variable.is_some_and(|count| count < features)
    }

    fn check(&self) -> Result<(), Error> {
        let options = |problem: &'static str, advice| Err(Error::Options { problem: problem.into(), advice });
        if self.normalize_total.is_some_and(|total| !(total.is_finite() && total > 0.0)) {
            let advice = phrase!["give ", OptionName::NormalizeTotal.set_to("1e4"), ", say"];
            return options("the total to normalise to is not a positive number", advice);
        }
        if self.top_variable == Some(0) {
            let advice = phrase!["give ", OptionName::TopVariable, " a number above 0"];
            return options("this would keep no features", advice);
        }
        Ok(())
    }
}

impl FittedPreprocessing {
    /// Steps that have learned nothing yet.
    fn begun(steps: &Preprocessing, features: &[String]) -> Self {
        Self { steps: steps.clone(), features: features.to_vec(), kept: None, scales: None, means: None }
    }

    /// Which features are kept and what they are divided by, from the variances of all.
    fn learn(&mut self, variances: &[f64]) {
        let count = self.steps.top_variable.filter(|&count| count < variances.len());
        self.kept = count.map(|count| largest(variances, count));
        if self.steps.unit_variance {
            let scale = |variance: &f64| if *variance > 0.0 { variance.sqrt() } else { 1.0 };
            self.scales = Some(match &self.kept {
                Some(kept) => kept.iter().map(|&at| scale(&variances[at])).collect(),
                None => variances.iter().map(scale).collect(),
            });
        }
    }

    /// Applies the steps to another table, or to a part of one. Its features may come in any order, with others among them, which
    /// are left out.
    pub fn apply(&self, table: Table, file: &str) -> Result<Table, Error> {
        self.check()?;
        let table = table.with_features(&self.needed_features(), file)?;
        let table = self.change_cells(table, file)?;
        let mut table = if self.needs_all() { self.keep(table) } else { table };
        self.scale(&mut table);
        Ok(table)
    }

    /// Whether features count that are not kept: they do where samples are scaled to a total.
    fn needs_all(&self) -> bool {
        self.kept.is_none() || self.steps.normalize_total.is_some()
    }

    /// The features that a table must have for the steps to be applied to it.
    pub fn needed_features(&self) -> Vec<String> {
        if self.needs_all() { self.features.clone() } else { self.output_features() }
    }

    /// What a table must have for the steps to be applied to it. `fallback` are means of the features where none were learned.
    pub fn expected(&self, fallback: Option<&[f64]>) -> Expected {
        let means = self.means.as_deref().or(fallback).filter(|means| means.len() == self.features.len());
        let means = means.map(|means| match &self.kept {
            Some(kept) if !self.needs_all() => kept.iter().filter_map(|&at| means.get(at).copied()).collect(),
            _ => means.to_vec(),
        });
        Expected { features: self.needed_features(), means, by_place: false }
    }

    /// What comes from a model file may be damaged.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let count = self.features.len();
        let in_order = |kept: &Vec<usize>| kept.is_sorted_by(|a, b| a < b) && kept.iter().all(|&at| at < count);
        let scales_fit = self.scales.as_ref().is_none_or(|scales| scales.len() == self.output_count());
        let means_fit =
            self.means.as_ref().is_none_or(|means| means.len() == count && means.iter().all(|mean| mean.is_finite()));
        if self.kept.as_ref().is_none_or(in_order) && scales_fit && means_fit && self.steps.check().is_ok() {
            return Ok(());
        }
        Err(Error::Options {
            problem: "the preprocessing saved in the model is contradictory".into(),
            advice: "fit the model again".into(),
        })
    }

    /// How many features come out.
    pub(crate) fn output_count(&self) -> usize {
        self.kept.as_ref().map_or(self.features.len(), Vec::len)
    }

    /// The names of the features that come out.
    pub fn output_features(&self) -> Vec<String> {
        match &self.kept {
            Some(kept) => kept.iter().filter_map(|&at| self.features.get(at).cloned()).collect(),
            None => self.features.clone(),
        }
    }

    /// The steps that look at one sample at a time.
    fn change_cells(&self, mut table: Table, file: &str) -> Result<Table, Error> {
        for row in 0..table.rows() {
            let (columns, cells) = row_mut(&mut table.values, row);
            if let Some(total) = self.steps.normalize_total {
                let sum: f64 = cells.iter().sum();
                if sum < 0.0 {
                    return Err(Error::Negative {
                        file: file.into(),
                        place: Place::Row(row + 1),
                        what: "its total",
                        step: OptionName::NormalizeTotal,
                    });
                }
                if sum > 0.0 {
                    cells.iter_mut().for_each(|cell| *cell *= total / sum);
                }
            }
            if self.steps.log1p {
                if let Some(at) = cells.iter().position(|&cell| cell <= -1.0) {
                    let column = columns.map_or(at, |columns| columns[at] as usize);
                    return Err(Error::NotFinite {
                        file: file.into(),
                        place: Place::Row(row + 1),
                        column: excerpt(table.features[column].as_bytes()),
                        cell: format!("ln(1 + {})", cells[at]),
                    });
                }
                cells.iter_mut().for_each(|cell| *cell = cell.ln_1p());
            }
        }
        Ok(table)
    }

    fn keep(&self, table: Table) -> Table {
        match &self.kept {
            None => table,
            Some(kept) => Table {
                values: chosen_columns(&table.values, kept),
                features: kept.iter().map(|&at| table.features[at].clone()).collect(),
                ..table
            },
        }
    }

    fn scale(&self, table: &mut Table) {
        let Some(scales) = &self.scales else { return };
        for row in 0..table.rows() {
            match row_mut(&mut table.values, row) {
                (None, cells) => cells.iter_mut().zip(scales).for_each(|(cell, scale)| *cell /= scale),
                (Some(columns), cells) => {
                    columns.iter().zip(cells).for_each(|(&column, cell)| *cell /= scales[column as usize]);
                }
            }
        }
    }
}

impl Table {
    /// The same table with just the columns `wanted`, in this order. Features that are missing are an error that names them;
    /// others are left out. `file` stands for the table in messages.
    pub fn with_features(self, wanted: &[String], file: &str) -> Result<Table, Error> {
        if self.features == wanted {
            return Ok(self);
        }
        let places: HashMap<&str, usize> =
            self.features.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
        let is_wanted: HashSet<&str> = wanted.iter().map(String::as_str).collect();
        let shown =
            |names: Vec<&String>| -> Vec<String> { names.into_iter().map(|name| excerpt(name.as_bytes())).collect() };
        let extra = self.features.iter().chain(&self.left_out).filter(|name| !is_wanted.contains(name.as_str()));
        let missing = shown(wanted.iter().filter(|name| !places.contains_key(name.as_str())).collect());
        if !missing.is_empty() {
            return Err(Error::Features { file: file.into(), missing, extra: shown(extra.collect()) });
        }
        let order: Vec<usize> = wanted.iter().map(|name| places[name.as_str()]).collect();
        let left_out = extra.cloned().collect();
        let values = reordered_columns(&self.values, &order);
        Ok(Table { values, features: wanted.to_vec(), left_out, ..self })
    }
}

/// Column j of the result is column `order[j]` of `values`.
fn reordered_columns(values: &Values, order: &[usize]) -> Values {
    let Values::Sparse(_) = values else { return chosen_columns(values, order) };
    // Within a row the columns must increase: those that are wanted are chosen as they come, and sorted by two turns.
    let mut ascending = order.to_vec();
    ascending.sort_unstable();
    let Values::Sparse(chosen) = chosen_columns(values, &ascending) else { return chosen_columns(values, order) };
    let mut place = vec![0u32; order.len()];
    for (new, old) in order.iter().enumerate() {
        place[ascending.partition_point(|known| known < old)] = new as u32;
    }
    let indices = chosen.indices.iter().map(|&column| place[column as usize]).collect();
    let renamed = crate::SparseValues { indices, ..chosen };
    Values::Sparse(renamed.transposed().transposed())
}

/// The sums of the columns of a table, part by part, and so their means.
#[derive(Debug, Clone, Default)]
pub struct ColumnSums {
    rows: usize,
    sums: Vec<f64>,
}

impl ColumnSums {
    /// Adds some rows.
    pub fn add(&mut self, values: &Values) {
        self.rows += values.rows();
        self.sums.resize(values.columns(), 0.0);
        match values {
            Values::Dense(dense) => {
                for row in dense.data.chunks_exact(dense.columns.max(1)) {
                    self.sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
                }
            }
            Values::Sparse(sparse) => {
                let entries = sparse.indices.iter().zip(&sparse.values);
                entries.for_each(|(&column, value)| self.sums[column as usize] += value);
            }
        }
    }

    /// The means, if there was a row and they can be told.
    pub fn means(&self) -> Option<Vec<f64>> {
        let means: Vec<f64> = self.sums.iter().map(|sum| sum / self.rows as f64).collect();
        (self.rows > 0 && means.iter().all(|mean| mean.is_finite())).then_some(means)
    }
}

/// The cells of a row, with their columns if not all are there.
fn row_mut(values: &mut Values, row: usize) -> (Option<&[u32]>, &mut [f64]) {
    match values {
        Values::Dense(dense) => (None, &mut dense.data[row * dense.columns..][..dense.columns]),
        Values::Sparse(sparse) => {
            let range = sparse.offsets[row]..sparse.offsets[row + 1];
            (Some(&sparse.indices[range.clone()]), &mut sparse.values[range])
        }
    }
}

/// The positions of the `count` largest, in increasing order; of two equal ones the first.
fn largest(variances: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..variances.len()).collect();
    order.sort_by(|&a, &b| variances[b].partial_cmp(&variances[a]).unwrap_or(Ordering::Equal));
    order.truncate(count);
    order.sort_unstable();
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DenseValues, SparseValues};

    fn tables() -> [Table; 2] {
        let sparse = SparseValues {
            columns: 3,
            offsets: vec![0, 2, 3, 5, 5],
            indices: vec![0, 2, 1, 0, 2],
            values: vec![1.0, 3.0, 2.0, 5.0, 5.0],
        };
        let dense: DenseValues = sparse.to_dense();
        let table = |values| Table::new(values, vec!["a".into(), "b".into(), "c".into()]);
        [table(Values::Dense(dense)), table(Values::Sparse(sparse))]
    }

    fn dense(table: &Table) -> Vec<f64> {
        match &table.values {
            Values::Dense(dense) => dense.data.clone(),
            Values::Sparse(sparse) => sparse.to_dense().data,
        }
    }

    #[test]
    fn dense_and_sparse_agree_and_apply_repeats_fit() {
        let steps =
            Preprocessing { normalize_total: Some(10.0), log1p: true, top_variable: Some(2), unit_variance: true };
        let mut results = Vec::new();
        for table in tables() {
            let was_sparse = matches!(table.values, Values::Sparse(_));
            let (fitted, out) = steps.fit(table.clone(), "t").unwrap();
            assert_eq!(matches!(out.values, Values::Sparse(_)), was_sparse);
            let copy: FittedPreprocessing = serde_json::from_str(&serde_json::to_string(&fitted).unwrap()).unwrap();
            assert_eq!(copy.apply(table, "t").unwrap(), out);
            assert_eq!(fitted.output_features(), out.features);
            results.push(dense(&out));
        }
        assert!(results[0].iter().zip(&results[1]).all(|(a, b)| (a - b).abs() < 1e-12), "{results:?}");
    }

    #[test]
    fn each_step_does_what_it_says() {
        for table in tables() {
            let fit = |steps: Preprocessing| dense(&steps.fit(table.clone(), "t").unwrap().1);
            let none = Preprocessing::default();
            assert_eq!(fit(none.clone()), dense(&table));
            let normal = fit(Preprocessing { normalize_total: Some(8.0), ..none.clone() });
            assert_eq!(normal, [2.0, 0.0, 6.0, 0.0, 8.0, 0.0, 4.0, 0.0, 4.0, 0.0, 0.0, 0.0]);
            assert_eq!(fit(Preprocessing { log1p: true, ..none.clone() })[0], 2f64.ln());
            assert_eq!(fit(Preprocessing { top_variable: Some(1), ..none.clone() }), [3.0, 0.0, 5.0, 0.0]);
            let unit = fit(Preprocessing { unit_variance: true, ..none });
            assert!((unit[4] - 2.0).abs() < 1e-12);
        }
    }

    #[test]
    fn features_are_matched_by_name() {
        let wanted: Vec<String> = ["c", "a", "b"].map(String::from).to_vec();
        let [a, b] = tables().map(|table| dense(&table.with_features(&wanted, "t").unwrap()));
        assert_eq!(a, b);
        assert_eq!(a[..3], [3.0, 1.0, 0.0]);
        let wanted: Vec<String> = ["c", "a", "d"].map(String::from).to_vec();
        let error = tables()[0].clone().with_features(&wanted, "t").unwrap_err();
        assert_eq!(
            error.to_string(),
            "t: does not have 1 feature that the model needs (d) and has 1 that the model does not use (b); use a table with the features of the \
             training data"
        );
    }

    #[test]
    fn steps_that_make_no_sense_are_refused() {
        let refused = |steps: Preprocessing, value: f64| {
            let mut table = tables()[0].clone();
            if let Values::Dense(dense) = &mut table.values {
                dense.data[0] = value;
            }
            steps.fit(table, "t").unwrap_err().to_string()
        };
        let none = Preprocessing::default();
        let error = refused(Preprocessing { log1p: true, ..none.clone() }, -1.0);
        assert!(error.starts_with("t, row 1, column 'a': 'ln(1 + -1)' is not a finite number"), "{error}");
        let error = refused(Preprocessing { normalize_total: Some(1.0), ..none.clone() }, -10.0);
        assert_eq!(error, "t, row 1: its total is negative; `normalize_total` is for counts, which cannot be negative");
        assert!(
            refused(Preprocessing { normalize_total: Some(-1.0), ..none.clone() }, 1.0)
                .contains("not a positive number")
        );
        assert!(refused(Preprocessing { top_variable: Some(0), ..none }, 1.0).contains("this would keep no features"));
    }
}
