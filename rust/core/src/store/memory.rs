//! Memory of freed segments, which others use again.

use std::sync::{Arc, Mutex, PoisonError};

use super::segment::Segment;
use crate::error::Result;

/// Memory that the stores of one fit share: what one frees, the next uses. The first access to new memory takes longer than
/// to map a row, above all in a virtual machine, which has to get it from its host.
///
/// The memory goes back to the system when the last of these stores is freed, and nobody else holds this value.
///
/// # Privacy
/// It contains rows of freed stores, like any memory that was freed. A store overwrites every tile before it reads it, and is
/// the same as in new memory.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Vec<Segment>>>);

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl Memory {
    /// Return a segment of `lines` lines, of which each may have any content: the smallest that fits, or a new one. If none
    /// fits, all are freed, so that a fit holds no more than if it had reused nothing.
    pub(super) fn take(&self, lines: usize) -> Result<Segment> {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = free.iter().enumerate().filter(|(_, segment)| segment.room() >= lines);
        let place = fits.min_by_key(|(_, segment)| segment.room()).map(|(place, _)| place);
        let found = place.and_then(|place| free.swap_remove(place).resized(lines));
        if found.is_none() {
            free.clear();
        }
        found.map_or_else(|| Segment::new(lines), Ok)
    }

    /// Keep the memory of segments that are no longer used. Those in files are freed.
    pub(super) fn put(&self, segments: impl Iterator<Item = Segment>) {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(segments.filter(|segment| segment.room() > 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_memory_that_fits_is_used_again() {
        let memory = Memory::default();
        let new = |lines| Segment::new(lines).unwrap();
        let address = |segment: &Segment| segment.lines().as_ptr().addr();
        let (small, large) = (new(100_000), new(300_000));
        let places = [address(&small), address(&large)];
        memory.put([large, small].into_iter());
        let again = memory.take(90_000).unwrap();
        assert_eq!((address(&again), again.lines().len()), (places[0], 90_000));
        let larger = memory.take(200_000).unwrap();
        assert_eq!((address(&larger), larger.lines().len()), (places[1], 200_000));
        // A segment keeps its room.
        memory.put([larger].into_iter());
        assert_eq!(memory.take(300_000).unwrap().lines().len(), 300_000);
    }

    #[test]
    fn memory_that_does_not_fit_is_freed() {
        for lines in [200, 5] {
            let memory = Memory::default();
            memory.put([Segment::new(100).unwrap()].into_iter());
            assert_eq!(memory.take(lines).unwrap().lines().len(), lines);
            assert!(memory.0.lock().unwrap().is_empty());
        }
    }
}
