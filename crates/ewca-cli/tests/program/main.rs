//! All tests of the program from outside, in one program: it is built and linked once, and no core waits for the last test of a file.

#[cfg(target_os = "linux")]
mod attacks;
mod checkpoint;
mod cluster;
mod common;
mod components;
mod demo;
mod evidence;
mod fit;
mod formats;
#[cfg(target_os = "linux")]
mod hostile;
mod interrupt;
mod manual;
mod memory;
mod messages;
mod metadata;
mod model;
mod outputs;
mod parts;
mod path;
mod pipes;
mod read_back;
mod report;
mod reproduce;
mod select;
mod spreadsheets;
mod tables;
mod tour;
