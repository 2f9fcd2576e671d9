//! Excel workbooks (.xlsx): a sheet becomes a text table, which is then read as one.
//!
//! A workbook is a zip archive of XML. `xml` gives its elements as they stream by, and sees to it that none of them is endless; `parts`
//! has what cells refer to (texts that are shared, which numbers are dates); `grid` puts the cells where they belong. Rows of the sheet
//! are lines of the text, so that messages name the row that people see.

mod dates;
mod grid;
mod parts;
mod xml;

use std::io::Cursor;

use zip::ZipArchive;

use crate::error::{counted, excerpt};
use crate::limit::Limit;
use crate::source::Loaded;
use crate::{Error, ReadOptions};
use grid::Grid;
use parts::{Relation, Strings, Styles};
use xml::Piece;

/// The most bytes of the parts that only describe others.
const SMALL_PART: u64 = 1 << 25;

/// What the names of the files in an archive say that it is, if it is of an office program and not read here: what it is, and what to do.
pub(crate) fn stranger(names: &[String]) -> Option<(&'static str, &'static str)> {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    let begins = |wanted: &str| names.iter().any(|name| name.starts_with(wanted));
    if has("xl/workbook.bin") {
        return Some(("is a binary Excel workbook (.xlsb)", "save it as .xlsx, or save the sheet as CSV"));
    }
    if has("content.xml") && has("mimetype") {
        let advice = "save the sheet as CSV (in LibreOffice: File, Save As, Text CSV), or as .xlsx";
        return Some(("is an OpenDocument file, such as .ods", advice));
    }
    if begins("Index/") && names.iter().any(|name| name.ends_with(".iwa")) {
        return Some(("is a Numbers document", "export it as CSV (in Numbers: File, Export To, CSV)"));
    }
    let is_office = has("[Content_Types].xml") && !begins("xl/");
    is_office.then_some(("is an Office document, not a workbook", "choose a table"))
}

/// Whether the names of the files in an archive are those of a workbook.
pub(crate) fn is_workbook(names: &[String]) -> bool {
    names.iter().any(|name| name == "[Content_Types].xml") && names.iter().any(|name| name.starts_with("xl/"))
}

/// The first sheet, or the one that the options name, as text with tabs between cells.
pub(crate) fn load(
    archive: ZipArchive<Cursor<&[u8]>>,
    limit: Limit,
    file: &str,
    options: &ReadOptions,
) -> Result<Loaded, Error> {
    let mut book = Workbook { archive, limit, file };
    let sheets = book.sheets()?;
    let wanted = options.array.as_deref();
    let chosen = sheets.list.iter().find(|sheet| wanted.map_or(!sheet.is_hidden, |wanted| sheet.name == wanted));
    let Some(chosen) = chosen else {
        let known: Vec<String> = sheets.list.iter().map(|sheet| excerpt(sheet.name.as_bytes())).collect();
        return Err(match wanted {
            Some(wanted) => {
                let problem = format!("has no sheet '{}'", excerpt(wanted.as_bytes()));
                Error::Choose { file: file.into(), problem, known }
            }
            None => {
                Error::unsupported(file, "is an Excel workbook with no visible sheet", "unhide a sheet, and save it")
            }
        });
    };
    let strings = book.strings(sheets.strings.as_deref())?;
    let styles = book.styles(sheets.styles.as_deref(), sheets.from_1904)?;
    let (grid, formulas) = book.cells(&chosen.path, &strings, &styles)?;
    let mut note = format!("sheet '{}' of an Excel workbook", excerpt(chosen.name.as_bytes()));
    if wanted.is_none() && sheets.list.len() > 1 {
        note += &format!(" with {}", counted(sheets.list.len(), "sheet"));
    }
    if formulas > 0 {
        note += &format!(", {} read as values", counted(formulas, "formula"));
    }
    Ok(Loaded { bytes: grid.into_text(limit, file)?, note: Some(note) })
}

/// A sheet, and where its cells are.
struct Sheet {
    name: String,
    path: String,
    is_hidden: bool,
}

/// What a workbook has.
struct Sheets {
    list: Vec<Sheet>,
    strings: Option<String>,
    styles: Option<String>,
    /// Whether dates are counted from 1904.
    from_1904: bool,
}

struct Workbook<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    limit: Limit,
    file: &'a str,
}

impl Workbook<'_> {
    /// Goes through a part, if it is there. `each` says whether to go on. Whether it is there.
    fn walk(
        &mut self,
        path: &str,
        most: u64,
        each: impl FnMut(Piece<'_>) -> Result<bool, Trouble>,
    ) -> Result<bool, Error> {
        let (file, limit) = (self.file, self.limit);
        let broken =
            |problem: String| Error::malformed(file, "xlsx", format!("{}: {problem}", excerpt(path.as_bytes())));
        let is_it = |name: &str| name.replace('\\', "/").eq_ignore_ascii_case(path);
        let found = self.archive.file_names().flatten().find(|name| is_it(name)).map(String::from);
        let Some(name) = found else { return Ok(false) };
        let member = self.archive.by_name(&name).map_err(|error| broken(error.to_string()))?;
        match xml::walk(member, most.min(limit.bytes), each) {
            (Ok(()), _) => Ok(true),
            (Err(_), true) if most >= limit.bytes => Err(limit.exceeded(file)),
            (Err(Trouble::Broken(problem)), _) => Err(broken(problem)),
            (Err(Trouble::Said(error)), _) => Err(error),
        }
    }

    /// What a part refers to.
    fn relations(&mut self, path: &str) -> Result<Vec<Relation>, Error> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let place =
            if folder.is_empty() { format!("_rels/{name}.rels") } else { format!("{folder}/_rels/{name}.rels") };
        let mut found = Vec::new();
        self.walk(&place, SMALL_PART, |piece| {
            if let Piece::Start("Relationship", element) = piece {
                found.extend(Relation::of(&element, folder)?);
            }
            Ok(true)
        })?;
        Ok(found)
    }

    /// The sheets in their order, and the parts that all of them share.
    fn sheets(&mut self) -> Result<Sheets, Error> {
        let main = self.relations("")?.into_iter().find(|relation| relation.kind == "officeDocument");
        let main = main.map_or("xl/workbook.xml".into(), |relation| relation.path);
        let relations = self.relations(&main)?;
        let part = |kind: &str| relations.iter().find(|part| part.kind == kind).map(|part| part.path.clone());
        let (strings, styles) = (part("sharedStrings"), part("styles"));
        let mut sheets = Sheets { list: Vec::new(), strings, styles, from_1904: false };
        let is_there = self.walk(&main, SMALL_PART, |piece| {
            match piece {
                Piece::Start("workbookPr", element) => {
                    sheets.from_1904 = matches!(element.get("date1904")?.as_deref(), Some("1" | "true"));
                }
                Piece::Start("sheet", element) => {
                    let (name, id) = (element.get("name")?, element.get("id")?);
                    let relation = relations.iter().find(|part| Some(&part.id) == id.as_ref());
                    // A sheet that is a chart has no cells.
                    if let Some(relation) = relation.filter(|part| part.kind == "worksheet") {
                        let is_hidden = element.get("state")?.is_some_and(|state| state != "visible");
                        let (name, path) = (name.unwrap_or_default(), relation.path.clone());
                        sheets.list.push(Sheet { name, path, is_hidden });
                    }
                }
                _ => {}
            }
            Ok(true)
        })?;
        match is_there {
            true => Ok(sheets),
            false => Err(Error::malformed(self.file, "xlsx", "it has no list of sheets")),
        }
    }

    fn strings(&mut self, path: Option<&str>) -> Result<Strings, Error> {
        let (mut strings, file, all) = (Strings::default(), self.file, self.limit.bytes);
        if let Some(path) = path {
            self.walk(path, all, |piece| strings.take(piece, file).map(|()| true))?;
        }
        Ok(strings)
    }

    fn styles(&mut self, path: Option<&str>, from_1904: bool) -> Result<Styles, Error> {
        let mut styles = Styles::new(from_1904);
        if let Some(path) = path {
            self.walk(path, SMALL_PART, |piece| styles.take(piece).map(|()| true))?;
        }
        Ok(styles)
    }

    /// The cells of a sheet, and how many of them are formulas.
    fn cells(&mut self, path: &str, strings: &Strings, styles: &Styles) -> Result<(Grid, usize), Error> {
        let (file, all, limit) = (self.file, self.limit.bytes, self.limit);
        let mut cells = grid::Cells::new(strings, styles, limit, file);
        match self.walk(path, all, |piece| cells.take(piece))? {
            true => Ok(cells.finish()),
            false => Err(Error::malformed(file, "xlsx", "the sheet is not in it")),
        }
    }
}

/// Why a part of a workbook cannot be read.
enum Trouble {
    /// It is not as it should be.
    Broken(String),
    /// What is said of the whole file.
    Said(Error),
}

impl From<String> for Trouble {
    fn from(problem: String) -> Trouble {
        Trouble::Broken(problem)
    }
}

impl From<&str> for Trouble {
    fn from(problem: &str) -> Trouble {
        Trouble::Broken(problem.into())
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Said(error)
    }
}
