//! Natural numbers of any size, for tests: a second way to round, written from the definition.

/// A natural number, lowest limb first, without leading zero limbs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Natural(Vec<u64>);

impl Natural {
    /// The number with these limbs, lowest first.
    pub(super) fn new(mut limbs: Vec<u64>) -> Self {
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
        Self(limbs)
    }

    /// `2^exponent`.
    pub(super) fn power_of_two(exponent: u32) -> Self {
        let mut limbs = vec![0; exponent as usize / 64];
        limbs.push(1 << (exponent % 64));
        Self(limbs)
    }

    /// Limb `index`, zero above the highest one.
    pub(super) fn limb(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }

    /// `self + other`.
    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut carry = 0;
        let limbs = (0..=self.0.len().max(other.0.len())).map(|i| {
            let sum = u128::from(self.limb(i)) + u128::from(other.limb(i)) + carry;
            carry = sum >> 64;
            sum as u64
        });
        Self::new(limbs.collect())
    }

    /// `self · factor`.
    pub(super) fn times(&self, factor: u64) -> Self {
        let mut carry = 0;
        let limbs = (0..=self.0.len()).map(|i| {
            // At most (2^64-1)² + 2^64 - 1 < 2^128.
            let product = u128::from(self.limb(i)) * u128::from(factor) + carry;
            carry = product >> 64;
            product as u64
        });
        Self::new(limbs.collect())
    }

    /// `floor(self / divisor)`.
    pub(super) fn over(&self, divisor: u64) -> Self {
        let mut limbs = self.0.clone();
        let mut rest = 0;
        for limb in limbs.iter_mut().rev() {
            let value = rest << 64 | u128::from(*limb);
            // `rest < divisor`, so the quotient is one limb.
            *limb = (value / u128::from(divisor)) as u64;
            rest = value % u128::from(divisor);
        }
        Self::new(limbs)
    }

    /// `floor(self / 2^count)`.
    pub(super) fn shifted_down(&self, count: u32) -> Self {
        let (skip, count) = (count as usize / 64, count % 64);
        let limbs = (skip..self.0.len().max(skip))
            .map(|i| ((u128::from(self.limb(i + 1)) << 64 | u128::from(self.limb(i))) >> count) as u64);
        Self::new(limbs.collect())
    }

    /// The number itself, which must be below `2^128`.
    pub(super) fn to_u128(&self) -> u128 {
        assert!(self.0.len() <= 2);
        u128::from(self.limb(1)) << 64 | u128::from(self.limb(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn natural(value: u128) -> Natural {
        Natural::new(vec![value as u64, (value >> 64) as u64])
    }

    /// Limbs that are often 0 or all ones, where carries go wrong.
    fn limb() -> impl Strategy<Value = u64> {
        prop_oneof![Just(0), Just(1), Just(u64::MAX), any::<u64>()]
    }

    proptest! {
        #[test]
        fn agrees_with_128_bits(a in (limb(), limb()), b in (limb(), limb()), count in 0u32..200) {
            let join = |(low, high): (u64, u64)| u128::from(high) << 64 | u128::from(low);
            let (x, y) = (join(a), join(b));
            prop_assert_eq!(natural(x >> 1).plus(&natural(y >> 1)).to_u128(), (x >> 1) + (y >> 1));
            prop_assert_eq!(natural(u128::from(a.0)).times(b.0).to_u128(), u128::from(a.0) * u128::from(b.0));
            prop_assert_eq!(natural(x).over(b.0.max(1)).to_u128(), x / u128::from(b.0.max(1)));
            prop_assert_eq!(natural(x).shifted_down(count).to_u128(), x.checked_shr(count).unwrap_or(0));
        }

        /// `(x·f + r) / f = x` and `(x·2^n) / 2^n = x` for numbers longer than 128 bits.
        #[test]
        fn long_numbers_come_back(
            x in prop::collection::vec(limb(), 0..6), f in limb(), r in limb(), n in 0u32..64,
        ) {
            let (x, f) = (Natural::new(x), f.max(1));
            prop_assert_eq!(x.times(f).plus(&natural(u128::from(r % f))).over(f), x.clone());
            prop_assert_eq!(x.times(1 << n).shifted_down(n), x);
        }
    }

    /// From Python, with the same `a` and `f`: `a * f`, `a // f`, `a + a * f` and `a >> 77`, each printed as
    /// `[hex(v >> 64 * i & (1 << 64) - 1) for i in range(5)]`.
    #[test]
    fn agrees_with_python() {
        let a = Natural::power_of_two(200)
            .plus(&Natural::new(vec![0x1234_5678_90ab_cdef, 0, 0, 0]))
            .plus(&Natural::power_of_two(131));
        let f = 0xfedc_ba98_7654_3211;
        assert_eq!(
            a.times(f),
            Natural::new(vec![
                0x35a1_df76_e60d_5adf,
                0x121f_a00a_cd77_d742,
                0xf6e5_d4c3_b2a1_9088,
                0xdcba_9876_5432_1107,
                0x0000_0000_0000_00fe
            ])
        );
        assert_eq!(
            a.over(f),
            Natural::new(vec![0xa9cb_c14e_5e0a_7411, 0x2492_4924_9249_2385, 0x0000_0000_0000_0101])
        );
        assert_eq!(
            a.plus(&a.times(f)),
            Natural::new(vec![
                0x47d6_35ef_76b9_28ce,
                0x121f_a00a_cd77_d742,
                0xf6e5_d4c3_b2a1_9090,
                0xdcba_9876_5432_1207,
                0x0000_0000_0000_00fe
            ])
        );
        assert_eq!(a.shifted_down(77), Natural::new(vec![0x0040_0000_0000_0000, 0x0800_0000_0000_0000]));
    }

    #[test]
    fn powers_of_two() {
        assert_eq!(Natural::power_of_two(0), natural(1));
        assert_eq!(Natural::power_of_two(127).to_u128(), 1 << 127);
        assert_eq!(Natural::power_of_two(128), Natural::new(vec![0, 0, 1, 0]));
    }
}
