//! The colours that AnnData keeps for the classes of a column: `uns["COLUMN_colors"]`, in the order of its categories.

use super::AnnData;
use crate::Palette;
use crate::annotation::colour;

/// The most classes that have colours of their own.
const MOST_CLASSES: usize = 1 << 16;

/// The colours of a column of obs, if it has some.
pub(super) fn of<A: AnnData + ?Sized>(anndata: &A, column: &str) -> Option<Palette> {
    let colours = list(anndata, &format!("uns/{column}_colors"))?;
    let colours: Vec<String> = colours.iter().map(|text| colour(text)).collect::<Option<_>>()?;
    let classes = categories(anndata, column)?;
    // More colours than classes are left where classes were taken out; scanpy passes over them too.
    let is_enough = colours.len() >= classes.len();
    is_enough.then(|| Palette { column: column.into(), colours: classes.into_iter().zip(colours).collect() })
}

/// The categories of a column of obs in their order, where it has some.
fn categories<A: AnnData + ?Sized>(anndata: &A, column: &str) -> Option<Vec<String>> {
    let path = match anndata.is_group("obs") {
        true if anndata.is_group(&format!("obs/{column}")) => format!("obs/{column}/categories"),
        true => format!("obs/__categories/{column}"),
        false => format!("uns/{column}_categories"),
    };
    list(anndata, &path)
}

/// A list of texts, if there is one of a reasonable length.
fn list<A: AnnData + ?Sized>(anndata: &A, path: &str) -> Option<Vec<String>> {
    let &[length] = &anndata.sizes(path).ok()?[..] else { return None };
    if length > MOST_CLASSES {
        return None;
    }
    anndata.all_texts(path).ok()
}
