//! Which code runs the hot loops.
//!
//! The hot loops exist in plain Rust and with AVX2, a few also with AVX-512, for processors that have it. All give the same
//! bits.
//! Sums of integer products are computed modulo 2^32 or 2^64 and their true values fit, so neither the order nor the
//! vector width matters. The row map uses floating point, but works on one row at a time, with the same order of
//! operations on both paths, and IEEE 754 defines the result of each operation. There is no fused multiply-add, because a
//! portable build may not have one. Loops that matter less are written once and compiled for every path (`Path::run`).

/// Which code runs: the result of [`Path::detect`] or of [`Path::portable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path(Kind);

/// The code paths of this build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Plain Rust.
    Portable,
    /// 256-bit vectors. Only [`Path::detect`] and [`Path::available`] return this path, and only if the processor has AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512-bit vectors with products of 16-bit integers (VNNI), and 256-bit ones. Only [`Path::detect`] and
    /// [`Path::available`] return this path, and only if the processor has AVX2, AVX-512 F, BW, DQ, VL and VNNI.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Path {
    /// The fastest path of this processor.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            return Self(if has_avx512() { Kind::Avx512 } else { Kind::Avx2 });
        }
        Self::portable()
    }

    /// All paths of this processor, the slowest first.
    pub fn available() -> Vec<Self> {
        #[allow(unused_mut)] // other processors have one path
        let mut found = vec![Self::portable()];
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            found.push(Self(Kind::Avx2));
            if has_avx512() {
                found.push(Self(Kind::Avx512));
            }
        }
        found
    }

    /// Plain Rust, for the baseline processor of the build.
    pub fn portable() -> Self {
        Self(Kind::Portable)
    }

    /// The path, for kernels with one version per path.
    #[inline]
    pub(crate) fn kind(self) -> Kind {
        self.0
    }

    /// Run `body`. Functions inlined into it (`#[inline(always)]`) are compiled for this path.
    #[inline]
    pub(crate) fn run<R>(self, body: impl FnOnce() -> R) -> R {
        match self.0 {
            Kind::Portable => body(),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => run_avx2(body),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => run_avx512(body),
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    use std::arch::is_x86_feature_detected as has;

    has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") && has!("avx512vnni")
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn run_avx2<R>(body: impl FnOnce() -> R) -> R {
    #[target_feature(enable = "avx2")]
    fn inner<R>(body: impl FnOnce() -> R) -> R {
        body()
    }
    // SAFETY: `Path` has this kind only if the processor has AVX2.
    unsafe { inner(body) }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn run_avx512<R>(body: impl FnOnce() -> R) -> R {
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    fn inner<R>(body: impl FnOnce() -> R) -> R {
        body()
    }
    // SAFETY: `Path` has this kind only if the processor has all of these.
    unsafe { inner(body) }
}
