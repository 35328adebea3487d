//! Stores in files with names, which other processes of the same user map into their memory.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::segment::Segment;
use super::{Backing, Matrix, Store, within_bound};
use crate::blob::{Reader, Writer};
use crate::error::{Error, Result};
use crate::layout::LANES;
use crate::rowmap::RowMap;

/// What the end of a file is called.
const KIND: &str = "file of rows";

impl Store {
    /// Write the rows to a new file that only this user can read.
    ///
    /// The file has the lines first, so that they start at a page, then a blob with their checksum.
    ///
    /// # Errors
    /// [`Error::Io`], also if there is such a file.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut file = create(path)?;
        let mut hash = Xxh3::new();
        for (segment, lines) in self.used() {
            let bytes: &[u8] = bytemuck::cast_slice(lines);
            hash.update(bytes);
            file.write_all(bytes)?;
            segment.forget();
        }
        file.write_all(&end(self.key, hash.digest128()))?;
        Ok(())
    }

    /// Map the file that [`Store::save`] wrote for the same map and the same matrices.
    ///
    /// The file must not change as long as the store exists; it may be removed.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Blob`] for another file, [`Error::Mismatch`] for another map or matrix, [`Error::Shape`] for a
    /// matrix that does not fit the rows.
    ///
    /// # Privacy
    /// The checksum and the norm of every row are checked.
    pub fn open(map: RowMap, matrices: &[Matrix], path: &Path) -> Result<Self> {
        let mut store = Self::new(map, Backing::Memory);
        for matrix in matrices {
            store = store.before_mapping(matrix, Backing::Memory)?;
        }
        let refuse = |reason| Error::Blob { kind: KIND, reason };
        let file = File::open(path)?;
        let length = end(store.key, 0).len();
        let size = usize::try_from(file.metadata()?.len()).map_err(|_| refuse("too long"))?;
        let bytes = size.checked_sub(length).ok_or_else(|| refuse("too short"))?;
        if bytes % store.layout.bytes() != 0 {
            return Err(refuse("wrong length"));
        }
        let (segment, rest) = Segment::open(&file, bytes)?;
        let (key, reader) = Reader::new(KIND, &rest)?;
        if key != store.key {
            return Err(Error::Mismatch("row maps"));
        }
        let lines = segment.lines();
        if reader.rest() != xxh3_128(bytemuck::cast_slice(lines)).to_le_bytes() {
            return Err(refuse("the checksum does not match"));
        }
        if !lines.chunks_exact(store.layout.lines()).all(|tile| within_bound(tile, store.layout)) {
            return Err(refuse("a row exceeds its bound"));
        }
        store.filled = lines.len() / store.layout.lines() * LANES;
        store.segments.push(segment);
        Ok(store)
    }
}

fn create(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    Ok(options.open(path)?)
}

/// The end of a file: a blob, whose length is always the same.
fn end(key: u64, checksum: u128) -> Vec<u8> {
    let mut writer = Writer::new(KIND, key);
    writer.bytes(&checksum.to_le_bytes());
    writer.finish()
}
