//! The folder of a run's results, and the files in it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ewca_io::{ModelFile, write_atomically, write_model};

use crate::exports::{write_loadings, write_scores};
use crate::failure::Failure;
use crate::input::Dataset;
use crate::output::rehearse;
use crate::summary::Summary;

const SCORES: &str = "scores.csv";
const LOADINGS: &str = "loadings.csv";
/// The model in a folder of results.
pub const MODEL: &str = "model.safetensors";
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
        let results = Self::make_for(folder)?;
        rehearse(&folder.join(MODEL))?;
        rehearse(&folder.join(SUMMARY))?;
        Ok(results)
    }

    /// Makes the folder, for other files than those of a fit.
    pub fn make_for(folder: &Path) -> Result<Self, Failure> {
        let mut made: Vec<PathBuf> =
            folder.ancestors().take_while(|f| !f.as_os_str().is_empty() && !f.exists()).map(PathBuf::from).collect();
        made.reverse();
        if !folder.as_os_str().is_empty() {
            fs::create_dir_all(folder).map_err(|source| Failure::Folder { folder: folder.into(), source })?;
        }
        Ok(Self { folder: folder.into(), made })
    }

    /// The folder's path, as the user named it.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Writes scores, loadings and model, and then the summary: it vouches for the others.
    pub fn write(&self, data: &Dataset, file: &ModelFile, summary: &Summary<'_>) -> Result<(), Failure> {
        write_scores(&self.folder.join(SCORES), data, &file.model)?;
        write_loadings(&self.folder.join(LOADINGS), data, &file.model)?;
        write_model(&self.folder.join(MODEL), file)?;
        self.write_file(SUMMARY, |out| {
            serde_json::to_writer_pretty(&mut *out, summary)?;
            out.write_all(b"\n")
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
