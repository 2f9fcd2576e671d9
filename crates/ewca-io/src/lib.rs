//! Tables in, results out: the file formats of the `ewca` program.
#![forbid(unsafe_code)]
