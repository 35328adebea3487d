//! The source of the keys of releases.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use zeroize::{Zeroize, Zeroizing};

use crate::error::{Error, Result};

/// A 256-bit key, overwritten with zeros when it is dropped.
pub(super) type Key = Zeroizing<[u8; 32]>;

/// The upper bytes of the key that holds a seed, so that no other use of `ChaCha20` has the same key.
const SEED_DOMAIN: &[u8; 24] = b"dpfit insecure seed, v1.";

/// A source of new 256-bit keys, one for each release.
///
/// It is not `Clone`: a copy of a seeded source would repeat the keys of the original.
///
/// # Privacy
///
/// [`Entropy::system`] asks the operating system for a new key for every release and holds no state. The generator that uses
/// the key exists only within one call, so a process forked between releases draws different bits from its parent, and a
/// process forked during a release has no thread that could continue it.
///
/// [`Entropy::insecure_seed`] is for tests and benchmarks: anyone who knows or guesses the 64-bit seed can subtract the
/// noise and read the exact statistics, and a forked child repeats the noise of its parent. A model fitted with it is not
/// private.
#[derive(Debug)]
pub struct Entropy(Origin);

#[derive(Debug)]
enum Origin {
    System,
    InsecureSeed { seed: u64, releases: u64 },
}

impl Entropy {
    /// Use keys from the operating system.
    pub fn system() -> Self {
        Self(Origin::System)
    }

    /// Compute keys from `seed` and the number of releases so far. Not private.
    pub fn insecure_seed(seed: u64) -> Self {
        Self(Origin::InsecureSeed { seed, releases: 0 })
    }

    /// Whether the keys are computed from a seed, so that nothing released with them is private.
    pub fn is_insecure(&self) -> bool {
        matches!(self.0, Origin::InsecureSeed { .. })
    }

    /// The key of the next release.
    pub(super) fn release_key(&mut self) -> Result<Key> {
        match &mut self.0 {
            Origin::System => filled_by(getrandom::fill),
            Origin::InsecureSeed { seed, releases } => {
                let key = seeded_key(*seed, *releases);
                // A counter that wrapped would repeat keys.
                *releases = releases.checked_add(1).ok_or(Error::Entropy)?;
                Ok(key)
            }
        }
    }
}

/// Return a key from `fill`. On failure, bytes that were already written are wiped and not returned.
fn filled_by<E>(fill: impl FnOnce(&mut [u8]) -> std::result::Result<(), E>) -> Result<Key> {
    let mut key = Key::default();
    match fill(key.as_mut_slice()) {
        Ok(()) => Ok(key),
        Err(_) => Err(Error::Entropy),
    }
}

/// The first 256 bits of stream `release` of `ChaCha20` under a key that holds the seed.
fn seeded_key(seed: u64, release: u64) -> Key {
    let mut start = [0; 32];
    start[..8].copy_from_slice(&seed.to_le_bytes());
    start[8..].copy_from_slice(SEED_DOMAIN);
    let mut generator = ChaCha20Rng::from_seed(start);
    start.zeroize();
    generator.set_stream(release);
    let mut key = Key::default();
    generator.fill_bytes(key.as_mut_slice());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_releases_share_a_key() {
        for mut entropy in [Entropy::system(), Entropy::insecure_seed(0), Entropy::insecure_seed(u64::MAX)] {
            let mut keys: Vec<[u8; 32]> = (0..100).map(|_| *entropy.release_key().unwrap()).collect();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), 100);
            assert!(!keys.contains(&[0; 32]));
        }
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let first = |seed| *Entropy::insecure_seed(seed).release_key().unwrap();
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
        assert_ne!(first(1), first(1 << 63));
        // Seed 1's second key is not seed 2's first.
        let mut entropy = Entropy::insecure_seed(1);
        entropy.release_key().unwrap();
        assert_ne!(*entropy.release_key().unwrap(), first(2));
    }

    #[test]
    fn a_failing_source_gives_no_key() {
        let half = |key: &mut [u8]| {
            key[..16].fill(7);
            Err(())
        };
        assert_eq!(filled_by(half).unwrap_err(), Error::Entropy);
    }

    #[test]
    fn the_counter_does_not_wrap() {
        let mut entropy = Entropy(Origin::InsecureSeed { seed: 1, releases: u64::MAX });
        assert_eq!(entropy.release_key().unwrap_err(), Error::Entropy);
        assert_eq!(entropy.release_key().unwrap_err(), Error::Entropy);
    }

    #[test]
    fn only_a_seed_is_insecure() {
        assert!(Entropy::insecure_seed(1).is_insecure());
        assert!(!Entropy::system().is_insecure());
    }
}
