//! Folders of results: all files of a folder are of one run.
//!
//! The files are made complete beside their places. Then the record of the old ones is removed, the new ones are put in their places,
//! and last comes the new record, with the checksum of each. So whenever a program is killed, either the record and the files belong
//! together, or there is no record. Meanwhile the folder is locked: a file in it names what is written, and the lock on that file
//! dies with the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ewca_io::{ModelFile, Staged, stage, stage_model, sweep};
use ewca_paper::Figure;
use sha2::{Digest, Sha256};

use crate::console::failure::Failure;
use crate::input::table::Dataset;
use crate::output::covariates::Covariates;
use crate::output::emit::check_writable;
use crate::output::exports::{stage_loadings, stage_scores};
use crate::output::summary::Summary;

/// The scores in a folder of results.
const SCORES: &str = "scores.csv";
const LOADINGS: &str = "loadings.csv";
/// The model in a folder of results.
pub const MODEL: &str = "model.safetensors";
const SUMMARY: &str = "summary.json";
/// What the folder of a fit holds; the last one vouches for the others.
pub const RESULTS: [&str; 4] = [SCORES, LOADINGS, MODEL, SUMMARY];
/// Which component goes with what is known of the samples, where something is.
pub const COVARIATES: &str = "covariates.csv";
/// What vouches for figures: in the format of the program sha256sum.
const SUMS: &str = "SHA256SUMS";
/// Locked while a run writes to the folder. In the format of [`SUMS`]: what this program may have written there.
const LOCK: &str = ".ewca-lock";
/// No record is longer.
const LONGEST_RECORD: u64 = 1 << 24;

/// The SHA-256 of files, by their names.
pub type Checksums = BTreeMap<String, String>;

/// The folder for the results. If nothing is written to it, the folders that were made for it go away again.
#[derive(Debug)]
pub struct ResultsFolder {
    folder: PathBuf,
    /// The folders that did not exist, outermost first.
    made: Vec<PathBuf>,
    lock: Option<Lock>,
    /// Which file vouches for the others.
    record: &'static str,
    staged: Vec<(String, Staged)>,
    checksums: Checksums,
}

impl ResultsFolder {
    /// Makes the folder of a fit, and makes sure that files can be written there: a long fit should not find out at its end.
    pub fn make(folder: &Path) -> Result<Self, Failure> {
        let results = Self::locked(folder, SUMMARY)?;
        RESULTS.iter().try_for_each(|name| check_writable(&folder.join(name)))?;
        Ok(results)
    }

    /// Makes a folder of figures.
    pub fn make_for_figures(folder: &Path) -> Result<Self, Failure> {
        let results = Self::locked(folder, SUMS)?;
        check_writable(&folder.join(SUMS))?;
        Ok(results)
    }

    /// Makes the folder, for single files that belong to nothing.
    pub fn make_for(folder: &Path) -> Result<Self, Failure> {
        let mut made: Vec<PathBuf> =
            folder.ancestors().take_while(|f| !f.as_os_str().is_empty() && !f.exists()).map(PathBuf::from).collect();
        made.reverse();
        if !folder.as_os_str().is_empty() {
            fs::create_dir_all(folder).map_err(|source| Failure::Folder { folder: folder.into(), source })?;
        }
        let (staged, checksums) = (Vec::new(), Checksums::new());
        Ok(Self { folder: folder.into(), made, lock: None, record: SUMS, staged, checksums })
    }

    fn locked(folder: &Path, record: &'static str) -> Result<Self, Failure> {
        let mut results = Self::make_for(folder)?;
        results.record = record;
        results.lock = Some(Lock::take(folder)?);
        sweep(folder);
        Ok(results)
    }

    /// The folder's path, as the user named it.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The name that a file has in this folder, if it is in it.
    fn name_of(&self, file: &Path) -> Option<String> {
        let name = file.file_name()?.to_str()?;
        let parent = file.parent()?;
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let is_here = fs::canonicalize(parent).ok()? == fs::canonicalize(&self.folder).ok()?;
        is_here.then(|| name.to_string())
    }

    /// Prepares scores, loadings and model. Nothing is in its place before [`ResultsFolder::commit`].
    pub fn add_results(&mut self, data: &Dataset, file: &ModelFile) -> Result<(), Failure> {
        self.add(SCORES, stage_scores(&self.folder.join(SCORES), data, &file.model)?)?;
        self.add(LOADINGS, stage_loadings(&self.folder.join(LOADINGS), data, &file.model)?)?;
        self.add(MODEL, stage_model(&self.folder.join(MODEL), file)?)
    }

    /// Prepares the table of what goes with which component.
    pub fn add_covariates(&mut self, covariates: &Covariates) -> Result<(), Failure> {
        self.add(COVARIATES, covariates.stage(&self.folder.join(COVARIATES))?)
    }

    /// Prepares another file of the folder.
    pub fn add_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let staged = stage(&self.folder.join(name), |out| out.write_all(bytes))?;
        self.add(name, staged)
    }

    /// Prepares a figure, drawn twice, and its numbers. `file` stands for its data in messages. Gives the names of the files.
    pub fn add_figure(&mut self, figure: &Figure, file: &str) -> Result<Vec<String>, Failure> {
        let png = figure.png().map_err(|error| Failure::Unfit { file: file.into(), problem: error.to_string() })?;
        let csv = figure.csv();
        let forms = [("svg", figure.svg().as_bytes()), ("png", &png), ("csv", csv.as_bytes())];
        let add = |(extension, bytes): (&str, &[u8])| {
            let name = format!("{}.{extension}", figure.name);
            self.add_bytes(&name, bytes).map(|()| name)
        };
        forms.into_iter().map(add).collect()
    }

    /// Takes a file that is complete into the folder.
    pub fn add(&mut self, name: &str, staged: Staged) -> Result<(), Failure> {
        if let Some(path) = staged.path() {
            let failed = |source| ewca_io::Error::Read { file: path.display().to_string(), source };
            self.checksums.insert(name.into(), sha256(path).map_err(failed)?);
        }
        self.staged.push((name.into(), staged));
        Ok(())
    }

    /// Takes a file that is complete into the folder, or puts it into its place, where that is elsewhere. Says whether it is in here.
    pub fn add_or_commit(&mut self, file: &Path, staged: Staged) -> Result<bool, Failure> {
        let name = self.name_of(file);
        match &name {
            Some(name) => self.add(name, staged)?,
            None => staged.commit()?,
        }
        Ok(name.is_some())
    }

    /// Puts the files of a fit in their places, and then the summary: it vouches for them.
    pub fn commit_fit(&mut self, summary: &mut Summary<'_>) -> Result<(), Failure> {
        summary.checksums.clone_from(&self.checksums);
        let mut text = serde_json::to_vec_pretty(summary).map_err(|error| self.failed(io::Error::other(error)))?;
        text.push(b'\n');
        // What another run has found about its samples does not belong to this one.
        let other = self.folder.join(COVARIATES);
        let is_left = !self.checksums.contains_key(COVARIATES) && other.is_file();
        let is_ours = is_left && Record::of(&self.folder).vouches_for(COVARIATES, &other);
        self.commit(&text, is_ours.then_some(&other))
    }

    /// Puts figures in their places, and then the list of their checksums, whose name is returned. Files that this program did not
    /// write stay.
    pub fn commit_figures(&mut self, overwrite: bool) -> Result<String, Failure> {
        let before = Record::of(&self.folder);
        for (name, _) in self.staged.iter().filter(|_| !overwrite) {
            let path = self.folder.join(name);
            if let Some(why) = before.obstacle(name, &path).filter(|_| path.is_file()) {
                let problem = format!("{why}; move it away, or add --overwrite to replace it");
                return Err(Failure::Unfit { file: path.display().to_string(), problem });
            }
        }
        // What an earlier run drew stays vouched for.
        let mut sums = before.recorded;
        sums.extend(self.checksums.clone());
        self.commit(listed(&sums).as_bytes(), None)?;
        Ok(SUMS.into())
    }

    /// Puts everything in its place; `outdated` goes away.
    fn commit(&mut self, record: &[u8], outdated: Option<&PathBuf>) -> Result<(), Failure> {
        let place = self.folder.join(self.record);
        let record = stage(&place, |out| out.write_all(record))?;
        if let Some(lock) = &mut self.lock {
            let known = Record::of(&self.folder);
            lock.note(&known, &self.checksums).map_err(|source| self.failed(source))?;
        }
        match fs::remove_file(&place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(self.failed(error)),
            _ => sync(&self.folder),
        }
        for (_, staged) in self.staged.drain(..) {
            staged.commit()?;
        }
        outdated.map_or(Ok(()), fs::remove_file).map_err(|source| self.failed(source))?;
        record.commit()?;
        self.lock.iter_mut().for_each(Lock::finish);
        Ok(())
    }

    fn failed(&self, source: io::Error) -> Failure {
        ewca_io::Error::Write { file: self.folder.join(self.record).display().to_string(), source }.into()
    }
}

impl Drop for ResultsFolder {
    fn drop(&mut self) {
        self.staged.clear();
        self.lock = None;
        // Only empty folders can be removed this way: the folder of a run that wrote something stays.
        for folder in self.made.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Makes sure, where the system can, that what was done to a folder survives a loss of power.
fn sync(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// The one run that writes to a folder.
#[derive(Debug)]
struct Lock {
    file: File,
    path: PathBuf,
    /// Whether the file goes away with this run: there is nothing in it that another run has to know.
    is_done: bool,
}

impl Lock {
    fn take(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(LOCK);
        loop {
            let opened = File::options().read(true).write(true).create(true).truncate(false).open(&path);
            let file = opened.map_err(|source| ewca_io::Error::Write { file: path.display().to_string(), source })?;
            match file.try_lock() {
                // The run that had it removed it before this one got it.
                Ok(()) if !is_at(&file, &path) => {}
                // Where files cannot be locked, there is nothing to wait for.
                Ok(()) | Err(TryLockError::Error(_)) => {
                    let is_done = file.metadata().is_ok_and(|about| about.len() == 0);
                    return Ok(Self { file, path, is_done });
                }
                Err(TryLockError::WouldBlock) => {
                    let problem = "another run is writing its results there; wait until it has finished, or choose another \
                                   folder with -o";
                    return Err(Failure::Unfit { file: folder.display().to_string(), problem: problem.into() });
                }
            }
        }
    }

    /// Notes which files this program may have written, before it begins to replace them.
    fn note(&mut self, known: &Record, new: &Checksums) -> io::Result<()> {
        let text = listed(&known.recorded) + &listed(new);
        self.is_done = false;
        // What a killed run has noted stays: this one may be killed too.
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(text.as_bytes())?;
        self.file.sync_all()
    }

    fn finish(&mut self) {
        self.is_done = true;
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.is_done {
            let _ = fs::remove_file(&self.path);
        }
        // Closing the file is not enough where a process is just being started: it has the file too, until it runs its program.
        let _ = self.file.unlock();
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |about: fs::Metadata| (about.dev(), about.ino());
    file.metadata().map(identity).ok() == fs::metadata(path).map(identity).ok()
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// What is known of the files in a folder: from its records, and from a run that was killed there.
#[derive(Debug, Default)]
pub struct Record {
    /// By the summary, and by the list of figures.
    recorded: Checksums,
    /// What a run that did not come to its end may have left: names and checksums.
    unfinished: BTreeSet<(String, String)>,
    has_summary: bool,
    /// Whether the summary is of a version that wrote no checksums.
    is_old: bool,
}

impl Record {
    /// Of the files in this folder.
    pub fn of(folder: &Path) -> Self {
        // What is noted there goes away only when the summary is complete: so it is read first.
        let unfinished = text_of(&folder.join(LOCK)).iter().flat_map(|text| text.lines()).filter_map(pair_of).collect();
        let summary = text_of(&folder.join(SUMMARY)).and_then(|text| serde_json::from_str(&text).ok());
        let summary: serde_json::Value = summary.unwrap_or_default();
        let has_summary = summary["schema"].as_str().is_some_and(|schema| schema.starts_with("ewca.summary/"));
        let checksums = summary["checksums"].as_object().filter(|_| has_summary);
        let is_old = has_summary && checksums.is_none();
        let pairs = checksums.into_iter().flatten();
        let mut recorded: Checksums =
            pairs.filter_map(|(name, sum)| Some((name.clone(), sum.as_str()?.to_string()))).collect();
        recorded.extend(text_of(&folder.join(SUMS)).and_then(|text| pairs_of(&text)).into_iter().flatten());
        Self { recorded, unfinished, has_summary, is_old }
    }

    /// Whether this program wrote the file that has this name in the folder, and nobody has changed it.
    pub fn vouches_for(&self, name: &str, path: &Path) -> bool {
        let Ok(sum) = sha256(path) else { return false };
        self.recorded.get(name) == Some(&sum) || self.unfinished.contains(&(name.into(), sum))
    }

    /// Why a file that is in the folder must not be replaced.
    pub fn obstacle(&self, name: &str, path: &Path) -> Option<String> {
        let own = match name {
            // Where there are no checksums, names must do.
            _ if self.is_old => true,
            SUMMARY => self.has_summary,
            SUMS => text_of(path).and_then(|text| pairs_of(&text)).is_some(),
            _ => self.vouches_for(name, path),
        };
        (!own).then(|| match self.recorded.contains_key(name) {
            true => "has been changed since this program wrote it".into(),
            false => "already exists, and was not written by this program".into(),
        })
    }
}

/// What is wrong with the files in a folder of results, one line each; nothing where all are of one run, or where nothing is known.
/// `only` looks at one of them alone.
pub fn mixture(folder: &Path, only: Option<&str>) -> Vec<String> {
    let record = Record::of(folder);
    let begun = |file: &str| record.unfinished.iter().any(|(name, _)| name == file);
    if !record.has_summary && begun(MODEL) || record.recorded.is_empty() && !record.unfinished.is_empty() {
        return vec![
            "the results are not complete: a run is still writing them, or was killed before it finished".into(),
        ];
    }
    let wanted = record.recorded.iter().filter(|(name, _)| only.is_none_or(|only| only == name.as_str()));
    wanted
        .filter_map(|(name, sum)| match sha256(&folder.join(name)) {
            Ok(found) if found == *sum => None,
            Ok(_) => Some(format!("{name} does not belong to the same run as {SUMMARY}")),
            Err(_) => Some(format!("{name} is missing, or cannot be read")),
        })
        .collect()
}

/// Refuses a model that does not belong to the summary beside it: one of them is of another run.
pub fn check_model(file: &Path) -> Result<(), Failure> {
    if file.file_name().is_none_or(|name| name != MODEL) {
        return Ok(());
    }
    match mixture(file.parent().unwrap_or(file), Some(MODEL)).pop() {
        None => Ok(()),
        Some(problem) => Err(Failure::Unfit {
            file: file.display().to_string(),
            problem: format!("{problem}; fit again, or move the model to an empty folder to use it anyway"),
        }),
    }
}

/// A text that is not too long.
fn text_of(path: &Path) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    let mut text = String::new();
    File::open(path).ok().filter(|_| about.is_file())?.take(LONGEST_RECORD).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Checksums in the format of sha256sum.
fn listed(sums: &Checksums) -> String {
    sums.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect()
}

/// Names and checksums; nothing if it is no such list.
fn pairs_of(text: &str) -> Option<Vec<(String, String)>> {
    text.lines().map(pair_of).collect()
}

fn pair_of(line: &str) -> Option<(String, String)> {
    let (sum, name) = line.split_once("  ")?;
    (sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| (name.into(), sum.into()))
}

/// The SHA-256 of a file.
fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => hasher.update(&buffer[..count]),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The name of a component, counted from 0, in files and tables: `ewca1` is the first.
pub fn component_name(component: usize) -> String {
    format!("ewca{}", component + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(folder: &Path) -> Vec<(String, String)> {
        let mut files: Vec<(String, String)> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
            .collect();
        files.sort();
        files
    }

    fn write(folder: &Path, what: &str) -> ResultsFolder {
        let mut results = ResultsFolder::make_for_figures(folder).unwrap();
        for name in ["a.csv", "b.csv", "c.csv"] {
            results.add_bytes(name, what.as_bytes()).unwrap();
        }
        results
    }

    /// A kill after each step of a commit: what is left is all old, all new, or known not to be complete; and the next run may go on.
    #[test]
    fn a_kill_between_two_renames_is_noticed() {
        for steps in 0..=5usize {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path();
            write(path, "old").commit_figures(false).unwrap();
            let mut run = write(path, "new");
            let record = stage(&path.join(SUMS), |out| out.write_all(listed(&run.checksums).as_bytes())).unwrap();
            // The same steps as those of `commit`, up to the kill.
            let mut lock = run.lock.take().unwrap();
            if steps > 0 {
                lock.note(&Record::of(path), &run.checksums).unwrap();
            }
            if steps > 1 {
                fs::remove_file(path.join(SUMS)).unwrap();
            }
            for (_, staged) in run.staged.drain(..).take(steps.saturating_sub(2)) {
                staged.commit().unwrap();
            }
            lock.is_done = false;
            drop((run, record, lock));

            let whole = mixture(path, None).is_empty();
            assert_eq!(whole, steps < 2, "{steps}: {:?}", content(path));
            for name in ["a.csv", "b.csv", "c.csv"] {
                assert_eq!(Record::of(path).obstacle(name, &path.join(name)), None, "{steps} {name}");
            }
            write(path, "third").commit_figures(false).unwrap();
            assert_eq!(mixture(path, None), Vec::<String>::new());
            let files = content(path);
            assert_eq!(files.len(), 4, "{files:?}");
            assert!(files.iter().all(|(name, text)| name == SUMS || text == "third"), "{files:?}");
        }
    }

    #[test]
    fn a_folder_has_one_writer() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = write(folder.path(), "first");
        let refused = ResultsFolder::make_for_figures(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("another run is writing"), "{refused}");
        first.commit_figures(false).unwrap();
        drop(first);
        drop(ResultsFolder::make_for_figures(folder.path()).unwrap());
        assert_eq!(content(folder.path()).len(), 4);
    }

    #[test]
    fn what_others_wrote_stays() {
        let folder = tempfile::tempdir().unwrap();
        let theirs = folder.path().join("b.csv");
        fs::write(&theirs, "precious").unwrap();
        let refused = write(folder.path(), "new").commit_figures(false).unwrap_err().to_string();
        assert!(refused.contains("b.csv") && refused.contains("--overwrite"), "{refused}");
        assert_eq!(content(folder.path()), [("b.csv".into(), "precious".into())]);
        write(folder.path(), "new").commit_figures(true).unwrap();
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "new");
        fs::write(&theirs, "edited").unwrap();
        let refused = write(folder.path(), "newer").commit_figures(false).unwrap_err().to_string();
        assert!(refused.contains("has been changed"), "{refused}");
    }

    #[test]
    fn a_folder_of_an_old_version_can_be_used_again() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(SCORES), "id,ewca1\n").unwrap();
        let obstacle = || Record::of(folder.path()).obstacle(SCORES, &folder.path().join(SCORES));
        assert!(obstacle().is_some());
        fs::write(folder.path().join(SUMMARY), r#"{"schema": "other", "checksums": {}}"#).unwrap();
        assert!(obstacle().is_some());
        fs::write(folder.path().join(SUMMARY), r#"{"schema": "ewca.summary/1"}"#).unwrap();
        assert_eq!((obstacle(), mixture(folder.path(), None)), (None, Vec::new()));
    }

    #[test]
    fn checksums_are_those_of_sha256sum() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("abc");
        fs::write(&file, "abc").unwrap();
        assert_eq!(sha256(&file).unwrap(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
