//! A page of SVG, and its picture as PNG.

use tiny_skia::{LineJoin, PathBuilder};

use super::picture::{Picture, lines, rectangle};
use crate::Result;

/// Arimo has the widths of Arial and Helvetica, so that a browser without it sets the same text in the same space.
const FAMILY: &str = "Arimo, Arial, Helvetica, sans-serif";

/// The colour of text and frames.
pub const INK: &str = "#222222";
/// Sizes of text.
pub const LABEL: f64 = 13.0;
pub const TICK: f64 = 11.5;

/// Where a text is fixed.
#[derive(Debug, Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text is set.
#[derive(Debug, Clone, Copy)]
pub struct Font {
    pub size: f64,
    pub bold: bool,
    pub colour: &'static str,
    pub anchor: Anchor,
    /// Degrees, clockwise.
    pub turned: f64,
}

impl Font {
    pub fn sized(size: f64) -> Self {
        Self { size, bold: false, colour: INK, anchor: Anchor::Start, turned: 0.0 }
    }

    pub fn anchored(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Stroke<'a> {
    pub colour: &'a str,
    pub width: f64,
    /// As in SVG; empty for a solid line.
    pub dashes: &'a str,
    pub opacity: f64,
}

impl<'a> Stroke<'a> {
    pub fn new(colour: &'a str, width: f64) -> Self {
        Self { colour, width, dashes: "", opacity: 1.0 }
    }

    pub fn dashed(self, dashes: &'a str) -> Self {
        Self { dashes, ..self }
    }

    pub fn faint(self, opacity: f64) -> Self {
        Self { opacity, ..self }
    }

    fn attributes(&self) -> String {
        let mut text = format!("stroke=\"{}\" stroke-width=\"{}\"", self.colour, short(self.width));
        if !self.dashes.is_empty() {
            text += &format!(" stroke-dasharray=\"{}\"", self.dashes);
        }
        if self.opacity < 1.0 {
            text += &format!(" stroke-opacity=\"{}\"", short(self.opacity));
        }
        text
    }
}

/// A white page that grows element by element.
#[derive(Debug, Clone)]
pub struct Page {
    width: f64,
    height: f64,
    body: String,
    picture: Picture,
    clips: usize,
}

impl Page {
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new(), picture: Picture::default(), clips: 0 }
    }

    fn add(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, fill: &str, opacity: f64) {
        self.picture.fill(rectangle(x, y, width, height).map(PathBuilder::from_rect), fill, opacity);
        self.add(&format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"{}/>",
            short(x),
            short(y),
            short(width),
            short(height),
            if opacity < 1.0 { format!(" fill-opacity=\"{}\"", short(opacity)) } else { String::new() }
        ));
    }

    pub fn frame(&mut self, x: f64, y: f64, width: f64, height: f64, stroke: Stroke<'_>) {
        let edge = rectangle(x, y, width, height).map(PathBuilder::from_rect);
        self.picture.stroke(edge, stroke, LineJoin::Miter);
        let (x, y, w, h) = (short(x), short(y), short(width), short(height));
        let style = stroke.attributes();
        self.add(&format!("<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"none\" {style}/>"));
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke<'_>) {
        self.picture.stroke(lines(&[from, to], false), stroke, LineJoin::Miter);
        self.add(&format!(
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>",
            short(from.0),
            short(from.1),
            short(to.0),
            short(to.1),
            stroke.attributes()
        ));
    }

    pub fn polyline(&mut self, points: &[(f64, f64)], stroke: Stroke<'_>) {
        self.picture.stroke(lines(points, false), stroke, LineJoin::Round);
        let style = stroke.attributes();
        self.add(&format!("<polyline points=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {style}/>", listed(points)));
    }

    pub fn polygon(&mut self, points: &[(f64, f64)], fill: &str, opacity: f64, stroke: Option<Stroke<'_>>) {
        self.picture.fill(lines(points, true), fill, opacity);
        if let Some(stroke) = stroke {
            self.picture.stroke(lines(points, true), stroke, LineJoin::Miter);
        }
        let style = stroke.map(|stroke| stroke.attributes()).unwrap_or_default();
        self.add(&format!(
            "<polygon points=\"{}\" fill=\"{fill}\" fill-opacity=\"{}\" {style}/>",
            listed(points),
            short(opacity)
        ));
    }

    pub fn circle(&mut self, centre: (f64, f64), radius: f64, fill: &str, stroke: Stroke<'_>) {
        let path = || PathBuilder::from_circle(centre.0 as f32, centre.1 as f32, radius as f32);
        self.picture.fill(path(), fill, 1.0);
        self.picture.stroke(path(), stroke, LineJoin::Miter);
        let (x, y, r) = (short(centre.0), short(centre.1), short(radius));
        let style = stroke.attributes();
        self.add(&format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"{fill}\" {style}/>"));
    }

    pub fn text(&mut self, at: (f64, f64), text: &str, font: Font) {
        self.picture.text(at, text, font);
        let anchor = match font.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y) = (short(at.0), short(at.1));
        let turned = match font.turned {
            0.0 => String::new(),
            degrees => format!(" transform=\"rotate({} {x} {y})\"", short(degrees)),
        };
        let bold = if font.bold { " font-weight=\"bold\"" } else { "" };
        self.add(&format!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" text-anchor=\"{anchor}\" fill=\"{}\"{bold}{turned}>{}</text>",
            short(font.size),
            font.colour,
            escaped(text)
        ));
    }

    /// What `draw` adds is cut off outside the rectangle.
    pub fn clipped(&mut self, x: f64, y: f64, width: f64, height: f64, draw: impl FnOnce(&mut Self)) {
        self.picture.clip(rectangle(x, y, width, height));
        self.clips += 1;
        let (id, x, y, w, h) = (self.clips, short(x), short(y), short(width), short(height));
        self.add(&format!(
            "<clipPath id=\"clip{id}\"><rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/></clipPath>\n<g \
             clip-path=\"url(#clip{id})\">"
        ));
        draw(self);
        self.picture.clip(None);
        self.add("</g>");
    }

    /// The whole file.
    pub fn svg(&self) -> String {
        let (w, h) = (short(self.width), short(self.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             font-family=\"{FAMILY}\">\n<rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }

    /// The same as PNG, at twice its size.
    pub fn png(&self) -> Result<Vec<u8>> {
        self.picture.png(self.width, self.height)
    }
}

/// The width of a text in units of its size: Arial's widths to within a few percent, enough to place things.
pub fn text_width(text: &str) -> f64 {
    text.chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '\'' | '|' => 0.24,
            'I' | 'f' | 't' | ' ' | '.' | ',' | ':' | ';' | '/' | '!' => 0.29,
            'r' | '(' | ')' | '-' => 0.34,
            'c' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' | 'J' => 0.5,
            'm' | 'M' => 0.84,
            'w' | 'A' | 'B' | 'E' | 'K' | 'P' | 'S' | 'V' | 'X' | 'Y' => 0.68,
            'W' | '%' => 0.92,
            'C' | 'D' | 'G' | 'H' | 'N' | 'O' | 'Q' | 'R' | 'U' => 0.75,
            _ => 0.56,
        })
        .sum()
}

/// A coordinate: hundredths are finer than any eye, and the same on every machine.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

fn listed(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect::<Vec<_>>().join(" ")
}

/// Text as XML and HTML take it.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_a_picture_with_text() {
        let mut page = Page::new(100.0, 40.0);
        let blank = page.png().unwrap();
        page.text((5.0, 20.0), "a & b < c", Font::sized(12.0));
        let written = page.png().unwrap();
        assert!(written.starts_with(b"\x89PNG") && written != blank);
        assert_eq!(written, page.png().unwrap());
        assert!(page.svg().contains(">a &amp; b &lt; c</text>"));
    }

    /// What is in the SVG is in the picture too, element by element.
    #[test]
    fn every_element_is_painted() {
        let stroke = Stroke::new("#d55e00", 2.0);
        let elements: [fn(&mut Page, Stroke<'_>); 8] = [
            |page, _| page.rect(10.0, 10.0, 20.0, 20.0, "#0072b2", 1.0),
            |page, stroke| page.frame(10.0, 10.0, 20.0, 20.0, stroke),
            |page, stroke| page.line((10.0, 10.0), (30.0, 30.0), stroke),
            |page, stroke| page.polyline(&[(10.0, 10.0), (30.0, 10.0), (30.0, 30.0)], stroke),
            |page, _| page.polygon(&[(10.0, 10.0), (30.0, 10.0), (30.0, 30.0)], "#0072b2", 0.5, None),
            |page, stroke| page.polygon(&[(10.0, 10.0), (30.0, 10.0), (30.0, 30.0)], "none", 1.0, Some(stroke)),
            |page, stroke| page.circle((20.0, 20.0), 5.0, "none", stroke),
            |page, stroke| page.clipped(0.0, 0.0, 15.0, 15.0, |page| page.circle((15.0, 15.0), 8.0, "#0072b2", stroke)),
        ];
        let mut pictures = vec![Page::new(40.0, 40.0).png().unwrap()];
        for draw in elements {
            let mut page = Page::new(40.0, 40.0);
            draw(&mut page, stroke);
            pictures.push(page.png().unwrap());
        }
        for (at, picture) in pictures.iter().enumerate() {
            assert!(!pictures[..at].contains(picture), "element {at} is not painted, or as another one");
        }
    }
}
