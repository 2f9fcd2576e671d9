//! Archives of NumPy arrays, and SciPy's sparse matrices kept in them.

use std::io::{Cursor, Read};

use zip::ZipArchive;

use crate::error::{another_column, counted};
use crate::finish::Draft;
use crate::forecast::TableShape;
use crate::limit::Limit;
use crate::npy::Header;
use crate::source::Bounded;
use crate::sparse::{Compressed, Major, whole_numbers};
use crate::{Error, ReadOptions, SparseValues, TextCells, Values};

/// Reads one array. The label and the id may be arrays of their own, with one element per row.
pub(crate) fn read(bytes: &[u8], file: &str, options: &ReadOptions) -> Result<Draft, Error> {
    let mut archive = Archive::open(bytes, file, options)?;
    let mut draft = if archive.is_sparse() {
        Draft::of_matrix(Values::Sparse(archive.sparse()?))
    } else {
        let name = archive.choose(options)?;
        archive.array(&name, |header, reader, file| {
            Ok(Draft::of_matrix(Values::Dense(header.matrix(reader, None, file)?)))
        })?
    };
    draft.labels = archive.texts(options.label.as_deref(), &draft, options)?;
    for name in &options.annotations {
        let cells = archive.texts(Some(name), &draft, options)?;
        draft.texts.extend(cells.map(|cells| TextCells { name: name.clone(), cells, categorical: false }));
    }
    // Names of samples are names of columns until the matrix is turned.
    let ids = archive.texts(options.id.as_deref(), &draft, options)?;
    match options.transpose {
        true => draft.features = ids,
        false => draft.ids = ids,
    }
    Ok(draft)
}

/// The names, shapes and element types of the arrays.
pub(crate) fn describe(bytes: &[u8], file: &str, options: &ReadOptions) -> Result<Vec<(String, Header)>, Error> {
    let mut archive = Archive::open(bytes, file, options)?;
    let names = archive.names();
    names.into_iter().map(|name| Ok((name.clone(), archive.header(&name)?))).collect()
}

/// The shape of the array that is asked for, and whether it has to be turned.
pub(crate) fn shape(bytes: &[u8], file: &str, options: &ReadOptions) -> Option<(TableShape, bool)> {
    let mut archive = Archive::open(bytes, file, options).ok()?;
    if archive.is_sparse() {
        let numbers = archive.array("shape", |header, reader, file| header.numbers(reader, None, file)).ok()?;
        let &[rows, columns] = &whole_numbers(numbers, "shape").ok()?[..] else { return None };
        let stored = archive.header("data").ok()?.shape.first().copied();
        return Some((TableShape { rows: rows as usize, columns: columns as usize, stored }, false));
    }
    let name = archive.choose(options).ok()?;
    let header = archive.header(&name).ok()?;
    Some((header.table_shape()?, header.fortran))
}

struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    file: &'a str,
    /// How many bytes may come out of an array.
    limit: Limit,
}

impl<'a> Archive<'a> {
    fn open(bytes: &'a [u8], file: &'a str, options: &ReadOptions) -> Result<Archive<'a>, Error> {
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| Error::malformed(file, "npz", error))?;
        Ok(Archive { zip, file, limit: Limit::of_compressed(bytes.len() as u64, options) })
    }

    /// The names of the arrays, without `.npy`.
    fn names(&self) -> Vec<String> {
        self.zip.file_names().flatten().filter_map(|name| Some(name.strip_suffix(".npy")?.to_string())).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{name}.npy")).is_some()
    }

    /// Opens an array and hands its header and its bytes to `use_it`.
    fn array<T>(
        &mut self,
        name: &str,
        use_it: impl FnOnce(Header, &mut dyn Read, &str) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let file = format!("{}[{}]", self.file, crate::error::excerpt(name.as_bytes()));
        let member =
            self.zip.by_name(&format!("{name}.npy")).map_err(|error| Error::malformed(self.file, "npz", error))?;
        let mut reader = Bounded::new(member, self.limit.bytes);
        let outcome = Header::read(&mut reader, &file).and_then(|header| use_it(header, &mut reader, &file));
        if reader.exhausted() {
            return Err(self.limit.exceeded(self.file));
        }
        outcome
    }

    fn header(&mut self, name: &str) -> Result<Header, Error> {
        self.array(name, |header, _, _| Ok(header))
    }

    /// The array that is asked for, or the only one that is a table.
    fn choose(&mut self, options: &ReadOptions) -> Result<String, Error> {
        let known = self.names();
        let choose = |problem: String| Error::Choose { file: self.file.into(), problem, known: known.clone() };
        if let Some(name) = &options.array {
            let problem = format!("has no array '{}'", crate::error::excerpt(name.as_bytes()));
            return if self.has(name) { Ok(name.clone()) } else { Err(choose(problem)) };
        }
        let mut tables = Vec::new();
        for name in &known {
            let header = self.header(name)?;
            if header.element.is_number() && header.shape.len() == 2 {
                tables.push(name.clone());
            }
        }
        match &tables[..] {
            [only] => Ok(only.clone()),
            [] => Err(Error::Nothing {
                file: self.file.into(),
                what: "array with rows and columns",
                advice: "save one with numpy.savez".into(),
            }),
            _ => Err(Error::Choose { file: self.file.into(), problem: "has several tables".into(), known: tables }),
        }
    }

    /// The texts of an array with one element per sample; none if there is no such array.
    fn texts(
        &mut self,
        name: Option<&str>,
        draft: &Draft,
        options: &ReadOptions,
    ) -> Result<Option<Vec<String>>, Error> {
        let Some(name) = name.filter(|name| self.has(name)) else {
            return Ok(None);
        };
        let samples = if options.transpose { draft.values.columns() } else { draft.values.rows() };
        // Before the texts are read: there may be many more of them than samples.
        let elements = self.header(name)?.count().unwrap_or(usize::MAX);
        if elements != samples {
            let name = crate::error::excerpt(name.as_bytes());
            let what =
                format!("its array '{name}' has {}, but there are {samples} samples", counted(elements, "element"));
            return Err(Error::unsupported(self.file, what, another_column()));
        }
        self.array(name, |header, reader, file| header.texts(reader, file)).map(Some)
    }

    /// Whether this is what `scipy.sparse.save_npz` writes.
    fn is_sparse(&self) -> bool {
        ["format", "shape", "data", "indices", "indptr"].iter().all(|name| self.has(name))
    }

    fn sparse(&mut self) -> Result<SparseValues, Error> {
        let format = self.array("format", |header, reader, file| header.texts(reader, file))?;
        let major = match format.first().map(String::as_str) {
            Some("csr") => Major::Row,
            Some("csc") => Major::Column,
            _ => {
                return Err(Error::unsupported(
                    self.file,
                    "contains a sparse matrix that is neither CSR nor CSC",
                    "convert it with .tocsr() and save it again",
                ));
            }
        };
        let archive = self.file;
        let malformed = |problem: String| Error::malformed(archive, "npz", problem);
        let mut numbers = |name| self.array(name, |header, reader, file| header.numbers(reader, None, file));
        let shape = whole_numbers(numbers("shape")?, "shape").map_err(malformed)?;
        let &[rows, columns] = &shape[..] else {
            return Err(malformed(format!("its shape has {} instead of 2", counted(shape.len(), "size"))));
        };
        let offsets = whole_numbers(numbers("indptr")?, "indptr").map_err(malformed)?;
        let indices = whole_numbers(numbers("indices")?, "indices").map_err(malformed)?;
        let shape = [rows, columns].map(|size| size as usize);
        let compressed = Compressed { major, shape, offsets, indices, values: numbers("data")? };
        compressed.into_rows().map_err(malformed)
    }
}
