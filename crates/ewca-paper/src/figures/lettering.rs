//! Text as outlines, for pictures: the shapes of the embedded font.

use std::sync::LazyLock;

use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, OutlineBuilder};

static REGULAR: LazyLock<Option<Face<'static>>> =
    LazyLock::new(|| Face::parse(include_bytes!("fonts/Arimo-Regular.ttf"), 0).ok());
static BOLD: LazyLock<Option<Face<'static>>> =
    LazyLock::new(|| Face::parse(include_bytes!("fonts/Arimo-Bold.ttf"), 0).ok());

/// A line of text: its outlines, from the origin to the right, if there is anything to draw; and its width.
#[derive(Debug, Default)]
pub struct Outlines {
    pub path: Option<Path>,
    pub width: f32,
}

/// The outlines of a text of this size. Characters that the font lacks are left out.
pub fn outlines(text: &str, size: f32, bold: bool) -> Outlines {
    let Some(font) = (if bold { &BOLD } else { &REGULAR }).as_ref() else { return Outlines::default() };
    let scale = size / f32::from(font.units_per_em());
    let mut pen = Pen { path: PathBuilder::new(), scale, at: 0.0 };
    for glyph in text.chars().filter_map(|c| font.glyph_index(c)) {
        // Nothing is drawn of a space.
        let _ = font.outline_glyph(glyph, &mut pen);
        pen.at += scale * f32::from(font.glyph_hor_advance(glyph).unwrap_or(0));
    }
    Outlines { path: pen.path.finish(), width: pen.at }
}

/// Takes a glyph's outlines, whose y grows upwards, to a picture, whose y grows downwards.
struct Pen {
    path: PathBuilder,
    scale: f32,
    /// Where the glyph begins.
    at: f32,
}

impl Pen {
    fn x(&self, x: f32) -> f32 {
        self.at + self.scale * x
    }

    fn y(&self, y: f32) -> f32 {
        -self.scale * y
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(self.x(x), self.y(y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(self.x(x), self.y(y));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.path.quad_to(self.x(x1), self.y(y1), self.x(x), self.y(y));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.path.cubic_to(self.x(x1), self.y(y1), self.x(x2), self.y(y2), self.x(x), self.y(y));
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arimo's widths are Arial's: 1139 units of 2048 for a digit, 1366 for A, 569 for a space.
    #[test]
    fn widths_are_those_of_arial() {
        let width = |text: &str, bold| outlines(text, 2048.0, bold).width;
        assert_eq!((width("0", false), width("A", false), width(" ", false)), (1139.0, 1366.0, 569.0));
        assert_eq!(width("0 A", false), 1139.0 + 569.0 + 1366.0);
        assert!(width("abc", true) > width("abc", false));
        assert!(outlines(" ", 10.0, false).path.is_none());
    }

    /// The letter l is a bar that is higher than wide, from the base line up, within its own width.
    #[test]
    fn outlines_stand_on_the_base_line() {
        let line = outlines("l", 2048.0, false);
        let bounds = line.path.unwrap().bounds();
        assert!(bounds.left() > 0.0 && bounds.right() < line.width, "{bounds:?}");
        assert!(bounds.bottom() == 0.0 && bounds.top() < -1400.0, "{bounds:?}");
    }

    #[test]
    fn what_the_font_lacks_is_left_out() {
        assert_eq!(outlines("a\u{4e00}", 10.0, false).width, outlines("a", 10.0, false).width);
    }
}
