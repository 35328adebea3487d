use bytemuck::Zeroable;
use proptest::prelude::*;

use super::*;
use crate::layout::feature_mut;

/// Return a tile of rows with Σq² ≤ 2^30 made of any numbers.
fn tile(features: usize, values: &[i16]) -> Vec<Line> {
    let layout = Layout::new(features);
    let mut tile = vec![Line::zeroed(); layout.lines()];
    for lane in 0..LANES {
        let row = |index: usize| i64::from(values[(lane * features + index) % values.len()]);
        let norm = (0..features).map(|index| row(index).pow(2)).sum::<i64>() as f64;
        let scale = (32767.0 / norm.sqrt()).min(1.0);
        for index in 0..features {
            feature_mut(&mut tile, index)[lane] = (row(index) as f64 * scale) as i16;
        }
    }
    tile
}

/// Return products and squares by their definition, with 128-bit integers.
fn by_definition(matrix: &Matrix, tile: &[Line]) -> (Vec<[f64; LANES]>, [f64; LANES]) {
    let mut squares = [0.0; LANES];
    let products = (0..matrix.outputs()).map(|output| {
        std::array::from_fn(|lane| {
            let entry = |input| i128::from(matrix.integer(input, output));
            let sum: i128 =
                (0..matrix.inputs()).map(|input| i128::from(feature(tile, input)[lane]) * entry(input)).sum();
            assert!(sum.abs() < 1 << 40);
            let product = (sum >> 10) as f64 * matrix.scales[output];
            squares[lane] += product * product;
            product
        })
    });
    (products.collect(), squares)
}

fn check(matrix: &Matrix, tile: &[Line]) {
    let expected = by_definition(matrix, tile);
    for path in Path::available() {
        let mut lines = vec![Line::zeroed(); matrix.lines()];
        let mut products = vec![Lanes([0.0; LANES]); matrix.outputs()];
        let squares = matrix.multiply(path, tile, &mut lines, &mut products);
        let found: Vec<_> = products.iter().map(|products| products.0).collect();
        assert_eq!((found, squares.0), expected);
        assert!(expected.1.iter().all(|squares| squares.is_finite()));
    }
}

/// Entries of every size, from zero and subnormal numbers to the largest.
fn entries() -> impl Strategy<Value = f64> {
    prop_oneof![
        -3.0..3.0f64,
        -1e300..1e300f64,
        -1e-300..1e-300f64,
        Just(0.0),
        Just(5e-324),
        Just(f64::MAX),
        Just(-f64::MAX)
    ]
}

proptest! {
    #[test]
    fn products_are_exact(
        inputs in 1..40usize,
        outputs in 1..20usize,
        some in prop::collection::vec(entries(), 1..200),
        values in prop::collection::vec(any::<i16>(), 1..300),
    ) {
        let entries: Vec<f64> = some.iter().copied().cycle().take(inputs * outputs).collect();
        check(&Matrix::new(&entries, outputs).unwrap(), &tile(inputs, &values));
    }

    #[test]
    fn columns_are_rounded_to_their_own_grid(
        inputs in 1..30usize,
        columns in prop::collection::vec((-1e3..1e3f64, -30..30i32), 1..10),
        seed in any::<u32>(),
    ) {
        let outputs = columns.len();
        let entry = |input: usize, (value, exponent): (f64, i32)| {
            (value + (input as f64 * 0.7 + f64::from(seed)).sin()) * 2f64.powi(exponent)
        };
        let entries: Vec<f64> =
            (0..inputs).flat_map(|input| columns.iter().map(move |&column| entry(input, column))).collect();
        let matrix = Matrix::new(&entries, outputs).unwrap();
        let rounded = matrix.rounded();
        for output in 0..outputs {
            let norm = |entries: &[f64]| {
                entries[output..].iter().step_by(outputs).map(|entry| entry * entry).sum::<f64>().sqrt()
            };
            let largest = norm(&entries) * 2f64.powi(-24) + 2f64.powi(-41);
            for (entry, rounded) in entries.iter().zip(&rounded).skip(output).step_by(outputs) {
                prop_assert!((entry - rounded).abs() <= largest);
            }
            let integers = (0..inputs).map(|input| matrix.integer(input, output).pow(2)).sum::<i64>();
            prop_assert!((integers as f64).sqrt() <= 2f64.powi(NORM_BITS) + 0.5 * (inputs as f64).sqrt());
        }
        // Rounding again changes nothing.
        prop_assert_eq!(Matrix::new(&rounded, outputs).unwrap(), matrix);
    }
}

/// Sums as close to leaving 32 bits as they can come: the low parts of all entries are −512.
#[test]
fn the_widest_rows_do_not_overflow() {
    for (entry, sign) in [(180.5, 1), (-180.5, 1), (180.5, -1), (181.0, 1)] {
        let inputs = MOST_FEATURES;
        let matrix = Matrix::new(&vec![entry * 1024.0; inputs], 1).unwrap();
        // 362² · 8192 < 2^30
        check(&matrix, &tile(inputs, &[sign * 362]));
        check(&matrix, &tile(inputs, &[362, -362]));
    }
}

#[test]
fn the_identity_changes_nothing() {
    let matrix = Matrix::new(&[1.0, 0.0, 0.0, 1.0], 2).unwrap();
    assert_eq!(matrix.rounded(), [1.0, 0.0, 0.0, 1.0]);
    let tile = tile(2, &[32767, 0, -1, 77, 23170, -23170]);
    let (products, _) = by_definition(&matrix, &tile);
    for (index, products) in products.iter().enumerate() {
        let back = products.map(|product| (product * 32768.0) as i16);
        assert_eq!(back, *feature(&tile, index));
    }
}

#[test]
fn bad_matrices_are_refused() {
    for strange in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(matches!(Matrix::new(&[1.0, strange], 1), Err(Error::Parameter { .. })));
    }
    assert!(matches!(Matrix::new(&[], 1), Err(Error::Parameter { .. })));
    assert!(matches!(Matrix::new(&[1.0], 0), Err(Error::Parameter { .. })));
    assert!(matches!(Matrix::new(&[1.0; 3], 2), Err(Error::Shape { .. })));
    assert!(matches!(Matrix::new(&vec![1.0; MOST_FEATURES + 1], 1), Err(Error::Parameter { .. })));
    assert!(matches!(
        Matrix::new(&vec![1.0; MOST_FEATURES + 1], MOST_FEATURES + 1),
        Err(Error::Parameter { .. })
    ));
}

#[test]
fn different_matrices_have_different_keys() {
    let key = |entries: &[f64], outputs| Matrix::new(entries, outputs).unwrap().key_after(1);
    assert_ne!(key(&[1.0, 2.0], 1), key(&[1.0, 2.0], 2));
    assert_ne!(key(&[1.0, 2.0], 1), key(&[2.0, 1.0], 1));
    assert_ne!(key(&[1.0, 2.0], 1), key(&[2.0, 4.0], 1));
    assert_eq!(key(&[1.0, 2.0], 1), key(&[1.0, 2.0], 1));
}
