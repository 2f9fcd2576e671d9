//! MPI, for the tests of fits that many processes share.

use crate::{run, run_quietly, tools};

/// What Debian calls the library, its launcher, and what the bindings are made with.
const PACKAGES: [&str; 3] = ["libopenmpi-dev", "openmpi-bin", "libclang-dev"];
/// Set to anything, leaves the tests of shared fits out.
const SKIP: &str = "EWCA_SKIP_MPI";
const TESTS: &str = "the tests of `ewca fit --distributed`";

/// The features to test with: MPI, unless the caller has asked to leave it out, or it is missing and may not be installed.
pub fn features() -> Result<&'static [&'static str], String> {
    if std::env::var_os(SKIP).is_some() {
        tools::note(&format!("{TESTS}: {SKIP} is set"));
        return Ok(&[]);
    }
    if !is_there() {
        let installed = tools::install("testing `ewca fit --distributed`", &PACKAGES).and_then(|()| {
            if is_there() {
                Ok(())
            } else {
                Err(format!("{} did not bring mpirun, mpicc and libclang", PACKAGES.join(" ")))
            }
        });
        if let Err(why) = installed {
            tools::leave_out(TESTS, &why)?;
            return Ok(&[]);
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
