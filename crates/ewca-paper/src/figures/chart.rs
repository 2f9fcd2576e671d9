//! Axes, and marks between them.

use ewca_eval::Spread;

use super::colour::sequential;
use super::svg::{Anchor, Font, Page, Stroke, text_width};

const INK: &str = "#222222";
const GRID: &str = "#e3e3e3";
/// Sizes of text.
const LABEL: f64 = 13.0;
const TICK: f64 = 11.5;

/// An axis: which values it covers, where its ticks are, and what it is called.
#[derive(Debug, Clone)]
pub struct Axis {
    from: f64,
    to: f64,
    log: bool,
    label: String,
    ticks: Vec<(f64, String)>,
    grid: bool,
}

impl Axis {
    /// Equal steps between two round numbers that hold all values.
    pub fn linear(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = range(values);
        let step = round_step((high - low).max(1e-12) / 5.0);
        let (from, to) = ((low / step).floor() * step, (high / step).ceil() * step);
        let count = ((to - from) / step).round() as usize;
        let digits = (-step.log10().floor()).max(0.0) as usize;
        let tick = |i: usize| {
            let value = from + i as f64 * step;
            (value, format!("{:.digits$}", if value.abs() < 1e-9 * step { 0.0 } else { value }))
        };
        Self { from, to, log: false, label: label.into(), ticks: (0..=count).map(tick).collect(), grid: true }
    }

    /// Powers of ten.
    pub fn logarithmic(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = range(values.into_iter().filter(|v| *v > 0.0));
        let (low, high) = (low.log10() - 0.05, high.log10() + 0.05);
        let mut ticks: Vec<(f64, String)> =
            (low.ceil() as i32..=high.floor() as i32).map(|e| (10f64.powi(e), power(e))).collect();
        if ticks.len() < 3 {
            ticks = (low.floor() as i32..=high.floor() as i32)
                .flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(e)))
                .filter(|v| (low..=high).contains(&v.log10()))
                .map(|v| (v, plain(v)))
                .collect();
        }
        Self { from: 10f64.powf(low), to: 10f64.powf(high), log: true, label: label.into(), ticks, grid: true }
    }

    /// One place for each name, at 0, 1, ...
    pub fn names(label: &str, names: &[String]) -> Self {
        let ticks = names.iter().enumerate().map(|(i, name)| (i as f64, name.clone())).collect();
        Self { from: -0.5, to: names.len() as f64 - 0.5, log: false, label: label.into(), ticks, grid: false }
    }

    /// Places for whole numbers.
    pub fn counts(label: &str, counts: &[usize]) -> Self {
        let (low, high) = range(counts.iter().map(|&k| k as f64));
        let pad = ((high - low) * 0.03).max(0.25);
        let crowded = |k: usize| counts.len() > 16 && k > 10 && !k.is_multiple_of(5);
        let ticks = counts.iter().filter(|k| !crowded(**k)).map(|k| (*k as f64, k.to_string())).collect();
        Self { from: low - pad, to: high + pad, log: false, label: label.into(), ticks, grid: false }
    }

    /// An axis without ticks, for coordinates that mean nothing by themselves.
    pub fn bare(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = range(values);
        let pad = 0.06 * (high - low);
        Self { from: low - pad, to: high + pad, log: false, label: label.into(), ticks: Vec::new(), grid: false }
    }

    /// The same axis from 0 on.
    pub fn from_zero(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        Self::linear(label, values.into_iter().chain([0.0]))
    }

    /// Both axes with the same length of a unit in a panel of this shape.
    pub fn square(x: Self, y: Self, width: f64, height: f64) -> (Self, Self) {
        let unit = ((x.to - x.from) / width).max((y.to - y.from) / height);
        let widened = |axis: Self, length: f64| {
            let middle = (axis.from + axis.to) / 2.0;
            Self { from: middle - unit * length / 2.0, to: middle + unit * length / 2.0, ..axis }
        };
        (widened(x, width), widened(y, height))
    }

    fn part(&self, value: f64) -> f64 {
        match self.log {
            true => (value / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        }
    }
}

fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .into_iter()
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    match (low.is_finite(), high > low) {
        (false, _) => (0.0, 1.0),
        (_, false) => (low - 0.5 * low.abs().max(1.0), low + 0.5 * low.abs().max(1.0)),
        _ => (low, high),
    }
}

/// 1, 2 or 5 times a power of ten, not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0].map(|m| m * power).into_iter().find(|round| *round >= step * 0.999).unwrap_or(10.0 * power)
}

fn power(exponent: i32) -> String {
    match exponent {
        -3..=5 => plain(10f64.powi(exponent)),
        _ => {
            let digits = exponent.abs().to_string();
            let raised: String = digits
                .chars()
                .map(|c| ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][c as usize - '0' as usize])
                .collect();
            format!("10{}{raised}", if exponent < 0 { "⁻" } else { "" })
        }
    }
}

fn plain(value: f64) -> String {
    let digits = (-value.log10().floor()).max(0.0) as usize;
    format!("{value:.digits$}")
}

/// The shape of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    Circle,
    Square,
    Triangle,
    Wedge,
    Diamond,
    Cross,
    Plus,
    Ring,
}

impl Marker {
    fn draw(self, page: &mut Page, (x, y): (f64, f64), size: f64, colour: &str) {
        let edge = Stroke::new("#ffffff", 0.8);
        let polygon = |page: &mut Page, corners: &[(f64, f64)]| {
            let corners: Vec<(f64, f64)> = corners.iter().map(|(a, b)| (x + a * size, y + b * size)).collect();
            page.polygon(&corners, colour, 1.0, Some(edge));
        };
        match self {
            Self::Circle => page.circle((x, y), size, colour, edge),
            Self::Ring => page.circle((x, y), 0.9 * size, "#ffffff", Stroke::new(colour, 1.6)),
            Self::Square => polygon(page, &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            Self::Triangle => polygon(page, &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)]),
            Self::Wedge => polygon(page, &[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)]),
            Self::Diamond => polygon(page, &[(0.0, -1.3), (1.1, 0.0), (0.0, 1.3), (-1.1, 0.0)]),
            Self::Cross | Self::Plus => {
                let ends = match self {
                    Self::Cross => [(-0.9, -0.9), (0.9, 0.9), (-0.9, 0.9), (0.9, -0.9)],
                    _ => [(-1.1, 0.0), (1.1, 0.0), (0.0, -1.1), (0.0, 1.1)],
                }
                .map(|(a, b)| (x + a * size, y + b * size));
                page.line(ends[0], ends[1], Stroke::new(colour, 2.0));
                page.line(ends[2], ends[3], Stroke::new(colour, 2.0));
            }
        }
    }
}

/// How a series looks.
#[derive(Debug, Clone, Copy)]
pub struct Series {
    pub colour: &'static str,
    pub dashes: &'static str,
    pub marker: Option<Marker>,
}

/// What stands in a legend.
pub type Key<'a> = (&'a str, Series);

/// The five numbers of a box, and what lies outside its whiskers.
#[derive(Debug, Clone, PartialEq)]
pub struct BoxSummary {
    pub low: f64,
    pub q1: f64,
    pub median: f64,
    pub q3: f64,
    pub high: f64,
    pub outliers: Vec<f64>,
}

impl BoxSummary {
    /// Quartiles; whiskers to the farthest values within 1.5 boxes of them (Tukey).
    pub fn of(values: &[f64]) -> Self {
        let Spread { q1, median, q3, .. } = Spread::of(values);
        let reach = 1.5 * (q3 - q1);
        let inside = |v: &&f64| **v >= q1 - reach && **v <= q3 + reach;
        let low = values.iter().filter(inside).fold(q1, |a, b| a.min(*b));
        let high = values.iter().filter(inside).fold(q3, |a, b| a.max(*b));
        let outliers = values.iter().filter(|v| !inside(v)).copied().collect();
        Self { low, q1, median, q3, high, outliers }
    }
}

/// A matrix of cells.
pub struct Cells<'a> {
    pub rows: usize,
    pub columns: usize,
    pub value: &'a dyn Fn(usize, usize) -> f64,
    /// The values of white and of the darkest colour.
    pub range: (f64, f64),
    /// The digits after the point, where numbers are written into the cells.
    pub digits: Option<usize>,
}

/// A rectangle with two axes.
#[derive(Debug, Clone)]
pub struct Panel {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    x: Axis,
    y: Axis,
}

/// From, to, and how visible.
pub type Link = ((f64, f64), (f64, f64), f64);

impl Panel {
    /// Draws frame, grid, ticks and labels.
    pub fn new(page: &mut Page, (left, top): (f64, f64), (width, height): (f64, f64), x: Axis, y: Axis) -> Self {
        let panel = Self { left, top, width, height, x, y };
        panel.draw(page);
        panel
    }

    fn draw(&self, page: &mut Page) {
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
        page.frame(self.left, self.top, self.width, self.height, Stroke::new(INK, 1.0));
        let below = if self.x.ticks.is_empty() { 18.0 } else { 36.0 };
        let middle = Font::sized(LABEL).anchored(Anchor::Middle);
        page.text((self.left + self.width / 2.0, bottom + below), &self.x.label, middle);
        let widest = self.y.ticks.iter().map(|t| text_width(&t.1) * TICK).fold(0.0, f64::max);
        let beside = if self.y.ticks.is_empty() { 10.0 } else { 18.0 + widest };
        let turned = Font { turned: -90.0, ..middle };
        page.text((self.left - beside, self.top + self.height / 2.0), &self.y.label, turned);
    }

    fn place_x(&self, value: f64) -> f64 {
        self.left + self.width * self.x.part(value)
    }

    fn place_y(&self, value: f64) -> f64 {
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

    /// A box with whiskers and outliers, `width` in units of the x axis.
    pub fn boxed(&self, page: &mut Page, x: f64, width: f64, summary: &BoxSummary, series: Series) {
        let (left, right, middle) = (self.place_x(x - width / 2.0), self.place_x(x + width / 2.0), self.place_x(x));
        let edge = Stroke::new(series.colour, 1.4);
        let y = |value| self.place_y(value);
        for (from, to) in [(summary.q3, summary.high), (summary.q1, summary.low)] {
            page.line((middle, y(from)), (middle, y(to)), edge.dashed(series.dashes));
            let cap = 0.25 * (right - left);
            page.line((middle - cap, y(to)), (middle + cap, y(to)), edge);
        }
        let (top, height) = (y(summary.q3), y(summary.q1) - y(summary.q3));
        page.rect(left, top, right - left, height, "#ffffff", 1.0);
        page.rect(left, top, right - left, height, series.colour, 0.25);
        page.frame(left, top, right - left, height, edge);
        page.line((left, y(summary.median)), (right, y(summary.median)), Stroke::new(INK, 2.2));
        let mut drawn: Vec<f64> = summary.outliers.clone();
        drawn.sort_by(f64::total_cmp);
        drawn.dedup();
        drawn.iter().for_each(|v| page.circle((middle, y(*v)), 2.2, "#ffffff", Stroke::new(series.colour, 1.1)));
    }

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
            page.rect(x, y, w + 0.3, h + 0.3, &sequential(part), 1.0);
            if let Some(digits) = cells.digits {
                let colour = if part > 0.55 { "#ffffff" } else { INK };
                let font = Font { colour, ..Font::sized(10.0).anchored(Anchor::Middle) };
                page.text((x + w / 2.0, y + h / 2.0 + 3.5), &format!("{value:.digits$}"), font);
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
    pub fn colour_bar(&self, page: &mut Page, range: (f64, f64), label: &str) {
        let (left, steps) = (self.left + self.width + 14.0, 64);
        let step = self.height / steps as f64;
        for i in 0..steps {
            let part = 1.0 - (i as f64 + 0.5) / steps as f64;
            page.rect(left, self.top + step * i as f64, 14.0, step + 0.3, &sequential(part), 1.0);
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

/// Keys in rows from the left, at most `width` wide; returns the height that they took.
pub fn legend_rows(page: &mut Page, (left, top): (f64, f64), width: f64, keys: &[Key<'_>], lines: bool) -> f64 {
    let swatch = if lines { 30.0 } else { 12.0 };
    let (mut x, mut y) = (left, top);
    for (name, series) in keys {
        let needed = swatch + 6.0 + text_width(name) * LABEL + 20.0;
        if x > left && x + needed > left + width + 20.0 {
            (x, y) = (left, y + 18.0);
        }
        if lines {
            page.line((x, y), (x + swatch, y), Stroke::new(series.colour, 2.0).dashed(series.dashes));
        }
        if let Some(marker) = series.marker {
            marker.draw(page, (x + swatch / 2.0, y), 4.2, series.colour);
        } else if !lines {
            page.rect(x, y - 5.0, swatch, 10.0, series.colour, 0.6);
        }
        page.text((x + swatch + 6.0, y + 4.5), name, Font::sized(LABEL));
        x += needed;
    }
    y - top + 18.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_the_values() {
        let axis = Axis::linear("", [0.3, 12.7]);
        assert_eq!((axis.from, axis.to), (0.0, 15.0));
        assert_eq!(axis.ticks.iter().map(|t| t.1.as_str()).collect::<Vec<_>>(), ["0", "5", "10", "15"]);
        let axis = Axis::logarithmic("", [50.0, 54675.0]);
        assert_eq!(axis.ticks.iter().map(|t| t.1.as_str()).collect::<Vec<_>>(), ["100", "1000", "10000"]);
        assert_eq!(power(-7), "10⁻⁷");
        // Nothing to show, or one value only, is still an axis.
        assert!(Axis::linear("", []).to > 0.0 && Axis::linear("", [3.0]).to > 3.0);
    }

    #[test]
    fn boxes_have_tukeys_whiskers() {
        let summary = BoxSummary::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 100.0]);
        assert_eq!((summary.low, summary.median, summary.high), (1.0, 3.5, 5.0));
        assert_eq!(summary.outliers, [100.0]);
    }

    #[test]
    fn a_page_becomes_a_picture_with_text() {
        let mut page = Page::new(100.0, 40.0);
        let blank = super::super::svg::png(&page.svg()).unwrap();
        page.text((5.0, 20.0), "a & b < c", Font::sized(12.0));
        let written = super::super::svg::png(&page.svg()).unwrap();
        assert!(written.starts_with(b"\x89PNG") && written != blank);
        assert_eq!(written, super::super::svg::png(&page.svg()).unwrap());
    }
}
