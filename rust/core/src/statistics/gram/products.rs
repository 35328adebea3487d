//! X'X of rows while they are mapped.

use std::sync::{Mutex, PoisonError};

use super::kernel::{Packed, gram, gram_pairs};
use super::{Gram, Statistic};
use crate::error::Result;
use crate::execution::Path;
use crate::layout::{Layout, Line};
use crate::store::Sink;

/// Twice this number of rows can be added in 64 bits: 2^32 · 2^30 < 2^63.
const MOST_ROWS: usize = 1 << 31;

/// X'X of a batch, as partial sums of threads.
pub(super) struct Products<'a> {
    /// The batch is added to this matrix at the end.
    gram: &'a mut Gram,
    parts: Mutex<Vec<Part>>,
    /// The number of rows in the parts.
    rows: usize,
    /// The sum of earlier parts, which were full.
    earlier: Option<Gram>,
}

/// The sums of a thread, and the buffers of its kernel.
pub(super) struct Part {
    sums: Vec<[i64; 4]>,
    packed: Packed,
}

impl<'a> Products<'a> {
    pub(super) fn new(gram: &'a mut Gram) -> Self {
        Self { gram, parts: Mutex::default(), rows: 0, earlier: None }
    }

    fn zero(&self) -> Vec<[i64; 4]> {
        vec![[0; 4]; gram_pairs(Layout::new(self.gram.features()))]
    }

    /// Remove all parts and return their sum.
    fn sum(&mut self) -> Vec<[i64; 4]> {
        let parts = std::mem::take(self.parts.get_mut().unwrap_or_else(PoisonError::into_inner));
        let mut parts = parts.into_iter().map(|part| part.sums);
        let mut sum = parts.next().unwrap_or_else(|| self.zero());
        for part in parts {
            let (sum, part) = (sum.as_flattened_mut(), part.as_flattened());
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        sum
    }
}

impl Sink for Products<'_> {
    type Part = Part;

    /// Sixty-four products take as long as mapping one value.
    fn cost(features: usize) -> usize {
        features * features / 64
    }

    fn take(&self) -> Part {
        let part = self.parts.lock().unwrap_or_else(PoisonError::into_inner).pop();
        part.unwrap_or_else(|| Part { sums: self.zero(), packed: Packed::default() })
    }

    fn add(part: &mut Part, path: Path, tiles: &[Line], layout: Layout) {
        gram(path, tiles, layout, &mut part.packed, &mut part.sums);
    }

    fn put(&self, part: Part) {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).push(part);
    }

    fn added(&mut self, rows: usize) -> Result<()> {
        self.rows += rows;
        if self.rows > MOST_ROWS {
            self.rows = 0;
            let (sum, empty) = (self.sum(), self.gram.empty());
            self.earlier.get_or_insert(empty).add(&sum)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        let sum = self.sum();
        match self.earlier {
            None => self.gram.add(&sum),
            Some(mut earlier) => {
                earlier.add(&sum)?;
                self.gram.merge(&earlier)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::Execution;
    use crate::rowmap::{Column, Norm, RowMap, Target};
    use crate::source::{Dense, Missing};
    use crate::store::Batch;

    #[test]
    fn full_sums_are_moved_to_larger_integers() {
        let target = Target::new(0.0, 1.0, 1.0).unwrap();
        let map = RowMap::new(vec![Column::plain(); 3], target, Norm::Clip, None).unwrap();
        let (x, y): (Vec<f64>, _) = ((0..120).map(|i| f64::from(i % 7) / 9.0).collect(), vec![0.0; 40]);
        let (source, execution) = (Dense::new(&x, &y).unwrap(), Execution::on(Path::detect()));
        let (mut expected, mut found) = (Gram::new(&map), Gram::new(&map));
        let mut products = Products::new(&mut found);
        for turn in 0..4 {
            expected.extend(&map, &source, Missing::Error, &execution, &mut || false).unwrap();
            products.rows += if turn == 1 { MOST_ROWS } else { 0 };
            let batch = Batch { map: &map, source: &source, missing: Missing::Error, execution: &execution };
            batch.fill(0..40, None, &mut products).unwrap();
            assert_eq!(products.earlier.is_some(), turn > 0);
        }
        products.finish().unwrap();
        assert_eq!(found, expected);
    }
}
