//! A run of tiles, in memory or in a file.

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use memmap2::{Mmap, MmapMut, MmapOptions};

use crate::error::{Error, Result};
use crate::layout::Line;

/// The size of a large page. The first access to each page of new memory is a page fault; with small pages, the faults of
/// a store take as long as mapping the rows.
const LARGE_PAGE: usize = 2 << 20;

/// More than any machine has; sums of sizes below it do not overflow.
const MOST_BYTES: usize = 1 << 60;

/// Tiles that are filled one after the other, and may then be moved to a file.
#[derive(Debug)]
pub(crate) enum Segment {
    /// The mapping, and the range of bytes that holds the lines.
    Memory(MmapMut, Range<usize>),
    /// The mapping, whose first bytes hold the lines, and how many.
    File(Mmap, usize),
}

impl Segment {
    /// Allocate `lines` lines of zeros. Memory is used only when lines are written.
    pub(crate) fn new(lines: usize) -> Result<Self> {
        let bytes = lines.checked_mul(size_of::<Line>()).filter(|&bytes| bytes < MOST_BYTES);
        let bytes = bytes.ok_or(Error::TooManyRows)?;
        if bytes < LARGE_PAGE {
            return Ok(Self::Memory(MmapMut::map_anon(bytes)?, 0..bytes));
        }
        // Starts and ends at a large page.
        let map = MmapMut::map_anon(bytes.next_multiple_of(LARGE_PAGE) + LARGE_PAGE)?;
        #[cfg(target_os = "linux")]
        // Without large pages the store works as well, but more slowly.
        let _ = map.advise(memmap2::Advice::HugePage);
        let start = map.as_ptr().addr().next_multiple_of(LARGE_PAGE) - map.as_ptr().addr();
        Ok(Self::Memory(map, start..start + bytes))
    }

    pub(crate) fn lines(&self) -> &[Line] {
        // Both mappings start at a page and hold whole lines.
        match self {
            Self::Memory(map, place) => bytemuck::cast_slice(&map[place.clone()]),
            Self::File(map, bytes) => bytemuck::cast_slice(&map[..*bytes]),
        }
    }

    /// The lines, mutable. A segment in a file is full, so this is empty.
    pub(crate) fn lines_mut(&mut self) -> &mut [Line] {
        match self {
            Self::Memory(map, place) => bytemuck::cast_slice_mut(&mut map[place.clone()]),
            Self::File(..) => &mut [],
        }
    }

    /// Move the lines into an unnamed file in `directory`, and return their memory, to use it again. They are written before
    /// the file is mapped, so that a full disk is an error and not a signal.
    #[allow(unsafe_code)]
    pub(crate) fn spill(&mut self, directory: &Path) -> Result<Option<Self>> {
        let Self::Memory(lines, place) = self else { return Ok(None) };
        let mut file: File = tempfile::tempfile_in(directory)?;
        file.write_all(&lines[place.clone()])?;
        // SAFETY: the file has no name and this is its only handle, so nobody can change or shorten it.
        let map = unsafe { Mmap::map(&file)? };
        let bytes = map.len();
        Ok(Some(std::mem::replace(self, Self::File(map, bytes))))
    }

    /// The same memory with place for `lines` lines, if there is enough and not several times as much. What is in it is left.
    pub(crate) fn resized(mut self, lines: usize) -> Option<Self> {
        let room = self.room();
        let Self::Memory(_, place) = &mut self else { return None };
        let fits = (room / 4..=room).contains(&lines);
        place.end = place.start + lines.min(room) * size_of::<Line>();
        fits.then_some(self)
    }

    /// The number of lines that fit into the memory; none into a file.
    pub(crate) fn room(&self) -> usize {
        match self {
            Self::Memory(map, place) => (map.len() - place.start) / size_of::<Line>(),
            Self::File(..) => 0,
        }
    }

    /// Map a file that nobody changes. Return the lines, which are its first `bytes` bytes, and a copy of the others.
    #[allow(unsafe_code)]
    pub(crate) fn open(file: &File, bytes: usize) -> Result<(Self, Vec<u8>)> {
        // SAFETY: the caller promises that the file does not change. Such files are written once, in a folder that only
        // this user can enter, and are then only removed, which leaves mappings as they are.
        let map = unsafe { MmapOptions::new().populate().map(file)? };
        let rest = map.get(bytes..).unwrap_or_default().to_vec();
        Ok((Self::File(map, bytes), rest))
    }

    /// Move the lines back into memory, where they can be written.
    pub(crate) fn recall(&mut self) -> Result<()> {
        if let Self::File(_, bytes) = self {
            let mut memory = Self::new(*bytes / size_of::<Line>())?;
            memory.lines_mut().copy_from_slice(self.lines());
            *self = memory;
        }
        Ok(())
    }

    /// Free the memory of a segment in a file. The next pass reads the file again.
    #[allow(unsafe_code)]
    pub(crate) fn forget(&self) {
        // Windows has no such advice, and drops pages of files when memory is short.
        #[cfg(unix)]
        if let Self::File(map, _) = self {
            // SAFETY: the mapping is of a file and read-only, so dropped pages come back with the same bytes.
            // Failure is ignored: the advice affects memory use only.
            let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }
}
