//! Which series is which.

use super::marker::Series;
use super::svg::{Font, LABEL, Page, Stroke, text_width};

/// What stands in a legend.
pub type Key<'a> = (&'a str, Series);

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
