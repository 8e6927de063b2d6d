//! The problem without its samples: terms, loss and the role of the intercept.

use crate::error::{Error, Result, check_finite, check_len};

/// The loss of a term at v = c - z f.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// max(0, v): hinge, epsilon-insensitive.
    Linear,
    /// max(0, v)^2.
    Squared,
}

/// What the constant of the decision function is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intercept {
    /// There is none.
    Absent,
    /// Free of charge, as in the support vector machine proper.
    Free,
    /// The weight, regularised like the others, of one more feature with this value in every sample.
    Penalised(f64),
}

impl Intercept {
    /// Value of the added feature; 0 if there is none.
    pub fn feature(self) -> f64 {
        match self {
            Self::Absent => 0.0,
            Self::Free => 1.0,
            Self::Penalised(scale) => scale,
        }
    }

    /// Weight of the added coordinate in the regulariser.
    pub fn regulariser(self) -> f64 {
        if matches!(self, Self::Free) { 0.0 } else { 1.0 }
    }
}

/// Terms in the order of their rows; terms of weight zero are left out.
#[derive(Clone, Debug)]
pub struct LinearProblem {
    /// Row of each term, never falling.
    pub row: Vec<u32>,
    /// z, of -1 and +1.
    pub sign: Vec<f64>,
    /// c.
    pub offset: Vec<f64>,
    /// u, positive.
    pub weight: Vec<f64>,
    /// Loss of every term.
    pub loss: Loss,
    /// Role of the intercept.
    pub intercept: Intercept,
}

impl LinearProblem {
    /// One term a sample: c = 1 and the sign of its class.
    ///
    /// # Errors
    /// If lengths differ or a value is out of range.
    pub fn classification(
        signs: &[f64],
        weights: &[f64],
        loss: Loss,
        intercept: Intercept,
    ) -> Result<Self> {
        if let Some(z) = signs.iter().find(|z| z.abs() != 1.0) {
            return Err(Error::Value {
                argument: "signs",
                expected: "entries -1 or +1",
                got: z.to_string(),
            });
        }
        let mut problem = Self::empty(signs.len(), weights, loss, intercept)?;
        for (i, (&z, &u)) in signs.iter().zip(weights).enumerate() {
            if u > 0.0 {
                problem.push(i, z, 1.0, u);
            }
        }
        Ok(problem)
    }

    /// Two terms a sample: the target may be missed by `epsilon` either way.
    ///
    /// # Errors
    /// If lengths differ or a value is out of range.
    pub fn regression(
        targets: &[f64],
        epsilon: f64,
        weights: &[f64],
        loss: Loss,
        intercept: Intercept,
    ) -> Result<Self> {
        check_finite("targets", targets)?;
        if !(epsilon >= 0.0 && epsilon.is_finite()) {
            return Err(Error::Value {
                argument: "epsilon",
                expected: "a finite number >= 0",
                got: epsilon.to_string(),
            });
        }
        let mut problem = Self::empty(targets.len(), weights, loss, intercept)?;
        for (i, (&t, &u)) in targets.iter().zip(weights).enumerate() {
            if u > 0.0 {
                problem.push(i, 1.0, t - epsilon, u);
                problem.push(i, -1.0, -t - epsilon, u);
            }
        }
        Ok(problem)
    }

    fn empty(n: usize, weights: &[f64], loss: Loss, intercept: Intercept) -> Result<Self> {
        check_len("weights", n, weights.len())?;
        if n == 0 || u32::try_from(n).is_err() {
            return Err(Error::Shape {
                argument: "weights",
                expected: "from 1 to 2^32 - 1 entries".into(),
                got: n.to_string(),
            });
        }
        if let Some(u) = weights.iter().find(|u| !(**u >= 0.0 && u.is_finite())) {
            return Err(Error::Value {
                argument: "weights",
                expected: "finite numbers >= 0",
                got: u.to_string(),
            });
        }
        if let Intercept::Penalised(scale) = intercept
            && !(scale > 0.0 && scale.is_finite())
        {
            return Err(Error::Value {
                argument: "intercept_scaling",
                expected: "a finite number > 0",
                got: scale.to_string(),
            });
        }
        Ok(Self {
            row: Vec::new(),
            sign: Vec::new(),
            offset: Vec::new(),
            weight: Vec::new(),
            loss,
            intercept,
        })
    }

    fn push(&mut self, row: usize, sign: f64, offset: f64, weight: f64) {
        self.row.push(row as u32);
        self.sign.push(sign);
        self.offset.push(offset);
        self.weight.push(weight);
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.row.len()
    }

    /// Whether every weight is zero.
    pub fn is_empty(&self) -> bool {
        self.row.is_empty()
    }

    /// Diagonal that the loss adds to the dual: 0, or 1/(2u) for the square.
    #[inline]
    pub fn diagonal(&self, k: usize) -> f64 {
        match self.loss {
            Loss::Linear => 0.0,
            Loss::Squared => 0.5 / self.weight[k],
        }
    }

    /// Upper bound of the dual variable: u, or infinity for the square.
    #[inline]
    pub fn upper(&self, k: usize) -> f64 {
        match self.loss {
            Loss::Linear => self.weight[k],
            Loss::Squared => f64::INFINITY,
        }
    }

    /// Checks that the rows of all terms exist.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn check_rows(&self, n: usize) -> Result<()> {
        match self.row.last() {
            Some(&last) if last as usize >= n => Err(Error::Shape {
                argument: "X",
                expected: format!("at least {} rows", last + 1),
                got: n.to_string(),
            }),
            _ => Ok(()),
        }
    }
}
