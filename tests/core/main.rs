//! Tests of the Rust core, in one binary. They use the public interface alone.

// A failure of a test's own set-up should end the test on the spot.
#![allow(clippy::unwrap_used)]
// Groups are few and seeds are small.
#![allow(clippy::cast_possible_wrap)]

mod agreement;
mod certificate;
mod cholesky;
mod cmu;
mod columns;
mod common;
mod encoding;
mod kernel;
mod layering;
mod linear;
mod monitor;
mod phases;
mod problem;
mod smo;
