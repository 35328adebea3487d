//! X'X with 512-bit vectors.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_castsi256_si512, _mm512_castsi512_si256, _mm512_cvtepi16_epi32,
    _mm512_cvtepi32_pd, _mm512_cvtsepi32_epi16, _mm512_cvttpd_epi32, _mm512_dpwssd_epi32,
    _mm512_extracti64x4_epi64, _mm512_inserti64x4, _mm512_load_pd, _mm512_load_si512, _mm512_loadu_si512,
    _mm512_max_epi32, _mm512_mul_pd, _mm512_permutex_epi64, _mm512_set1_epi32, _mm512_setzero_si512,
    _mm512_shuffle_i64x2, _mm512_slli_epi64, _mm512_srai_epi64, _mm512_store_si512, _mm512_storeu_si512,
    _mm512_unpackhi_epi64, _mm512_unpacklo_epi64,
};

use super::avx2::Avx2;
use super::kernel::{CACHED_LINES, Kernel};
use crate::layout::{Line, avx2};
use crate::source::Lanes;

/// 512-bit vectors for products whose sums fit 32 bits; 256-bit ones for others, which are rare.
pub(super) struct Avx512;

// SAFETY of all calls: `Path` selects this kernel only if the processor has AVX-512 with VNNI.
impl Kernel for Avx512 {
    fn size(line: &[Line]) -> u64 {
        Avx2::size(line)
    }

    fn squares(line: &[Line], sums: &mut [i64; 4]) {
        Avx2::squares(line, sums);
    }

    fn products(left: &[Line], right: &[&[Line]], narrow: bool, sums: &mut [[i64; 4]]) {
        if !narrow {
            return Avx2::products(left, right, narrow, sums);
        }
        // SAFETY: see above.
        unsafe { all_products([left], right, [sums]) }
    }

    fn narrow_products(left: [&[Line]; 2], right: &[&[Line]], sums: [&mut [[i64; 4]]; 2]) {
        // SAFETY: see above.
        unsafe { all_products(left, right, sums) }
    }
}

/// Write the values of a tile's rows times a factor for each, rounded toward zero. Products are at most 32767 in size.
pub(super) fn times(tile: &[Line], factors: &Lanes, out: &mut [Line]) {
    // SAFETY: as above.
    unsafe { times_avx512(tile, factors, out) }
}

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
fn times_avx512(tile: &[Line], Lanes(factors): &Lanes, out: &mut [Line]) {
    // SAFETY: sixteen doubles, aligned to 64 bytes.
    let factors = [0, 8].map(|first| unsafe { _mm512_load_pd(factors[first..][..8].as_ptr()) });
    let least = _mm512_set1_epi32(-i32::from(i16::MAX));
    for (from, to) in tile.iter().zip(out) {
        let products = avx2::halves(from).map(|values| {
            let values = _mm512_cvtepi16_epi32(values);
            let values = [_mm512_castsi512_si256(values), _mm512_extracti64x4_epi64::<1>(values)];
            let [a, b] =
                [0, 1].map(|i| _mm512_cvttpd_epi32(_mm512_mul_pd(_mm512_cvtepi32_pd(values[i]), factors[i])));
            let whole = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(a), b);
            _mm512_cvtsepi32_epi16(_mm512_max_epi32(whole, least))
        });
        let both = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(products[0]), products[1]);
        // SAFETY: a line is 64 writable bytes, aligned to 64.
        unsafe { _mm512_store_si512(std::ptr::from_mut(to).cast(), both) };
    }
}

/// Multiply M lines with at most [`CACHED_LINES`] others.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
fn all_products<const M: usize>(left: [&[Line]; M], right: &[&[Line]], totals: [&mut [[i64; 4]]; M]) {
    const { assert!(CACHED_LINES == 4) };
    match *right {
        [a, b, c, d, ..] => products_avx512(left, [a, b, c, d], totals),
        [a, b, c] => products_avx512(left, [a, b, c], totals),
        [a, b] => products_avx512(left, [a, b], totals),
        [a] => products_avx512(left, [a], totals),
        [] => {}
    }
}

/// Multiply M lines with N others. Two with four are sixteen sums: as many products can be under way while the processor
/// begins two in every cycle and takes several cycles for each, and all sums stay in registers.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
fn products_avx512<const M: usize, const N: usize>(
    left: [&[Line]; M],
    right: [&[Line]; N],
    totals: [&mut [[i64; 4]]; M],
) {
    let tiles = left[0].len();
    let (left, right) = (left.map(|line| &line[..tiles]), right.map(|line| &line[..tiles]));
    let mut straight = [[_mm512_setzero_si512(); N]; M];
    let mut crossed = [[_mm512_setzero_si512(); N]; M];
    for tile in 0..tiles {
        let cd: [__m512i; N] = std::array::from_fn(|n| load(&right[n][tile]));
        for m in 0..M {
            // The two features of a line, and the other way round.
            let ab = load(&left[m][tile]);
            let ba = _mm512_shuffle_i64x2::<0b01_00_11_10>(ab, ab);
            for n in 0..N {
                straight[m][n] = _mm512_dpwssd_epi32(straight[m][n], ab, cd[n]);
                crossed[m][n] = _mm512_dpwssd_epi32(crossed[m][n], ba, cd[n]);
            }
        }
    }
    for (m, totals) in totals.into_iter().enumerate() {
        let pairs: [__m512i; N] = std::array::from_fn(|n| halves(straight[m][n], crossed[m][n]));
        for (pairs, totals) in pairs.chunks(2).zip(totals.chunks_mut(2)) {
            if let ([one, other], [_, _]) = (pairs, &*totals) {
                add(totals.as_flattened_mut(), both(*one, *other));
            } else {
                let mut two = [[0; 4]; 2];
                add(two.as_flattened_mut(), both(pairs[0], pairs[0]));
                totals[0].iter_mut().zip(two[0]).for_each(|(total, sum)| *total += sum);
            }
        }
    }
}

/// Sums over quarters of the rows: of `straight` and of `crossed`, first for the first feature of the right line.
#[inline]
#[target_feature(enable = "avx512f")]
fn halves(straight: __m512i, crossed: __m512i) -> __m512i {
    let (straight, crossed) = (widen(straight), widen(crossed));
    _mm512_add_epi64(_mm512_unpacklo_epi64(straight, crossed), _mm512_unpackhi_epi64(straight, crossed))
}

/// The sums of [`halves`] for two lines, over all rows, in the order of totals: a·c, a·d, b·c, b·d.
#[inline]
#[target_feature(enable = "avx512f")]
fn both(one: __m512i, other: __m512i) -> __m512i {
    // In every half: a·c, b·c, b·d, a·d.
    let sums = _mm512_add_epi64(
        _mm512_shuffle_i64x2::<0b10_00_10_00>(one, other),
        _mm512_shuffle_i64x2::<0b11_01_11_01>(one, other),
    );
    _mm512_permutex_epi64::<0b10_01_11_00>(sums)
}

/// Add eight 64-bit numbers to totals.
#[inline]
#[target_feature(enable = "avx512f")]
fn add(totals: &mut [i64], sums: __m512i) {
    let place: *mut i64 = totals[..8].as_mut_ptr();
    // SAFETY: `place` is 64 readable and writable bytes.
    unsafe { _mm512_storeu_si512(place.cast(), _mm512_add_epi64(_mm512_loadu_si512(place.cast()), sums)) };
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
