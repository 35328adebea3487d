//! A run of tiles, in memory or in a file.

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use memmap2::{Mmap, MmapMut, UncheckedAdvice};

use super::layout::Line;
use crate::error::{Error, Result};

/// The size of a large page. Fresh memory costs a page fault per page: with small ones, touching the store takes as
/// long as mapping the rows into it.
const LARGE_PAGE: usize = 2 << 20;

/// No machine has this much, and sums of sizes below it do not overflow.
const MOST_BYTES: usize = 1 << 60;

/// Tiles that are filled one after the other, and then perhaps moved to a file.
#[derive(Debug)]
pub(crate) enum Segment {
    /// The lines, and the byte of the mapping at which they begin.
    Memory(MmapMut, Range<usize>),
    File(Mmap),
}

impl Segment {
    /// Room for `lines` lines, all zero; the pages are touched only when they are written.
    pub(crate) fn new(lines: usize) -> Result<Self> {
        let bytes = lines.checked_mul(size_of::<Line>()).filter(|&bytes| bytes < MOST_BYTES);
        let bytes = bytes.ok_or(Error::TooManyRows)?;
        if bytes < LARGE_PAGE {
            return Ok(Self::Memory(MmapMut::map_anon(bytes)?, 0..bytes));
        }
        // From the start of one large page to the end of another.
        let map = MmapMut::map_anon(bytes.next_multiple_of(LARGE_PAGE) + LARGE_PAGE)?;
        #[cfg(target_os = "linux")]
        // A system that has no large pages is as right, and slower.
        let _ = map.advise(memmap2::Advice::HugePage);
        let start = map.as_ptr().addr().next_multiple_of(LARGE_PAGE) - map.as_ptr().addr();
        Ok(Self::Memory(map, start..start + bytes))
    }

    pub(crate) fn lines(&self) -> &[Line] {
        // Either mapping starts at a page and holds whole lines.
        match self {
            Self::Memory(map, place) => bytemuck::cast_slice(&map[place.clone()]),
            Self::File(map) => bytemuck::cast_slice(map),
        }
    }

    /// The lines, to write. A segment in a file is full and has none.
    pub(crate) fn lines_mut(&mut self) -> &mut [Line] {
        match self {
            Self::Memory(map, place) => bytemuck::cast_slice_mut(&mut map[place.clone()]),
            Self::File(_) => &mut [],
        }
    }

    /// Move the lines into a file without a name in `directory`. They are written, not mapped, on the way in: a
    /// full disk is then an error and not a signal.
    #[allow(unsafe_code)]
    pub(crate) fn spill(&mut self, directory: &Path) -> Result<()> {
        let Self::Memory(lines, place) = self else { return Ok(()) };
        let mut file: File = tempfile::tempfile_in(directory)?;
        file.write_all(&lines[place.clone()])?;
        // SAFETY: the file has no name and this is its only handle, so nobody can change or shorten it.
        let map = unsafe { Mmap::map(&file)? };
        *self = Self::File(map);
        Ok(())
    }

    /// Bring the lines back into memory, where they can be written.
    pub(crate) fn recall(&mut self) -> Result<()> {
        if let Self::File(map) = self {
            let mut memory = Self::new(map.len() / size_of::<Line>())?;
            memory.lines_mut().copy_from_slice(self.lines());
            *self = memory;
        }
        Ok(())
    }

    /// Let go of the memory of a segment in a file; the next pass reads it from the file again.
    #[allow(unsafe_code)]
    pub(crate) fn forget(&self) {
        if let Self::File(map) = self {
            // SAFETY: the mapping is of a file and read-only, so dropped pages come back with the same bytes.
            // A system that will not is free to keep them: the advice is about memory use alone.
            let _ = unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) };
        }
    }
}
