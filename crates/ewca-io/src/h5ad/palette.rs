//! The colours that AnnData keeps for the classes of a column: `uns["COLUMN_colors"]`, in the order of its categories.

use super::read::{H5ad, has};
use crate::annotation::colour;
use crate::{Palette, ReadOptions};

/// The most classes that have colours of their own.
const MOST_CLASSES: usize = 1 << 16;

impl H5ad<'_> {
    /// The colours of the columns that the options name. What is no colour is passed over: the table does not depend on it.
    pub fn palettes(&self, options: &ReadOptions) -> Vec<Palette> {
        let columns = options.label.iter().chain(&options.annotations);
        columns.filter_map(|column| self.palette(column)).collect()
    }

    fn palette(&self, column: &str) -> Option<Palette> {
        let colours = self.list(&format!("uns/{column}_colors"))?;
        let colours: Vec<String> = colours.iter().map(|text| colour(text)).collect::<Option<_>>()?;
        let classes = self.categories(column)?;
        // More colours than classes are left where classes were taken out; scanpy passes over them too.
        let is_enough = colours.len() >= classes.len();
        is_enough.then(|| Palette { column: column.into(), colours: classes.into_iter().zip(colours).collect() })
    }

    /// The categories of a column of obs in their order, where it has some.
    fn categories(&self, column: &str) -> Option<Vec<String>> {
        let obs = self.root.group("obs").ok();
        let of_column = || self.list(&format!("obs/{column}/categories"));
        let beside = || self.list(&format!("obs/__categories/{column}"));
        match obs {
            Some(obs) if has(&obs.group_names(), column) => of_column(),
            Some(_) => beside(),
            None => self.list(&format!("uns/{column}_categories")),
        }
    }

    /// A list of texts, if there is one of a reasonable length.
    fn list(&self, path: &str) -> Option<Vec<String>> {
        let dataset = self.dataset(path).ok()?;
        let &[length] = &dataset.shape()[..] else { return None };
        if length > MOST_CLASSES {
            return None;
        }
        self.plain_texts(&dataset, path).ok()
    }
}
