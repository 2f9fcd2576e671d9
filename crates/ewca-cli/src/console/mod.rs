//! What people read: the words of a fit, of errors and of commands to go on with, and the terminal itself.

pub mod command_line;
pub mod failure;
pub mod fit_summary;
pub mod flags;
pub mod outcome;
pub mod plot;
pub mod terminal;
pub mod text;
