//! X'X with vectors of eight, on every processor.

use wide::{i16x8, i32x4};

use super::kernel::{Kernel, SIZE_SHIFT, size_bound};
use crate::layout::portable::load;
use crate::layout::{Line, feature};

/// Vectors that every processor has or the compiler makes.
pub(super) struct Portable;

impl Kernel for Portable {
    fn size(line: &[Line]) -> u64 {
        let mut sums = [[i32x4::ZERO; 2]; 2];
        for line in line {
            for (sums, half) in sums.iter_mut().zip(halves(line)) {
                for (sum, values) in sums.iter_mut().zip(half) {
                    // Below 2^31, so that a shift of signed numbers does.
                    *sum += values.dot(values) >> SIZE_SHIFT as i32;
                }
            }
        }
        let largest = sums.iter().flatten().flat_map(|sum| sum.to_array()).max().unwrap_or(0);
        size_bound(largest as u32, line.len())
    }

    fn squares(line: &[Line], sums: &mut [i64; 4]) {
        for (place, one, other) in [(0, 0, 0), (1, 0, 1), (3, 1, 1)] {
            let mut total = Sums::default();
            for line in line {
                let halves = halves(line);
                total.add(halves[one], halves[other]);
            }
            sums[place] += total.sum();
        }
    }

    fn products(left: &[Line], right: &[&[Line]], narrow: bool, sums: &mut [[i64; 4]]) {
        for (&right, sums) in right.iter().zip(sums) {
            if narrow {
                for (sum, found) in sums.iter_mut().zip(narrow_pairs(left, right)) {
                    *sum += found;
                }
                continue;
            }
            for (product, sum) in sums.iter_mut().enumerate() {
                let mut total = Sums::default();
                for (left, right) in left.iter().zip(right) {
                    total.add(halves(left)[product / 2], halves(right)[product % 2]);
                }
                *sum += total.sum();
            }
        }
    }
}

/// The four products of two features with two others, whose sums fit 32 bits in every lane.
fn narrow_pairs(left: &[Line], right: &[Line]) -> [i64; 4] {
    let mut sums = [[i32x4::ZERO; 2]; 4];
    for (left, right) in left.iter().zip(right) {
        let (a, b) = (halves(left), halves(right));
        for (product, sums) in sums.iter_mut().enumerate() {
            let (a, b) = (a[product / 2], b[product % 2]);
            sums[0] += a[0].dot(b[0]);
            sums[1] += a[1].dot(b[1]);
        }
    }
    sums.map(|sums| sums.iter().flat_map(|sum| sum.to_array()).map(i64::from).sum())
}

/// Sums of products modulo 2^32, and the same sums with every term divided by 2^16 and rounded down, as in the code for
/// AVX2: together they determine the true sums. A term is of two rows: below 2^31.
#[derive(Default)]
struct Sums {
    wrapped: [i32x4; 2],
    high: [i32x4; 2],
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, a: [i16x8; 2], b: [i16x8; 2]) {
        for half in 0..2 {
            let terms = a[half].dot(b[half]);
            self.wrapped[half] += terms;
            self.high[half] += terms >> 16i32;
        }
    }

    fn sum(&self) -> i64 {
        let lanes = self.wrapped.iter().zip(&self.high).flat_map(|(wrapped, high)| {
            // The low sixteen bits of all terms add up to at most 64 · 65535, which did not wrap.
            wrapped.to_array().into_iter().zip(high.to_array())
        });
        lanes
            .map(|(wrapped, high)| (i64::from(high) << 16) + i64::from(wrapped.wrapping_sub(high << 16)))
            .sum()
    }
}

/// The two features of a line.
#[inline(always)]
fn halves(line: &Line) -> [[i16x8; 2]; 2] {
    [0, 1].map(|index| load(feature(std::slice::from_ref(line), index)))
}
