//! XML, piece by piece, as it streams by.

use std::io::{self, BufRead, BufReader, Read};

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::Trouble;

/// The most bytes of one tag, or of one text. A cell has at most 32767 characters.
pub(super) const LONGEST: usize = 1 << 20;
/// The most elements within each other.
const DEEPEST: usize = 128;

/// A part of a document. Names are without their prefix.
pub(super) enum Piece<'x> {
    Start(&'x str, Element<'x>),
    End(&'x str),
    Text(&'x str),
}

/// The attributes of an element.
pub(super) struct Element<'x>(&'x BytesStart<'x>);

impl Element<'_> {
    /// The value of an attribute; its name is looked for without its prefix.
    pub fn get(&self, name: &str) -> Result<Option<String>, String> {
        for attribute in self.0.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| error.to_string())?;
            if attribute.key.local_name().as_ref() == name {
                let value = attribute.normalized_value(XmlVersion::Implicit1_0);
                return value.map(|value| Some(value.into_owned())).map_err(|error| error.to_string());
            }
        }
        Ok(None)
    }

    /// The number that an attribute holds; nothing where it holds none.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        Ok(self.get(name)?.and_then(|value| value.parse().ok()))
    }
}

/// Goes through a document of at most so many bytes; `each` says whether to go on. Also tells whether there were more.
pub(super) fn walk(
    inner: impl Read,
    most: u64,
    mut each: impl FnMut(Piece<'_>) -> Result<bool, Trouble>,
) -> (Result<(), Trouble>, bool) {
    let measured = Measured { inner: BufReader::new(inner), left: most, since: 0, is_over: false };
    let mut reader = Reader::from_reader(measured);
    reader.config_mut().expand_empty_elements = true;
    let (mut buffer, mut depth) = (Vec::new(), 0usize);
    loop {
        buffer.clear();
        reader.get_mut().since = 0;
        let going_on = match reader.read_event_into(&mut buffer) {
            Err(error) => Err(Trouble::Broken(error.to_string())),
            Ok(Event::Eof) => Ok(false),
            Ok(Event::Start(start)) => {
                depth += 1;
                match depth > DEEPEST {
                    true => Err(Trouble::Broken("its elements are nested too deeply".into())),
                    false => each(Piece::Start(start.local_name().as_ref(), Element(&start))),
                }
            }
            Ok(Event::End(end)) => {
                depth = depth.saturating_sub(1);
                each(Piece::End(end.local_name().as_ref()))
            }
            Ok(Event::Text(text)) => each(Piece::Text(&text.xml10_content())),
            Ok(Event::CData(text)) => each(Piece::Text(&text.xml10_content())),
            Ok(Event::GeneralRef(name)) => referred(&name).and_then(|text| each(Piece::Text(&text))),
            // What a document type declares is never put in.
            Ok(_) => Ok(true),
        };
        match going_on {
            Ok(true) => {}
            Ok(false) => return (Ok(()), false),
            Err(trouble) => return (Err(trouble), reader.get_mut().is_over),
        }
    }
}

/// `&amp;`, `&#233;`.
fn referred(name: &BytesRef) -> Result<String, Trouble> {
    let sign = name.resolve_char_ref().map_err(|error| error.to_string())?;
    let known = || resolve_predefined_entity(name).map(String::from);
    Ok(sign.map(String::from).or_else(known).ok_or("it has a reference to something unknown".to_string())?)
}

/// Gives the bytes of a reader, as long as neither all of them nor those of one piece are too many.
struct Measured<R> {
    inner: BufReader<R>,
    left: u64,
    since: usize,
    is_over: bool,
}

impl<R: Read> Read for Measured<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: Read> BufRead for Measured<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.since > LONGEST {
            return Err(io::Error::other("a tag or a text is too long"));
        }
        if self.left == 0 {
            self.is_over = true;
            return Err(io::Error::other("it is too long"));
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.inner.consume(count);
        self.since += count;
        self.left = self.left.saturating_sub(count as u64);
    }
}
