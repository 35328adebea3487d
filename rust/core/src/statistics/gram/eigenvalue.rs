//! The smallest eigenvalue of X'X, with a proven error.

use super::{Gram, Statistic};
use crate::execution::Path;

/// The statistic is at most this minus the trace: above a trace of 2^56 (2^26 rows of norm one) it is zero.
const MOST_TRACE: i128 = 1 << 56;
/// Bisection ends at this width: a thousandth of the sensitivity.
const WIDTH: i128 = 1 << 20;
/// The number of partial sums of a dot product: two vector registers. It is the same on all code paths, so that they round
/// in the same way.
const PARTS: usize = 8;

impl Gram {
    /// Compute λ = max(0, min(`λ_min(X'X)`, 2^56 − trace)) in multiples of 2^−30, to within [`Gram::eigenvalue_error`].
    ///
    /// # Privacy
    /// λ has sensitivity 2^30 for adding, removing and replacing a row: by Weyl's inequality `λ_min` changes by at most
    /// the spectral norm of the change, qq' or qq' − rr'. The trace changes by at most as much, and minimum and maximum
    /// preserve the bound. The returned number differs from λ by at most e = [`Gram::eigenvalue_error`], so its sensitivity
    /// is 2^30 + 2e ([`Gram::eigenvalue_sensitivity`]).
    ///
    /// The error: let C be X'X − t·I in doubles. If all pivots of Cholesky's algorithm are positive, C + E is positive
    /// semidefinite; otherwise C + E is not positive definite, for an E with ‖E‖ ≤ d·γ·trace and γ = (d + 2)·2^−53 up to
    /// lower-order terms (N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, theorems 10.3 and 10.7, for any
    /// order of summation). Four times this bound covers those terms and the rounding of the sums to doubles. The trace
    /// is below 2^56, or λ is zero for any result; this is the purpose of the minimum in λ. Bisection on t adds the width
    /// of its last interval.
    pub fn smallest_eigenvalue(&self) -> i128 {
        let trace = self.diagonal().try_fold(0i128, i128::checked_add);
        let room = trace.and_then(|trace| MOST_TRACE.checked_sub(trace)).unwrap_or(0).max(0);
        // The number of steps and the time of each do not depend on the data, so neither does the running time.
        let (mut low, mut high) = (0, MOST_TRACE);
        let doubles = self.to_doubles();
        let mut factor = doubles.clone();
        while high - low > WIDTH {
            let middle = low + (high - low) / 2;
            factor.copy_from_slice(&doubles);
            for (i, row) in factor.chunks_exact_mut(self.features()).enumerate() {
                row[i] -= middle as f64;
            }
            let positive = Path::detect().run(
                #[inline(always)]
                || cholesky(&mut factor, self.features()),
            );
            if positive { low = middle } else { high = middle }
        }
        low.min(room)
    }

    /// The largest error of [`Gram::smallest_eigenvalue`].
    pub fn eigenvalue_error(&self) -> f64 {
        let d = (self.features() + 2) as f64;
        // 4·d²·2^−53·2^56, and the width of the last interval.
        32.0 * d * d + WIDTH as f64
    }

    /// The sensitivity of [`Gram::smallest_eigenvalue`], in multiples of 2^−30, for both neighbouring relations.
    pub fn eigenvalue_sensitivity(&self) -> f64 {
        f64::from(1u32 << 30) + 2.0 * self.eigenvalue_error()
    }

    /// The lower triangle with the diagonal, row by row, and zeros above it.
    fn to_doubles(&self) -> Vec<f64> {
        let d = self.features();
        let mut doubles = vec![0.0; d * d];
        let mut entries = self.exact().iter();
        for i in 0..d {
            for (j, &entry) in (i..d).zip(&mut entries) {
                doubles[j * d + i] = entry as f64;
            }
        }
        doubles
    }
}

/// Factor a symmetric matrix in place, given its lower triangle; return whether all pivots are positive. A pivot that is
/// not positive is replaced by one, so that the running time is always the same.
///
/// A linear algebra library would take minutes to build and choose its own order of summation; this code gives the same
/// bits everywhere.
#[inline(always)]
fn cholesky(matrix: &mut [f64], d: usize) -> bool {
    let mut positive = true;
    for i in 0..d {
        let (done, rest) = matrix.split_at_mut(i * d);
        let row = &mut rest[..d];
        for (j, other) in done.chunks_exact(d).enumerate() {
            row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
        }
        let pivot = row[i] - dot(&row[..i], &row[..i]);
        positive &= pivot > 0.0;
        row[i] = if pivot > 0.0 { pivot.sqrt() } else { 1.0 };
    }
    positive
}

#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<PARTS>(), b.as_chunks::<PARTS>());
    let mut sums = [0.0; PARTS];
    for (a, b) in a.iter().zip(b) {
        for part in 0..PARTS {
            sums[part] += a[part] * b[part];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::execution::Execution;
    use crate::rowmap::{Column, Norm, RowMap, Target};
    use crate::source::{Dense, Missing};

    fn gram(x: &[f64], columns: usize) -> Gram {
        let target = Target::new(0.0, 1.0, 1.0).unwrap();
        let map = RowMap::new(vec![Column::plain(); columns], target, Norm::Clip, None).unwrap();
        let y = vec![0.0; x.len() / columns];
        let mut gram = Gram::new(&map);
        let source = Dense::new(x, &y).unwrap();
        gram.extend(&map, &source, Missing::Error, &Execution::on(Path::detect()), &mut || false).unwrap();
        gram
    }

    proptest! {
        #[test]
        fn is_the_eigenvalue_of_a_pair(x in prop::collection::vec(-1.0..1.0f64, 60)) {
            let gram = gram(&x, 2);
            let [a, b, c] = [0, 1, 2].map(|i| gram.exact()[i] as f64);
            // There is a formula for two by two matrices.
            let exact = f64::midpoint(a, c) - ((a - c) / 2.0).hypot(b);
            let got = gram.smallest_eigenvalue() as f64;
            prop_assert!((got - exact.max(0.0)).abs() <= gram.eigenvalue_error());
        }

        #[test]
        fn moves_by_no_more_than_its_sensitivity(x in prop::collection::vec(-1e3..1e3f64, 45), row in prop::collection::vec(-1e3..1e3f64, 3)) {
            let less = gram(&x, 3);
            let more = gram(&[x, row].concat(), 3);
            let moved = (more.smallest_eigenvalue() - less.smallest_eigenvalue()) as f64;
            prop_assert!(moved.abs() <= less.eigenvalue_sensitivity());
        }
    }

    #[test]
    fn a_diagonal_matrix_has_its_smallest_entry() {
        // Two rows along one axis, five along the other.
        let x: Vec<f64> = [[0.5, 0.0]; 2].iter().chain(&[[0.0, 0.5]; 5]).flatten().copied().collect();
        let gram = gram(&x, 2);
        let expected = 2 * 16384 * 16384;
        assert!((gram.smallest_eigenvalue() - expected).abs() <= WIDTH);
        assert!(gram.eigenvalue_error() < 2e6);
    }

    #[test]
    fn singular_and_empty_matrices_have_zero() {
        assert!(gram(&[0.5, 0.5, 0.1, 0.1], 2).smallest_eigenvalue() <= WIDTH);
        assert_eq!(gram(&[0.0, 0.0], 2).smallest_eigenvalue(), 0);
    }
}
