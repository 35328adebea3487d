//! A run of tiles, in memory or in a file.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use memmap2::{Mmap, UncheckedAdvice};

use super::layout::Line;
use crate::error::Result;

/// Tiles that are filled one after the other, and then perhaps moved to a file.
#[derive(Debug)]
pub(crate) enum Segment {
    Memory(Vec<Line>),
    Mapped(Mmap),
}

impl Segment {
    /// Room for `lines` lines, all zero; the pages are touched only when they are written.
    pub(crate) fn new(lines: usize) -> Self {
        Self::Memory(bytemuck::zeroed_vec(lines))
    }

    pub(crate) fn lines(&self) -> &[Line] {
        match self {
            Self::Memory(lines) => lines,
            // A mapping starts at a page and holds whole lines.
            Self::Mapped(map) => bytemuck::cast_slice(map),
        }
    }

    /// The lines, to write. A mapped segment is full and has none.
    pub(crate) fn lines_mut(&mut self) -> &mut [Line] {
        match self {
            Self::Memory(lines) => lines,
            Self::Mapped(_) => &mut [],
        }
    }

    /// Move the lines into a file without a name in `directory`. They are written, not mapped, on the way in: a
    /// full disk is then an error and not a signal.
    #[allow(unsafe_code)]
    pub(crate) fn spill(&mut self, directory: &Path) -> Result<()> {
        let Self::Memory(lines) = self else { return Ok(()) };
        let mut file: File = tempfile::tempfile_in(directory)?;
        file.write_all(bytemuck::cast_slice(lines))?;
        // SAFETY: the file has no name and this is its only handle, so nobody can change or shorten it.
        let map = unsafe { Mmap::map(&file)? };
        *self = Self::Mapped(map);
        Ok(())
    }

    /// Let go of the memory of a mapped segment; the next pass reads it from the file again.
    #[allow(unsafe_code)]
    pub(crate) fn forget(&self) {
        if let Self::Mapped(map) = self {
            // SAFETY: the mapping is of a file and read-only, so dropped pages come back with the same bytes.
            // A system that will not is free to keep them: the advice is about memory use alone.
            let _ = unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) };
        }
    }
}
