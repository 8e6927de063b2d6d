//! The two columns of a step, where the cache has no room for them.

#[derive(Debug, Default)]
pub(super) struct Loose {
    points: [Option<usize>; 2],
    values: [Vec<f64>; 2],
}

impl Loose {
    /// A column that is here.
    pub(super) fn get(&self, point: usize) -> Option<&[f64]> {
        let at = self.points.iter().position(|p| *p == Some(point))?;
        Some(&self.values[at])
    }

    /// Places for the columns of `points` among the two that are `wanted`; what else is wanted stays.
    pub(super) fn places(
        &mut self,
        points: &[usize],
        wanted: &[usize],
        n: usize,
    ) -> Vec<&mut [f64]> {
        let mut waiting = points.iter().copied();
        let mut places = Vec::with_capacity(points.len());
        for (held, values) in self.points.iter_mut().zip(&mut self.values) {
            if held.is_some_and(|p| wanted.contains(&p)) {
                continue;
            }
            if let Some(point) = waiting.next() {
                *held = Some(point);
                values.resize(n, 0.0);
                places.push(values.as_mut_slice());
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_stays() {
        let mut loose = Loose::default();
        loose.places(&[7], &[7], 3)[0].fill(7.0);
        loose.places(&[8], &[7, 8], 3)[0].fill(8.0);
        assert_eq!((loose.get(7), loose.get(8)), (Some(&[7.0; 3][..]), Some(&[8.0; 3][..])));
        loose.places(&[9], &[8, 9], 3)[0].fill(9.0);
        assert_eq!((loose.get(7), loose.get(8)), (None, Some(&[8.0; 3][..])));
        let places = loose.places(&[1, 2], &[1, 2], 3);
        assert_eq!(places.len(), 2);
    }
}
