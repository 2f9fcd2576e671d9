//! How many bytes a file may bring.

use crate::memory::available_memory;
use crate::{Error, ReadOptions};

/// A compressed file may always grow to this size ...
const FREE_GROWTH: u64 = 1 << 30;
/// ... and beyond it to this many times its own. Tables of text shrink 3 to 20 times.
const LARGEST_RATIO: u64 = 256;

/// How many bytes a file may bring, and who says so.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub bytes: u64,
    origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// [`ReadOptions::max_bytes`].
    Option,
    /// What a compressed file usually grows to.
    Growth,
    /// What the machine has.
    Machine,
}

impl Limit {
    /// Of a file, or a pipe, as it is.
    pub fn of_plain(options: &ReadOptions) -> Limit {
        let free = || Limit { bytes: available_memory().unwrap_or(u64::MAX), origin: Origin::Machine };
        Self::of_options(options).unwrap_or_else(free)
    }

    /// Of what is inside `compressed` bytes. What comes out is held beside the numbers that it becomes.
    pub fn of_compressed(compressed: u64, options: &ReadOptions) -> Limit {
        let claims = Self::of_claims(compressed, options);
        match available_memory().map(|free| free / 3) {
            Some(free) if claims.origin == Origin::Growth && free < claims.bytes => {
                Limit { bytes: free, origin: Origin::Machine }
            }
            _ => claims,
        }
    }

    /// Of what a file of `compressed` bytes may claim to hold, where not all of it is held at once.
    pub fn of_claims(compressed: u64, options: &ReadOptions) -> Limit {
        let bytes = FREE_GROWTH.max(compressed.saturating_mul(LARGEST_RATIO));
        Self::of_options(options).unwrap_or(Limit { bytes, origin: Origin::Growth })
    }

    fn of_options(options: &ReadOptions) -> Option<Limit> {
        options.max_bytes.map(|bytes| Limit { bytes, origin: Origin::Option })
    }

    /// Refuses a file of this length. What the machine has is looked at when room is made.
    pub fn check(self, length: u64, file: &str) -> Result<(), Error> {
        let is_exceeded = length > self.bytes && self.origin != Origin::Machine;
        if is_exceeded { Err(self.exceeded(file)) } else { Ok(()) }
    }

    /// What is said of a file that brings more.
    pub fn exceeded(self, file: &str) -> Error {
        let (file, limit) = (file.into(), self.bytes);
        match self.origin {
            Origin::Option => Error::TooLarge { file, limit, is_wish: true },
            Origin::Growth => Error::TooLarge { file, limit, is_wish: false },
            Origin::Machine => Error::NoRoom { file, bytes: limit },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Raise `max_bytes`" was once the advice where nobody had set it, also to users of commands that do not have it.
    #[test]
    fn an_option_is_named_only_where_it_was_given() {
        let message = |max_bytes| {
            let options = ReadOptions { max_bytes, ..ReadOptions::default() };
            Limit::of_claims(10, &options).exceeded("t.csv.gz").to_string()
        };
        assert_eq!(
            message(Some(1 << 20)),
            "t.csv.gz: is larger than 1.0 MiB when decompressed; raise `max_bytes` if that is expected"
        );
        assert_eq!(
            message(None),
            "t.csv.gz: is larger than 1.0 GiB when decompressed, which is unusual for its size; save it without compression if that \
             is expected"
        );
    }
}
