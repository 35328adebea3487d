//! The hot loops, twice: portable, and with AVX2 where the processor has it.
//!
//! Every loop here is a sum of integer products modulo 2^32 or 2^64 whose true value fits, so the order of
//! summation, the vector width and the thread change no bit. The row map is floating point but works on one
//! row at a time, one operation after the other in the same order on both paths, and IEEE 754 rounds each in one way only.
//! No fused multiply-add is used, because a portable build may not have one. What is not as hot is written once and
//! compiled twice (`Path::run`).

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2;
mod portable;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::prefetch;

use bytemuck::Zeroable;

use crate::panel::{LANES, Layout, Line, Theta};
use crate::rowmap::{Column, Target};
use crate::source::{Lanes, Strip};

/// Tiles whose products with a residual can be added in 32 bits: 32 · 2 · 32767 · 1024 < 2^31.
pub(crate) const MOST_TILES: usize = 32;
/// Tiles that the Gram kernel adds up in 32 bits. More would fit; these are enough for what comes after the loop over
/// them to be little, and few enough for their lines to stay in the caches.
pub(crate) const GRAM_TILES: usize = 64;
/// Bits of a residual below those that the first multiplication sees.
pub(crate) const RESIDUAL_LOW_BITS: u32 = 10;
/// The largest residual threshold, in target units.
pub const MOST_TAU: i32 = 1 << (2 * RESIDUAL_LOW_BITS);

/// The value between −limit and limit that is nearest; the limit for NaN, so that the result is always between them.
/// Two comparisons that become two vector instructions, which `f64::clamp` with its check of the limits does not.
#[inline(always)]
pub(crate) fn cut(value: f64, limit: f64) -> f64 {
    let value = if value < limit { value } else { limit };
    if value > -limit { value } else { -limit }
}

/// The integer between −32767 and 32767 that is nearest toward zero.
///
/// A cast by `as` would clamp once more, for which vector code needs three more instructions.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn truncate(value: f64) -> i32 {
    // SAFETY: what `cut` returns is not NaN and fits.
    unsafe { cut(value, f64::from(i16::MAX)).to_int_unchecked() }
}

/// Sums of squares are not followed further than this: twice the bound.
pub(crate) const FAR_ABOVE: u32 = 1 << 31;

/// What the rows of a tile are multiplied by, and one for a row that counts, zero for one that does not.
#[derive(Debug, Clone)]
pub(crate) struct Weights {
    pub(crate) weight: Lanes,
    pub(crate) keep: Lanes,
}

/// Which code runs: the choice of [`Path::detect`] or [`Path::portable`], no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Path {
    /// The fastest path of this processor.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Self(Kind::Avx2);
        }
        Self::portable()
    }

    /// Plain Rust for the baseline processor of the build.
    pub fn portable() -> Self {
        Self(Kind::Portable)
    }

    /// Run `body`; what is inlined into it (`#[inline(always)]`) is compiled for this path.
    #[inline]
    pub(crate) fn run<R>(self, body: impl FnOnce() -> R) -> R {
        match self.0 {
            Kind::Portable => body(),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => avx2::run(body),
        }
    }

    /// See [`crate::source::transpose`]; a column is `height` values of the strip.
    ///
    /// # Safety
    /// The rows can be read; they are at most `height`, and the strip has at least `width` columns.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn transpose(
        self,
        first: *const u8,
        stride: isize,
        rows: usize,
        width: usize,
        strip: &mut [f64],
        height: usize,
    ) {
        // SAFETY: as this function asks.
        unsafe {
            match self.0 {
                Kind::Portable => portable::transpose(first, stride, 0..rows, width, strip, height),
                #[cfg(target_arch = "x86_64")]
                Kind::Avx2 => avx2::transpose(first, stride, rows, width, strip, height),
            }
        }
    }

    /// Write the features of the rows of a tile, which begins with row `first` of the strip, and what every row is to be
    /// multiplied by so that its norm is at most `bound`; `squares` is in the squared norm of each. A row with a value
    /// that is not finite, the last column's included, gets the weight zero; return whether there is none.
    pub(crate) fn weigh(
        self,
        columns: &[Column],
        strip: &Strip,
        first: usize,
        (squares, bound): (f64, f64),
        features: &mut [Lanes],
        weights: &mut Weights,
    ) -> bool {
        match self.0 {
            Kind::Portable => portable::weigh(columns, strip, first, (squares, bound), features, weights),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => avx2::weigh(columns, strip, first, (squares, bound), features, weights),
        }
    }

    /// Write the targets of a tile, times `weight`, in the order of [`crate::panel::layout::target_lane`].
    pub(crate) fn target(self, target: &Target, y: &[f64; LANES], weight: &Lanes, out: &mut [i32; LANES]) {
        match self.0 {
            Kind::Portable => portable::target(target, y, weight, out),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => avx2::target(target, y, weight, out),
        }
    }

    /// Write `features · weight · 2^15`, toward zero, into the lines of a tile, and return every row's sum of squares of
    /// what was written, or [`FAR_ABOVE`] if it is more. The other half of an odd last line becomes zero.
    pub(crate) fn quantise(self, features: &[Lanes], weight: &Lanes, tile: &mut [Line]) -> [u32; LANES] {
        match self.0 {
            Kind::Portable => portable::quantise(features, weight, tile),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => avx2::quantise(features, weight, tile),
        }
    }

    /// Residuals of every tile of the group, clipped to ±`tau` and split in two: `g = high · 2^10 + low`.
    pub(crate) fn residuals(
        self,
        group: &[Line],
        layout: Layout,
        theta: &Theta,
        tau: i32,
        out: &mut Residuals,
    ) {
        match self.0 {
            Kind::Portable => portable::residuals(group, layout, theta, tau, out),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => avx2::residuals(group, layout, theta, tau, out),
        }
    }

    /// Add X'g of the group to `sums`, four partial sums per feature, features rounded up to an even number.
    pub(crate) fn products(
        self,
        group: &[Line],
        layout: Layout,
        residuals: &Residuals,
        sums: &mut [[i64; 4]],
    ) {
        match self.0 {
            Kind::Portable => portable::products(group, layout, residuals, sums),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => avx2::products(group, layout, residuals, sums),
        }
    }

    /// Σg² over the first `tiles` tiles of a group: at most 32 · 16 · 2^40.
    pub(crate) fn squares(self, residuals: &Residuals, tiles: usize) -> i64 {
        self.run(
            #[inline(always)]
            || residuals.squares(tiles),
        )
    }

    /// Add X'X of the group to `sums`, [`gram_pairs`] of them. Every row must satisfy Σq² ≤ 2^30.
    pub(crate) fn gram(self, group: &[Line], layout: Layout, lots: &mut Lots, sums: &mut [[i64; 4]]) {
        match self.0 {
            Kind::Portable => portable::gram(group, layout, sums),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => avx2::gram(group, layout, lots, sums),
        }
    }
}

/// The residuals of a group of at most [`MOST_TILES`] tiles.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(crate) struct Residuals {
    tiles: [[[i16; LANES]; 2]; MOST_TILES],
}

impl Residuals {
    pub(crate) fn new() -> Self {
        Self { tiles: [[[0; LANES]; 2]; MOST_TILES] }
    }

    #[inline(always)]
    fn squares(&self, tiles: usize) -> i64 {
        let mut sums = [0; LANES];
        for [high, low] in &self.tiles[..tiles] {
            for lane in 0..LANES {
                let g = (i32::from(high[lane]) << RESIDUAL_LOW_BITS) + i32::from(low[lane]);
                sums[lane] += i64::from(g) * i64::from(g);
            }
        }
        sums.iter().sum()
    }
}

/// Lines of the Gram product that are put side by side: 32 lines of 64 tiles are 128 KiB, and a lot on either side stays
/// in the second-level cache.
const LOT_LINES: usize = 32;
/// Lines on the right of the Gram product that stay in the first-level cache: 16 KiB.
const FEW_LINES: usize = 4;

/// The room of the Gram kernel: a lot of lines on the left of the product and one on its right, each line with its tiles
/// side by side.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lots {
    left: Vec<Line>,
    right: Vec<Line>,
}

/// Put the tiles of every line in `lot` side by side, an even number of them; return how many there are.
fn gather(group: &[Line], layout: Layout, lot: std::ops::Range<usize>, out: &mut Vec<Line>) -> usize {
    let tiles = group.len() / layout.lines();
    let even = tiles.next_multiple_of(2);
    out.clear();
    for line in lot {
        out.extend(group.iter().skip(line).step_by(layout.lines()));
        out.resize(out.len() + even - tiles, Line::zeroed());
    }
    even
}

/// Entries of the Gram kernel's sums: one for every two lines of a tile, with the products of two features by two. They
/// lie row by row, from the diagonal on.
pub(crate) fn gram_pairs(layout: Layout) -> usize {
    first_pair(layout, layout.feature_lines())
}

/// The place of a line's product with itself.
pub(crate) fn first_pair(layout: Layout, line: usize) -> usize {
    line * (2 * layout.feature_lines() + 1 - line) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::layout::feature_mut;

    /// X'X on both paths, of `tiles` tiles of rows that `value` gives by row and feature.
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
        let gram = |path: Path| {
            let mut sums = vec![[1; 4]; gram_pairs(layout)];
            path.gram(&group, layout, &mut Lots::default(), &mut sums);
            sums
        };
        let (mut fast, mut plain) = (gram(Path::detect()), gram(Path::portable()));
        for line in 0..layout.feature_lines() {
            // The entry below the diagonal is nobody's.
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

    /// Features and weights, of values of every kind in columns with ramps, with levels and with neither.
    #[test]
    fn rows_are_weighed_alike() {
        let ramps = [(-2.5, 2.5, 0.6), (0.25, f64::INFINITY, 0.4), (f64::NEG_INFINITY, -0.5, 0.8)];
        let mut columns: Vec<Column> =
            (0..8).map(|j| Column::new(0.1 * j as f64, 1.5, &ramps[..j % 4]).unwrap()).collect();
        columns.push(Column::levels(5, 0.7).unwrap());
        let features = columns.iter().map(Column::features).sum::<usize>() + 1;
        let strange = [f64::NAN, f64::INFINITY, -f64::INFINITY, f64::MAX, -f64::MAX, 0.0, -0.0, 5e-324];
        for (place, value) in (0..10).flat_map(|place| strange.map(|value| (place, value))) {
            for (lane, norm) in (0..LANES).flat_map(|lane| [(lane, (0.0, 0.9)), (lane, (0.15, 1.0))]) {
                let mut strip = Strip::new(10, 2 * LANES);
                for (i, x) in strip.values_mut().iter_mut().enumerate() {
                    *x = 4.0 * (i as f64).sin();
                }
                strip.column_mut(8).iter_mut().for_each(|x| *x = x.round());
                strip.column_mut(place)[LANES + lane] = value;
                let weigh = |path: Path| {
                    let mut rows = vec![Lanes([0.25; LANES]); features];
                    let mut weights = Weights { weight: rows[0], keep: rows[0] };
                    let finite = path.weigh(&columns, &strip, LANES, norm, &mut rows, &mut weights);
                    assert_eq!(finite, value.is_finite());
                    for other in 0..LANES {
                        let kept = other != lane || value.is_finite();
                        assert_eq!(weights.keep.0[other].to_bits(), f64::from(u8::from(kept)).to_bits());
                        assert_eq!(weights.weight.0[other] > 0.0, kept);
                    }
                    assert_eq!(rows.pop(), Some(Lanes([0.25; LANES])));
                    let rows: Vec<_> = rows.iter().flat_map(|lanes| lanes.0).collect();
                    assert!(rows.iter().all(|value| value.is_finite()));
                    let bits: Vec<_> = rows.iter().chain(&weights.weight.0).map(|x| x.to_bits()).collect();
                    bits
                };
                assert_eq!(weigh(Path::detect()), weigh(Path::portable()));
            }
        }
    }

    /// A row's squares, up to what must be known of them.
    #[test]
    fn squares_stop_far_above_the_bound() {
        for (features, expected) in
            [(1, 32767 * 32767), (2, 2 * 32767 * 32767), (3, FAR_ABOVE), (999, FAR_ABOVE)]
        {
            for path in [Path::detect(), Path::portable()] {
                let values = vec![Lanes([-1.0; LANES]); features];
                let mut tile = vec![Line::zeroed(); Layout::new(features).lines()];
                assert_eq!(path.quantise(&values, &Lanes([1.0; LANES]), &mut tile), [expected; LANES]);
            }
        }
    }

    /// Four rows at a time, and the columns and rows that are left over.
    #[test]
    #[allow(unsafe_code)]
    fn rows_become_columns() {
        for (rows, width, height) in (1..=16).flat_map(|rows| (1..=11).map(move |width| (rows, width, 16))) {
            let block: Vec<f64> = (0..rows * width).map(|value| value as f64).collect();
            for path in [Path::detect(), Path::portable()] {
                let mut strip = vec![-1.0; width * height];
                // SAFETY: the block is that many rows, side by side.
                unsafe {
                    path.transpose(
                        block.as_ptr().cast(),
                        8 * width as isize,
                        rows,
                        width,
                        &mut strip,
                        height,
                    );
                }
                for (column, values) in strip.chunks(height).enumerate() {
                    let expected =
                        (0..height).map(|row| if row < rows { (row * width + column) as f64 } else { -1.0 });
                    assert!(values.iter().copied().eq(expected));
                }
            }
        }
    }

    #[test]
    fn lots_of_lines_are_put_together_again() {
        for features in [1, 2 * FEW_LINES + 1, 2 * LOT_LINES - 1, 2 * LOT_LINES, 4 * LOT_LINES + 3] {
            let scale = 32767 / features as i16;
            both(features, 5, |row, feature| (row * 7919 + feature * 104_729) as i16 % scale.max(2));
        }
    }
}
