//! Tables as the program holds them: whole, or part by part.

pub mod parts;
pub mod table;
