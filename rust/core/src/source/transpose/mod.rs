//! Copies of rows into the columns of a strip, at the speed of memory.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2;

use std::ops::Range;

use super::Strip;
use crate::execution::{Kind, Path};

/// Copy rows of `width` doubles into the first columns of a strip. The doubles of a row are contiguous; each row starts
/// `stride` bytes after the previous one.
///
/// Values are copied without being inspected: another thread that writes to the memory at the same time can change what is
/// copied and nothing else.
///
/// # Panics
/// If the strip is too small.
///
/// # Safety
/// The rows can be read.
#[allow(unsafe_code)]
pub unsafe fn transpose(first: *const u8, stride: isize, rows: usize, width: usize, out: &mut Strip) {
    assert!(rows <= out.rows() && width <= out.columns());
    let height = out.rows();
    // SAFETY: as this function asks.
    unsafe { transpose_on(Path::detect(), first, stride, rows, width, out.values_mut(), height) };
}

/// Copy contiguous rows of `width` doubles into the first columns of a strip.
#[allow(unsafe_code)]
pub(super) fn transpose_slice(block: &[f64], rows: usize, width: usize, out: &mut Strip) {
    assert_eq!(block.len(), rows * width);
    // SAFETY: the block has that many contiguous rows.
    unsafe { transpose(block.as_ptr().cast(), 8 * width as isize, rows, width, out) };
}

/// Copy rows on a code path. A column has `height` values of the strip.
///
/// # Safety
/// The rows can be read; they are at most `height`, and the strip has at least `width` columns.
#[allow(unsafe_code)]
unsafe fn transpose_on(
    path: Path,
    first: *const u8,
    stride: isize,
    rows: usize,
    width: usize,
    strip: &mut [f64],
    height: usize,
) {
    // SAFETY: as this function asks.
    unsafe {
        match path.kind() {
            Kind::Portable => transpose_portable(first, stride, 0..rows, width, strip, height),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 | Kind::Avx512 => avx2::transpose(first, stride, rows, width, strip, height),
        }
    }
}

/// Copy these rows one value at a time.
///
/// # Safety
/// The rows can be read.
#[allow(unsafe_code)]
unsafe fn transpose_portable(
    first: *const u8,
    stride: isize,
    rows: Range<usize>,
    width: usize,
    strip: &mut [f64],
    height: usize,
) {
    for row in rows {
        let values: *const f64 = first.wrapping_offset(row as isize * stride).cast();
        for (column, out) in strip.chunks_exact_mut(height).enumerate().take(width) {
            // SAFETY: a value of a row that can be read; it need not be aligned.
            out[row] = unsafe { values.wrapping_add(column).read_unaligned() };
        }
    }
}

/// Tell the processor that these bytes will be read soon. This is a hint: they need not exist.
#[inline]
pub fn prefetch(first: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    avx2::prefetch(first, bytes);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (first, bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four rows at a time, and the remaining columns and rows.
    #[test]
    #[allow(unsafe_code)]
    fn rows_become_columns() {
        for (rows, width, height) in (1..=16).flat_map(|rows| (1..=11).map(move |width| (rows, width, 16))) {
            let block: Vec<f64> = (0..rows * width).map(|value| value as f64).collect();
            for path in Path::available() {
                let mut strip = vec![-1.0; width * height];
                // SAFETY: the block has that many contiguous rows.
                unsafe {
                    transpose_on(
                        path,
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
}
