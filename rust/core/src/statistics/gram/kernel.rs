//! X'X of tiles: what all paths have in common.

use bytemuck::Zeroable;

use super::portable;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::execution::{Kind, Path};
use crate::layout::{Layout, Line};
use crate::store::BLOCK_TILES;

/// The number of tiles that the kernel adds up in 32 bits. More would fit, but a block is large enough for the work after
/// the loop over tiles to be negligible, and its lines stay in the caches.
pub(super) const GRAM_TILES: usize = BLOCK_TILES;

/// Add X'X of the group to `sums`, [`gram_pairs`] of them. Every row must satisfy Σq² ≤ 2^30.
pub(super) fn gram(path: Path, group: &[Line], layout: Layout, packed: &mut Packed, sums: &mut [[i64; 4]]) {
    assert!(group.len() <= GRAM_TILES * layout.lines() && sums.len() == gram_pairs(layout));
    // The fewer features, the larger they are, and the fewer rows can be added in 32 bits: if features share the norm of a
    // row equally, twice as many as these fit.
    let tiles = (layout.features() / 4 * 2).clamp(8, GRAM_TILES);
    for group in group.chunks(tiles * layout.lines()) {
        match path.kind() {
            Kind::Portable => multiply::<portable::Portable>(group, layout, packed, sums),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => multiply::<avx2::Avx2>(group, layout, packed, sums),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => multiply::<avx512::Avx512>(group, layout, packed, sums),
        }
    }
}

/// Products of lines, with the tiles of each side by side; there is one version per path.
pub(super) trait Kernel {
    /// Return a bound on the sum of squares of each of the two features in every lane. A lane has the rows 2i and 2i + 1 of
    /// all tiles.
    fn size(line: &[Line]) -> u64;

    /// Add the squares of two features and, between them, their product.
    fn squares(line: &[Line], sums: &mut [i64; 4]);

    /// Add the four products of the features of a line with those of each of at most [`CACHED_LINES`] other lines. If they
    /// are `narrow`, no partial sum over the rows of a lane leaves 32 bits.
    fn products(left: &[Line], right: &[&[Line]], narrow: bool, sums: &mut [[i64; 4]]);

    /// The same for two lines at a time, all of whose products are narrow.
    fn narrow_products(left: [&[Line]; 2], right: &[&[Line]], sums: [&mut [[i64; 4]]; 2]) {
        for (left, sums) in left.into_iter().zip(sums) {
            Self::products(left, right, true, sums);
        }
    }
}

fn multiply<K: Kernel>(group: &[Line], layout: Layout, packed: &mut Packed, sums: &mut [[i64; 4]]) {
    let lines = layout.feature_lines();
    packed.gather::<K>(group, layout);
    let packed = &*packed;
    for start in (0..lines).step_by(NEAR_LINES) {
        let near = start..lines.min(start + NEAR_LINES);
        // A few lines of the right factor stay in the first-level cache for all lines of the left one.
        for few in (start..lines).step_by(CACHED_LINES) {
            let right = few..lines.min(few + CACHED_LINES);
            let mut others: [&[Line]; CACHED_LINES] = [&[]; CACHED_LINES];
            let others = &mut others[..right.len()];
            others.iter_mut().zip(right.clone()).for_each(|(other, line)| *other = packed.line(line));
            let largest = packed.sizes[right.clone()].iter().max().copied().unwrap_or(0);
            let narrow = |line: usize| is_narrow(packed.sizes[line], largest);
            let mut i = near.start;
            while i < near.end.min(right.end) {
                // Lines before all of the right ones, two at a time.
                if i + 1 < near.end.min(few) && narrow(i) && narrow(i + 1) {
                    let (first, second) = sums[first_pair(layout, i)..].split_at_mut(lines - i);
                    let first = &mut first[few - i..right.end - i];
                    let second = &mut second[few - i - 1..right.end - i - 1];
                    K::narrow_products([packed.line(i), packed.line(i + 1)], others, [first, second]);
                    i += 2;
                    continue;
                }
                let sums = &mut sums[first_pair(layout, i)..][..lines - i];
                if i >= few {
                    K::squares(packed.line(i), &mut sums[0]);
                }
                let first = few.max(i + 1);
                if first < right.end {
                    let sums = &mut sums[first - i..right.end - i];
                    K::products(packed.line(i), &others[first - few..], narrow(i), sums);
                }
                i += 1;
            }
        }
    }
}

/// Return whether sums of products fit 32 bits: |Σab|² ≤ Σa²·Σb² < 2^62, also for some of the rows.
fn is_narrow(one: u64, other: u64) -> bool {
    one.checked_mul(other).is_some_and(|product| product < 1 << 62)
}

/// Bits that [`Kernel::size`] ignores: the sum of 64 squares of pairs, each below 2^31, then fits 32 bits.
pub(super) const SIZE_SHIFT: u32 = 8;

/// Return the bound of [`Kernel::size`] from the sum of squares of pairs without their low bits.
pub(super) fn size_bound(sum: u32, tiles: usize) -> u64 {
    (u64::from(sum) + tiles as u64) << SIZE_SHIFT
}

/// The number of lines of the left factor that all lines of the right one are multiplied with before the next ones: 32
/// lines of 64 tiles are 128 KiB and stay in the second-level cache.
const NEAR_LINES: usize = 32;
/// The number of lines of the right factor that stay in the first-level cache: 16 KiB.
pub(super) const CACHED_LINES: usize = 4;

/// The buffer of the kernel: the lines of a group with all tiles of a line side by side, and a bound on the size of each
/// ([`Kernel::size`]).
#[derive(Debug, Clone, Default)]
pub(super) struct Packed {
    lines: Vec<Line>,
    /// The number of tiles, with a tile of zeros if it would be odd.
    tiles: usize,
    sizes: Vec<u64>,
}

impl Packed {
    /// Copy the tiles of all lines.
    fn gather<K: Kernel>(&mut self, group: &[Line], layout: Layout) {
        let (tiles, lines) = (group.len() / layout.lines(), layout.feature_lines());
        self.tiles = tiles.next_multiple_of(2);
        let stride = self.stride();
        self.lines.resize(lines * stride, Line::zeroed());
        for (index, tile) in group.chunks_exact(layout.lines()).enumerate() {
            for (place, line) in self.lines[index..].iter_mut().step_by(stride).zip(tile) {
                *place = *line;
            }
        }
        if self.tiles > tiles {
            self.lines[tiles..].iter_mut().step_by(stride).for_each(|place| *place = Line::zeroed());
        }
        self.sizes.clear();
        for line in 0..lines {
            self.sizes.push(K::size(self.line(line)));
        }
    }

    /// The tiles of a line.
    fn line(&self, line: usize) -> &[Line] {
        &self.lines[line * self.stride()..][..self.tiles]
    }

    /// The number of lines from one to the next. An odd one keeps lines of the same tile out of the same set of a cache.
    fn stride(&self) -> usize {
        self.tiles + 1
    }
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
    use crate::layout::{LANES, feature, feature_mut};

    /// Compare X'X on all paths with its definition, for `tiles` tiles of rows. `value` gives a value by row and feature.
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
        let mut plain = by_definition(&group, layout);
        for path in Path::available() {
            let mut found = sums(path);
            for line in 0..layout.feature_lines() {
                // The entry below the diagonal is not used.
                found[first_pair(layout, line)][2] = 0;
                plain[first_pair(layout, line)][2] = 0;
            }
            assert!(found == plain, "{path:?}");
        }
    }

    fn by_definition(group: &[Line], layout: Layout) -> Vec<[i64; 4]> {
        let mut sums = vec![[1; 4]; gram_pairs(layout)];
        for tile in group.chunks_exact(layout.lines()) {
            for (i, j) in (0..layout.features()).flat_map(|i| (i..layout.features()).map(move |j| (i, j))) {
                let (a, b) = (feature(tile, i), feature(tile, j));
                let product: i64 = (0..LANES).map(|lane| i64::from(a[lane]) * i64::from(b[lane])).sum();
                sums[first_pair(layout, i / 2) + j / 2 - i / 2][2 * (i % 2) + j % 2] += product;
            }
        }
        sums
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

    /// Some lines are large and others small, so that both kinds of sums occur, and some sums nearly leave 32 bits.
    #[test]
    fn large_and_small_features_give_exact_sums() {
        for features in [12, 30, 131] {
            for (large, small) in [(30_000, 40), (16_000, 2896), (2895, 2895), (32_767, 0)] {
                let value = |row: usize, feature: usize| match feature {
                    3 => large,
                    7 if row.is_multiple_of(2) => -small,
                    _ if feature < 9 => small,
                    _ => (row % 3) as i16 - 1,
                };
                both(features, GRAM_TILES, value);
            }
        }
    }

    #[test]
    fn packed_lines_give_the_same_sums() {
        for features in [1, 2 * CACHED_LINES + 1, 2 * NEAR_LINES - 1, 2 * NEAR_LINES, 4 * NEAR_LINES + 3] {
            let scale = 32767 / features as i16;
            both(features, 5, |row, feature| (row * 7919 + feature * 104_729) as i16 % scale.max(2));
        }
    }
}
