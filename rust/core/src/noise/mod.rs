//! Gaussian noise on an integer grid: `round(σZ)` with `Z` exactly standard normal.
//!
//! ```text
//! entropy   a fresh 256-bit key for every release
//! bits      ChaCha20 under that key, one stream per chunk, cut into words and single bits
//! uniform   a number in [0, 1) whose 64-bit digits are drawn when somebody asks for them
//! normal    Karney's algorithm N: |Z| = whole + fraction, from comparisons of digits only
//! round     floor(σ|Z| + 1/2), decided by as many digits as it takes
//! ```
//!
//! # Privacy
//!
//! The statistics of this crate are integers. For an integer `S`, `S + round(σZ) = round(S + σZ)`, so a sum
//! with this noise is a post-processed Gaussian mechanism, and its guarantee is that of real-valued Gaussian
//! noise of standard deviation `σ`, without a term for rounding errors: there are none. `σ` means the binary
//! fraction that the `f64` is, no step after taking it apart uses floating point, and no comparison is
//! settled on a finite number of digits that could still tie.
//!
//! Three limits of this promise:
//!
//! - It is conditional on `|Z| < 1024` (see `normal`), which all but a share `2^-756,000` of the mass
//!   satisfies.
//! - The bits are as good as `ChaCha20` and the operating system's source. Under [`Entropy::insecure_seed`]
//!   they are known to everyone who knows the seed, and there is no privacy.
//! - The running time depends on what is drawn. Someone who can time a release precisely enough to tell
//!   single draws apart learns something about the noise.
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

use rayon::ThreadPool;
use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

use crate::error::{Error, Result};
use crate::threads::Stop;
use bits::{Bits, ChaChaWords, Words};
use entropy::Key;
use round::Scale;

pub use entropy::Entropy;
pub use sigma::{Sigma, sigma_for};

/// Entries that share one `ChaCha20` stream. Part of what a seed means: another value gives other seeded
/// results.
const CHUNK: usize = 4096;

/// Chunks between two looks at whether to stop.
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

/// Draws one release of noise: independent entries `round(σ Z)`, each with its own exact normal `Z`.
///
/// The entries are drawn in chunks of fixed size, on the threads of `pool` if there are several chunks and a
/// pool is given. Which thread draws a chunk changes nothing: a seeded result is the same for every pool and
/// for none. An entry is smaller than `1024 σ + 1 ≤ 2^110 + 1` in absolute value.
///
/// # Privacy
///
/// Every call takes a key of its own from `entropy` and every chunk reads a stream of its own under this key,
/// so no bit is read twice, within a release or between releases. Key, generator and unread bits are wiped
/// before the call returns, as far as a program can: copies that the compiler left in registers or in dead
/// stack frames are out of its reach, and digits that became noise are not wiped. The caller adds each entry
/// to one integer and forgets it; an entry that is used twice, or shown beside the sum, hides nothing.
///
/// # Errors
///
/// [`Error::Entropy`] if the operating system gives no randomness, [`Error::Interrupted`] if `stop` asks for it; then
/// nothing was released.
pub fn rounded_gaussian(
    entropy: &mut Entropy,
    scales: Scales<'_>,
    pool: Option<&ThreadPool>,
    stop: Stop<'_>,
) -> Result<Vec<i128>> {
    let key = entropy.release_key()?;
    let mut noise = vec![0; scales.len()];
    for (wave, first) in noise.chunks_mut(WAVE * CHUNK).zip((0..).step_by(WAVE)) {
        if stop() {
            return Err(Error::Interrupted);
        }
        match pool {
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

/// Fills chunk `index` of a release from the stream of that number.
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
            // `chunk` is cut from a vector of `sigmas.len()` entries, so `zip` ends with the chunk.
            for (entry, &sigma) in chunk.iter_mut().zip(&sigmas[index * CHUNK..]) {
                *entry = draw(&mut bits, Scale::new(sigma));
            }
        }
    }
}

/// One draw of `round(σZ)`.
///
/// Rounding the magnitude half up and then choosing the sign differs from any other rule for halves only on a
/// countable set of `Z`, that is with probability zero.
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
