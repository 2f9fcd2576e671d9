//! Figures of publication quality: SVG of our own, PNG by `resvg` with an embedded font, and the same data as a tidy table.
//!
//! Every series has its own colour, dashes and marker, and the colours differ in lightness, so that figures can be read in grey
//! and by people who see colours differently.

mod chart;
mod colour;
mod svg;

pub(crate) use chart::{Axis, BoxSummary, Cells, Key, Marker, Panel, Series, legend_rows};
pub(crate) use colour::CLASSES;
pub(crate) use svg::{Anchor, Font, Page, Stroke, escaped};

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
    svg: String,
    table: Tidy,
}

impl Figure {
    pub(crate) fn new(name: &str, title: &str, caption: String, page: &Page, table: Tidy) -> Self {
        Self { name: name.into(), title: title.into(), caption, svg: page.svg(), table }
    }

    /// The figure as SVG.
    pub fn svg(&self) -> &str {
        &self.svg
    }

    /// The figure as PNG, at twice its size.
    pub fn png(&self) -> Result<Vec<u8>> {
        svg::png(&self.svg)
    }

    /// The numbers as CSV.
    pub fn csv(&self) -> String {
        self.table.csv()
    }
}

/// A tidy table: one observation in each row.
#[derive(Debug, Clone)]
pub(crate) struct Tidy {
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Tidy {
    pub fn new(columns: &[&'static str]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: &[&dyn std::fmt::Display]) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells.iter().map(|cell| cell.to_string()).collect());
    }

    fn csv(&self) -> String {
        // Names of classes may begin like a formula, which a spreadsheet would run.
        let safe = |cell: &str| match cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err()
        {
            true => format!("'{cell}"),
            false => cell.to_string(),
        };
        let quoted = |cell: String| match cell.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell,
        };
        let line = |cells: &[String]| cells.iter().map(|c| quoted(safe(c))).collect::<Vec<_>>().join(",") + "\n";
        let header = self.columns.join(",") + "\n";
        self.rows.iter().fold(header, |text, row| text + &line(row))
    }
}
