//! Floats to integers within limits, in as few vector instructions as possible.

/// Return the value between −limit and limit that is nearest to `value`, and the limit for NaN: the result is always
/// within the limits. The two comparisons become two vector instructions; `f64::clamp` also checks its limits.
#[inline(always)]
pub(crate) fn clamp(value: f64, limit: f64) -> f64 {
    let value = if value < limit { value } else { limit };
    if value > -limit { value } else { -limit }
}

/// Round toward zero to an integer between −32767 and 32767.
///
/// A cast by `as` would clamp once more, for which vector code needs three more instructions.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn truncate(value: f64) -> i32 {
    // SAFETY: what `clamp` returns is not NaN and fits.
    unsafe { clamp(value, f64::from(i16::MAX)).to_int_unchecked() }
}

/// Round down to an integer between zero and `most`, which is below 2^31; NaN becomes `most`.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn non_negative(value: f64, most: u32) -> u32 {
    let most = f64::from(most & (u32::MAX >> 1));
    let value = if value < most { value } else { most };
    let value = if value > 0.0 { value } else { 0.0 };
    // SAFETY: not NaN, and at least zero and below 2^31.
    unsafe { value.to_int_unchecked::<i32>() as u32 }
}
