//! The picture of a page: the same shapes as in its SVG, painted by tiny-skia.

use tiny_skia::{
    Color, FillRule, LineJoin, Mask, Paint, Path, PathBuilder, Pixmap, Rect, Shader, Stroke as Pen, StrokeDash,
    Transform,
};

use super::lettering::outlines;
use super::svg::{Anchor, Font, Stroke};
use crate::{Error, Result};

/// Pixels for each unit of the SVG.
const SCALE: f32 = 2.0;

/// Shapes, each painted over those before it.
#[derive(Debug, Clone, Default)]
pub struct Picture {
    shapes: Vec<Shape>,
    /// What is painted now is cut off outside it.
    clip: Option<Rect>,
}

#[derive(Debug, Clone)]
struct Shape {
    path: Path,
    colour: Color,
    /// A line along the path, or else what is inside.
    pen: Option<Pen>,
    clip: Option<Rect>,
}

impl Picture {
    /// Paints what is inside a path, if there is one, and a colour.
    pub fn fill(&mut self, path: Option<Path>, colour: &str, opacity: f64) {
        self.add(path, colour, opacity, None);
    }

    /// Paints a line along a path.
    pub fn stroke(&mut self, path: Option<Path>, stroke: Stroke<'_>, line_join: LineJoin) {
        let pen = Pen { width: stroke.width as f32, line_join, dash: dashes(stroke.dashes), ..Pen::default() };
        self.add(path, stroke.colour, stroke.opacity, Some(pen));
    }

    fn add(&mut self, path: Option<Path>, colour: &str, opacity: f64, pen: Option<Pen>) {
        if let (Some(path), Some(mut colour)) = (path, parsed(colour)) {
            colour.apply_opacity(opacity as f32);
            self.shapes.push(Shape { path, colour, pen, clip: self.clip });
        }
    }

    /// Paints a text that is fixed at a point.
    pub fn text(&mut self, (x, y): (f64, f64), text: &str, font: Font) {
        let line = outlines(text, font.size as f32, font.bold);
        let before = match font.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => line.width / 2.0,
            Anchor::End => line.width,
        };
        let (x, y) = (x as f32, y as f32);
        let place = Transform::from_rotate_at(font.turned as f32, x, y).pre_translate(x - before, y);
        self.fill(line.path.and_then(|path| path.transform(place)), font.colour, 1.0);
    }

    /// From now on everything is cut off outside a rectangle, or nothing is.
    pub fn clip(&mut self, rectangle: Option<Rect>) {
        self.clip = rectangle;
    }

    /// The picture on a white page of this size, as PNG.
    pub fn png(&self, width: f64, height: f64) -> Result<Vec<u8>> {
        let broken = |reason: String| Error::Picture { reason };
        let pixels = |length: f64| (length as f32 * SCALE).ceil() as u32;
        let (wide, high) = (pixels(width), pixels(height));
        let no_size = || broken(format!("{width} x {height} is no size"));
        let mut pixmap = Pixmap::new(wide, high).ok_or_else(no_size)?;
        pixmap.fill(Color::WHITE);
        let scale = Transform::from_scale(SCALE, SCALE);
        let mut within: Option<(Rect, Mask)> = None;
        for Shape { path, colour, pen, clip } in &self.shapes {
            let mask = match clip {
                None => None,
                Some(rectangle) => {
                    if within.as_ref().is_none_or(|(known, _)| known != rectangle) {
                        let mut mask = Mask::new(wide, high).ok_or_else(no_size)?;
                        mask.fill_path(&PathBuilder::from_rect(*rectangle), FillRule::Winding, true, scale);
                        within = Some((*rectangle, mask));
                    }
                    within.as_ref().map(|(_, mask)| mask)
                }
            };
            let paint = Paint { shader: Shader::SolidColor(*colour), ..Paint::default() };
            match pen {
                None => pixmap.fill_path(path, &paint, FillRule::Winding, scale, mask),
                Some(pen) => pixmap.stroke_path(path, &paint, pen, scale, mask),
            }
        }
        pixmap.encode_png().map_err(|error| broken(error.to_string()))
    }
}

/// A rectangle, if it has a size.
pub fn rectangle(x: f64, y: f64, width: f64, height: f64) -> Option<Rect> {
    Rect::from_xywh(x as f32, y as f32, width as f32, height as f32)
}

/// Lines from point to point, back to the first of them if `closed`.
pub fn lines(points: &[(f64, f64)], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (at, &(x, y)) in points.iter().enumerate() {
        if at == 0 { path.move_to(x as f32, y as f32) } else { path.line_to(x as f32, y as f32) }
    }
    if closed {
        path.close();
    }
    path.finish()
}

/// `#rrggbb`; anything else (`none`) is not painted.
fn parsed(colour: &str) -> Option<Color> {
    let digits = colour.strip_prefix('#').filter(|digits| digits.len() == 6)?;
    let part = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    Some(Color::from_rgba8(part(0)?, part(2)?, part(4)?, 255))
}

/// The lengths of dashes and gaps, as SVG has them: an odd number of them is meant twice.
fn dashes(lengths: &str) -> Option<StrokeDash> {
    let mut lengths: Vec<f32> = lengths.split([' ', ',']).filter_map(|length| length.parse().ok()).collect();
    if lengths.len() % 2 == 1 {
        lengths.extend_from_within(..);
    }
    StrokeDash::new(lengths, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The colour in the middle of each quarter of a picture of 2 x 2 units.
    fn quarters(picture: &Picture) -> [[u8; 3]; 4] {
        let pixmap = Pixmap::decode_png(&picture.png(20.0, 20.0).unwrap()).unwrap();
        [(10, 10), (30, 10), (10, 30), (30, 30)].map(|(x, y)| {
            let pixel = pixmap.pixel(x, y).unwrap();
            [pixel.red(), pixel.green(), pixel.blue()]
        })
    }

    const WHITE: [u8; 3] = [255; 3];
    const RED: [u8; 3] = [255, 0, 0];

    #[test]
    fn shapes_are_where_they_belong() {
        let mut picture = Picture::default();
        let left = || rectangle(0.0, 0.0, 10.0, 20.0).map(PathBuilder::from_rect);
        picture.fill(left(), "#ff0000", 1.0);
        assert_eq!(quarters(&picture), [RED, WHITE, RED, WHITE]);
        picture.clip(rectangle(0.0, 10.0, 20.0, 10.0));
        picture.stroke(lines(&[(15.0, 0.0), (15.0, 20.0)], false), Stroke::new("#0000ff", 4.0), LineJoin::Miter);
        assert_eq!(quarters(&picture), [RED, WHITE, RED, [0, 0, 255]]);
        picture.fill(left(), "none", 1.0);
        picture.fill(left(), "#ffffff", 0.5);
        let half = quarters(&picture)[2];
        assert!(half[0] == 255 && half[1].abs_diff(128) <= 1, "{half:?}");
    }

    #[test]
    fn dashes_leave_gaps() {
        let mut picture = Picture::default();
        let line = lines(&[(5.0, 0.0), (5.0, 20.0)], false);
        picture.stroke(line, Stroke::new("#ff0000", 4.0).dashed("10"), LineJoin::Miter);
        assert_eq!(quarters(&picture), [RED, WHITE, WHITE, WHITE]);
    }

    /// Two digits of size 10 are 11.12 wide: they end where they are anchored, and stand on their line.
    #[test]
    fn text_is_anchored() {
        let bounds = |anchor, turned| {
            let mut picture = Picture::default();
            picture.text((50.0, 20.0), "00", Font { turned, ..Font::sized(10.0).anchored(anchor) });
            picture.shapes[0].path.bounds()
        };
        let [start, middle, end] = [Anchor::Start, Anchor::Middle, Anchor::End].map(|anchor| bounds(anchor, 0.0));
        assert!(start.left() > 50.0 && start.left() < 51.0 && start.bottom() < 20.5 && start.top() < 13.5, "{start:?}");
        assert!((start.left() - end.left() - 11.12).abs() < 0.02 && (middle.left() - end.left() - 5.56).abs() < 0.02);
        let turned = bounds(Anchor::Start, -90.0);
        assert!(turned.bottom() > 49.0 - 30.0 && turned.right() <= 50.5 && turned.top() < 9.5, "{turned:?}");
    }

    #[test]
    fn a_page_without_a_size_is_an_error() {
        assert!(Picture::default().png(0.0, 10.0).is_err());
    }
}
