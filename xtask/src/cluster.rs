//! MPI, for the tests of fits that many processes share.

use crate::{run, run_quietly};

/// What Debian calls the library, its launcher, and what the bindings are made with.
const PACKAGES: [&str; 3] = ["libopenmpi-dev", "openmpi-bin", "libclang-dev"];
/// Set to anything, leaves the tests of shared fits out.
const SKIP: &str = "EWCA_SKIP_MPI";

/// The features to test with: MPI, unless the caller has asked to leave it out. Installs it where it is missing.
pub fn features() -> Result<&'static [&'static str], String> {
    if std::env::var_os(SKIP).is_some() {
        eprintln!("== {SKIP} is set: the tests of `ewca fit --distributed` are left out");
        return Ok(&[]);
    }
    if !is_there() {
        eprintln!("== installing {}, for `ewca fit --distributed`", PACKAGES.join(", "));
        let install = [&["apt-get", "install", "--yes", "--no-install-recommends"], &PACKAGES[..]].concat();
        let installed = run_quietly(&["apt-get", "update"]).and_then(|()| run_quietly(&install));
        if installed.is_err() || !is_there() {
            return Err(format!(
                "Open MPI is missing, and could not be installed: install it (on Debian: apt-get install {}), or leave its \
                 tests out with {SKIP}=1 cargo xtask test",
                PACKAGES.join(" ")
            ));
        }
    }
    run(&["mpirun", "--version"])?;
    Ok(&["--features", "ewca-cli/mpi"])
}

fn is_there() -> bool {
    let has_clang = || {
        let folders = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].into_iter().flat_map(std::fs::read_dir);
        let mut below = folders.flatten().flatten();
        std::env::var_os("LIBCLANG_PATH").is_some()
            || below.any(|entry| entry.file_name().to_string_lossy().starts_with("llvm-"))
    };
    run_quietly(&["mpirun", "--version"]).is_ok() && run_quietly(&["mpicc", "--version"]).is_ok() && has_clang()
}
