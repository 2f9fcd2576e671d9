//! Program archives and wheels for other platforms, built here with zig as the linker and C compiler, and run where an emulator can.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{command, root, run, run_quietly, step, target, timed, tools, wait};

const TOOLS: &str = "xtask/dist";
const VENV: &str = "target/dist-venv";
/// The platforms whose wheels are run: by this machine's Python, and by Debian's for ARM.
const OURS: &str = "x86_64-unknown-linux-gnu";
const ARM: &str = "aarch64-unknown-linux-gnu";
/// What lies beside the program in an archive.
const DOCUMENTS: [&str; 5] = ["README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE-MIT", "LICENSE-APACHE"];
/// Manual pages and completions.
const MANUAL: &str = "python/ewca.data/data/share";

/// A platform.
struct Platform {
    /// As Rust calls it.
    target: &'static str,
    /// The oldest glibc that is needed.
    glibc: Option<&'static str>,
    /// The oldest macOS that is needed: what maturin would say by itself, and cargo-zigbuild would not.
    macos: Option<&'static str>,
    /// What the wheel promises to run on, as maturin calls it.
    wheel: &'static str,
    /// What the program is started with here.
    started: Started,
}

/// How a program is started on this machine.
#[derive(Clone, Copy, PartialEq)]
enum Started {
    Directly,
    /// By a program with these words, which Debian has in these packages.
    With(&'static [&'static str], &'static [&'static str]),
    /// There is no emulator.
    Never,
}

const QEMU: Started =
    Started::With(&["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"], &["qemu-user", "libc6-arm64-cross"]);
/// The linker and C compiler of the wheel for Windows, and the package of Debian that it is in.
const MINGW: (&str, &str) = ("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64");
const WINE: Started = Started::With(&["wine"], &["wine", "wine64"]);

const PLATFORMS: [Platform; 7] = [
    Platform {
        target: "x86_64-unknown-linux-gnu",
        glibc: Some("2.17"),
        macos: None,
        wheel: "manylinux2014",
        started: Started::Directly,
    },
    Platform {
        target: "x86_64-unknown-linux-musl",
        glibc: None,
        macos: None,
        wheel: "musllinux_1_2",
        started: Started::Directly,
    },
    Platform {
        target: "aarch64-unknown-linux-gnu",
        glibc: Some("2.17"),
        macos: None,
        wheel: "manylinux2014",
        started: QEMU,
    },
    Platform { target: "aarch64-unknown-linux-musl", glibc: None, macos: None, wheel: "musllinux_1_2", started: QEMU },
    Platform { target: "x86_64-pc-windows-gnu", glibc: None, macos: None, wheel: "pypi", started: WINE },
    Platform {
        target: "x86_64-apple-darwin",
        glibc: None,
        macos: Some("10.12"),
        wheel: "pypi",
        started: Started::Never,
    },
    Platform {
        target: "aarch64-apple-darwin",
        glibc: None,
        macos: Some("11.0"),
        wheel: "pypi",
        started: Started::Never,
    },
];

/// Builds for the platforms of these names, or for all, and runs what can be run.
pub fn make(names: &[&str]) -> Result<(), String> {
    let known: Vec<&str> = PLATFORMS.iter().map(|platform| platform.target).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        return Err(format!("{unknown} is none of the platforms: {}", known.join(", ")));
    }
    prepare()?;
    let ours = native_program()?;
    let dist = target().join("dist");
    fs::create_dir_all(&dist).map_err(|error| format!("{}: {error}", dist.display()))?;
    for platform in PLATFORMS.iter().filter(|platform| names.is_empty() || names.contains(&platform.target)) {
        let built = platform.program()?;
        platform.archive(&built, &dist)?;
        platform.wheel(&dist)?;
        platform.run(&built, &ours)?;
        platform.run_wheel(&dist, &ours)?;
    }
    run(&[&in_venv("python"), "xtask/dist/pack.py", "checksums", &dist.to_string_lossy()])?;
    for what in tools::left_out() {
        crate::say(&format!("== left out: {what}"));
    }
    crate::say(&format!("== in {}: archives, wheels and SHA256SUMS", dist.display()));
    Ok(())
}

/// Makes the venv with zig and what uses it, unless it is there.
fn prepare() -> Result<(), String> {
    let requirements = format!("{TOOLS}/requirements.txt");
    let wanted = fs::read_to_string(root().join(&requirements)).map_err(|error| format!("{requirements}: {error}"))?;
    // Written when the installation ended well.
    let installed = root().join(VENV).join("installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
        return Ok(());
    }
    step("a venv", &["python3", "-m", "venv", VENV])?;
    step("zig", &[&in_venv("python"), "-m", "pip", "install", "--quiet", "-r", &requirements])?;
    fs::write(&installed, wanted).map_err(|error| format!("{}: {error}", installed.display()))
}

/// What is built: with the profile for it, or with what EWCA_DIST_PROFILE names. (To try whether a platform builds and runs, `quick` is enough.)
fn profile() -> String {
    std::env::var("EWCA_DIST_PROFILE").unwrap_or_else(|_| "shipped".to_string())
}

/// This machine's own program, whose numbers are the measure.
fn native_program() -> Result<PathBuf, String> {
    step("this machine's program", &["cargo", "build", "--release", "--locked", "-p", "ewca-cli"])?;
    Ok(target().join("release/ewca"))
}

impl Platform {
    fn is_windows(&self) -> bool {
        self.target.contains("windows")
    }

    fn program(&self) -> Result<PathBuf, String> {
        let (name, dotted) = (self.target, self.glibc.map_or(String::new(), |version| format!(".{version}")));
        run(&["rustup", "target", "add", name])?;
        let mut build = command(&[&in_venv("cargo-zigbuild"), "zigbuild", "--profile", &profile(), "--locked"]);
        // With the features that the wheel asks for: so the two share what is compiled for them.
        build.args(["-p", "ewca-cli", "-p", "ewca-python", "--bin", "ewca", "--target"]).arg(format!("{name}{dotted}"));
        timed(&format!("the program for {name}"), || wait(self.with_tools(&mut build)))?;
        let folder = target().join(name).join(profile());
        let found = ["ewca", "ewca.exe"].map(|file| folder.join(file)).into_iter().find(|file| file.exists());
        found.ok_or_else(|| format!("{}: the program is not there", folder.display()))
    }

    /// cargo-zigbuild and maturin look for zig on the path. Programs for macOS are linked with lists of what its libraries have (`apple`), since zig has such a
    /// list of its C library alone.
    fn with_tools<'c>(&self, command: &'c mut std::process::Command) -> &'c mut std::process::Command {
        let lists = root().join(TOOLS).join("apple");
        let flags = format!("-L native={0} -L framework={0}", lists.display());
        for target in ["X86_64_APPLE_DARWIN", "AARCH64_APPLE_DARWIN"] {
            command.env(format!("CARGO_TARGET_{target}_RUSTFLAGS"), &flags);
        }
        if let Some(oldest) = self.macos {
            command.env("MACOSX_DEPLOYMENT_TARGET", oldest);
        }
        let programs = root().join(VENV).join("bin");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(programs).chain(std::env::split_paths(&path));
        // The script that calls zig is named after the program that wrote it, and cargo compiles everything anew for a linker of another name.
        command.env("CARGO_BIN_EXE_cargo-zigbuild", in_venv("cargo-zigbuild"));
        match std::env::join_paths(folders) {
            Ok(path) => command.env("PATH", path),
            Err(_) => command,
        }
    }

    /// The program, documents, completions and manual pages.
    fn archive(&self, program: &Path, dist: &Path) -> Result<(), String> {
        let name = format!("ewca-{}-{}", env!("CARGO_PKG_VERSION"), self.target);
        let folder = dist.join(&name);
        let _ = fs::remove_dir_all(&folder);
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(failed)?;
        let file = program.file_name().unwrap_or_default();
        fs::copy(program, folder.join(file)).map_err(failed)?;
        for document in DOCUMENTS {
            fs::copy(root().join(document), folder.join(document)).map_err(failed)?;
        }
        copy_folder(&root().join(MANUAL), &folder.join("share")).map_err(failed)?;
        let kind = if self.is_windows() { "zip" } else { "gztar" };
        run(&[&in_venv("python"), "xtask/dist/pack.py", "archive", &folder.to_string_lossy(), kind])?;
        fs::remove_dir_all(&folder).map_err(failed)
    }

    fn wheel(&self, dist: &Path) -> Result<(), String> {
        let mut maturin = command(&[&in_venv("maturin"), "build", "--profile", &profile(), "--locked"]);
        if self.is_windows() {
            // With zig maturin asks the linker for a function of the module's whole name, `PyInit_ewca._ewca`, and there is none.
            let what = format!("the wheel for {}", self.target);
            if run_quietly(&[MINGW.0, "--version"]).is_err()
                && let Err(why) = tools::install(&what, &[MINGW.1])
            {
                return tools::leave_out(&what, &why);
            }
        } else {
            maturin.arg("--zig");
        }
        maturin.args(["--target", self.target, "--compatibility", self.wheel, "--out"]).arg(dist);
        // One wheel for all versions of Python: none of them needs to be there.
        maturin.args(["--interpreter", "python3.9"]);
        timed(&format!("the wheel for {}", self.target), || wait(self.with_tools(&mut maturin)))
    }

    /// The demo, and a fit per format, with the numbers of this machine's program.
    fn run(&self, program: &Path, ours: &Path) -> Result<(), String> {
        let starter: &[&str] = match self.started {
            Started::Directly => &[],
            Started::With(words, packages) => {
                // Some of the words are folders that one of the packages brings.
                let missing = words.iter().any(|word| word.starts_with('/') && !Path::new(word).exists());
                if (missing || run_quietly(&[words[0], "--version"]).is_err())
                    && let Err(why) = tools::install(&format!("running the program for {}", self.target), packages)
                {
                    return tools::leave_out(&format!("running the program for {}", self.target), &why);
                }
                words
            }
            Started::Never => {
                tools::note(&format!("running the program for {}: there is no emulator", self.target));
                return Ok(());
            }
        };
        if self.started == WINE {
            // Beside the program, where Windows looks first.
            let library = program.with_file_name("bcryptprimitives.dll");
            let mut build =
                command(&[&in_venv("python"), "-m", "ziglang", "cc", "-target", "x86_64-windows-gnu", "-shared"]);
            build.arg("-o").arg(library).args(["xtask/dist/bcryptprimitives.c", "-ladvapi32"]);
            wait(&mut build)?;
        }
        let (ours, program) = (ours.to_string_lossy(), program.to_string_lossy());
        let words = [&["python3", "xtask/dist/run.py", &ours], starter, &[&program]].concat();
        timed(&format!("the demo and a fit per format on {}", self.target), || run(&words))
    }

    /// The same with the command of the wheel, where a Python that can load it is at hand.
    fn run_wheel(&self, dist: &Path, ours: &Path) -> Result<(), String> {
        let what = format!("running the wheel for {}", self.target);
        let command = match self.target {
            OURS => wheel_in_a_venv(dist)?,
            ARM => match wheel_on_arm(dist) {
                Ok(command) => command,
                Err(why) => return tools::leave_out(&what, &why),
            },
            _ => {
                tools::note(&format!("{what}: it needs a Python of that platform"));
                return Ok(());
            }
        };
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        timed(&what, || run(&[&["python3", "xtask/dist/run.py", &ours.to_string_lossy()], &command[..]].concat()))
    }
}

/// Installs this machine's wheel as people do, and gives what its command is started with.
fn wheel_in_a_venv(dist: &Path) -> Result<Vec<String>, String> {
    let folder = target().join("dist-wheel-venv");
    let (folder, dist) = (folder.to_string_lossy(), dist.to_string_lossy());
    let python = format!("{folder}/bin/python");
    run(&["python3", "-m", "venv", "--clear", &folder])?;
    // NumPy from where pip has it from; ewca from nowhere but here.
    run(&[&python, "-m", "pip", "install", "--quiet", "numpy"])?;
    run(&[&python, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", &dist, "ewca"])?;
    Ok(vec![format!("{folder}/bin/ewca")])
}

/// Unpacks the wheel for ARM beside Debian's Python for it, and gives what its command is started with.
fn wheel_on_arm(dist: &Path) -> Result<Vec<String>, String> {
    if run_quietly(&["qemu-aarch64", "--version"]).is_err() {
        return Err("qemu-user is missing".into());
    }
    let names = fs::read_dir(dist).map_err(|error| format!("{}: {error}", dist.display()))?;
    let names = names.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut wheels = names.filter(|name| name.contains("manylinux") && name.ends_with("aarch64.whl"));
    let wheel = wheels.next().ok_or_else(|| format!("{}: the wheel is not there", dist.display()))?;
    let folder = target().join("dist-arm64");
    let (folder, wheel) = (folder.to_string_lossy(), dist.join(wheel));
    run(&["python3", "xtask/dist/foreign.py", &folder, "arm64", &wheel.to_string_lossy()])?;
    let (libraries, root) = ("/usr/lib/aarch64-linux-gnu", format!("{folder}/root"));
    // Links to NumPy's libraries would be made if it were installed.
    let found = format!("LD_LIBRARY_PATH={libraries}/blas:{libraries}/lapack");
    let package = format!("PYTHONPATH={folder}/package");
    let python = format!("{root}/usr/bin/python3");
    Ok(["qemu-aarch64", "-L", &root, "-E", &found, "-E", &package, &python, "-m", "ewca"].map(String::from).to_vec())
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let copy = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() { copy_folder(&path, &copy)? } else { fs::copy(&path, &copy).map(|_| ())? }
    }
    Ok(())
}

fn in_venv(program: &str) -> String {
    root().join(VENV).join("bin").join(program).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_platforms_are_refused_before_anything_is_built() {
        let told = make(&["x86_64-unknown-linux-musl", "sparc"]).unwrap_err();
        assert!(told.starts_with("sparc is none of the platforms: x86_64-unknown-linux-gnu, "), "{told}");
    }

    #[test]
    fn what_an_archive_holds_is_there() {
        for document in DOCUMENTS {
            assert!(root().join(document).is_file(), "{document}");
        }
        assert!(root().join(MANUAL).join("man/man1/ewca.1").is_file());
    }

    /// docs/install.md names every platform.
    #[test]
    fn the_platforms_are_documented() {
        let page = fs::read_to_string(root().join("docs/install.md")).unwrap();
        for platform in &PLATFORMS {
            assert!(page.contains(platform.target), "{}", platform.target);
        }
    }
}
