//! The features that are made from one column: ramps or levels.

use xxhash_rust::xxh3::Xxh3;

use crate::error::{Result, parameter};
use crate::layout::{LANES, MOST_FEATURES};
use crate::source::Lanes;

/// Features are clamped to this size, so that sums of their squares stay in the range of doubles.
const LARGEST_FEATURE: f64 = 1.0e150;
/// The largest finite end of a ramp.
const LARGEST_BOUND: f64 = 1.0e100;

/// A column of x and the features that are made from it.
///
/// With ramps, z = (x − centre) / scale becomes one feature for each ramp (low, high, gain):
/// gain·(clamp(z, low, high) − clamp(0, low, high)).
///
/// Ramps that tile an interval span the functions that are linear between their ends and constant outside. They are a basis
/// and winsorise at the same time, on each side where it is needed. Every ramp is bounded and zero at the centre, so only
/// the ramps between the centre and x use up the norm of a row.
///
/// With levels, x is the index of a level, starting at zero, and becomes one feature for each level: `height` for the level
/// of the row and zero for all others. For any other x, an unknown level, all features are zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub(crate) features: Features,
    middle: f64,
}

/// The features of a column, in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Features {
    Ramps(Vec<Ramp>),
    Levels { count: usize, height: f64 },
}

/// A ramp on x: zero at its foot, the point of its range that is nearest to the column's centre.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ramp {
    /// The foot: centre + clamp(0, low, high) · scale.
    pub(crate) foot: f64,
    /// gain / scale.
    pub(crate) factor: f64,
    /// The values of the feature at its two ends: `least` ≤ 0 ≤ `most`.
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Ramp {
    fn new(centre: f64, scale: f64, (low, high, gain): (f64, f64, f64)) -> Result<Self> {
        check_scale("gain", gain)?;
        let inside = -LARGEST_BOUND..=LARGEST_BOUND;
        if low != f64::NEG_INFINITY && !inside.contains(&low) {
            return Err(parameter("low", "between -1e100 and 1e100, or -inf", low));
        }
        if high != f64::INFINITY && !inside.contains(&high) {
            return Err(parameter("high", "between -1e100 and 1e100, or inf", high));
        }
        if low >= high {
            return Err(parameter("high", format!("above low, which is {low}"), high));
        }
        // The foot is finite: an infinite end is never the nearest point.
        let foot = 0f64.max(low).min(high);
        Ok(Self {
            // One subtraction from x, wherever the ramp is. If the sum rounds, the foot moves by less than the spacing of
            // doubles there.
            foot: centre + foot * scale,
            factor: gain / scale,
            least: ((low - foot) * gain).max(-LARGEST_FEATURE),
            most: ((high - foot) * gain).min(LARGEST_FEATURE),
        })
    }

    /// Return the feature, which is between `least` and `most` for every x.
    #[inline(always)]
    fn apply(&self, x: f64) -> f64 {
        // A difference of finite numbers may overflow to an infinity, which is clamped like any other number. The two
        // comparisons become two vector instructions, as in `clamp`.
        let value = (x - self.foot) * self.factor;
        let value = if value < self.most { value } else { self.most };
        if value > self.least { value } else { self.least }
    }
}

impl Column {
    /// Create a column with a centre, a scale and ramps (low, high, gain) in z. A column without ramps has no features.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] if the centre is not finite, a scale or gain is not between 1e−100 and 1e100, or the ends
    /// of a ramp are NaN, not in order, or finite and above 1e100.
    pub fn new(centre: f64, scale: f64, ramps: &[(f64, f64, f64)]) -> Result<Self> {
        check_centre(centre)?;
        check_scale("scale", scale)?;
        let low = ramps.iter().map(|ramp| ramp.0).fold(f64::INFINITY, f64::min);
        let high = ramps.iter().map(|ramp| ramp.1).fold(f64::NEG_INFINITY, f64::max);
        let middle = centre + scale * (low / 2.0 + high / 2.0);
        let ramps = ramps.iter().map(|&ramp| Ramp::new(centre, scale, ramp)).collect::<Result<_>>()?;
        // Without ramps, or with infinite ends, there is no middle.
        Ok(Self {
            features: Features::Ramps(ramps),
            middle: if middle.is_finite() { middle } else { centre },
        })
    }

    /// Create a column of levels with indices from zero.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] if `count` is not between 1 and 8192 or `height` not between 1e−100 and 1e100.
    pub fn levels(count: usize, height: f64) -> Result<Self> {
        if !(1..=MOST_FEATURES).contains(&count) {
            return Err(parameter("levels", format!("between 1 and {MOST_FEATURES}"), count));
        }
        check_scale("height", height)?;
        Ok(Self { features: Features::Levels { count, height }, middle: -1.0 })
    }

    /// Create a column whose only feature is x.
    pub fn plain() -> Self {
        let ramp = Ramp { foot: 0.0, factor: 1.0, least: -LARGEST_FEATURE, most: LARGEST_FEATURE };
        Self { features: Features::Ramps(vec![ramp]), middle: 0.0 }
    }

    /// What a missing value counts as: the middle between the ends of the outermost ramps, or the centre if an end is
    /// infinite; an unknown level.
    ///
    /// # Privacy
    /// It is finite and follows from the public map alone, so that a row with missing values is mapped like any other.
    pub fn middle(&self) -> f64 {
        self.middle
    }

    /// The number of features of the column.
    pub fn features(&self) -> usize {
        match &self.features {
            Features::Ramps(ramps) => ramps.len(),
            Features::Levels { count, .. } => *count,
        }
    }

    pub(crate) fn hash_into(&self, hash: &mut Xxh3) {
        let kind = u64::from(matches!(self.features, Features::Levels { .. }));
        hash.update(&kind.to_le_bytes());
        hash.update(&(self.features() as u64).to_le_bytes());
        match &self.features {
            Features::Ramps(ramps) => {
                for value in ramps.iter().flat_map(|ramp| [ramp.foot, ramp.factor, ramp.least, ramp.most]) {
                    hash.update(&value.to_le_bytes());
                }
            }
            Features::Levels { height, .. } => hash.update(&height.to_le_bytes()),
        }
    }

    /// Write the features of a column of a tile, and add their squares to `squares`.
    #[inline(always)]
    #[allow(clippy::float_cmp)] // levels are integers
    pub(crate) fn apply(&self, x: &[f64; LANES], features: &mut [Lanes], squares: &mut [f64; LANES]) {
        match &self.features {
            Features::Ramps(ramps) => {
                // The ramp is copied, because the compiler cannot know that writing a feature does not change a reference.
                for (Lanes(feature), &ramp) in features.iter_mut().zip(ramps) {
                    for lane in 0..LANES {
                        feature[lane] = ramp.apply(x[lane]);
                        squares[lane] += feature[lane] * feature[lane];
                    }
                }
            }
            &Features::Levels { count, height } => {
                for (level, Lanes(feature)) in features.iter_mut().enumerate().take(count) {
                    for lane in 0..LANES {
                        feature[lane] = if x[lane] == level as f64 { height } else { 0.0 };
                        squares[lane] += feature[lane] * feature[lane];
                    }
                }
            }
        }
    }
}

pub(super) fn check_centre(centre: f64) -> Result<()> {
    if centre.is_finite() { Ok(()) } else { Err(parameter("centre", "finite", centre)) }
}

/// Check a scale: products and quotients of two of them are normal numbers.
pub(super) fn check_scale(name: &'static str, scale: f64) -> Result<()> {
    if (1e-100..=1e100).contains(&scale) {
        Ok(())
    } else {
        Err(parameter(name, "between 1e-100 and 1e100", scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INFINITY: f64 = f64::INFINITY;

    /// The features of one value.
    fn features(column: &Column, x: f64) -> Vec<f64> {
        let mut features = vec![Lanes([0.0; LANES]); column.features()];
        column.apply(&[x; LANES], &mut features, &mut [0.0; LANES]);
        features.iter().map(|feature| feature.0[0]).collect()
    }

    fn finite() -> impl Strategy<Value = f64> {
        prop_oneof![any::<f64>().prop_filter("finite", |value| value.is_finite()), -9.0..9.0f64]
    }

    /// Two numbers in order, sometimes infinite.
    fn ends() -> impl Strategy<Value = (f64, f64)> {
        let low = prop_oneof![-5.0..5.0f64, Just(0.0), Just(-INFINITY), Just(-1e100)];
        (low, prop_oneof![0.01..5.0f64, Just(INFINITY)]).prop_map(|(low, width)| {
            (low, if low < -5.0 && width < INFINITY { width } else { low.max(-9.0) + width })
        })
    }

    proptest! {
        #[test]
        fn a_ramp_is_its_formula(
            x in -50.0..50.0f64,
            (centre, scale) in (-3.0..3.0f64, 0.1..10.0f64),
            ((low, high), gain) in (ends(), 0.01..10.0f64),
        ) {
            let column = Column::new(centre, scale, &[(low, high, gain)]).unwrap();
            let z = (x - centre) / scale;
            let expected = gain * (z.clamp(low, high) - 0f64.clamp(low, high));
            prop_assert!((features(&column, x)[0] - expected).abs() <= 1e-11 * (1.0 + expected.abs()));
        }

        #[test]
        fn a_feature_is_bounded_and_zero_at_the_centre(
            x in finite(),
            (centre, scale) in (finite(), 1e-100..1e100f64),
            ((low, high), gain) in (ends(), prop_oneof![0.01..10.0f64, Just(1e100)]),
        ) {
            let column = Column::new(centre, scale, &[(low, high, gain)]).unwrap();
            let most = (gain * (high - low)).min(LARGEST_FEATURE) * (1.0 + 1e-15);
            prop_assert!(features(&column, x)[0].abs() <= most);
            prop_assert!(features(&column, centre)[0] == 0.0);
            // Rows with such values never get here.
            for x in [f64::NAN, INFINITY, -INFINITY] {
                prop_assert!(features(&column, x)[0].abs() <= most);
            }
        }

        #[test]
        fn powers_of_two_change_no_bit(
            (x, centre, scale) in (-50.0..50.0f64, -3.0..3.0f64, 0.1..10.0f64),
            ((low, high), gain) in (ends(), 0.01..10.0f64),
            power in -100..100i32,
        ) {
            let (ramps, factor) = ([(low, high, gain)], 2f64.powi(power));
            let column = Column::new(centre, scale, &ramps).unwrap();
            let other = Column::new(factor * centre, factor * scale, &ramps).unwrap();
            prop_assert_eq!(features(&column, x)[0].to_bits(), features(&other, factor * x)[0].to_bits());
        }

        #[test]
        fn ramps_that_tile_add_up_to_the_whole(
            x in -20.0..20.0f64,
            mut knots in prop::collection::vec(-5.0..5.0f64, 2..7),
        ) {
            knots.sort_by(f64::total_cmp);
            knots.dedup();
            let ramps: Vec<_> = knots.windows(2).map(|ends| (ends[0], ends[1], 1.5)).collect();
            let parts = Column::new(0.7, 2.0, &ramps).unwrap();
            let whole = Column::new(0.7, 2.0, &[(knots[0], knots[knots.len() - 1], 1.5)]);
            let sum: f64 = features(&parts, x).iter().sum();
            if let Ok(whole) = whole {
                prop_assert!((sum - features(&whole, x)[0]).abs() <= 1e-12);
            }
        }
    }

    #[test]
    fn invalid_ramps_are_rejected() {
        let bad = [
            (f64::NAN, 1.0, 1.0),
            (0.0, f64::NAN, 1.0),
            (INFINITY, INFINITY, 1.0),
            (-INFINITY, -INFINITY, 1.0),
            (-1e101, 0.0, 1.0),
            (0.0, 1e101, 1.0),
            (1.0, 1.0, 1.0),
            (1.0, 0.0, 1.0),
            (0.0, 1.0, 0.0),
            (0.0, 1.0, -1.0),
            (0.0, 1.0, f64::NAN),
            (0.0, 1.0, 1e101),
            (0.0, 1.0, 1e-101),
        ];
        for ramp in bad {
            assert!(Column::new(0.0, 1.0, &[(0.0, 1.0, 1.0), ramp]).is_err(), "{ramp:?}");
        }
        assert_eq!(Column::new(0.0, 1.0, &[]).unwrap().features(), 0);
        assert_eq!(Column::new(0.0, 1.0, &[(-INFINITY, INFINITY, 1.0)]).unwrap(), Column::plain());
    }

    proptest! {
        #[test]
        #[allow(clippy::float_cmp)]
        fn one_level_is_set_or_none(x in prop_oneof![finite(), (-2..9i32).prop_map(f64::from)], count in 1..7usize) {
            let column = Column::levels(count, 0.5).unwrap();
            let mut expected = vec![0.0; count];
            if let Some(place) = (0..count).find(|&level| level as f64 == x) {
                expected[place] = 0.5;
            }
            prop_assert_eq!(features(&column, x), expected);
        }
    }

    #[test]
    fn invalid_levels_are_rejected() {
        for (count, height) in [(0, 1.0), (8193, 1.0), (2, 0.0), (2, -1.0), (2, f64::NAN), (2, 1e101)] {
            assert!(Column::levels(count, height).is_err(), "{count} {height}");
        }
        for x in [f64::NAN, INFINITY, -INFINITY] {
            assert_eq!(features(&Column::levels(2, 1.0).unwrap(), x), [0.0, 0.0]);
        }
    }

    #[test]
    fn the_hash_distinguishes_levels() {
        let key = |column: &Column| {
            let mut hash = Xxh3::new();
            column.hash_into(&mut hash);
            hash.digest()
        };
        let mut keys = vec![
            key(&Column::levels(2, 1.0).unwrap()),
            key(&Column::levels(3, 1.0).unwrap()),
            key(&Column::levels(2, 0.5).unwrap()),
            key(&Column::plain()),
            key(&Column::levels(1, 1.0).unwrap()),
        ];
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 5);
    }

    #[test]
    fn the_hash_distinguishes_ramps() {
        let key = |ramps: &[&[(f64, f64, f64)]]| {
            let mut hash = Xxh3::new();
            for ramps in ramps {
                Column::new(0.5, 2.0, ramps).unwrap().hash_into(&mut hash);
            }
            hash.digest()
        };
        let (a, b) = ((-1.0, 2.0, 0.5), (2.0, 3.0, 0.5));
        let mut keys = vec![
            key(&[&[a, b], &[]]),
            key(&[&[a], &[b]]),
            key(&[&[], &[a, b]]),
            key(&[&[b, a], &[]]),
            key(&[&[(-1.5, 2.0, 0.5), b], &[]]),
            key(&[&[(-1.0, 2.5, 0.5), b], &[]]),
            key(&[&[(-1.0, 2.0, 0.25), b], &[]]),
            key(&[&[a, (2.5, 3.0, 0.5)], &[]]),
            key(&[&[a, (2.0, INFINITY, 0.5)], &[]]),
        ];
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 9);
    }
}
