//! Rows to rows: mapped stores and their sums, for every path, thread count and backing.

use dpfit_core::Error;
use dpfit_core::execution::{Execution, Path};
use dpfit_core::rowmap::{Column, Norm, RowMap, Target};
use dpfit_core::source::{Dense, Missing};
use dpfit_core::statistics::{Energy, Gradient, Gram, ResidualCounts, ResidualSums, Statistic};
use dpfit_core::store::{Backing, MOST_TAU, Matrix, Store, Theta};
use proptest::prelude::*;

fn executions() -> Vec<Execution> {
    let on = |n| Path::available().into_iter().map(move |path| Execution::new(Some(n), path).unwrap());
    [1, 2, 4].into_iter().flat_map(on).collect()
}

fn one() -> Execution {
    Execution::on(Path::detect())
}

fn map(columns: usize) -> RowMap {
    let target = Target::new(0.0, 1.0, 2f64.powi(-16)).unwrap();
    RowMap::new(vec![Column::plain(); columns], target, Norm::Weight, None).unwrap()
}

/// Numbers that look random, between −1 and 1.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn store(rows: usize, columns: usize, backing: Backing) -> Store {
    let (x, y) = (numbers(rows * columns, 7), numbers(rows, 8));
    let mut store = Store::new(map(columns), backing);
    let source = Dense::new(&x, &y).unwrap();
    store.extend(&source, Missing::Error, &one(), &mut || false).unwrap();
    store
}

fn identity(size: usize) -> Matrix {
    let entries: Vec<f64> = (0..size * size).map(|i| if i % (size + 1) == 0 { 1.0 } else { 0.0 }).collect();
    Matrix::new(&entries, size).unwrap()
}

#[test]
fn every_way_gives_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let backings = [Backing::Memory, Backing::Directory(folder.path().to_path_buf())];
    let (inputs, outputs) = (7, 12);
    let matrix = Matrix::new(&numbers(inputs * outputs, 3), outputs).unwrap();
    let theta = Theta::new(&numbers(outputs, 4), 2f64.powi(-16)).unwrap();
    let mut pieces = vec![vec![-9000, -1, 0, 500, 20_000]; outputs];
    pieces[3] = Vec::new();
    // Above the number of values from which threads are used.
    let rows = store(70_001, inputs, Backing::Memory);
    let mut expected = None;
    for execution in executions() {
        let gram = Gram::of_mapped(&rows, &matrix, &execution, &mut || false).unwrap();
        for backing in &backings {
            let mapped = rows.mapped(&matrix, backing.clone(), &execution, &mut || false).unwrap();
            assert_eq!(mapped.features(), outputs);
            let e = &execution;
            let sums = (
                mapped.to_bytes(),
                gram.clone(),
                Gram::of_mapped(&mapped, &identity(outputs), e, &mut || false).unwrap().exact().to_vec(),
                Gradient::within(&mapped, &theta, 9000, Some(1 << 27), e, &mut || false).unwrap(),
                ResidualCounts::of(&mapped, &theta, &[100, 9000, 30_000], e, &mut || false).unwrap(),
                ResidualSums::of(&mapped, &theta, 9000, &pieces, e, &mut || false).unwrap(),
                Energy::of(&mapped, &theta, 9000, e, &mut || false).unwrap(),
            );
            assert_eq!(&sums, expected.get_or_insert_with(|| sums.clone()));
            // The sums over mapped rows, kept or not, are those of the same rows.
            assert_eq!(sums.1.exact(), sums.2);
        }
    }
}

#[test]
fn large_stores_in_files_are_mapped_segment_by_segment() {
    let folder = tempfile::tempdir().unwrap();
    let directory = Backing::Directory(folder.path().to_path_buf());
    // Segments of 32 MiB: two of them before, and several of them after.
    let (rows, columns, outputs) = (500_000, 30, 90);
    let matrix = Matrix::new(&numbers(columns * outputs, 3), outputs).unwrap();
    let execution = Execution::new(Some(2), Path::detect()).unwrap();
    let before = store(rows, columns, directory.clone());
    let expected = before.mapped(&matrix, Backing::Memory, &execution, &mut || false).unwrap();
    let found = before.mapped(&matrix, directory, &execution, &mut || false).unwrap();
    assert!(expected.to_bytes() == found.to_bytes());
}

#[test]
fn mapped_rows_travel_as_bytes_with_their_matrices() {
    let rows = store(100, 3, Backing::Memory);
    let first = Matrix::new(&numbers(6, 1), 2).unwrap();
    let second = Matrix::new(&numbers(10, 2), 5).unwrap();
    let mapped = |rows: &Store, matrix| rows.mapped(matrix, Backing::Memory, &one(), &mut || false).unwrap();
    let once = mapped(&rows, &first);
    let twice = mapped(&once, &second);
    let matrices = [first, second];
    let read = |matrices: &[Matrix], rows: &Store| Store::from_bytes(map(3), matrices, &rows.to_bytes());
    assert_eq!(read(&matrices, &twice).unwrap().to_bytes(), twice.to_bytes());
    assert_eq!(read(&matrices[..1], &once).unwrap().to_bytes(), once.to_bytes());
    assert!(matches!(read(&matrices[..1], &rows), Err(Error::Mismatch(_))));
    assert!(matches!(read(&[], &once), Err(Error::Mismatch(_))));
    assert!(matches!(read(&matrices, &once), Err(Error::Mismatch(_))));
    assert!(matches!(read(&matrices[1..], &once), Err(Error::Shape { .. })));
}

#[test]
fn a_mapped_store_takes_no_other_rows() {
    let rows = store(20, 2, Backing::Memory);
    let mut mapped = rows.mapped(&identity(2), Backing::Memory, &one(), &mut || false).unwrap();
    let before = mapped.to_bytes();
    let source = Dense::new(&[0.5, 0.5], &[1.0]).unwrap();
    let refused = mapped.extend(&source, Missing::Error, &one(), &mut || false);
    assert!(matches!(refused, Err(Error::Mismatch(_))));
    assert_eq!(mapped.to_bytes(), before);
    // The identity leaves all rows as they are.
    let header = 6 + 1 + 4 + 8;
    let body = |bytes: &[u8]| bytes[header..bytes.len() - 16].to_vec();
    assert_eq!(body(&rows.to_bytes()), body(&before));
}

#[test]
fn a_matrix_that_does_not_fit_is_refused_and_a_stop_is_heard() {
    let rows = store(50_000, 3, Backing::Memory);
    let refused = rows.mapped(&identity(2), Backing::Memory, &one(), &mut || false).map(|_| ());
    assert!(matches!(refused, Err(Error::Shape { .. })));
    assert!(matches!(Gram::of_mapped(&rows, &identity(2), &one(), &mut || false), Err(Error::Shape { .. })));
    let stopped = rows.mapped(&identity(3), Backing::Memory, &one(), &mut || true).map(|_| ());
    assert_eq!(stopped, Err(Error::Interrupted));
    assert_eq!(Gram::of_mapped(&rows, &identity(3), &one(), &mut || true), Err(Error::Interrupted));
}

#[test]
fn an_empty_store_stays_empty() {
    let rows = Store::new(map(3), Backing::Memory);
    let mapped = rows.mapped(&identity(3), Backing::Memory, &one(), &mut || false).unwrap();
    assert_eq!(Store::from_bytes(map(3), &[identity(3)], &mapped.to_bytes()).unwrap().features(), 3);
    let gram = Gram::of_mapped(&rows, &identity(3), &one(), &mut || false).unwrap();
    assert_eq!(gram.exact(), [0; 6]);
}

#[test]
fn sums_under_other_parameters_do_not_merge() {
    let rows = store(30, 2, Backing::Memory);
    let theta = Theta::new(&[0.5, -0.5], 2f64.powi(-16)).unwrap();
    let other = Matrix::new(&[1.0, 0.5, 0.0, 1.0], 2).unwrap();
    let gram = |matrix: &Matrix| Gram::of_mapped(&rows, matrix, &one(), &mut || false).unwrap();
    let mut sum = gram(&identity(2));
    assert!(matches!(sum.merge(&gram(&other)), Err(Error::Mismatch(_))));
    assert!(matches!(sum.merge(&Gram::new(rows.map())), Err(Error::Mismatch(_))));
    assert!(sum.merge(&gram(&identity(2))).is_ok());
    let gradient = |reach| Gradient::within(&rows, &theta, 9, reach, &one(), &mut || false).unwrap();
    assert!(gradient(None).merge(&gradient(Some(9))).is_err());
    assert!(gradient(Some(8)).merge(&gradient(Some(9))).is_err());
    assert!(gradient(Some(9)).merge(&gradient(Some(9))).is_ok());
    let counts = |edges: &[i32]| ResidualCounts::of(&rows, &theta, edges, &one(), &mut || false).unwrap();
    assert!(counts(&[1, 2]).merge(&counts(&[1, 3])).is_err());
    assert!(counts(&[1, 2]).merge(&counts(&[1])).is_err());
    let read = ResidualCounts::from_bytes(&counts(&[1, 2]).to_bytes()).unwrap();
    assert!(counts(&[1, 2]).merge(&read).is_ok());
}

#[test]
fn edges_out_of_order_or_range_are_refused() {
    let rows = store(30, 2, Backing::Memory);
    let theta = Theta::new(&[0.0, 0.0], 2f64.powi(-16)).unwrap();
    let many: Vec<i32> = (1..=65).collect();
    for edges in [&[][..], &[0], &[-1, 1], &[2, 2], &[3, 2], &[1, MOST_TAU + 1], &many] {
        let counts = ResidualCounts::of(&rows, &theta, edges, &one(), &mut || false);
        assert!(matches!(counts, Err(Error::Parameter { .. })), "{edges:?}");
    }
    assert!(ResidualCounts::of(&rows, &theta, &[1, MOST_TAU], &one(), &mut || false).is_ok());
}

#[test]
fn dropped_rows_are_not_counted() {
    let mut rows = Store::new(map(1), Backing::Memory);
    let (x, y) = ([0.0, f64::NAN, 0.0, 0.5, f64::INFINITY], [1.0, 1.0, 0.0, f64::NAN, -1.0]);
    let source = Dense::new(&x, &y).unwrap();
    rows.extend(&source, Missing::Drop, &one(), &mut || false).unwrap();
    let theta = Theta::new(&[0.0], 2f64.powi(-16)).unwrap();
    let counts = ResidualCounts::of(&rows, &theta, &[5], &one(), &mut || false).unwrap();
    // The first row alone: the third is all zero.
    assert_eq!(counts.exact(), [0, 0, 1]);
}

proptest! {
    /// One row, whatever the row, the matrix, θ and the bounds: its norm, and its contributions to the sums.
    #[test]
    fn a_row_stays_within_the_bounds(
        x in prop::collection::vec(prop_oneof![-1.0..1.0f64, -1e9..1e9f64, Just(0.0)], 1..8),
        y in -1e6..1e6f64,
        outputs in 1..8usize,
        scale in prop_oneof![Just(1.0), Just(1e-3), Just(1e3), Just(1e300), Just(5e-324)],
        seed in any::<u64>(),
        tau in prop_oneof![1..=MOST_TAU, Just(MOST_TAU)],
        reach in prop_oneof![1..1u64 << 35, 1..1000u64],
    ) {
        let mut rows = Store::new(map(x.len()), Backing::Memory);
        rows.extend(&Dense::new(&x, &[y]).unwrap(), Missing::Error, &one(), &mut || false).unwrap();
        let entries: Vec<f64> = numbers(x.len() * outputs, seed).iter().map(|entry| entry * scale).collect();
        let matrix = Matrix::new(&entries, outputs).unwrap();
        let mapped = rows.mapped(&matrix, Backing::Memory, &one(), &mut || false).unwrap();
        let gram = Gram::of_mapped(&rows, &matrix, &one(), &mut || false).unwrap();
        // The Frobenius norm of qq' is Σq², its trace.
        let mut at = 0;
        let mut trace = 0;
        for row in 0..outputs {
            trace += gram.exact()[at];
            at += outputs - row;
        }
        prop_assert!(trace <= 1 << 30);
        let theta = Theta::new(&numbers(outputs, seed ^ 5), 2f64.powi(-16)).unwrap();
        let gradient = Gradient::within(&mapped, &theta, tau, Some(reach), &one(), &mut || false).unwrap();
        let length: i128 = gradient.exact().iter().map(|entry| entry * entry).sum();
        prop_assert!(length <= i128::from(reach).pow(2));
        prop_assert!(length <= (i128::from(tau) << 15).pow(2));
        let counts = ResidualCounts::of(&mapped, &theta, &[1, 50, 7000], &one(), &mut || false).unwrap();
        prop_assert!(counts.exact().iter().sum::<i128>() <= 1);
    }
}

#[test]
fn edges_that_do_not_fit_are_refused() {
    let (rows, theta) = (store(10, 2, Backing::Memory), Theta::new(&[0.0; 2], 2f64.powi(-16)).unwrap());
    let of = |edges: &[Vec<i16>]| ResidualSums::of(&rows, &theta, 5, edges, &one(), &mut || false);
    assert!(of(&[vec![0], vec![]]).is_ok());
    for edges in [&[vec![0]][..], &[vec![], vec![]], &[vec![1, 1], vec![]], &[(0..65).collect(), vec![]]] {
        assert!(of(edges).is_err(), "{edges:?}");
    }
    let mut one_piece = of(&[vec![0], vec![]]).unwrap();
    assert!(one_piece.merge(&of(&[vec![1], vec![]]).unwrap()).is_err());
}

/// Ramps that tile an interval around the centre, and levels: what additive models store of a row.
fn curves(gain: f64, knots: &[f64], weighted: bool) -> RowMap {
    let ramps: Vec<_> = knots.windows(2).map(|ends| (ends[0], ends[1], gain / (ends[1] - ends[0]))).collect();
    let mut columns = vec![
        Column::new(0.0, 0.7, &ramps).unwrap(),
        Column::levels(5, gain).unwrap(),
        Column::new(0.1, 1.0, &ramps).unwrap(),
        Column::new(0.0, 1.0, &[(-1.0, 1.0, gain / 2.0)]).unwrap(),
        Column::new(-0.5, 1.3, &ramps[ramps.len() / 2..]).unwrap(),
    ];
    let target = Target::new(0.0, 1.0, 2f64.powi(-16)).unwrap();
    if weighted {
        columns.push(Column::new(0.0, 1.0, &[]).unwrap());
        let map = RowMap::new(columns, target, Norm::Weight, Some(gain * gain)).unwrap();
        return map.with_weights(1.0).unwrap();
    }
    RowMap::new(columns, target, Norm::Weight, Some(gain * gain)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Most features of a curve are zero or full, and levels are mostly zero. Products that use this are those of all features.
    #[test]
    fn rows_of_curves_and_levels_are_mapped_like_any_rows(
        // With a quarter, full ramps may be stored as 8191 or 8192. With a large gain, rows are weighted down.
        gain in prop_oneof![Just(0.25), 0.2..0.3f64, 0.5..0.9f64, Just(1e-9)],
        widths in prop::collection::vec(0.05..0.6f64, 8..12),
        weighted in any::<bool>(),
        outputs in 1..70usize,
        seed in any::<u64>(),
    ) {
        let middle = widths.len() / 2;
        let mut knots = vec![-widths[..middle].iter().sum::<f64>()];
        for (index, width) in widths.iter().enumerate() {
            // All ramps end or begin at zero exactly, or they would not be ramps around the middle.
            let next = if index + 1 == middle { 0.0 } else { knots[index] + width };
            knots.push(next);
        }
        prop_assume!(knots.is_sorted_by(|a, b| a < b));
        let map = curves(gain, &knots, weighted);
        let (rows, columns) = (100, map.columns().len());
        let mut x = numbers(rows * columns, seed);
        for (row, values) in x.chunks_mut(columns).enumerate() {
            values[1] = (row % 6) as f64;
            values[0] *= if row % 7 == 0 { 1e9 } else { 2.0 };
        }
        let y = numbers(rows, seed ^ 1);
        let mut store = Store::new(map, Backing::Memory);
        store.extend(&Dense::new(&x, &y).unwrap(), Missing::Error, &one(), &mut || false).unwrap();
        // After a map that changes nothing, rows are not taken to be those of curves.
        let other = store.mapped(&identity(store.features()), Backing::Memory, &one(), &mut || false).unwrap();
        let mut entries = numbers(store.features() * outputs, seed ^ 2);
        // Some columns of the matrix have entries for a few features alone.
        for (index, entry) in entries.iter_mut().enumerate() {
            *entry *= if index % outputs % 5 == 4 && index / outputs > 6 { 0.0 } else { 0.8 };
        }
        let matrix = Matrix::new(&entries, outputs).unwrap();
        let theta = Theta::new(&numbers(outputs, 4), 2f64.powi(-16)).unwrap();
        let dense = Gram::of_mapped(&other, &matrix, &one(), &mut || false).unwrap();
        let mapped = other.mapped(&matrix, Backing::Memory, &one(), &mut || false).unwrap();
        let expected = Gradient::within(&mapped, &theta, 9000, None, &one(), &mut || false).unwrap();
        for path in Path::available() {
            let e = Execution::on(path);
            let gram = Gram::of_mapped(&store, &matrix, &e, &mut || false).unwrap();
            prop_assert_eq!(gram.exact(), dense.exact());
            let mapped = store.mapped(&matrix, Backing::Memory, &e, &mut || false).unwrap();
            let found = Gradient::within(&mapped, &theta, 9000, None, &e, &mut || false).unwrap();
            prop_assert_eq!(found.exact(), expected.exact());
        }
    }
}
