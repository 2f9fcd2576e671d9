//! Who makes a fit: one process, or many that go the same steps together.

use ewca::{Model, Samples};

use crate::console::failure::Failure;
use crate::console::terminal::Console;

/// What the processes of a fit settle among themselves. A process that fails alone must not leave the others waiting.
pub trait Coordinator {
    /// The number of this process, and how many there are.
    fn place(&self) -> (usize, usize);

    /// Whether each process has its own rows of the table, though there may be only one.
    fn shares_rows(&self) -> bool;

    /// Goes on if all processes can. Otherwise the first one that cannot says why, and the others end in silence.
    fn agree<T>(&self, result: Result<T, Failure>) -> Result<T, Failure>;

    /// The samples of this process as a part of all.
    fn join<'s>(&self, samples: Samples<'s>) -> ewca::Result<Samples<'s>>;

    /// The number that the first process has.
    fn broadcast(&self, own: u64) -> u64;

    /// What all processes make of how the fit ended here.
    fn settle(&self, fitted: Result<Model, Failure>, console: Console) -> Result<Model, Failure>;

    /// Whether this process talks and writes: of several, one does.
    fn is_first(&self) -> bool {
        self.place().0 == 0
    }
}

/// One process, which has nobody to ask.
#[derive(Debug, Clone, Copy)]
pub struct Alone;

impl Coordinator for Alone {
    fn place(&self) -> (usize, usize) {
        (0, 1)
    }

    fn shares_rows(&self) -> bool {
        false
    }

    fn agree<T>(&self, result: Result<T, Failure>) -> Result<T, Failure> {
        result
    }

    fn join<'s>(&self, samples: Samples<'s>) -> ewca::Result<Samples<'s>> {
        Ok(samples)
    }

    fn broadcast(&self, own: u64) -> u64 {
        own
    }

    fn settle(&self, fitted: Result<Model, Failure>, _: Console) -> Result<Model, Failure> {
        fitted
    }
}
