//! What options are called on the command line: libraries name them by their fields.

use ewca_io::{OptionName, Phrase};

use crate::console::command_line::shell_word;

/// A message of the readers and writers of files.
pub fn in_flags(message: &Phrase) -> String {
    message.in_words(|option, value| {
        let name = flag(option);
        match value {
            // A flag without a value.
            Some(value) if option != OptionName::Header => format!("{name} {}", shell_word(value)),
            _ => name,
        }
    })
}

fn flag(option: OptionName) -> String {
    match option {
        OptionName::Filter => "--where".into(),
        OptionName::Header => "--no-header".into(),
        OptionName::MaxBytes => "--max-memory".into(),
        other => parameter(other.field()),
    }
}

/// A parameter of a fit. What is in capitals is a variable of the environment.
pub fn parameter(name: &str) -> String {
    match name {
        "k" => "-k".into(),
        "landmarks" => "--approximate".into(),
        "inner_steps" => "--mm-inner-steps".into(),
        name if name.starts_with(|first: char| first.is_ascii_uppercase()) => name.into(),
        name => format!("--{}", name.replace('_', "-")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The options of `ewca fit`, as they are typed.
    fn known() -> Vec<String> {
        let program = crate::args::command();
        let fit = program.find_subcommand("fit").unwrap();
        let long = fit.get_arguments().filter_map(|argument| argument.get_long()).map(|name| format!("--{name}"));
        let short = fit.get_arguments().filter_map(|argument| argument.get_short()).map(|name| format!("-{name}"));
        long.chain(short).collect()
    }

    /// Errors once named --max-bytes and --k, which never existed.
    #[test]
    fn every_flag_exists() {
        let known = known();
        for (option, _) in OptionName::ALL {
            assert!(known.contains(&flag(option)), "{option:?}");
        }
        let parameters = [
            "k",
            "epsilon",
            "perplexity",
            "tolerance",
            "max_iterations",
            "threads",
            "inner_steps",
            "landmarks",
            "solver",
            "weights",
        ];
        for name in parameters {
            assert!(known.contains(&parameter(name)), "{name}");
        }
        assert_eq!(parameter("EWCA_SIMD"), "EWCA_SIMD");
    }

    #[test]
    fn values_are_words_of_a_shell() {
        let place = ewca_io::Place::Line(2);
        let error = ewca_io::Error::NotANumber { file: "t".into(), place, column: "a b".into(), cell: "x".into() };
        assert_eq!(
            in_flags(&error.message()),
            "t, line 2, column 'a b': 'x' is not a number; pass --label 'a b' or --id 'a b' if the column contains names or classes, \
             --ignore 'a b' to leave it out, or fix the value"
        );
        let error = ewca_io::Error::EmptyName { file: "t".into(), position: 3 };
        let said = "t: feature 3 has no name; give it one, or pass --no-header if the first line contains data";
        assert_eq!(in_flags(&error.message()), said);
    }
}
