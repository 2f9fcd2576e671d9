//! The `ewca` program: see the library.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    ewca_cli::main(std::env::args_os()).into()
}
