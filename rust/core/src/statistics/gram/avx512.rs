//! X'X with 512-bit vectors.

use std::arch::x86_64::{
    __m512i, _mm_add_epi64, _mm_cvtsi128_si64, _mm_extract_epi64, _mm256_castsi256_si128,
    _mm256_extracti128_si256, _mm512_add_epi64, _mm512_castsi512_si256, _mm512_dpwssd_epi32,
    _mm512_extracti64x4_epi64, _mm512_load_si512, _mm512_setzero_si512, _mm512_shuffle_i64x2,
    _mm512_slli_epi64, _mm512_srai_epi64, _mm512_unpackhi_epi64, _mm512_unpacklo_epi64,
};

use super::avx2::Avx2;
use super::kernel::{CACHED_LINES, Kernel};
use crate::layout::Line;

/// 512-bit vectors for products whose sums fit 32 bits; 256-bit ones for others, which are rare.
pub(super) struct Avx512;

impl Kernel for Avx512 {
    fn size(line: &[Line]) -> u64 {
        Avx2::size(line)
    }

    fn squares(line: &[Line], sums: &mut [i64; 4]) {
        Avx2::squares(line, sums);
    }

    fn products(left: &[Line], right: &[Line], narrow: bool, sums: &mut [[i64; 4]]) {
        const { assert!(CACHED_LINES == 4) };
        if !narrow {
            return Avx2::products(left, right, narrow, sums);
        }
        // SAFETY: `Path` selects this kernel only if the processor has AVX-512 with VNNI.
        unsafe {
            match sums.len() {
                4 => products_avx512::<4>(left, right, sums),
                3 => products_avx512::<3>(left, right, sums),
                2 => products_avx512::<2>(left, right, sums),
                _ => products_avx512::<1>(left, right, sums),
            }
        }
    }
}

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
fn products_avx512<const N: usize>(left: &[Line], right: &[Line], sums: &mut [[i64; 4]]) {
    let tiles = left.len();
    let right: [&[Line]; N] = std::array::from_fn(|n| &right[n * tiles..][..tiles]);
    let mut straight = [_mm512_setzero_si512(); N];
    let mut crossed = [_mm512_setzero_si512(); N];
    for tile in 0..tiles {
        // The two features of a line, and the other way round.
        let ab = load(&left[tile]);
        let ba = _mm512_shuffle_i64x2::<0b01_00_11_10>(ab, ab);
        for n in 0..N {
            let cd = load(&right[n][tile]);
            straight[n] = _mm512_dpwssd_epi32(straight[n], ab, cd);
            crossed[n] = _mm512_dpwssd_epi32(crossed[n], ba, cd);
        }
    }
    for ((straight, crossed), sums) in straight.into_iter().zip(crossed).zip(sums) {
        let (straight, crossed) = (widen(straight), widen(crossed));
        let both = _mm512_add_epi64(
            _mm512_unpacklo_epi64(straight, crossed),
            _mm512_unpackhi_epi64(straight, crossed),
        );
        for (half, [one, other]) in [_mm512_castsi512_si256(both), _mm512_extracti64x4_epi64::<1>(both)]
            .into_iter()
            .zip([[0, 2], [3, 1]])
        {
            let sum = _mm_add_epi64(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half));
            sums[one] += _mm_cvtsi128_si64(sum);
            sums[other] += _mm_extract_epi64::<1>(sum);
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(line: &Line) -> __m512i {
    // SAFETY: a line is 64 readable bytes, aligned to 64.
    unsafe { _mm512_load_si512(std::ptr::from_ref(line).cast()) }
}

/// Sixteen 32-bit sums as eight 64-bit ones: each is the sum of two neighbours.
#[inline]
#[target_feature(enable = "avx512f")]
fn widen(sums: __m512i) -> __m512i {
    let even = _mm512_srai_epi64::<32>(_mm512_slli_epi64::<32>(sums));
    _mm512_add_epi64(even, _mm512_srai_epi64::<32>(sums))
}
