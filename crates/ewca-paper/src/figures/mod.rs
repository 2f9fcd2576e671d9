//! Figures of publication quality: SVG of our own, PNG of the same shapes with text in an embedded font, and the same data as a tidy table.
//!
//! Every series has its own colour, dashes and marker, and the colours differ in lightness, so that figures can be read in grey
//! and by people who see colours differently.

mod axis;
mod boxes;
mod colour;
mod heat_map;
mod legend;
mod lettering;
mod marker;
mod panel;
mod picture;
mod svg;
mod table;

pub(crate) use axis::Axis;
pub(crate) use boxes::BoxSummary;
pub(crate) use colour::{CLASSES, Colours};
pub(crate) use heat_map::Cells;
pub(crate) use legend::{Key, legend_rows};
pub(crate) use marker::{Marker, Series};
pub(crate) use panel::{Link, Panel};
pub(crate) use svg::{Anchor, Font, Page, Stroke, escaped};
pub(crate) use table::Tidy;

use crate::Result;

/// A figure: its name, the page, and what it shows as numbers.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The name of its files, without extension.
    pub name: String,
    /// What it shows, in a line.
    pub title: String,
    /// How to read it, and under which conditions it was made.
    pub caption: String,
    page: Page,
    svg: String,
    table: Tidy,
}

impl Figure {
    pub(crate) fn new(name: &str, title: &str, caption: String, page: &Page, table: Tidy) -> Self {
        Self { name: name.into(), title: title.into(), caption, page: page.clone(), svg: page.svg(), table }
    }

    /// The figure as SVG.
    pub fn svg(&self) -> &str {
        &self.svg
    }

    /// The figure as PNG, at twice its size.
    pub fn png(&self) -> Result<Vec<u8>> {
        self.page.png()
    }

    /// The numbers as CSV.
    pub fn csv(&self) -> String {
        self.table.csv()
    }
}
