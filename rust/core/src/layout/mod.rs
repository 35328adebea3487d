//! The memory layout of quantised rows.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
pub(crate) mod portable;

use bytemuck::{Pod, Zeroable};

/// Rows in a tile: one 256-bit vector of 16-bit values per feature.
pub const LANES: usize = 16;

/// A row of norm one is stored as integers whose squares sum to at most 2^(2·`BITS`).
pub const BITS: u32 = 15;

/// The largest stored value: 2^15 itself does not fit 16 bits, so an entry of exactly ±1 becomes 32767/32768.
pub const LARGEST: i16 = i16::MAX;

/// The most features of a stored row. With more, products with the low bits of θ could exceed 32 bits (`Theta`).
pub const MOST_FEATURES: usize = 8192;

/// One cache line: two features of a tile, or the targets of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroable, Pod)]
#[repr(C, align(64))]
pub struct Line(pub [i16; 32]);

/// The shape of a tile: `features` columns of [`LANES`] values, two per line, then a line of targets.
///
/// Targets are 32-bit integers. Their order is the one in which vector instructions unpack two columns
/// ([`target_lane`]), so that computing a residual needs no shuffle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    features: usize,
    lines: usize,
}

impl Layout {
    /// The layout for rows of `features` values, at most [`MOST_FEATURES`].
    pub fn new(features: usize) -> Self {
        debug_assert!((1..=MOST_FEATURES).contains(&features));
        let lines = features.div_ceil(2) + 1;
        // A loop over one feature visits the same line of every tile. With a stride of a multiple of eight lines they
        // would all fall into a few sets of the L1 cache.
        Self { features, lines: lines + usize::from(lines.is_multiple_of(8)) }
    }

    /// The number of values in a row.
    pub fn features(self) -> usize {
        self.features
    }

    /// The number of lines in a tile.
    pub fn lines(self) -> usize {
        self.lines
    }

    /// The number of bytes in a tile.
    pub fn bytes(self) -> usize {
        self.lines * size_of::<Line>()
    }

    /// The number of lines of a tile that hold features.
    pub fn feature_lines(self) -> usize {
        self.features.div_ceil(2)
    }

    /// The number of tiles that hold `rows` rows.
    pub fn tiles(rows: usize) -> usize {
        rows.div_ceil(LANES)
    }
}

/// The position of the target of row `lane` in its line. The order is rows 0–3, 8–11, 4–7, 12–15.
pub const fn target_lane(lane: usize) -> usize {
    match lane / 4 {
        1 => lane + 4,
        2 => lane - 4,
        _ => lane,
    }
}

/// A feature of a tile.
pub fn feature(tile: &[Line], feature: usize) -> &[i16; LANES] {
    let (half, _) = tile[feature / 2].0[feature % 2 * LANES..].as_chunks::<LANES>();
    &half[0]
}

/// A feature of a tile, mutable.
pub fn feature_mut(tile: &mut [Line], feature: usize) -> &mut [i16; LANES] {
    let (half, _) = tile[feature / 2].0[feature % 2 * LANES..].as_chunks_mut::<LANES>();
    &mut half[0]
}

/// The targets of a tile, in the order of [`target_lane`].
pub fn targets(tile: &[Line], layout: Layout) -> &[i32; LANES] {
    bytemuck::cast_ref(&tile[layout.feature_lines()])
}

/// The targets of a tile, mutable.
pub fn targets_mut(tile: &mut [Line], layout: Layout) -> &mut [i32; LANES] {
    bytemuck::cast_mut(&mut tile[layout.feature_lines()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_is_not_a_multiple_of_eight_lines() {
        for features in 1..2000 {
            let layout = Layout::new(features);
            assert_ne!(layout.lines() % 8, 0);
            assert!(layout.lines() > features.div_ceil(2));
            assert!(layout.lines() <= features.div_ceil(2) + 2);
        }
    }

    #[test]
    fn target_lanes_are_their_own_inverse() {
        for lane in 0..LANES {
            assert_eq!(target_lane(target_lane(lane)), lane);
        }
    }
}
