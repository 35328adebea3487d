//! X'X of tiles: portable code and AVX2.

use std::ops::Range;

use bytemuck::Zeroable;

#[cfg(target_arch = "x86_64")]
use super::avx2;
use crate::execution::{Kind, Path};
use crate::layout::{LANES, Layout, Line, feature};
use crate::store::BLOCK_TILES;

/// The number of tiles that the kernel adds up in 32 bits. More would fit, but a block is large enough for the work after
/// the loop over tiles to be negligible, and its lines stay in the caches.
pub(super) const GRAM_TILES: usize = BLOCK_TILES;

/// Add X'X of the group to `sums`, [`gram_pairs`] of them. Every row must satisfy Σq² ≤ 2^30.
pub(super) fn gram(path: Path, group: &[Line], layout: Layout, packed: &mut Packed, sums: &mut [[i64; 4]]) {
    match path.kind() {
        Kind::Portable => portable(group, layout, sums),
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => avx2::gram(group, layout, packed, sums),
    }
}

fn portable(group: &[Line], layout: Layout, sums: &mut [[i64; 4]]) {
    let features = layout.features();
    for tile in group.chunks_exact(layout.lines()) {
        for i in 0..features {
            let a = feature(tile, i);
            let row = &mut sums[first_pair(layout, i / 2)..];
            for j in i..features {
                let b = feature(tile, j);
                let products = (0..LANES).map(|lane| i64::from(i32::from(a[lane]) * i32::from(b[lane])));
                row[j / 2 - i / 2][2 * (i % 2) + j % 2] += products.sum::<i64>();
            }
        }
    }
}

/// The number of lines that are packed together: 32 lines of 64 tiles are 128 KiB, and both factors of the product stay in
/// the second-level cache.
pub(super) const PACKED_LINES: usize = 32;
/// The number of lines of the right factor that stay in the first-level cache: 16 KiB.
pub(super) const CACHED_LINES: usize = 4;

/// The buffers of the kernel: lines of the left and of the right factor, with all tiles of a line side by side.
#[derive(Debug, Clone, Default)]
pub(super) struct Packed {
    pub(super) left: Vec<Line>,
    pub(super) right: Vec<Line>,
}

/// Copy the tiles of every line in `lines` side by side, padded to an even number of tiles; return that number.
pub(super) fn gather(group: &[Line], layout: Layout, lines: Range<usize>, out: &mut Vec<Line>) -> usize {
    let tiles = group.len() / layout.lines();
    let even = tiles.next_multiple_of(2);
    out.clear();
    for line in lines {
        out.extend(group.iter().skip(line).step_by(layout.lines()));
        out.resize(out.len() + even - tiles, Line::zeroed());
    }
    even
}

/// The number of sums of the kernel: one for every pair of lines, with the four products of two features by two. They are
/// ordered row by row, starting at the diagonal.
pub(super) fn gram_pairs(layout: Layout) -> usize {
    first_pair(layout, layout.feature_lines())
}

/// The position of the product of a line with itself.
pub(super) fn first_pair(layout: Layout, line: usize) -> usize {
    line * (2 * layout.feature_lines() + 1 - line) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::feature_mut;

    /// Compare X'X on both paths, for `tiles` tiles of rows. `value` gives a value by row and feature.
    fn both(features: usize, tiles: usize, value: impl Fn(usize, usize) -> i16) {
        let layout = Layout::new(features);
        let mut group = vec![Line::zeroed(); tiles * layout.lines()];
        for (index, tile) in group.chunks_exact_mut(layout.lines()).enumerate() {
            for feature in 0..features {
                for lane in 0..LANES {
                    feature_mut(tile, feature)[lane] = value(index * LANES + lane, feature);
                }
            }
        }
        let sums = |path: Path| {
            let mut sums = vec![[1; 4]; gram_pairs(layout)];
            gram(path, &group, layout, &mut Packed::default(), &mut sums);
            sums
        };
        let (mut fast, mut plain) = (sums(Path::detect()), sums(Path::portable()));
        for line in 0..layout.feature_lines() {
            // The entry below the diagonal is not used.
            fast[first_pair(layout, line)][2] = 0;
            plain[first_pair(layout, line)][2] = 0;
        }
        assert_eq!(fast, plain);
    }

    /// Rows at the bound Σq² ≤ 2^30: all in one feature, or in two of equal size, with any signs.
    #[test]
    fn the_largest_sums_are_exact() {
        for tiles in [1, 2, 63, GRAM_TILES] {
            both(2, tiles, |_, feature| if feature == 0 { 32767 } else { 0 });
            both(3, tiles, |_, feature| if feature == 2 { -32767 } else { 0 });
            for (first, second) in [(0, 1), (0, 2), (1, 3)] {
                for (a, b) in [(23170, 23170), (23170, -23170), (-23170, -23170)] {
                    both(4, tiles, |_, feature| match feature {
                        _ if feature == first => a,
                        _ if feature == second => b,
                        _ => 0,
                    });
                }
            }
        }
    }

    #[test]
    fn packed_lines_give_the_same_sums() {
        for features in
            [1, 2 * CACHED_LINES + 1, 2 * PACKED_LINES - 1, 2 * PACKED_LINES, 4 * PACKED_LINES + 3]
        {
            let scale = 32767 / features as i16;
            both(features, 5, |row, feature| (row * 7919 + feature * 104_729) as i16 % scale.max(2));
        }
    }
}
