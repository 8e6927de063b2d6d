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
    /// Row of each term, never falling; empty where term k is of row k.
    row: Vec<u32>,
    len: usize,
    /// z, of -1 and +1, in as little memory as there can be many.
    sign: Vec<i8>,
    /// c; empty where it is 1 for all.
    offset: Vec<f64>,
    /// u, positive; a single one if all are equal.
    weight: Vec<f64>,
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
    pub fn classification<S: Copy + Into<f64>>(
        signs: &[S],
        weights: &[f64],
        loss: Loss,
        intercept: Intercept,
    ) -> Result<Self> {
        if let Some(z) = signs.iter().map(|z| (*z).into()).find(|z| z.abs() != 1.0) {
            return Err(Error::Value {
                argument: "signs",
                expected: "entries -1 or +1",
                got: z.to_string(),
            });
        }
        let mut problem = Self::empty(signs.len(), weights, loss, intercept)?;
        for (i, (&z, &u)) in signs.iter().zip(weights).enumerate() {
            if u > 0.0 {
                problem.push(i, z.into(), u);
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
                problem.push(i, 1.0, u);
                problem.push(i, -1.0, u);
                problem.offset.extend([t - epsilon, -t - epsilon]);
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
            len: 0,
            sign: Vec::new(),
            offset: Vec::new(),
            weight: Vec::new(),
            loss,
            intercept,
        })
    }

    fn push(&mut self, row: usize, sign: f64, weight: f64) {
        // Rows and weights are written down from the first on that is not as expected.
        if row != self.len && self.row.is_empty() {
            self.row.extend(0..self.len as u32);
        }
        if row != self.len || !self.row.is_empty() {
            self.row.push(row as u32);
        }
        self.sign.push(sign as i8);
        match self.weight[..] {
            [same] if same == weight => {}
            [same] if self.len > 1 => {
                self.weight.resize(self.len, same);
                self.weight.push(weight);
            }
            _ => self.weight.push(weight),
        }
        self.len += 1;
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether every weight is zero.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Row of term k.
    #[inline(always)]
    pub fn row(&self, k: usize) -> usize {
        if self.row.is_empty() { k } else { self.row[k] as usize }
    }

    /// u of term k.
    #[inline(always)]
    pub fn weight(&self, k: usize) -> f64 {
        if self.weight.len() == 1 { self.weight[0] } else { self.weight[k] }
    }

    /// z of term k.
    #[inline(always)]
    pub fn sign(&self, k: usize) -> f64 {
        f64::from(self.sign[k])
    }

    /// c of term k.
    #[inline(always)]
    pub fn offset(&self, k: usize) -> f64 {
        if self.offset.is_empty() { 1.0 } else { self.offset[k] }
    }

    /// Diagonal that the loss adds to the dual: 0, or 1/(2u) for the square.
    #[inline]
    pub fn diagonal(&self, k: usize) -> f64 {
        match self.loss {
            Loss::Linear => 0.0,
            Loss::Squared => 0.5 / self.weight(k),
        }
    }

    /// Upper bound of the dual variable: u, or infinity for the square.
    #[inline]
    pub fn upper(&self, k: usize) -> f64 {
        match self.loss {
            Loss::Linear => self.weight(k),
            Loss::Squared => f64::INFINITY,
        }
    }

    /// Checks that the rows of all terms exist.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn check_rows(&self, n: usize) -> Result<()> {
        match self.len.checked_sub(1).map(|last| self.row(last)) {
            Some(last) if last >= n => Err(Error::Shape {
                argument: "X",
                expected: format!("at least {} rows", last + 1),
                got: n.to_string(),
            }),
            _ => Ok(()),
        }
    }
}
