//! Gaussian noise on an integer grid: `round(σZ)` with `Z` exactly standard normal.
//!
//! ```text
//! entropy   a fresh 256-bit key for every release
//! bits      ChaCha20 under that key, one stream per chunk, split into words and single bits
//! uniform   a number in [0, 1) whose 64-bit digits are drawn when they are needed
//! normal    Karney's algorithm N: |Z| = whole + fraction, from comparisons of digits only
//! round     floor(σ|Z| + 1/2), decided by as many digits as necessary
//! ```
//!
//! # Privacy
//!
//! The statistics of this crate are integers. For an integer `S`, `S + round(σZ) = round(S + σZ)`, so a sum with this
//! noise is a post-processed Gaussian mechanism. Its guarantee is that of real-valued Gaussian noise of standard deviation
//! `σ`, without a term for rounding errors, because there are none. `σ` is exactly the binary fraction that the `f64`
//! represents, it is split into integers before any other step, and no comparison is decided while more digits could
//! change its result.
//!
//! This guarantee has three limits:
//!
//! - It is conditional on `|Z| < 1024` (see `normal`). The probability of a larger `|Z|` is below `2^-756,000`.
//! - The bits are as good as `ChaCha20` and the operating system's random source. With [`Entropy::insecure_seed`],
//!   everyone who knows the seed knows the noise, and there is no privacy.
//! - The running time depends on the noise. Someone who can time single draws within a release learns something about
//!   the noise.
//!
//! # Reference
//!
//! C. F. F. Karney, "Sampling exactly from the normal distribution", ACM Transactions on Mathematical
//! Software 42(1), article 3, 2016.

mod bits;
mod entropy;
#[cfg(test)]
mod limbs;
mod normal;
mod round;
mod sigma;
mod uniform;

use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

use crate::error::{Error, Result};
use crate::execution::{Execution, Stop};
use bits::{Bits, ChaChaWords, Words};
use entropy::Key;
use round::Scale;

pub use entropy::Entropy;
pub use sigma::Sigma;

/// The number of entries that share one `ChaCha20` stream. With another value, the same seed gives other results.
const CHUNK: usize = 4096;

/// The number of chunks between two checks whether to stop.
const WAVE: usize = 256;

/// The standard deviations of a vector of noise.
#[derive(Debug, Clone, Copy)]
pub enum Scales<'a> {
    /// One standard deviation for every entry.
    Same {
        /// The standard deviation.
        sigma: Sigma,
        /// The number of entries.
        len: usize,
    },
    /// One standard deviation per entry.
    Each(&'a [Sigma]),
}

impl Scales<'_> {
    /// The number of entries.
    pub fn len(&self) -> usize {
        match self {
            Self::Same { len, .. } => *len,
            Self::Each(sigmas) => sigmas.len(),
        }
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Draw one release of noise: independent entries `round(σZ)` with exactly normal `Z`.
///
/// The entries are drawn in chunks of fixed size, on the threads of `execution` if there are several chunks. A seeded
/// result is the same for every number of threads. The absolute value of an entry is less than `1024 σ + 1 ≤ 2^110 + 1`.
///
/// # Privacy
///
/// Every call takes a new key from `entropy` and every chunk reads its own stream under this key, so no bit is read twice,
/// within a release or between releases. Key, generator and unread bits are wiped before the call returns, as far as a
/// program can: copies that the compiler left in registers or old stack frames are out of reach, and digits that became
/// noise are not wiped. The caller must add each entry to one integer and discard it: an entry that is used twice, or shown
/// together with the sum, protects nothing.
///
/// # Errors
///
/// [`Error::Entropy`] if the operating system provides no randomness, [`Error::Interrupted`] if `stop` returns true;
/// nothing was released then.
pub fn rounded_gaussian(
    entropy: &mut Entropy,
    scales: Scales<'_>,
    execution: &Execution,
    stop: Stop<'_>,
) -> Result<Vec<i128>> {
    let key = entropy.release_key()?;
    let mut noise = vec![0; scales.len()];
    for (wave, first) in noise.chunks_mut(WAVE * CHUNK).zip((0..).step_by(WAVE)) {
        if stop() {
            return Err(Error::Interrupted);
        }
        match execution.pool() {
            Some(pool) if wave.len() > CHUNK => pool.install(|| {
                wave.par_chunks_mut(CHUNK).enumerate().for_each(|(index, chunk)| {
                    fill_chunk(&key, scales, first + index, chunk);
                });
            }),
            _ => {
                for (index, chunk) in wave.chunks_mut(CHUNK).enumerate() {
                    fill_chunk(&key, scales, first + index, chunk);
                }
            }
        }
    }
    Ok(noise)
}

/// Release exact integers: return them with noise, as doubles. No other function may publish a statistic.
///
/// # Privacy
///
/// An integer plus its noise has the guarantee of the Gaussian mechanism (see the module); converting the sum to the
/// nearest double is post-processing.
///
/// # Errors
///
/// [`Error::Shape`] unless there is one scale for every integer, and the errors of [`rounded_gaussian`].
pub fn release(
    exact: &[i128],
    entropy: &mut Entropy,
    scales: Scales<'_>,
    execution: &Execution,
    stop: Stop<'_>,
) -> Result<Vec<f64>> {
    if scales.len() != exact.len() {
        return Err(Error::Shape { what: "values of sigma", expected: exact.len(), got: scales.len() });
    }
    let noise = rounded_gaussian(entropy, scales, execution, stop)?;
    // Sums and noise are below 2^126, so their sum fits into 128 bits. If it ever did not, a saturated sum is still a
    // function of the noisy one.
    Ok(exact.iter().zip(noise).map(|(exact, noise)| exact.saturating_add(noise) as f64).collect())
}

/// Fill chunk `index` of a release from the stream with that number.
fn fill_chunk(key: &Key, scales: Scales<'_>, index: usize, chunk: &mut [i128]) {
    let mut bits = Bits::new(ChaChaWords::new(key, index as u64));
    match scales {
        Scales::Same { sigma, .. } => {
            let scale = Scale::new(sigma);
            for entry in chunk {
                *entry = draw(&mut bits, scale);
            }
        }
        Scales::Each(sigmas) => {
            // `chunk` is part of a vector of `sigmas.len()` entries, so `zip` ends with the chunk.
            for (entry, &sigma) in chunk.iter_mut().zip(&sigmas[index * CHUNK..]) {
                *entry = draw(&mut bits, Scale::new(sigma));
            }
        }
    }
}

/// Draw one `round(σZ)`.
///
/// Rounding the magnitude half up and then choosing the sign differs from any other rule for halves only on a
/// countable set of `Z`, which has probability zero.
#[inline]
fn draw<W: Words>(bits: &mut Bits<W>, scale: Scale) -> i128 {
    let (whole, mut fraction) = normal::magnitude(bits);
    // Below 2^111, so the conversion keeps the value.
    let rounded = scale.round(whole, &mut fraction, bits) as i128;
    if bits.coin() { -rounded } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_its_draws_in_order() {
        let key = Entropy::insecure_seed(3).release_key().unwrap();
        let sigmas: Vec<Sigma> =
            (0..80).map(|i| Sigma::new(f64::from(i % 7 + 1) * 1.25f64.powi(i)).unwrap()).collect();
        let mut chunk = vec![0; 80];
        fill_chunk(&key, Scales::Each(&sigmas), 0, &mut chunk);
        let mut bits = Bits::new(ChaChaWords::new(&key, 0));
        for (entry, &sigma) in chunk.iter().zip(&sigmas) {
            assert_eq!(*entry, draw(&mut bits, Scale::new(sigma)));
        }
    }

    #[test]
    fn chunks_of_a_release_read_different_streams() {
        let key = Entropy::insecure_seed(3).release_key().unwrap();
        let scales = Scales::Same { sigma: Sigma::new(1e9).unwrap(), len: 3 * CHUNK };
        let (mut first, mut second) = (vec![0; CHUNK], vec![0; CHUNK]);
        fill_chunk(&key, scales, 0, &mut first);
        fill_chunk(&key, scales, 1, &mut second);
        // Two independent draws agree with probability below 1e-9.
        assert!(first.iter().zip(&second).filter(|(a, b)| a == b).count() < 3);
    }
}
