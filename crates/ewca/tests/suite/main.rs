//! All tests of the library from outside, in one program: it is built and linked once.

mod approximate;
mod behaviour;
mod certificate;
mod common;
mod examples;
mod fixtures;
mod many;
mod oracles;
mod paper;
mod pca;
mod sparse;
mod streamed;
mod team;
mod vectors;
