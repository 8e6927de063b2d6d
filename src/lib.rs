//! Support vector machines, trained exactly.
//!
//! The dual problem of a support vector machine, in signed variables ([`problem`]),
//!
//! ```text
//! minimise  1/2 beta'K beta - p'beta   subject to   sum of beta_i over each group fixed,  lower <= beta <= upper,
//! ```
//!
//! is solved by an active-set method ([`cmu`]) and the solution is judged by a module that shares no code with it
//! ([`certificate`]).
//!
//! ```
//! use exactsvm::{CmuSettings, DualProblem, GramMatrix, Kernel, Monitor, NoObserver, Points, Threads, certify, cmu};
//!
//! let x = [-2.0, -1.0, 1.0, 2.0];
//! let y = [-1.0, -1.0, 1.0, 1.0];
//! let kernel = Kernel::Linear;
//! let threads = Threads::new(1);
//! let points = Points::new(&x, 4, 1, &kernel)?;
//! let gram = GramMatrix::compute(&points, &kernel, &threads, || true)?.expect("nothing stops it");
//! let problem = DualProblem::classification(&y, &[10.0; 4], None)?;
//! let mut observer = NoObserver;
//! let mut monitor = Monitor::new(&mut observer, None);
//! let solution = cmu::solve(&gram, &problem, &CmuSettings::default(), true, &threads, &mut monitor)?;
//! let certificate = certify(&gram, Some(&points), &problem, &solution.beta, None, &threads);
//! assert!(solution.info.status.is_optimal());
//! assert!((certificate.dual_objective - 0.5).abs() < 1e-12); // margin 1 on both sides: w = 1
//! # Ok::<(), exactsvm::Error>(())
//! ```

pub mod certificate;
pub mod cholesky;
pub mod cmu;
pub mod encoding;
pub mod error;
pub mod fit;
mod gradient;
pub mod info;
pub mod kernel;
pub mod kkt;
pub mod linalg;
pub mod linear;
pub mod model;
pub mod observer;
mod pair;
pub mod pairs;
pub mod problem;
pub mod smo;
pub mod solution;
pub mod status;
pub mod threads;
pub mod train;

#[cfg(feature = "python")]
mod python;

pub use certificate::{Certificate, certify};
pub use cmu::CmuSettings;
pub use encoding::{Encoding, Model};
pub use error::{Error, Result};
pub use info::{Info, Seconds};
pub use kernel::{GramMatrix, Kernel, Points};
pub use observer::{Control, Monitor, NoObserver, Observer, Progress};
pub use pairs::{Classes, PairFits, train_pairs};
pub use problem::{BoundState, DualProblem, DualProblemParts};
pub use smo::{Selection, SmoSettings};
pub use solution::Solution;
pub use status::SolverStatus;
pub use threads::Threads;
pub use train::{Source, Trained, Training, train};
