//! A folder to work in, the program, and tables to give it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The program: as it was built with the tests, or the one that `EWCA_TEST_PROGRAM` names. (`cargo xtask test` names the command of the Python
/// package, which must not behave differently.)
pub fn program() -> PathBuf {
    std::env::var_os("EWCA_TEST_PROGRAM").map_or_else(|| env!("CARGO_BIN_EXE_ewca").into(), PathBuf::from)
}

/// A temporary folder in which the program runs.
pub struct Workshop {
    folder: tempfile::TempDir,
}

impl Workshop {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn summary(&self, folder: &str) -> Value {
        serde_json::from_str(&self.read(&format!("{folder}/summary.json"))).unwrap()
    }

    /// The names of the files in a folder, sorted, hidden ones too.
    pub fn list(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// `ewca` with these arguments, in this folder, with pipes for all streams.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(self.folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The program with this on its standard input.
    pub fn run_with(&self, arguments: &[&str], input: &str) -> Run {
        use std::io::Write;
        let mut child = self.command(arguments).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Run::from(child.wait_with_output().unwrap())
    }

    /// The command that a text ends its "Next:" with (its last one), as a shell takes it when it is pasted with `more`.
    pub fn run_printed(&self, text: &str, more: &str) -> Run {
        let lines: Vec<&str> = text.lines().collect();
        let last = lines.iter().rposition(|line| line.starts_with("  ewca ")).expect("a command");
        let continued = lines[last..].iter().take_while(|line| line.ends_with('\\')).count();
        let command = lines[last..=last + continued].join("\n");
        let script = format!("ewca() {{ {} \"$@\"; }}\n{command}{more}", program().display());
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).current_dir(self.folder.path()).stdin(Stdio::null());
        Run::from(shell.output().unwrap())
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        Run::from(self.command(arguments).stdin(Stdio::null()).output().unwrap())
    }

    /// With nobody to read what it prints. The pipe is closed before the program starts: a reader that goes away later may do so when all
    /// is printed.
    pub fn run_unread(&self, arguments: &[&str]) -> Run {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Run::from(self.command(arguments).stdin(Stdio::null()).stdout(writer).output().unwrap())
    }
}

/// What a run left: exit code and both streams.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Run {
    /// Success: exit code 0, and nothing on standard error.
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.out);
        self
    }

    /// Failure: exit code 1, and one line on standard error that holds all of `parts`.
    #[track_caller]
    pub fn failed_saying(&self, parts: &[&str]) {
        assert_eq!(self.code, Some(1), "{self:?}");
        assert!(self.err.starts_with("ewca: error: ") && self.err.lines().count() == 1, "{}", self.err);
        for part in parts {
            assert!(self.err.contains(part), "no '{part}' in: {}", self.err);
        }
    }
}

/// Sends Ctrl-C's signal.
#[cfg(unix)]
pub fn interrupt(process: u32) {
    signal(process, "INT");
}

#[cfg(unix)]
pub fn signal(process: u32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status().unwrap();
    assert!(status.success());
}

/// Numbers between -1 and 1 that are the same in every run.
pub fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Three clouds of samples: columns `name`, `kind`, `x1` .. , cells separated by `delimiter`.
pub fn clouds(rows: usize, features: usize, delimiter: &str) -> String {
    let mut noise = noise(7);
    let names = (1..=features).map(|j| format!("x{j}"));
    let mut text = ["name".into(), "kind".into()].into_iter().chain(names).collect::<Vec<String>>().join(delimiter);
    for row in 0..rows {
        let cloud = row % 3;
        text.push_str(&format!("\ns{row}{delimiter}{}", ["oak", "elm", "ash"][cloud]));
        for feature in 0..features {
            let centre = if feature % 3 == cloud { 4.0 } else { 0.0 };
            text.push_str(&format!("{delimiter}{}", centre + noise() / (1.0 + feature as f64)));
        }
    }
    text.push('\n');
    text
}

/// `clouds` without the two text columns.
pub fn numbers(rows: usize, features: usize) -> String {
    let table = clouds(rows, features, ",");
    table.lines().map(|line| line.splitn(3, ',').nth(2).unwrap().to_string() + "\n").collect()
}

/// The table as `gzip` would leave it.
pub fn gzipped(text: &str) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Whether a path exists.
pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The memory that a fit with -v tells of, in MiB: at most, expected, and what of the kernel may be kept beside that.
pub fn memory_told(out: &str) -> (f64, f64, f64) {
    // memory 20 MiB at most; 18 MiB expected
    //        and up to 100 MiB to keep the kernel
    let mut lines = out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let words = lines.find(|words| words.first() == Some(&"memory")).unwrap_or_else(|| panic!("{out}"));
    let kept = match lines.next().as_deref() {
        Some(["and", "up", "to", number, unit, ..]) => mebibytes(number, unit),
        _ => 0.0,
    };
    (mebibytes(words[1], words[2]), mebibytes(words[5], words[6]), kept)
}

fn mebibytes(number: &str, unit: &str) -> f64 {
    let unit = match unit {
        "KiB" => 1.0 / 1024.0,
        "MiB" => 1.0,
        "GiB" => 1024.0,
        other => panic!("{other}"),
    };
    number.parse::<f64>().unwrap() * unit
}
