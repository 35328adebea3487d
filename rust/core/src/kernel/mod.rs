//! The hot loops, twice: portable, and with AVX2 where the processor has it.
//!
//! Every loop here is a sum of integer products modulo 2^32 or 2^64 whose true value fits, so the order of
//! summation, the vector width and the thread change no bit. The row map is floating point but works on one
//! row at a time with operations that IEEE 754 rounds in one way only; it is written once and compiled twice
//! (`Path::run`). No fused multiply-add is used, because a portable build may not have one.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2;
mod portable;

use crate::panel::{LANES, Layout, Line, Theta};
use crate::source::Rows;

/// Tiles whose products with a residual can be added in 32 bits: 32 · 2 · 32767 · 1024 < 2^31.
pub(crate) const MOST_TILES: usize = 32;
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

    /// Write the rows of a whole strip, `width` values each, column by column.
    pub(crate) fn transpose(self, rows: &[f64], width: usize, strip: &mut [Rows]) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 if width >= 4 => avx2::transpose(rows, width, strip),
            _ => portable::transpose(rows, width, strip),
        }
    }

    /// Write `features · weight`, toward zero, into the tiles of a strip, and return every row's sum of squares of
    /// what was written. The other half of an odd last line becomes zero.
    pub(crate) fn quantise(
        self,
        features: &[Rows],
        weight: &Rows,
        layout: Layout,
        tiles: &mut [Line],
    ) -> Rows {
        match self.0 {
            Kind::Portable => portable::quantise(features, weight, layout, tiles),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => avx2::quantise(features, weight, layout, tiles),
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

    /// Add X'X of the group to the upper triangle of `sums` ([`gram_stride`] entries a row).
    pub(crate) fn gram(self, group: &[Line], layout: Layout, split: &mut Split, sums: &mut [i64]) {
        match self.0 {
            Kind::Portable => portable::gram(group, layout, sums),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => avx2::gram(group, layout, split, sums),
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

/// Lines on the right of the Gram product at a time: 64 lines of 32 tiles are 128 KiB.
const LOT_LINES: usize = 64;

/// Two features of a tile, split into halves: `q = high · 2^8 + low`, two high ones and two low ones.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Parts([[i16; LANES]; 4]);

/// The room of the Gram kernel: two features of a group on the left of the product, split, and a lot of lines on its
/// right, each with its tiles side by side.
#[derive(Debug, Clone)]
pub(crate) struct Split {
    tiles: [Parts; MOST_TILES],
    right: Vec<Line>,
}

impl Split {
    pub(crate) fn new() -> Self {
        Self { tiles: [Parts([[0; LANES]; 4]); MOST_TILES], right: Vec::new() }
    }

    /// Put the tiles of every line in `lot` side by side; return how many there are.
    fn gather(&mut self, group: &[Line], layout: Layout, lot: std::ops::Range<usize>) -> usize {
        self.right.clear();
        for line in lot {
            self.right.extend(group.iter().skip(line).step_by(layout.lines()));
        }
        group.len() / layout.lines()
    }
}

/// Entries in a row of the Gram kernel's sums: features, rounded up to an even number.
pub(crate) fn gram_stride(layout: Layout) -> usize {
    2 * layout.feature_lines()
}
