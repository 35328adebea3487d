//! Lines and columns of a tile as 256-bit vectors.

use std::arch::x86_64::{__m256i, _mm256_load_si256, _mm256_loadu_si256};

use super::{LANES, Line};

/// A feature of a tile as a vector.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(unsafe_code)]
pub(crate) fn load(values: &[i16; LANES]) -> __m256i {
    // SAFETY: the reference is to 32 readable bytes.
    unsafe { _mm256_loadu_si256(values.as_ptr().cast()) }
}

/// The two features of a line as vectors.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(unsafe_code)]
pub(crate) fn halves(line: &Line) -> [__m256i; 2] {
    let pointer: *const __m256i = std::ptr::from_ref(line).cast();
    // SAFETY: a line is 64 readable bytes, aligned to 64.
    unsafe { [_mm256_load_si256(pointer), _mm256_load_si256(pointer.add(1))] }
}
