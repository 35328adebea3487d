//! Counts per column, on signed powers of two or on equal bins.

use super::blob::{Reader, Writer, add};
use crate::error::{Error, Result, parameter};
use crate::panel::batch::WAVE_VALUES;
use crate::rowmap::{Input, Missing};
use crate::source::{Rows, STRIP, Source};
use crate::threads::{Execution, Stop, waves};
use xxhash_rust::xxh3::Xxh3;

/// Most bins of one column.
const MOST_BINS: usize = 1 << 20;
/// Rows that a thread takes at a time.
const BLOCK_ROWS: usize = 1024;

/// How a column is cut into bins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bins {
    /// The column is not counted.
    Skip,
    /// Bins of [2^e, 2^(e+1)) for e from `least` to `most`, for negative numbers mirrored, and one in the middle
    /// for |x| < 2^least; larger numbers count in the outermost bins.
    Powers {
        /// The smallest exponent.
        least: i32,
        /// The largest exponent.
        most: i32,
    },
    /// `count` equal bins from `low` to `high`, one below and one above.
    Equal {
        /// Where the first bin begins.
        low: f64,
        /// Where the last bin ends.
        high: f64,
        /// Bins between the two.
        count: usize,
    },
}

impl Bins {
    /// Signed powers of two.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless −1022 ≤ least ≤ most ≤ 1023.
    pub fn powers(least: i32, most: i32) -> Result<Self> {
        if -1022 <= least && least <= most && most <= 1023 {
            Ok(Self::Powers { least, most })
        } else {
            Err(parameter("exponents", "ordered and from -1022 to 1023", format!("{least} to {most}")))
        }
    }

    /// Equal bins.
    ///
    /// # Errors
    /// [`Error::Parameter`] for bounds that are not finite, not ordered or so close that bins have no width.
    pub fn equal(low: f64, high: f64, count: usize) -> Result<Self> {
        if !(1..=MOST_BINS).contains(&count) {
            return Err(parameter("bins", format!("from 1 to {MOST_BINS}"), count));
        }
        let scale = count as f64 / (high - low);
        if low.is_finite() && high.is_finite() && low < high && scale.is_normal() {
            Ok(Self::Equal { low, high, count })
        } else {
            Err(parameter("bounds", "finite, ordered and apart", format!("{low} to {high}")))
        }
    }

    /// How many counts the column has.
    pub fn len(&self) -> usize {
        match *self {
            Self::Skip => 0,
            Self::Powers { least, most } => 2 * (most - least + 1) as usize + 1,
            Self::Equal { count, .. } => count + 2,
        }
    }

    /// Whether the column is not counted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bin of every value. Every number falls into exactly one bin.
    #[inline(always)]
    fn places(&self, values: &Rows) -> [u32; STRIP] {
        let mut places = [0; STRIP];
        match *self {
            Self::Skip => {}
            Self::Powers { least, most } => {
                let middle = most - least + 1;
                for (place, value) in places.iter_mut().zip(values.iter()) {
                    // The exponent as the bits have it: exact, and small enough for subnormal numbers.
                    let high = (value.to_bits() >> 32) as u32;
                    let exponent = ((high >> 20) & 0x7ff) as i32 - 1023;
                    let step = exponent.max(least - 1).min(most) - least + 1;
                    *place = (if high >> 31 == 1 { middle - step } else { middle + step }) as u32;
                }
            }
            Self::Equal { low, high, count } => {
                let scale = count as f64 / (high - low);
                for (place, value) in places.iter_mut().zip(values.iter()) {
                    *place = non_negative(((value - low) * scale).floor() + 1.0, (count + 1) as f64);
                }
            }
        }
        places
    }

    /// Count the values for which `keep` is not zero, those of odd rows in the second half of `counts`.
    ///
    /// Two halves, because the next count of the same bin would have to wait for the one before.
    #[inline(always)]
    fn count(&self, values: &Rows, keep: Option<&Rows>, even: &mut [u32], odd: &mut [u32]) {
        let places = self.places(values);
        let (pairs, _) = places.as_chunks::<2>();
        if let Some(keep) = keep {
            for (&place, &keep) in places.iter().zip(keep.iter()) {
                even[place as usize] += u32::from(keep != 0.0);
            }
        } else {
            for &[first, second] in pairs {
                even[first as usize] += 1;
                odd[second as usize] += 1;
            }
        }
    }

    fn hash_into(&self, hash: &mut Xxh3) {
        let (kind, a, b, count) = match *self {
            Self::Skip => (0u64, 0.0, 0.0, 0),
            Self::Powers { least, most } => (1, f64::from(least), f64::from(most), 0),
            Self::Equal { low, high, count } => (2, low, high, count as u64),
        };
        for number in [kind, a.to_bits(), b.to_bits(), count] {
            hash.update(&number.to_le_bytes());
        }
    }
}

/// A whole number between zero and `most`; numbers beyond, and NaN, become the nearest of them.
#[inline(always)]
#[allow(unsafe_code)]
fn non_negative(value: f64, most: f64) -> u32 {
    let value = if value < most { value } else { most };
    let value = if value > 0.0 { value } else { 0.0 };
    // SAFETY: not NaN, and between zero and the number of a column's bins.
    unsafe { value.to_int_unchecked::<i32>() as u32 }
}

/// Count a strip of rows: the first half of `counts` and the second are added up later.
#[inline(always)]
fn count_strip(bins: &[Bins], input: &Input, counts: &mut [u32]) {
    let whole = input.keep().iter().all(|&keep| keep != 0.0);
    let keep = if whole { None } else { Some(input.keep()) };
    let (mut even, mut odd) = counts.split_at_mut(counts.len() / 2);
    for (bins, values) in bins.iter().zip(input.columns()) {
        let (counted, rest) = even.split_at_mut(bins.len());
        let (too, rest_too) = odd.split_at_mut(bins.len());
        if !bins.is_empty() {
            bins.count(values, keep, counted, too);
        }
        (even, odd) = (rest, rest_too);
    }
}

/// One histogram for every column that is not skipped.
///
/// # Privacy
/// A row adds one to one bin of each of k columns: the ℓ2 sensitivity is √k when a row is added or removed, at most
/// √(2k) when one is replaced.
#[derive(Clone, PartialEq)]
pub struct Histogram {
    bins: Vec<Bins>,
    counts: Vec<i128>,
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram").field("bins", &self.bins).finish_non_exhaustive()
    }
}

impl Histogram {
    /// All zero, for columns with these bins, the target last.
    pub fn new(bins: Vec<Bins>) -> Self {
        let counts = vec![0; bins.iter().map(Bins::len).sum()];
        Self { bins, counts }
    }

    /// The bins of every column.
    pub fn bins(&self) -> &[Bins] {
        &self.bins
    }

    /// Columns that are counted: k of the sensitivity.
    pub fn counted(&self) -> usize {
        self.bins.iter().filter(|bins| !bins.is_empty()).count()
    }

    /// The counts of all columns, one after the other: exact, private.
    pub fn exact(&self) -> &[i128] {
        &self.counts
    }

    fn key(&self) -> u64 {
        let mut hash = Xxh3::new();
        self.bins.iter().for_each(|bins| bins.hash_into(&mut hash));
        hash.digest()
    }

    /// Count the rows of a batch.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::NotFinite`], [`Error::Interrupted`]; then nothing of the batch is counted.
    pub fn extend(
        &mut self,
        source: &dyn Source,
        missing: Missing,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<()> {
        if source.columns() != self.bins.len() {
            let (expected, got) = (self.bins.len(), source.columns());
            return Err(Error::Shape { what: "columns, with the target", expected, got });
        }
        let length = self.counts.len();
        let mut total = vec![0; length];
        let bins = &self.bins;
        // Few enough rows for counts of 32 bits.
        let wave = (WAVE_VALUES / source.columns()).min(1 << 30);
        waves(source.rows(), wave, stop, |rows| {
            let work = |(input, counts): &mut (Input, Vec<u32>), start: usize| {
                let end = rows.end.min(start + BLOCK_ROWS);
                for start in (start..end).step_by(STRIP) {
                    input.read(execution.path(), source, start, STRIP.min(end - start), missing)?;
                    execution.path().run(
                        #[inline(always)]
                        || count_strip(bins, input, counts),
                    );
                }
                Ok(())
            };
            let merge = |(_, a): &mut (Input, Vec<u32>), (_, b): (Input, Vec<u32>)| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                Ok(())
            };
            let start = || (Input::new(), vec![0u32; 2 * length]);
            let cost = rows.len() * source.columns();
            let (_, counts) = execution.fold(cost, rows.clone().step_by(BLOCK_ROWS), start, work, merge)?;
            let (even, odd) = counts.split_at(length);
            for (total, (even, odd)) in total.iter_mut().zip(even.iter().zip(odd)) {
                *total += i128::from(*even) + i128::from(*odd);
            }
            Ok(())
        })?;
        add(&mut self.counts, total.into_iter())
    }

    /// Add another part of the same counts.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the bins differ; nothing is changed then.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.bins != other.bins {
            return Err(Error::Mismatch("bins"));
        }
        add(&mut self.counts, other.counts.iter().copied())
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new("histogram", self.key());
        writer.integers(&self.counts);
        writer.finish()
    }

    /// What [`Histogram::to_bytes`] wrote, for the same bins.
    ///
    /// # Errors
    /// [`Error::Blob`] if it did not write this, [`Error::Mismatch`] if the bins are others.
    pub fn from_bytes(bins: Vec<Bins>, bytes: &[u8]) -> Result<Self> {
        let empty = Self::new(bins);
        let (key, reader) = Reader::new("histogram", bytes)?;
        if key != empty.key() {
            return Err(Error::Mismatch("bins"));
        }
        let counts = reader.integers(empty.counts.len())?;
        Ok(Self { counts, ..empty })
    }
}
