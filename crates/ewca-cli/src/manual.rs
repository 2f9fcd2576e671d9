//! `ewca completions` and `ewca man`: the command line, told to shells and to `man`.

use std::io::Write;
use std::path::Path;

use clap_complete::Shell;
use ewca_io::write_atomically;

use crate::args;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::results::ResultsFolder;
use crate::terminal::Console;
use crate::text::count;

/// Prints the completions of a shell.
pub fn completions(shell: Shell) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "ewca", &mut script);
    print(&script)
}

/// Prints the page of the program, or writes the pages of all commands to a folder.
pub fn pages(folder: Option<&Path>, console: Console) -> Result<Outcome, Failure> {
    let program = args::command();
    let Some(path) = folder else { return print(&page(program)) };
    let folder = ResultsFolder::make_for(path)?;
    let mut written = 1;
    for command in program.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = format!("ewca-{}", command.get_name());
        let command = command.clone().display_name(name.clone());
        folder.write_file(&format!("{name}.1"), |out| out.write_all(&page(command)))?;
        written += 1;
    }
    write_atomically(&path.join("ewca.1"), |out| out.write_all(&page(program)))?;
    console.say(&format!("Written to {}: {}\n", path.display(), count(written, "page")));
    console.report(&serde_json::json!({ "event": "written", "folder": path, "files": written }));
    Ok(Outcome::Converged)
}

fn page(command: clap::Command) -> Vec<u8> {
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    let _ = clap_mangen::Man::new(command).render(&mut page);
    page
}

/// A reader that has gone away has read enough.
fn print(bytes: &[u8]) -> Result<Outcome, Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(source) if source.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::Print { source }),
        _ => Ok(Outcome::Converged),
    }
}
