//! Columns of a tile as vectors of eight, which every processor has or the compiler makes.

use wide::i16x8;

use super::LANES;

/// A feature of a tile as two vectors.
#[inline(always)]
pub(crate) fn load(values: &[i16; LANES]) -> [i16x8; 2] {
    let (halves, _) = values.as_chunks::<8>();
    [i16x8::new(halves[0]), i16x8::new(halves[1])]
}
