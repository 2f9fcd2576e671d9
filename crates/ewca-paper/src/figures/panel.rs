//! A rectangle with two axes, and lines and points in it.

use super::axis::Axis;
use super::marker::{Marker, Series};
use super::svg::{Anchor, Font, INK, LABEL, Page, Stroke, TICK, text_width};

const GRID: &str = "#e3e3e3";

/// A rectangle with two axes.
#[derive(Debug, Clone)]
pub struct Panel {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    x: Axis,
    y: Axis,
}

/// From, to, and how visible.
pub type Link = ((f64, f64), (f64, f64), f64);

impl Panel {
    /// Draws frame, grid, ticks and labels.
    pub fn new(page: &mut Page, (left, top): (f64, f64), (width, height): (f64, f64), x: Axis, y: Axis) -> Self {
        let panel = Self { left, top, width, height, x, y };
        panel.ticks_below(page);
        panel.ticks_beside(page);
        page.frame(left, top, width, height, Stroke::new(INK, 1.0));
        panel.labels(page);
        panel
    }

    fn ticks_below(&self, page: &mut Page) {
        let (bottom, right) = (self.top + self.height, self.left + self.width);
        for (value, text) in &self.x.ticks {
            let x = self.place_x(*value);
            if !(self.left - 0.5..=right + 0.5).contains(&x) {
                continue;
            }
            if self.x.grid {
                page.line((x, self.top), (x, bottom), Stroke::new(GRID, 1.0));
            }
            page.line((x, bottom), (x, bottom + 4.0), Stroke::new(INK, 1.0));
            page.text((x, bottom + 17.0), text, Font::sized(TICK).anchored(Anchor::Middle));
        }
    }

    fn ticks_beside(&self, page: &mut Page) {
        let (bottom, right) = (self.top + self.height, self.left + self.width);
        for (value, text) in &self.y.ticks {
            let y = self.place_y(*value);
            if !(self.top - 0.5..=bottom + 0.5).contains(&y) {
                continue;
            }
            if self.y.grid {
                page.line((self.left, y), (right, y), Stroke::new(GRID, 1.0));
            }
            page.line((self.left - 4.0, y), (self.left, y), Stroke::new(INK, 1.0));
            page.text((self.left - 7.0, y + 4.0), text, Font::sized(TICK).anchored(Anchor::End));
        }
    }

    fn labels(&self, page: &mut Page) {
        let below = if self.x.ticks.is_empty() { 18.0 } else { 36.0 };
        let middle = Font::sized(LABEL).anchored(Anchor::Middle);
        page.text((self.left + self.width / 2.0, self.top + self.height + below), &self.x.label, middle);
        let widest = self.y.ticks.iter().map(|t| text_width(&t.1) * TICK).fold(0.0, f64::max);
        let beside = if self.y.ticks.is_empty() { 10.0 } else { 18.0 + widest };
        let turned = Font { turned: -90.0, ..middle };
        page.text((self.left - beside, self.top + self.height / 2.0), &self.y.label, turned);
    }

    pub(super) fn place_x(&self, value: f64) -> f64 {
        self.left + self.width * self.x.part(value)
    }

    pub(super) fn place_y(&self, value: f64) -> f64 {
        self.top + self.height * (1.0 - self.y.part(value))
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.place_x(x), self.place_y(y))
    }

    fn inside(&self, page: &mut Page, draw: impl FnOnce(&mut Page)) {
        page.clipped(self.left, self.top, self.width, self.height, draw);
    }

    /// A title above the panel.
    pub fn title(&self, page: &mut Page, text: &str) {
        let font = Font { bold: true, ..Font::sized(LABEL).anchored(Anchor::Middle) };
        page.text((self.left + self.width / 2.0, self.top - 9.0), text, font);
    }

    /// A line through points (x, y), with markers.
    pub fn line(&self, page: &mut Page, points: &[(f64, f64)], series: Series) {
        let points: Vec<(f64, f64)> = points.iter().map(|p| self.place(*p)).collect();
        self.inside(page, |page| {
            page.polyline(&points, Stroke::new(series.colour, 2.0).dashed(series.dashes));
        });
        if let Some(marker) = series.marker {
            points.iter().for_each(|p| marker.draw(page, *p, 4.2, series.colour));
        }
    }

    /// The area between two lines, points (x, low, high).
    pub fn band(&self, page: &mut Page, points: &[(f64, f64, f64)], series: Series) {
        let below = points.iter().map(|p| self.place((p.0, p.1)));
        let above = points.iter().rev().map(|p| self.place((p.0, p.2)));
        let outline: Vec<(f64, f64)> = below.chain(above).collect();
        self.inside(page, |page| page.polygon(&outline, series.colour, 0.16, None));
    }

    /// Points (x, y).
    pub fn points(&self, page: &mut Page, points: &[(f64, f64)], colour: &str, marker: Marker, size: f64) {
        points.iter().for_each(|p| marker.draw(page, self.place(*p), size, colour));
    }

    /// Segments with an opacity each.
    pub fn links(&self, page: &mut Page, links: &[Link], colour: &str, width: f64) {
        self.inside(page, |page| {
            for (from, to, opacity) in links {
                page.line(self.place(*from), self.place(*to), Stroke::new(colour, width).faint(*opacity));
            }
        });
    }

    /// A line, cut off at the frame.
    pub fn segment(&self, page: &mut Page, from: (f64, f64), to: (f64, f64), stroke: Stroke<'_>) {
        self.inside(page, |page| page.line(self.place(from), self.place(to), stroke));
    }
}
