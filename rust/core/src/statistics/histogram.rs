//! Counts per column, in bins of signed powers of two or of equal width.

use xxhash_rust::xxh3::Xxh3;

use super::sums::{Statistic, Sums, statistic};
use crate::error::{Result, parameter};
use crate::execution::{Execution, Stop};
use crate::number::non_negative;
use crate::source::{Input, Missing, STRIP, Scan, Source, StripColumn, check_columns};

/// The most bins of one column.
const MOST_BINS: usize = 1 << 20;

/// The bins of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bins {
    /// The column is not counted.
    Skip,
    /// Bins [2^e, 2^(e+1)) for e from `least` to `most`, the same for negative numbers, and one in the middle for
    /// |x| < 2^least. Larger numbers are counted in the outermost bins.
    Powers {
        /// The smallest exponent.
        least: i32,
        /// The largest exponent.
        most: i32,
    },
    /// `count` equal bins from `low` to `high`, one below and one above.
    Equal {
        /// The start of the first bin.
        low: f64,
        /// The end of the last bin.
        high: f64,
        /// The number of bins between the two.
        count: usize,
    },
}

impl Bins {
    /// Create bins of signed powers of two.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] unless −1022 ≤ least ≤ most ≤ 1023.
    pub fn powers(least: i32, most: i32) -> Result<Self> {
        if -1022 <= least && least <= most && most <= 1023 {
            Ok(Self::Powers { least, most })
        } else {
            Err(parameter("exponents", "ordered and between -1022 and 1023", format!("{least} to {most}")))
        }
    }

    /// Create bins of equal width.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] if the bounds are not finite, not ordered or so close that bins have no width.
    pub fn equal(low: f64, high: f64, count: usize) -> Result<Self> {
        if !(1..=MOST_BINS).contains(&count) {
            return Err(parameter("bins", format!("between 1 and {MOST_BINS}"), count));
        }
        let scale = count as f64 / (high - low);
        if low.is_finite() && high.is_finite() && low < high && scale.is_normal() {
            Ok(Self::Equal { low, high, count })
        } else {
            Err(parameter("bounds", "finite, ordered and distinct", format!("{low} to {high}")))
        }
    }

    /// The number of counts of the column.
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

    /// Return the bin of every value. Every number is in exactly one bin.
    #[inline(always)]
    fn places(&self, values: &StripColumn) -> [u32; STRIP] {
        let mut places = [0; STRIP];
        match *self {
            Self::Skip => {}
            Self::Powers { least, most } => {
                let middle = most - least + 1;
                for (place, value) in places.iter_mut().zip(values.iter()) {
                    // The exponent in the bits of the number: exact, and −1023 for subnormal numbers.
                    let high = (value.to_bits() >> 32) as u32;
                    let exponent = ((high >> 20) & 0x7ff) as i32 - 1023;
                    let step = exponent.max(least - 1).min(most) - least + 1;
                    *place = (if high >> 31 == 1 { middle - step } else { middle + step }) as u32;
                }
            }
            Self::Equal { low, high, count } => {
                let scale = count as f64 / (high - low);
                for (place, value) in places.iter_mut().zip(values.iter()) {
                    *place = non_negative(((value - low) * scale).floor() + 1.0, (count + 1) as u32);
                }
            }
        }
        places
    }

    /// Count the values for which `keep` is not zero: those of even rows in `even`, those of odd rows in `odd`.
    ///
    /// With one array, counting a bin again would have to wait for the previous count.
    #[inline(always)]
    fn count(&self, values: &StripColumn, keep: Option<&StripColumn>, even: &mut [u32], odd: &mut [u32]) {
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

    /// Count the values of rows that are kept, the missing ones in the last of `counts` if there is one more count than
    /// bins, and else not at all.
    fn count_present(&self, values: &StripColumn, keep: &StripColumn, counts: &mut [u32]) {
        let places = self.places(values);
        for ((&place, value), &keep) in places.iter().zip(values.iter()).zip(keep.iter()) {
            let place = if value.is_finite() { place as usize } else { self.len() };
            if let Some(count) = counts.get_mut(place) {
                *count += u32::from(keep != 0.0);
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

/// Count a strip of rows. The two halves of `counts` are added later.
#[inline(always)]
fn count_strip(columns: &Columns, input: &Input, counts: &mut [u32]) {
    let whole = input.keep().iter().all(|&keep| keep != 0.0);
    let keep = if whole { None } else { Some(input.keep()) };
    let (mut even, mut odd) = counts.split_at_mut(counts.len() / 2);
    for (place, (bins, values)) in columns.bins.iter().zip(input.columns()).enumerate() {
        let (counted, rest) = even.split_at_mut(columns.len(place));
        let (too, rest_too) = odd.split_at_mut(columns.len(place));
        if !bins.is_empty() && input.has_missing() {
            bins.count_present(values, input.keep(), counted);
        } else if !bins.is_empty() {
            bins.count(values, keep, counted, too);
        }
        (even, odd) = (rest, rest_too);
    }
}

/// What is counted of every column, the target last.
#[derive(Debug, Clone, PartialEq)]
struct Columns {
    bins: Vec<Bins>,
    /// Whether every column of x that is counted has one more count, of missing values.
    with_missing: bool,
}

impl Columns {
    /// The number of counts of a column.
    fn len(&self, place: usize) -> usize {
        let bins = &self.bins[place];
        bins.len() + usize::from(self.with_missing && !bins.is_empty() && place + 1 < self.bins.len())
    }

    /// A hash of the bins.
    fn key(&self) -> u64 {
        let mut hash = Xxh3::new();
        for bins in &self.bins {
            bins.hash_into(&mut hash);
        }
        if self.with_missing {
            hash.update(&[1]);
        }
        hash.digest()
    }
}

/// One histogram for every column that is not skipped.
///
/// # Privacy
/// A row adds one to at most one count of each of k columns, that of missing values included: the ℓ2 sensitivity is √k
/// when a row is added or removed, at most √(2k) when one is replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    columns: Columns,
    sums: Sums,
}

statistic!(Histogram, "histogram", "bins");

impl Histogram {
    /// Create counts of zero for columns with these bins, the target last.
    pub fn new(bins: Vec<Bins>) -> Self {
        Self::of(Columns { bins, with_missing: false })
    }

    /// Let every column of x that is counted have one more count, its last, of missing values. They are kept with
    /// [`Missing::Indicator`] alone. The counts start at zero again.
    #[must_use]
    pub fn with_missing(self) -> Self {
        Self::of(Columns { with_missing: true, ..self.columns })
    }

    fn of(columns: Columns) -> Self {
        let len = (0..columns.bins.len()).map(|place| columns.len(place)).sum();
        Self { sums: Sums::zero(columns.key(), len), columns }
    }

    /// The bins of every column.
    pub fn bins(&self) -> &[Bins] {
        &self.columns.bins
    }

    /// The number of columns that are counted: k in the sensitivity.
    pub fn counted(&self) -> usize {
        self.columns.bins.iter().filter(|bins| !bins.is_empty()).count()
    }

    /// The counts of the target, if it is counted.
    pub(super) fn of_target(&self) -> Option<&[i128]> {
        let bins = self.columns.bins.last().filter(|bins| !bins.is_empty())?;
        Some(&self.exact()[self.exact().len() - bins.len()..])
    }

    /// Count the rows of a batch.
    ///
    /// # Errors
    /// [`crate::Error::Shape`], [`crate::Error::NotFinite`], [`crate::Error::Interrupted`]; the counts are then unchanged.
    pub fn extend(
        &mut self,
        source: &dyn Source,
        missing: Missing,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<()> {
        check_columns(source, self.columns.bins.len())?;
        let (columns, length) = (&self.columns, self.exact().len());
        let mut total = vec![0; length];
        Scan { source, missing, execution }.fold(
            stop,
            || vec![0u32; 2 * length],
            #[inline(always)]
            |counts: &mut Vec<u32>, input| count_strip(columns, input, counts),
            |a, b| a.iter_mut().zip(b).for_each(|(a, b)| *a += b),
            |counts| {
                let (even, odd) = counts.split_at(length);
                for (total, (even, odd)) in total.iter_mut().zip(even.iter().zip(odd)) {
                    *total += i128::from(*even) + i128::from(*odd);
                }
                Ok(())
            },
        )?;
        self.sums.add(total.into_iter())
    }

    /// Read what [`Statistic::to_bytes`] wrote for counts like these, which must be zero, and return their sum.
    ///
    /// # Errors
    /// [`crate::Error::Blob`] for other bytes, [`crate::Error::Mismatch`] for other bins.
    pub fn read(mut self, bytes: &[u8]) -> Result<Self> {
        let sums = Sums::from_bytes(Self::KIND, bytes, |_| true)?;
        self.merge(&Self { sums, columns: self.columns.clone() })?;
        Ok(self)
    }
}
