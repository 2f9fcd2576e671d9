//! How points and lines look.

use super::svg::{Page, Stroke};

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
    pub fn draw(self, page: &mut Page, (x, y): (f64, f64), size: f64, colour: &str) {
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
