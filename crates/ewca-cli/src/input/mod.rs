//! Tables as the program holds them: whole, or part by part.

pub mod metadata;
pub mod parts;
pub mod prepare;
pub mod remember;
pub mod table;
