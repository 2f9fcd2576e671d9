//! Boxes with whiskers.

use ewca_eval::Spread;

use super::marker::Series;
use super::panel::Panel;
use super::svg::{INK, Page, Stroke};

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

impl Panel {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_have_tukeys_whiskers() {
        let summary = BoxSummary::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 100.0]);
        assert_eq!((summary.low, summary.median, summary.high), (1.0, 3.5, 5.0));
        assert_eq!(summary.outliers, [100.0]);
    }
}
