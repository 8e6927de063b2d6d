//! Linear support vector machines: the weights themselves are the variables, and no matrix over pairs of samples is ever formed.
//!
//! ```text
//! minimise over w, b   P(w, b) = 1/2 |w|^2 + sum_k u_k loss(c_k - z_k f(x_k)),    f(x) = w'x + b,
//! ```
//!
//! over *terms* k, one a sample in classification (z = y, c = 1) and two in regression (z = +1, c = t - epsilon and z = -1,
//! c = -t - epsilon), with loss(v) = max(0, v) or its square. See `docs/linear.md`.

mod blocks;
mod centrality;
pub mod certificate;
mod compress;
pub mod data;
mod dense;
pub mod dual_descent;
mod exact;
pub mod fit;
mod gd;
pub mod interior;
mod looks;
mod normal;
mod norms;
pub mod objective;
mod order;
pub mod problem;
mod select;
pub mod settings;
mod sgd;
mod terms;
mod track;

pub use certificate::LinearCertificate;
pub use data::{Dense, LinearData, Rows, Sparse};
pub use fit::{LinearFit, fit_linear};
pub use problem::{Intercept, LinearProblem, Loss};
pub use settings::{LinearSettings, LinearSolver, Schedule};
