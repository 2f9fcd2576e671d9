//! Tables as CSV.

use std::fmt::Display;

/// A tidy table: one observation in each row.
#[derive(Debug, Clone)]
pub struct Tidy {
    header: &'static str,
    rows: Vec<Vec<String>>,
}

impl Tidy {
    /// A table with these columns, separated by commas, and no rows yet.
    pub fn new(header: &'static str) -> Self {
        Self { header, rows: Vec::new() }
    }

    pub fn row(&mut self, cells: &[&dyn Display]) {
        debug_assert_eq!(cells.len(), self.header.split(',').count());
        self.rows.push(cells.iter().map(|cell| cell.to_string()).collect());
    }

    pub fn csv(&self) -> String {
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
        let header = format!("{}\n", self.header);
        self.rows.iter().fold(header, |text, row| text + &line(row))
    }
}
