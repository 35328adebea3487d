//! The loops with 256-bit vectors: most of the unsafe code of the crate.
//!
//! A tile's feature is one vector of sixteen 16-bit values, so `vpmaddwd` does sixteen exact products and eight
//! exact additions at once. Against the portable loops on one core, the pass over the rows and the Gram matrix are
//! each more than ten times as fast (`cargo bench --bench core`).
//!
//! All functions here are reached through [`super::Path`], which names this module only after the processor was
//! asked for AVX2.

mod map;
mod sums;

pub(crate) use map::prefetch;
pub(super) use map::{quantise, target, transpose, weigh};
pub(super) use sums::{gram, products, residuals};

pub(super) fn run<R>(body: impl FnOnce() -> R) -> R {
    #[target_feature(enable = "avx2")]
    fn inner<R>(body: impl FnOnce() -> R) -> R {
        body()
    }
    // SAFETY: `Path` selects this module only if the processor has AVX2.
    unsafe { inner(body) }
}
