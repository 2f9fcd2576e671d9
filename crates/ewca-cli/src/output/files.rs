//! What a job reads and what it writes: known in one place, and checked before any work.
//!
//! An output that is an input would destroy it, and two outputs in one place would destroy each other: both are refused. A file
//! that is in the place of an output is replaced if this program wrote it, and otherwise only with `--overwrite`. In a folder of
//! results the summary tells which files those are, by their checksums; elsewhere a file is known by its content.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use ewca_io::marks;
use ewca_paper::experiments::Experiment;
use ewca_report::is_report;

use crate::args::{DemoJob, FitJob, Job, TableJob};
use crate::commands::transform::model_file;
use crate::commands::{demo, manual, path, reproduce, select};
use crate::console::failure::Failure;
use crate::input::table::Input;
use crate::output::results::{self, COVARIATES, RESULTS, Record};

/// Links that are followed at most, as Linux does.
const MOST_LINKS: usize = 40;

/// What a job reads and writes.
#[derive(Debug, Default)]
pub struct Files {
    inputs: Vec<PathBuf>,
    outputs: Vec<Output>,
}

/// A file that will be written.
#[derive(Debug)]
struct Output {
    path: PathBuf,
    /// The option that names it, or its folder.
    option: &'static str,
    /// Whether the user named the folder, and the program the file.
    in_folder: bool,
    /// Whether it is only on its way to another place.
    is_unfinished: bool,
}

impl Files {
    fn reads(&mut self, path: &Path) {
        if path.is_dir() {
            let inside = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
            self.inputs.extend(inside.filter(|path| !path.is_dir()));
        } else {
            self.inputs.push(path.into());
        }
    }

    fn reads_table(&mut self, table: &TableJob) {
        if let Input::File(path) = &table.input {
            self.reads(path);
        }
        table.metadata.iter().for_each(|metadata| self.reads(&metadata.file));
    }

    fn writes<'p>(&mut self, option: &'static str, path: impl Into<Option<&'p PathBuf>>) {
        self.outputs.extend(path.into().map(|path| output(path.clone(), option)));
    }

    fn fills(&mut self, option: &'static str, folder: &Path, names: impl IntoIterator<Item = impl AsRef<Path>>) {
        let inside = |name: &Path| Output { in_folder: true, ..output(folder.join(name), option) };
        self.outputs.extend(names.into_iter().map(|name| inside(name.as_ref())));
    }

    fn of_fit(&mut self, job: &FitJob) {
        self.reads_table(&job.table);
        self.fills("-o", &job.output, RESULTS);
        let is_annotated = !job.table.labels.is_empty() || job.table.metadata.is_some();
        self.fills("-o", &job.output, is_annotated.then_some(COVARIATES));
        let exports = &job.exports;
        self.writes("--scores", &exports.scores);
        self.writes("--loadings", &exports.loadings);
        self.writes("--plan", &exports.plan);
        self.writes("--dense-plan", &exports.dense_plan);
        self.writes("--write-anndata", &exports.anndata);
        self.writes("--report", job.report.as_ref().map(|wish| &wish.file));
        if let Some(checkpoint) = &job.checkpoint {
            self.writes("--checkpoint", &checkpoint.file);
            let unfinished = output(ewca_io::unfinished_checkpoint(&checkpoint.file), "--checkpoint");
            self.outputs.push(Output { is_unfinished: true, ..unfinished });
        }
        // A fit that goes on may keep its state where it found it.
        let kept = job.checkpoint.as_ref().map(|checkpoint| Identity::of(&checkpoint.file));
        let resumed = job.resume.as_deref().filter(|file| !kept.is_some_and(|kept| kept.is_same(&Identity::of(file))));
        self.inputs.extend(resumed.map(PathBuf::from));
    }

    fn of_demo(&mut self, job: &DemoJob) {
        self.fills("-o", &job.output, RESULTS);
        self.fills("-o", &job.output, [demo::FILE]);
        match &job.report {
            Some(report) => self.writes("--report", report),
            None => self.fills("-o", &job.output, [demo::REPORT]),
        }
    }

    /// Refuses what would destroy something; with `overwrite`, only inputs and other outputs.
    pub fn check(&self, overwrite: bool) -> Result<(), Failure> {
        let refused =
            |output: &Output, problem: String| Err(Failure::Unfit { file: output.path.display().to_string(), problem });
        let other = |output: &Output| if output.in_folder { "choose another folder" } else { "choose another file" };
        let inputs: Vec<(&PathBuf, Identity)> = self.inputs.iter().map(|path| (path, Identity::of(path))).collect();
        let mut places: Vec<(PathBuf, &Output)> = Vec::new();
        for output in &self.outputs {
            let own = Identity::of(&output.path);
            if let Some((input, _)) = inputs.iter().find(|(_, identity)| identity.is_same(&own)) {
                let problem =
                    format!("{} would replace the input {}; {}", output.option, input.display(), other(output));
                return refused(output, problem);
            }
            if let Some((_, twin)) = places.iter().find(|(place, _)| *place == own.place) {
                let twins = if twin.option == output.option { "two outputs".into() } else { twin.option.to_string() };
                let problem = format!("{} and {twins} would go to the same file; {}", output.option, other(output));
                return refused(output, problem);
            }
            // A device or a pipe can take many outputs.
            if !own.place.exists() || own.place.is_file() {
                places.push((own.place, output));
            }
        }
        if overwrite {
            return Ok(());
        }
        match self.outputs.iter().find_map(|output| obstacle(output).map(|problem| (output, problem))) {
            Some((output, problem)) => refused(output, problem),
            None => Ok(()),
        }
    }
}

/// A file that the user named.
fn output(path: PathBuf, option: &'static str) -> Output {
    Output { path, option, in_folder: false, is_unfinished: false }
}

/// Why a file that is in the place of an output stays there.
fn obstacle(output: &Output) -> Option<String> {
    let path = &output.path;
    if !path.is_file() || output.is_unfinished {
        return None;
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return None;
    };
    let record = Record::of(folder);
    if output.in_folder {
        // Another run may have replaced file and record while they were looked at.
        let why = record.obstacle(name, path).and_then(|_| Record::of(folder).obstacle(name, path));
        return why.map(|why| format!("{why}; move it away, or add --overwrite to replace it"));
    }
    let vouched = record.vouches_for(name, path);
    if vouched && RESULTS.contains(&name) {
        return Some("belongs to the results of a fit; choose another file, or add --overwrite to replace it".into());
    }
    let own = vouched || is_result(path);
    (!own).then(|| {
        "already exists, and does not look like a result of this program; choose another file, or add --overwrite to \
         replace it"
            .into()
    })
}

/// Whether a file looks like one that this program wrote. Arrays and copies of AnnData files cannot be told from others.
fn is_result(path: &Path) -> bool {
    let marks = marks(path);
    marks.stamped || is_table_of_ours(&marks.columns) || begins_as_ours(path)
}

fn is_table_of_ours(columns: &[String]) -> bool {
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    // What is known of samples may be called anything but `ewca1`.
    let scores = columns.iter().rev().position(|name| *name == "ewca1").map_or(0, |at| at + 1);
    let (texts, numbers) = columns.split_at(columns.len() - scores);
    let numbered = numbers.iter().enumerate().all(|(at, name)| *name == results::component_name(at));
    let scores_or_loadings =
        scores > 0 && numbered && matches!(texts.first(), Some(&("id" | "feature"))) && !texts.contains(&"ewca1");
    scores_or_loadings
        || matches!(columns[..], ["sample", "partner", "weight" | "share"] | ["sample", "partner", "label", "share"])
        || columns == path::COLUMNS
        || columns == select::COLUMNS
}

/// Reports, files for MultiQC, checkpoints and manual pages.
fn begins_as_ours(path: &Path) -> bool {
    let mut head = Vec::new();
    if File::open(path).and_then(|file| file.take(1 << 12).read_to_end(&mut head)).is_err() {
        return false;
    }
    let text = String::from_utf8_lossy(&head);
    let multiqc = text.starts_with(r#"{"id":"ewca_embedding","#);
    is_report(&text) || multiqc || text.starts_with("ewca.checkpoint/") || text.contains(".TH ewca")
}

/// What tells whether two paths are the same file.
#[derive(Debug, PartialEq)]
struct Identity {
    /// The device and the number of a file that is there, where the system has such.
    number: Option<(u64, u64)>,
    /// The path without links and dots, as far as it exists.
    place: PathBuf,
}

impl Identity {
    fn of(path: &Path) -> Self {
        Self { number: number_of(path), place: resolved(path, MOST_LINKS) }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.place == other.place || self.number.is_some() && self.number == other.number
    }
}

#[cfg(unix)]
fn number_of(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|about| (about.dev(), about.ino()))
}

#[cfg(not(unix))]
fn number_of(_: &Path) -> Option<(u64, u64)> {
    None
}

/// The path without links and dots. What does not exist yet is taken as if it did: `new/../data.csv` is `data.csv` once the
/// folder `new` has been made.
fn resolved(path: &Path, links: usize) -> PathBuf {
    let start = if path.is_absolute() { PathBuf::new() } else { std::env::current_dir().unwrap_or_default() };
    let mut place = fs::canonicalize(&start).unwrap_or(start);
    let names: Vec<OsString> = path
        .components()
        .filter_map(|component| match component {
            Component::CurDir => None,
            other => Some(other.as_os_str().to_os_string()),
        })
        .collect();
    for name in names {
        if name == ".." {
            place.pop();
            continue;
        }
        place.push(name);
        if let Ok(real) = fs::canonicalize(&place) {
            place = real;
        } else if let Ok(target) = fs::read_link(&place)
            && links > 0
        {
            // A link to what is not there yet.
            let target = place.parent().unwrap_or(&place).join(target);
            place = resolved(&target, links - 1);
        }
    }
    place
}

impl Job {
    /// What the job reads and what it writes.
    pub fn files(&self) -> Files {
        let mut files = Files::default();
        match self {
            Self::Fit(job) => files.of_fit(job),
            Self::Transform(job) | Self::Reconstruct(job) => {
                files.reads(&model_file(&job.model));
                files.reads_table(&job.table);
                files.writes("-o", &job.output);
            }
            Self::Neighbours(job) => {
                files.reads(&model_file(&job.model));
                job.table.iter().for_each(|table| files.reads_table(table));
                files.writes("-o", &job.output);
            }
            Self::Report(job) => {
                files.reads(&model_file(&job.model));
                files.reads_table(&job.table);
                files.writes("-o", &job.report.file);
                files.writes("--multiqc", job.multiqc.as_ref());
            }
            Self::Path(job) => {
                files.reads_table(&job.table);
                files.writes("-o", &job.output);
                files.writes("--report", job.report.as_ref().map(|wish| &wish.file));
            }
            Self::Select(job) => {
                files.reads_table(&job.table);
                files.writes("-o", &job.output);
            }
            Self::Reproduce(job) => {
                job.table.iter().for_each(|table| files.reads_table(table));
                files.fills("-o", &job.output, figures(&job.output, job.experiments.iter().map(experiment_name)));
                files.fills("-o", &job.output, job.page.then_some(reproduce::PAGE));
            }
            Self::Evidence(job) => {
                files.reads(&job.data);
                files.fills("-o", &job.output, figures(&job.output, ["evidence"]));
            }
            Self::Demo(job) => files.of_demo(job),
            Self::Man(Some(folder)) => {
                manual::names().iter().for_each(|name| files.writes("-o", &folder.join(name)));
            }
            Self::Inspect(_) | Self::Completions(_) | Self::Man(None) => {}
        }
        files
    }
}

/// How the names of an experiment's figures begin.
fn experiment_name(experiment: &Experiment) -> &'static str {
    // Those of `examples` are called `example-...`.
    experiment.described().0.trim_end_matches('s')
}

/// The files in a folder that figures of these experiments would replace: their names are known only when they are drawn, but not
/// how they begin.
fn figures(folder: &Path, experiments: impl IntoIterator<Item = &'static str>) -> Vec<OsString> {
    let beginnings: Vec<&str> = experiments.into_iter().collect();
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let is_figure = |name: &OsString| {
        let name = name.to_string_lossy();
        let kind = [".svg", ".png", ".csv", ".md"].iter().any(|end| name.ends_with(end));
        kind && beginnings.iter().any(|beginning| name.starts_with(beginning))
    };
    names.filter(is_figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_as_if_all_folders_were_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::write(root.join("data.csv"), "x").unwrap();
        for path in ["data.csv", "./data.csv", "new/../data.csv", "new/deep/../../data.csv"] {
            assert_eq!(resolved(&root.join(path), MOST_LINKS), root.join("data.csv"), "{path}");
        }
        assert_eq!(resolved(&root.join("new/a.csv"), MOST_LINKS), root.join("new/a.csv"));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("later.csv", root.join("link")).unwrap();
            std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
            assert_eq!(resolved(&root.join("link"), MOST_LINKS), root.join("later.csv"));
            assert_eq!(resolved(&root.join("loop"), MOST_LINKS), root.join("loop"));
        }
    }

    #[test]
    fn own_tables_are_known_by_their_columns() {
        let ours = |line: &str| is_table_of_ours(&line.split(',').map(String::from).collect::<Vec<_>>());
        for line in [
            "id,ewca1",
            "id,label,ewca1,ewca2",
            "id,batch,site,ewca1,ewca2,ewca3",
            "id,label,ewca_cluster,ewca1",
            "feature,ewca1,ewca2",
            "sample,partner,weight",
            "sample,partner,label,share",
            "method,k,mean,q1,median,q3,epsilon",
        ] {
            assert!(ours(line), "{line}");
        }
        for line in ["", "id,x1,x2", "id,ewca2", "id,ewca1,ewca3", "ewca1,ewca2", "id,ewca1,age", "sample,partner", "a"]
        {
            assert!(!ours(line), "{line}");
        }
    }
}
