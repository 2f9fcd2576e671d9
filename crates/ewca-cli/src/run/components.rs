//! How many components a fit has, where that is left to the data.

use ewca::Samples;
use ewca_eval::{ParallelAnalysis, Scree};

use crate::args::Components;
use crate::console::failure::Failure;
use crate::console::terminal::Console;
use crate::console::text::{count, percent, wrapped};
use crate::run::interrupt;
use crate::run::progress;

/// How many components, and what that was found by.
#[derive(Debug)]
pub struct Chosen {
    /// How many.
    pub components: usize,
    /// What says so; nothing where the number was given.
    pub scree: Option<Scree>,
}

impl Chosen {
    /// The number that was given, or as many as stand out from chance, which is said.
    pub fn new(
        components: Components,
        seed: u64,
        samples: &Samples<'_>,
        file: &str,
        console: Console,
    ) -> Result<Self, Failure> {
        if let Components::Given(components) = components {
            return Ok(Self { components, scree: None });
        }
        let scree = above_chance(samples, seed, file, console)?;
        let said = format!("-k auto: {}", in_words(&scree));
        console.say(&(wrapped(&said, 2) + "\n"));
        // What looks like noise is said to those who do not read along, too.
        if scree.above == 0 && !console.talks() {
            console.warn(&said);
        }
        Ok(Self { components: scree.components(), scree: Some(scree) })
    }
}

/// The variances of the principal components beside those of chance. Something moves on the terminal if it takes long.
pub fn above_chance(samples: &Samples<'_>, seed: u64, file: &str, console: Console) -> Result<Scree, Failure> {
    let analysis = ParallelAnalysis { seed, ..ParallelAnalysis::default() };
    let bar = progress::phase("looking for components above chance", console);
    let found = analysis.scree_observed(samples, &mut |done| {
        bar.set_message(format!("looking for components above chance, {done} of {}", analysis.permutations));
        !interrupt::requested()
    });
    bar.finish_and_clear();
    found.map_err(|source| Failure::Fit { file: file.into(), source })?.ok_or(Failure::Stopped)
}

/// How many, and why not more.
pub fn in_words(scree: &Scree) -> String {
    let (taken, above) = (count(scree.components(), "component"), scree.above);
    match (above, scree.variances.get(above).zip(scree.permuted.get(above))) {
        (0, Some((own, chance))) => {
            format!(
                "{taken}, although none explains more variance than chance ({}, chance {})",
                percent(*own),
                percent(*chance)
            )
        }
        (_, Some((own, chance))) => {
            let next = above + 1;
            format!(
                "{taken}; component {next} explains {} of the variance, no more than chance ({})",
                percent(*own),
                percent(*chance)
            )
        }
        (_, None) => format!("{taken}: all that were tested explain more variance than chance"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_and_its_reason() {
        let scree = |above: usize| Scree {
            above,
            variances: vec![0.5, 0.3, 0.0312],
            permuted: vec![0.25, 0.2, 0.0399],
            quantile: 0.95,
            permutations: 20,
        };
        assert_eq!(
            in_words(&scree(2)),
            "2 components; component 3 explains 3.1% of the variance, no more than chance (4.0%)"
        );
        assert_eq!(
            in_words(&scree(0)),
            "1 component, although none explains more variance than chance (50.0%, chance 25.0%)"
        );
        assert_eq!(in_words(&scree(3)), "3 components: all that were tested explain more variance than chance");
    }
}
