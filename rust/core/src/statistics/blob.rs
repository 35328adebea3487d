//! Statistics as bytes: a header, the public key, the numbers, a checksum.
//!
//! Bytes that were cut, changed or written by something else are refused: the checksum has 128 bits.

use crate::error::{Error, Result};
use xxhash_rust::xxh3::xxh3_128;

const MAGIC: &[u8; 6] = b"dpfit\x01";
const CHECKSUM: usize = 16;

/// Writes a blob.
#[derive(Debug)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// A blob of this kind; only blobs with the same key belong together.
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
    /// The key of a blob of this kind, and what follows it.
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
            return Err(refuse("it holds something else"));
        }
        let (key, rest) = rest.split_first_chunk::<8>().ok_or_else(|| refuse("too short"))?;
        Ok((u64::from_le_bytes(*key), Self { kind, rest }))
    }

    /// All that is left.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// A number.
    pub(crate) fn number(&mut self) -> Result<u64> {
        let refuse = Error::Blob { kind: self.kind, reason: "too short" };
        let (number, rest) = self.rest.split_first_chunk::<8>().ok_or(refuse)?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*number))
    }

    /// All that is left, as exactly `count` integers.
    pub(crate) fn integers(self, count: usize) -> Result<Vec<i128>> {
        let (chunks, rest) = self.rest.as_chunks::<16>();
        if chunks.len() != count || !rest.is_empty() {
            return Err(Error::Blob { kind: self.kind, reason: "wrong length" });
        }
        Ok(chunks.iter().map(|chunk| i128::from_le_bytes(*chunk)).collect())
    }
}

/// Add integers of two statistics.
pub(crate) fn add(a: &mut [i128], b: impl Iterator<Item = i128> + Clone) -> Result<()> {
    // Checked before anything changes.
    if a.iter().zip(b.clone()).any(|(a, b)| a.checked_add(b).is_none()) {
        return Err(Error::TooManyRows);
    }
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    Ok(())
}
