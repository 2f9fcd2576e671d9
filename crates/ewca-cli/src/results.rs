//! The folder of a run's results, and the files in it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ewca::{Matrix, Model};
use ewca_io::{Frame, TextColumn, write_atomically, write_table_csv};

use crate::failure::Failure;
use crate::input::Dataset;
use crate::summary::Summary;

const SCORES: &str = "scores.csv";
const LOADINGS: &str = "loadings.csv";
const SUMMARY: &str = "summary.json";

/// The folder for the results. If nothing is written to it, the folders that were made for it go away again.
#[derive(Debug)]
pub struct ResultsFolder {
    folder: PathBuf,
    /// The folders that did not exist, outermost first.
    made: Vec<PathBuf>,
}

impl ResultsFolder {
    /// Makes the folder, and makes sure that files can be written there: a long fit should not find out at its end.
    pub fn make(folder: &Path) -> Result<Self, Failure> {
        let mut made: Vec<PathBuf> =
            folder.ancestors().take_while(|f| !f.as_os_str().is_empty() && !f.exists()).map(PathBuf::from).collect();
        made.reverse();
        fs::create_dir_all(folder).map_err(|source| Failure::Folder { folder: folder.into(), source })?;
        let results = Self { folder: folder.into(), made };
        results.rehearse()?;
        Ok(results)
    }

    /// The folder's path, as the user named it.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// An atomic write that is given up before its end touches nothing, but meets every obstacle that a real one would.
    fn rehearse(&self) -> Result<(), Failure> {
        let mut could_write = false;
        let outcome = write_atomically(&self.folder.join(SUMMARY), |_| {
            could_write = true;
            Err(io::ErrorKind::Interrupted.into())
        });
        if could_write { Ok(()) } else { Ok(outcome?) }
    }

    /// Writes scores and loadings, and then the summary: it vouches for the other two.
    pub fn write(&self, data: &Dataset, model: &Model, summary: &Summary<'_>) -> Result<(), Failure> {
        let mut texts = vec![TextColumn { name: "id", cells: &data.ids }];
        if let Some(labels) = &data.labels {
            texts.push(TextColumn { name: "label", cells: labels });
        }
        self.write_matrix(SCORES, &texts, &model.scores)?;
        self.write_matrix(LOADINGS, &[TextColumn { name: "feature", cells: &data.features }], &model.components)?;
        self.write_file(SUMMARY, |file| {
            serde_json::to_writer_pretty(&mut *file, summary)?;
            file.write_all(b"\n")
        })
    }

    /// Writes another file to the folder.
    pub fn write_file(
        &self,
        name: &str,
        write: impl FnOnce(&mut ewca_io::AtomicWriter) -> io::Result<()>,
    ) -> Result<(), Failure> {
        Ok(write_atomically(&self.folder.join(name), write)?)
    }

    fn write_matrix(&self, name: &str, texts: &[TextColumn<'_>], matrix: &Matrix) -> Result<(), Failure> {
        let columns: Vec<String> = (0..matrix.columns()).map(component_name).collect();
        let values = matrix.to_row_major();
        let frame = Frame { rows: matrix.rows(), texts, columns: &columns, values: &values };
        Ok(write_table_csv(&self.folder.join(name), &frame)?)
    }
}

impl Drop for ResultsFolder {
    fn drop(&mut self) {
        // Only empty folders can be removed this way: the folder of a run that wrote something stays.
        for folder in self.made.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The name of a component, counted from 0, in files and tables: `ewca1` is the first.
pub fn component_name(component: usize) -> String {
    format!("ewca{}", component + 1)
}
