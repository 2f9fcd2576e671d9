//! Commands that are printed for people to go on with: they repeat the options that were given, and can be pasted into a shell.

use std::fmt::Display;
use std::path::Path;

use ewca_io::{Missing, Preprocessing};

use crate::args::{Limits, TableJob};
use crate::console::text::flowed;
use crate::input::table::{Input, Meaning, Weighting};
use crate::output::summary::missing_name;

/// A command, word by word.
#[derive(Debug, Clone)]
pub struct CommandLine {
    words: Vec<String>,
}

impl CommandLine {
    /// `ewca` and the name of a command.
    pub fn of(command: &str) -> Self {
        Self { words: vec!["ewca".into(), command.into()] }
    }

    /// With a path.
    pub fn path(mut self, path: &Path) -> Self {
        let text = path.display().to_string();
        // A name that begins with a dash would be taken for an option.
        let text = if text.starts_with('-') && text != "-" { format!("./{text}") } else { text };
        self.words.push(shell_word(&text));
        self
    }

    /// With an option that takes no value, if it was given.
    pub fn flag(mut self, name: &str, given: bool) -> Self {
        if given {
            self.words.push(name.into());
        }
        self
    }

    /// With an option and its value, if it was given.
    pub fn option(mut self, name: &str, value: Option<impl Display>) -> Self {
        if let Some(value) = value {
            let value = value.to_string();
            match value.starts_with('-') {
                true => self.words.push(format!("{name}={}", shell_word(&value))),
                false => self.words.extend([name.to_string(), shell_word(&value)]),
            }
        }
        self
    }

    /// With a table and all that was said of how to read it.
    pub fn table(self, job: &TableJob) -> Self {
        let with_input = match &job.input {
            Input::Standard => self.path(Path::new("-")),
            Input::File(path) => self.path(path),
        };
        with_input.reading(job)
    }

    /// With all that was said of how to read a table, but for its name.
    pub fn reading(self, job: &TableJob) -> Self {
        let read = &job.read;
        let missing = (read.missing != Missing::Error).then(|| missing_name(read.missing));
        let delimiter = read.delimiter.map(|byte| match byte {
            b'\t' => "tab".to_string(),
            b' ' => "space".to_string(),
            other => char::from(other).to_string(),
        });
        let line = self.option("--id", read.id.as_ref());
        let line = job.labels.iter().fold(line, |line, name| line.option("--label", Some(name)));
        let line = line
            .option("--metadata", job.metadata.as_ref().map(|metadata| metadata.file.display()))
            .option("--where", read.filter.as_ref().map(|(column, text)| format!("{column}={text}")))
            .option("--missing", missing)
            .flag("--transpose", read.transpose)
            .option("--array", read.array.as_ref())
            .option("--feature-type", read.feature_type.as_ref())
            .option("--format", read.format.map(|format| format.name()))
            .flag("--no-header", !read.header)
            .option("--delimiter", delimiter)
            .option("--decimal", read.decimal.map(char::from))
            .option("--encoding", read.encoding.as_ref());
        let line = read.missing_values.iter().fold(line, |line, word| line.option("--missing-values", Some(word)));
        read.ignore.iter().fold(line, |line, name| line.option("--ignore", Some(name)))
    }

    /// With the column of weights or counts.
    pub fn weighting(self, weighting: Option<&Weighting>) -> Self {
        let column = |wanted| weighting.filter(|found| found.meaning == wanted).map(|found| &found.column);
        self.option("--weights", column(Meaning::Weights)).option("--counts", column(Meaning::Counts))
    }

    /// With the steps before a fit.
    pub fn preprocessing(self, steps: &Preprocessing) -> Self {
        self.option("--normalize-total", steps.normalize_total)
            .flag("--log1p", steps.log1p)
            .option("--top-variable", steps.top_variable)
            .option("--scale", steps.unit_variance.then_some("unit-variance"))
    }

    /// With what the run may use.
    pub fn limits(self, limits: Limits) -> Self {
        self.option("--threads", limits.threads).option("--max-memory", limits.max_memory)
    }

    /// On one line, as programs take it.
    pub fn on_one_line(&self) -> String {
        self.words.join(" ")
    }

    /// On as many lines as it takes, each but the last with a backslash at its end.
    pub fn in_lines(&self, indent: usize) -> String {
        flowed(self.words.iter().map(String::as_str), (indent, indent + 4), " \\")
    }
}

/// A word as a shell takes it: in quotes, where it needs them.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.:/@%+=,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::text::WIDTH;

    /// What a shell makes of a line.
    #[cfg(unix)]
    fn words(line: &str) -> Vec<String> {
        let script = format!("ewca() {{ printf '%s\\n@' \"$@\"; }}\n{line}");
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.strip_suffix("\n@").unwrap().split("\n@").map(String::from).collect()
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_takes_words_apart_as_they_were() {
        for strange in ["a b", "it's", "$HOME", "`ls`", "\"", "\\", "*", "~", "a;b", "#x", "!x", "ü", "(a)", "a\nb", ""]
        {
            let line = CommandLine::of("fit").path(Path::new("my data.csv")).option("--label", Some(strange));
            let expected = ["fit", "my data.csv", "--label", strange];
            assert_eq!(words(&line.on_one_line()), expected);
            assert_eq!(words(&line.in_lines(2)), expected);
        }
        let line = CommandLine::of("fit").path(Path::new("-odd.csv")).option("--label", Some("-x y"));
        assert_eq!(words(&line.on_one_line()), ["fit", "./-odd.csv", "--label=-x y"]);
    }

    #[test]
    fn long_commands_go_on_in_the_next_line() {
        let line =
            (0..30).fold(CommandLine::of("fit"), |line, at| line.option("--ignore", Some(format!("column{at}"))));
        let text = line.in_lines(2);
        assert!(text.lines().count() > 3 && text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let joined: Vec<&str> = text.split_whitespace().filter(|word| *word != "\\").collect();
        assert_eq!(joined.join(" "), line.on_one_line());
    }
}
