//! Matrices as colours.

use super::axis::Axis;
use super::colour::Colours;
use super::panel::Panel;
use super::svg::{Anchor, Font, INK, LABEL, Page, Stroke, TICK, text_width};

/// A matrix of cells.
pub struct Cells<'a> {
    pub rows: usize,
    pub columns: usize,
    pub value: &'a dyn Fn(usize, usize) -> f64,
    /// The values at the ends of the colours.
    pub range: (f64, f64),
    /// The digits after the point, where numbers are written into the cells.
    pub digits: Option<usize>,
    pub colours: Colours,
}

impl Panel {
    /// A heat map over the panel: row 0 is at the top or at the bottom as the y axis has it, column 0 at the left.
    pub fn cells(&self, page: &mut Page, cells: &Cells<'_>, from_top: bool) {
        let (w, h) = (self.width / cells.columns as f64, self.height / cells.rows as f64);
        let span = cells.range.1 - cells.range.0;
        for (i, j) in (0..cells.rows).flat_map(|i| (0..cells.columns).map(move |j| (i, j))) {
            let value = (cells.value)(i, j);
            let part = (value - cells.range.0) / span;
            let row = if from_top { i } else { cells.rows - 1 - i };
            let (x, y) = (self.left + w * j as f64, self.top + h * row as f64);
            // A little overlap hides seams between cells.
            page.rect(x, y, w + 0.3, h + 0.3, &cells.colours.at(part), 1.0);
            if let Some(digits) = cells.digits {
                let colour = if cells.colours.is_dark(part) { "#ffffff" } else { INK };
                let font = Font { colour, ..Font::sized(10.0).anchored(Anchor::Middle) };
                page.text((x + w / 2.0, y + h / 2.0 + 3.5), &cells.colours.written(value, digits), font);
            }
        }
        page.frame(self.left, self.top, self.width, self.height, Stroke::new(INK, 1.0));
    }

    /// A frame around cells `from` to `to` (exclusive) of the diagonal of n, counted from the top left.
    pub fn diagonal_square(&self, page: &mut Page, from: usize, to: usize, n: usize, stroke: Stroke<'_>) {
        let (w, h) = (self.width / n as f64, self.height / n as f64);
        let (from, size) = (from as f64, (to - from) as f64);
        page.frame(self.left + w * from, self.top + h * from, w * size, h * size, stroke);
    }

    /// The colours of a heat map and what they mean, at the right of the panel.
    pub fn colour_bar(&self, page: &mut Page, colours: Colours, range: (f64, f64), label: &str) {
        let (left, steps) = (self.left + self.width + 14.0, 64);
        let step = self.height / steps as f64;
        for i in 0..steps {
            let part = 1.0 - (i as f64 + 0.5) / steps as f64;
            page.rect(left, self.top + step * i as f64, 14.0, step + 0.3, &colours.at(part), 1.0);
        }
        page.frame(left, self.top, 14.0, self.height, Stroke::new(INK, 1.0));
        let axis = Axis::linear("", [range.0, range.1]);
        let mut widest: f64 = 0.0;
        for (value, text) in axis.ticks.iter().filter(|t| (range.0..=range.1 * (1.0 + 1e-12)).contains(&t.0)) {
            let y = self.top + self.height * (1.0 - (value - range.0) / (range.1 - range.0));
            page.line((left + 14.0, y), (left + 18.0, y), Stroke::new(INK, 1.0));
            page.text((left + 21.0, y + 4.0), text, Font::sized(TICK));
            widest = widest.max(text_width(text) * TICK);
        }
        let font = Font { turned: -90.0, ..Font::sized(LABEL).anchored(Anchor::Middle) };
        page.text((left + 21.0 + widest + 15.0, self.top + self.height / 2.0), label, font);
    }
}
