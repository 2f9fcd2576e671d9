//! The door: from a path, or a stream of bytes, to a table.

use std::io::Read;
use std::path::Path;

use crate::error::file_name;
use crate::finish::finish;
use crate::{Error, ReadOptions, Table, csv, source};

/// Reads the table at `path`.
pub fn read_table(path: &Path, options: &ReadOptions) -> Result<Table, Error> {
    let file = file_name(path);
    if path.is_dir() {
        return Err(Error::Folder { file });
    }
    let bytes = source::load(path, options)?;
    read_bytes(bytes, &file, options)
}

/// Reads a table from a stream, such as the standard input. `name` stands for the file in messages,
/// and its extension counts where the bytes leave a doubt.
pub fn read_table_from(reader: impl Read, name: &str, options: &ReadOptions) -> Result<Table, Error> {
    let bytes = source::load_from(reader, name, options)?;
    read_bytes(bytes, name, options)
}

fn read_bytes(bytes: Vec<u8>, file: &str, options: &ReadOptions) -> Result<Table, Error> {
    let draft = csv::read(&bytes, file, options)?;
    drop(bytes);
    finish(draft, file, options)
}
