//! MATLAB files, of version 5 to 7 here: numeric matrices, full and sparse, compressed or not.
//!
//! A file is a list of elements (`element`); each variable is one, perhaps inside a compressed one.
//! To list the variables only the beginning of each is decompressed; the one that is wanted is then
//! read whole (`variable`).

mod element;
mod variable;

use crate::error::{another_column, counted, excerpt, phrase};
use crate::finish::Draft;
use crate::forecast::TableShape;
use crate::limit::Limit;
use crate::{Error, OptionName, ReadOptions, TextCells, h5ad};
use element::{Elements, Kind};
use variable::{Class, Header};

/// Enough of a variable to know its name and shape.
const PEEK: u64 = 1 << 16;

/// Reads one variable. The label and the id may be variables of their own, with one element per row.
pub(crate) fn read(bytes: &[u8], file: &str, options: &ReadOptions) -> Result<Draft, Error> {
    if is_hdf5(bytes) {
        return h5ad::read_matlab(bytes, file, options);
    }
    let mat = Mat::open(bytes, file, options)?;
    let variables = mat.variables()?;
    let chosen = mat.choose(&variables, options)?;
    let mut draft = Draft::of_matrix(mat.body(chosen)?.values().map_err(|problem| mat.malformed(problem))?);
    let samples = if options.transpose { draft.values.columns() } else { draft.values.rows() };
    let texts = |name: &Option<String>| {
        let variable = name.as_ref().and_then(|name| variables.iter().find(|variable| &variable.header.name == name));
        variable.map(|variable| mat.texts(variable, samples)).transpose()
    };
    draft.labels = texts(&options.label)?;
    for name in &options.annotations {
        let cells = texts(&Some(name.clone()))?;
        draft.texts.extend(cells.map(|cells| TextCells { name: name.clone(), cells, categorical: false }));
    }
    match options.transpose {
        true => draft.features = texts(&options.id)?,
        false => draft.ids = texts(&options.id)?,
    }
    Ok(draft)
}

/// What is in a file: name, shape and class of each variable.
pub(crate) fn describe(
    bytes: &[u8],
    file: &str,
    options: &ReadOptions,
) -> Result<Vec<(String, Vec<usize>, String)>, Error> {
    if is_hdf5(bytes) {
        return h5ad::describe_matlab(bytes, file, options);
    }
    let variables = Mat::open(bytes, file, options)?.variables()?;
    Ok(variables.into_iter().map(|v| (v.header.name, v.header.shape, v.header.class.name().into())).collect())
}

/// The shape of the variable that is asked for. A sparse one says only how much room its entries take.
pub(crate) fn shape(bytes: &[u8], file: &str, options: &ReadOptions) -> Option<TableShape> {
    let mat = Mat::open(bytes, file, options).ok()?;
    let variables = mat.variables().ok()?;
    let header = &mat.choose(&variables, options).ok()?.header;
    let &[rows, columns] = &header.shape[..] else { return None };
    let stored = (header.class == Class::Sparse).then_some(header.room);
    Some(TableShape { rows, columns, stored })
}

/// Whether a file is of version 7.3, which is HDF5.
fn is_hdf5(bytes: &[u8]) -> bool {
    bytes.starts_with(b"MATLAB 7.3")
}

struct Mat<'a> {
    bytes: &'a [u8],
    file: &'a str,
    big_endian: bool,
    limit: Limit,
}

/// A variable that has been seen, and where it is.
struct Variable<'a> {
    header: Header,
    kind: Kind,
    bytes: &'a [u8],
}

impl<'a> Mat<'a> {
    fn open(bytes: &'a [u8], file: &'a str, options: &ReadOptions) -> Result<Mat<'a>, Error> {
        let problem = |what| Error::malformed(file, "mat", what);
        let mark = bytes.get(126..128).ok_or_else(|| problem("it is shorter than its header"))?;
        let big_endian = match mark {
            b"IM" => false,
            b"MI" => true,
            _ => return Err(problem("its header has no byte order")),
        };
        Ok(Mat { bytes, file, big_endian, limit: Limit::of_compressed(bytes.len() as u64, options) })
    }

    fn malformed(&self, problem: impl std::fmt::Display) -> Error {
        Error::malformed(self.file, "mat", problem)
    }

    fn variables(&self) -> Result<Vec<Variable<'a>>, Error> {
        let mut variables = Vec::new();
        for element in Elements::new(&self.bytes[128..], self.big_endian) {
            let (kind, bytes) = element.map_err(|problem| self.malformed(problem))?;
            let inflated;
            let beginning = match kind {
                Kind::Compressed => {
                    inflated = element::inflate(bytes, PEEK).map_err(|problem| self.malformed(problem))?;
                    Elements::beginning(&inflated, self.big_endian)
                }
                Kind::Matrix => Some(bytes),
                _ => None,
            };
            // Other elements, and variables whose name is further away than any real one, are passed over.
            if let Some(Ok((header, _))) = beginning.map(|bytes| Header::parse(bytes, self.big_endian)) {
                variables.push(Variable { header, kind, bytes });
            }
        }
        Ok(variables)
    }

    /// The variable that is asked for, or the only one that is a table.
    fn choose<'v>(&self, variables: &'v [Variable<'a>], options: &ReadOptions) -> Result<&'v Variable<'a>, Error> {
        let list = |variables: &[&Variable]| variables.iter().map(|v| v.header.describe()).collect();
        if let Some(name) = &options.array {
            let shown = excerpt(name.as_bytes());
            let choose =
                |problem, known: &[&Variable]| Error::Choose { file: self.file.into(), problem, known: list(known) };
            let Some(found) = variables.iter().find(|variable| &variable.header.name == name) else {
                let all: Vec<&Variable> = variables.iter().collect();
                return Err(choose(format!("has no variable '{shown}'"), &all));
            };
            return match found.header.fault() {
                None => Ok(found),
                Some(fault) => {
                    let tables: Vec<&Variable> = variables.iter().filter(|v| v.header.is_table()).collect();
                    Err(choose(format!("its variable '{shown}' {fault}"), &tables))
                }
            };
        }
        let tables: Vec<&Variable> = variables.iter().filter(|variable| variable.header.is_table()).collect();
        match &tables[..] {
            [only] => Ok(only),
            [] => Err(Error::Nothing {
                file: self.file.into(),
                what: "numeric matrix",
                advice: phrase!["save one, or choose one with ", OptionName::Array],
            }),
            _ => Err(Error::Choose {
                file: self.file.into(),
                problem: "has several tables".into(),
                known: list(&tables),
            }),
        }
    }

    /// A variable with all its bytes.
    fn body(&self, variable: &Variable) -> Result<variable::Body, Error> {
        let bytes = match variable.kind {
            Kind::Compressed => {
                let inflated =
                    element::inflate(variable.bytes, self.limit.bytes).map_err(|problem| self.malformed(problem))?;
                if inflated.len() as u64 >= self.limit.bytes {
                    return Err(self.limit.exceeded(self.file));
                }
                // The tag of the matrix element inside; its length was checked against what is there.
                let whole = Elements::new(&inflated, self.big_endian).next();
                let (_, bytes) = whole
                    .unwrap_or(Err("it has an empty variable".into()))
                    .map_err(|problem| self.malformed(problem))?;
                bytes.to_vec()
            }
            _ => variable.bytes.to_vec(),
        };
        Ok(variable::Body { bytes, big_endian: self.big_endian })
    }

    fn texts(&self, variable: &Variable, samples: usize) -> Result<Vec<String>, Error> {
        let texts = self.body(variable)?.texts().map_err(|problem| self.malformed(problem))?;
        if texts.len() != samples {
            let name = excerpt(variable.header.name.as_bytes());
            let what = format!(
                "its variable '{name}' has {}, but there are {samples} samples",
                counted(texts.len(), "element")
            );
            return Err(Error::unsupported(self.file, what, another_column()));
        }
        Ok(texts)
    }
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Class::Cell => "cell",
            Class::Char => "char",
            Class::Sparse => "sparse",
            Class::Numeric(name) => name,
            Class::Other => "other",
        }
    }
}

impl Header {
    /// `X (6 x 4 double)`.
    fn describe(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        format!("{} ({} {})", excerpt(self.name.as_bytes()), shape.join(" x "), self.class.name())
    }

    fn is_table(&self) -> bool {
        self.fault().is_none() && self.shape.iter().all(|&size| size > 1)
    }

    /// Why this cannot be read as a matrix of numbers.
    fn fault(&self) -> Option<String> {
        if !matches!(self.class, Class::Numeric(_) | Class::Sparse) {
            return Some("contains no numbers".into());
        }
        if self.complex {
            return Some("contains complex numbers".into());
        }
        let dimensions = self.shape.len();
        (dimensions != 2).then(|| format!("has {} instead of 2", counted(dimensions, "dimension")))
    }
}
