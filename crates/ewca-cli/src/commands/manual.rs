//! `ewca completions` and `ewca man`: the command line, told to shells and to `man`.

use std::io::Write;
use std::path::Path;

use clap_complete::Shell;
use ewca_io::write_atomically;

use crate::args;
use crate::console::failure::Failure;
use crate::console::outcome::Outcome;
use crate::console::terminal::Console;
use crate::console::text::count;
use crate::output::results::ResultsFolder;

/// Prints the completions of a shell.
pub fn completions(shell: Shell) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "ewca", &mut script);
    print(&script)
}

/// Prints the page of the program, or writes the pages of all commands to a folder.
pub fn pages(folder: Option<&Path>, console: Console) -> Result<Outcome, Failure> {
    let Some(path) = folder else { return print(&page(args::command())) };
    let _folder = ResultsFolder::make_for(path)?;
    let pages = all();
    for (name, command) in &pages {
        write_atomically(&path.join(name), |out| out.write_all(&page(command.clone())))?;
    }
    console.say(&format!("Written to {}: {}\n", path.display(), count(pages.len(), "page")));
    console.report(&serde_json::json!({ "event": "written", "folder": path, "files": pages.len() }));
    Ok(Outcome::Success)
}

/// The names of all pages.
pub fn names() -> Vec<String> {
    all().into_iter().map(|(name, _)| name).collect()
}

fn all() -> Vec<(String, clap::Command)> {
    let program = args::command();
    let commands = program.get_subcommands().filter(|command| command.get_name() != "help");
    let named = |command: &clap::Command| {
        let name = format!("ewca-{}", command.get_name());
        (format!("{name}.1"), command.clone().display_name(name))
    };
    let mut pages: Vec<(String, clap::Command)> = commands.map(named).collect();
    pages.push(("ewca.1".into(), program));
    pages
}

fn page(command: clap::Command) -> Vec<u8> {
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    let _ = clap_mangen::Man::new(command).render(&mut page);
    page
}

fn print(bytes: &[u8]) -> Result<Outcome, Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|source| Failure::Print { source })?;
    Ok(Outcome::Success)
}
