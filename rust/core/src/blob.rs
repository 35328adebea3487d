//! Statistics and rows as bytes: a header, a key of the public parameters, the contents, a checksum.
//!
//! Bytes that were truncated, changed or written by another program are rejected: the checksum has 128 bits.

use crate::error::{Error, Result};
use xxhash_rust::xxh3::xxh3_128;

const MAGIC: &[u8; 6] = b"dpfit\x02";
const CHECKSUM: usize = 16;

/// Writes a blob.
#[derive(Debug)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// Start a blob of this kind. Only blobs with the same key belong together.
    pub(crate) fn new(kind: &'static str, key: u64) -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.push(kind.len() as u8);
        bytes.extend(kind.as_bytes());
        bytes.extend(key.to_le_bytes());
        Self(bytes)
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn integers(&mut self, values: &[i128]) {
        self.0.reserve(size_of_val(values) + CHECKSUM);
        for value in values {
            self.bytes(&value.to_le_bytes());
        }
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let checksum = xxh3_128(&self.0);
        self.bytes(&checksum.to_le_bytes());
        self.0
    }
}

/// Reads a blob.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    kind: &'static str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Check a blob of this kind; return its key and a reader of the contents.
    pub(crate) fn new(kind: &'static str, bytes: &'a [u8]) -> Result<(u64, Self)> {
        let refuse = |reason| Error::Blob { kind, reason };
        let (body, checksum) = bytes.split_last_chunk::<CHECKSUM>().ok_or_else(|| refuse("too short"))?;
        let body_rest =
            body.strip_prefix(MAGIC).ok_or_else(|| refuse("not written by this version of dpfit"))?;
        if u128::from_le_bytes(*checksum) != xxh3_128(body) {
            return Err(refuse("the checksum does not match"));
        }
        let (length, rest) = body_rest.split_first().ok_or_else(|| refuse("too short"))?;
        let (name, rest) = rest.split_at_checked(usize::from(*length)).ok_or_else(|| refuse("too short"))?;
        if name != kind.as_bytes() {
            return Err(refuse("they hold something else"));
        }
        let (key, rest) = rest.split_first_chunk::<8>().ok_or_else(|| refuse("too short"))?;
        Ok((u64::from_le_bytes(*key), Self { kind, rest }))
    }

    /// The contents.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// The contents as integers.
    pub(crate) fn integers(self) -> Result<Vec<i128>> {
        let (chunks, rest) = self.rest.as_chunks::<16>();
        if rest.is_empty() {
            Ok(chunks.iter().map(|chunk| i128::from_le_bytes(*chunk)).collect())
        } else {
            Err(Error::Blob { kind: self.kind, reason: "wrong length" })
        }
    }
}
