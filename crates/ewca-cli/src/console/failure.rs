//! Everything that ends a run without results, in the words of the command line.

use std::io;
use std::path::PathBuf;

use crate::console::flags::{self, in_flags};
use crate::console::outcome::{CLOSED_PIPE, INTERRUPTED};
use crate::console::terminal::Console;
use crate::console::text::bytes;

/// Why there are no results.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A file could not be read or written.
    #[error("{}", in_flags(&.0.message()))]
    File(#[from] ewca_io::Error),
    /// The library refused the data or the parameters.
    #[error("{}", fit_message(file, source))]
    Fit {
        /// The input, as the user named it.
        file: String,
        /// What the library said.
        source: ewca::Error,
    },
    /// The table and its fit take more than was allowed.
    #[error(
        "{file}: reading and fitting may need {}, more than --max-memory {}; raise --max-memory, or use fewer samples or features",
        bytes(*needed),
        bytes(*budget)
    )]
    Memory {
        /// The input, as the user named it.
        file: String,
        /// What they take, in bytes.
        needed: usize,
        /// What was allowed, in bytes.
        budget: usize,
    },
    /// The fit takes more than the machine has.
    #[error(
        "{file}: the fit may need {} more memory, and {} are free; use fewer samples or features, or set --max-memory to try anyway",
        bytes(*more),
        bytes(*free)
    )]
    NoMemory {
        /// The input, as the user named it.
        file: String,
        /// What it takes beside the table, in bytes.
        more: usize,
        /// What the machine has to give, in bytes.
        free: usize,
    },
    /// The folder for the results could not be made.
    #[error("{}: cannot create the output folder: {}; choose another with -o", folder.display(), folder_reason(source))]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Standard output takes no more.
    #[error("standard output: cannot be written: {}; write to a file with -o", folder_reason(source))]
    Print {
        /// What the system said.
        source: io::Error,
    },
    /// The user stopped the program before there was anything to keep, and knows it.
    #[error("interrupted")]
    Stopped,
    /// The user stopped the program while it wrote this.
    #[error("{}: interrupted before it was written", file.display())]
    Interrupted {
        /// The file.
        file: PathBuf,
    },
    /// A checkpoint that does not serve.
    #[error("{}: {problem}", file.display())]
    Checkpoint {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// Something that the program cannot do with this file.
    #[error("{file}: {problem}")]
    Unfit {
        /// The file.
        file: String,
        /// Why, and what to do.
        problem: String,
    },
    /// The job cannot be shared.
    #[error("--distributed: {problem}")]
    Cluster {
        /// Why, and what to do.
        problem: String,
    },
    /// It was said already, by this process or by another one of the job.
    #[error("")]
    Elsewhere,
    /// The threads could not be started.
    #[error("--threads {count}: the threads could not be started ({reason}); use fewer threads")]
    Threads {
        /// How many were asked for.
        count: usize,
        /// What the system said.
        reason: String,
    },
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Interrupted { .. } | Self::Stopped | Self::Fit { source: ewca::Error::Stopped, .. } => INTERRUPTED,
            Self::Print { source } if source.kind() == io::ErrorKind::BrokenPipe => CLOSED_PIPE,
            _ => 1,
        }
    }

    /// Says it, so that nobody else need.
    pub fn said(self, console: Console) -> Self {
        if !matches!(self, Self::Elsewhere) {
            console.fail(self.code(), &self.to_string());
        }
        Self::Elsewhere
    }
}

/// The library speaks of arrays and parameters; the user knows a file and options.
fn fit_message(file: &str, error: &ewca::Error) -> String {
    use ewca::Error::*;
    match error {
        Components { requested, rank } => format!(
            "{file}: -k {requested} is too large: the data, once centred, have {rank} dimension{}; choose -k from 1 to {rank}",
            if *rank == 1 { "" } else { "s" }
        ),
        TooFewSamples { found } => {
            let rows = if *found == 1 { "row" } else { "rows" };
            format!("{file}: has {found} {rows} of data; a fit needs at least 2")
        }
        Constant => format!(
            "{file}: all samples are identical, so there is no variance to explain; check that the right \
                             columns are used as features"
        ),
        Range { magnitude } => {
            format!("{file}: the largest value is {magnitude:e}, too large to square; rescale the data")
        }
        // Rows and columns count from 0 in the library.
        NotFinite { row, column, value } => {
            format!(
                "{file}, row {} of the data, feature {}: the value is {value}; fix or remove it",
                row + 1,
                column + 1
            )
        }
        Parameter { name, value, expected } => format!("{} {value}: {expected}", flags::parameter(name)),
        State { .. } => {
            "--resume: the checkpoint is from a fit with other data or options; use the same data and options as before"
                .into()
        }
        other => format!("{file}: {other}"),
    }
}

fn folder_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => "a file with this name exists".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::StorageFull => "the disk is full".into(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_count_from_one() {
        let error = ewca::Error::NotFinite { row: 0, column: 2, value: f64::NAN };
        assert_eq!(
            fit_message("a.csv", &error),
            "a.csv, row 1 of the data, feature 3: the value is NaN; fix or remove it"
        );
    }
}
