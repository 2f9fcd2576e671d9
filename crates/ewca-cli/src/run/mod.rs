//! What surrounds long work: the number of components, progress, Ctrl-C, saved states, memory, and the processes that share it.

pub mod checkpoint;
pub mod cluster;
pub mod components;
pub mod coordinator;
pub mod interrupt;
pub mod memory;
pub mod progress;
