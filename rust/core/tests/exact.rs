//! Sums over rows, against plain arithmetic, for every code path, number of threads and partition.

use dpfit_core::execution::{Execution, Path};
use dpfit_core::rowmap::{Column, Norm, RowMap, Target};
use dpfit_core::source::{Dense, Missing};
use dpfit_core::statistics::{Bins, Energy, Gradient, Gram, Histogram, Statistic};
use dpfit_core::store::{Backing, Store, Theta};
use dpfit_core::{Error, Result};
use proptest::prelude::*;

const TAU: i32 = 1 << 16;

fn map(columns: usize, norm: Norm, intercept: Option<f64>) -> RowMap {
    let column = |j: usize| {
        let ramps = [(-2.5, 2.5, 0.6), (0.25, f64::INFINITY, 0.4), (-3.0, -0.5, 0.8)];
        Column::new(0.1 * j as f64, 1.5, &ramps[..=j % 3]).unwrap()
    };
    let target = Target::new(0.3, 2.0, 2f64.powi(-16)).unwrap();
    RowMap::new((0..columns).map(column).collect(), target, norm, intercept).unwrap()
}

fn executions() -> Vec<Execution> {
    let jobs = [Some(1), Some(2), Some(4)];
    let on =
        |&n: &Option<usize>| Path::available().into_iter().map(move |path| Execution::new(n, path).unwrap());
    jobs.iter().flat_map(on).collect()
}

/// Compute Gram, gradient and energy of rows in batches of `chunk` rows.
fn fit(
    map: &RowMap,
    x: &[f64],
    y: &[f64],
    chunk: usize,
    theta: &[f64],
    backing: Backing,
    e: &Execution,
) -> (Gram, Gradient, Energy) {
    let width = map.columns().len();
    let mut store = Store::new(map.clone(), backing);
    let mut gram = Gram::new(map);
    for (x, y) in x.chunks(chunk * width).zip(y.chunks(chunk)) {
        let source = Dense::new(x, y).unwrap();
        gram.extend_storing(&mut store, &source, Missing::Error, e, &mut || false).unwrap();
    }
    let theta = Theta::new(theta, map.target().step()).unwrap();
    let gradient = Gradient::of(&store, &theta, TAU, e, &mut || false).unwrap();
    (gram, gradient, Energy::of(&store, &theta, TAU, e, &mut || false).unwrap())
}

/// Σq² of one row, from the sums over that row alone.
fn squares(map: &RowMap, row: &[f64], e: &Execution) -> i128 {
    let mut gram = Gram::new(map);
    let source = Dense::new(row, &[0.0]).unwrap();
    gram.extend(map, &source, Missing::Error, e, &mut || false).unwrap();
    let (d, mut at, mut sum) = (map.features(), 0, 0);
    for i in 0..d {
        sum += gram.exact()[at];
        at += d - i;
    }
    sum
}

fn rows(n: usize, width: usize) -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    (prop::collection::vec(-4.0..4.0f64, n * width), prop::collection::vec(-50.0..50.0f64, n))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn sums_do_not_depend_on_how_they_are_made(
        ((x, y), width) in (1..90usize, 1..12usize).prop_flat_map(|(n, width)| (rows(n, width), Just(width))),
        weight in any::<bool>(),
        intercept in prop::option::of(0.05..0.5f64),
        scale in 0.01..3.0f64,
    ) {
        let map = map(width, if weight { Norm::Weight } else { Norm::Clip }, intercept);
        let theta: Vec<f64> = (0..map.features()).map(|j| scale * ((j * 7) as f64).sin()).collect();
        let first = fit(&map, &x, &y, y.len(), &theta, Backing::Memory, &Execution::on(Path::portable()));
        for e in executions() {
            for chunk in [1, 7, 1000] {
                prop_assert_eq!(&fit(&map, &x, &y, chunk, &theta, Backing::Memory, &e), &first);
            }
            let mut alone = Gram::new(&map);
            alone.extend(&map, &Dense::new(&x, &y).unwrap(), Missing::Error, &e, &mut || false).unwrap();
            prop_assert_eq!(&alone, &first.0);
        }
        // Rows in reverse order.
        let backwards: Vec<f64> = x.chunks(width).rev().flatten().copied().collect();
        let y_backwards: Vec<f64> = y.iter().rev().copied().collect();
        let e = Execution::on(Path::detect());
        prop_assert_eq!(&fit(&map, &backwards, &y_backwards, 5, &theta, Backing::Memory, &e), &first);
    }

    #[test]
    fn no_row_is_longer_than_its_bound(
        (row, width) in (1..40usize).prop_flat_map(|width| (prop::collection::vec(wild(), width), Just(width))),
        weight in any::<bool>(),
        intercept in prop::option::of(1e-6..0.999_999f64),
    ) {
        let target = Target::new(0.0, 1.0, 1.0).unwrap();
        let norm = if weight { Norm::Weight } else { Norm::Clip };
        let map = RowMap::new(vec![Column::plain(); width], target, norm, intercept).unwrap();
        prop_assert!(squares(&map, &row, &Execution::on(Path::detect())) <= 1 << 30);
    }
}

/// Finite numbers of every size.
fn wild() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>().prop_filter("finite", |value| value.is_finite()),
        -2.0..2.0f64,
        Just(0.0),
        Just(f64::MIN_POSITIVE / 3.0),
        Just(f64::MAX),
    ]
}

/// Enough rows for several threads, blocks and groups of tiles.
#[test]
fn large_sums_are_those_of_plain_arithmetic() {
    let (n, d) = (5_000, 37);
    let x: Vec<f64> = (0..n * d).map(|i| ((i * i % 1009) as f64 - 504.0) / 700.0).collect();
    let y: Vec<f64> = (0..n).map(|i| ((i * 31) % 257) as f64 / 100.0 - 1.2).collect();
    let target = Target::new(0.0, 1.0, 2f64.powi(-16)).unwrap();
    let map = RowMap::new(vec![Column::plain(); d], target, Norm::Clip, None).unwrap();
    let theta: Vec<f64> = (0..d).map(|j| (j as f64).cos()).collect();
    let (whole, exponent) = Theta::new(&theta, map.target().step()).unwrap().integers();

    let mut gram = vec![0i128; d * (d + 1) / 2];
    let mut gradient = vec![0i128; d];
    let mut energy = 0i128;
    for (row, &y) in x.chunks(d).zip(&y) {
        let squares = row.iter().fold(0.0, |sum, v| sum + v * v);
        let weight = f64::min(1.0, 1.0 / squares.sqrt()) * 32768.0;
        let q: Vec<i128> =
            row.iter().map(|v| (v * weight).trunc().clamp(-32767.0, 32767.0) as i128).collect();
        let dot: i128 = q.iter().zip(&whole).map(|(&q, &t)| q * i128::from(t)).sum();
        let shift = 15 + exponent;
        let prediction = (dot + (1 << (shift - 1))) >> shift;
        let target = (y * 65536.0).round_ties_even() as i128;
        let g = (target - prediction).clamp(-i128::from(TAU), i128::from(TAU));
        energy += g * g;
        let mut at = 0;
        for i in 0..d {
            gradient[i] += q[i] * g;
            for j in i..d {
                gram[at] += q[i] * q[j];
                at += 1;
            }
        }
    }
    for e in executions() {
        let (got_gram, got_gradient, got_energy) = fit(&map, &x, &y, n, &theta, Backing::Memory, &e);
        assert_eq!(got_gram.exact(), gram);
        assert_eq!(got_gradient.exact(), gradient);
        assert_eq!(got_energy.exact(), [energy]);
    }
}

/// A store in a file with several segments and a store read from bytes give the same sums.
#[test]
fn a_store_in_a_file_is_the_same_store() {
    let (n, d) = (9_000, 2_000);
    let x: Vec<f64> = (0..n * d).map(|i| ((i * 7919 % 1013) as f64 - 506.0) / 9000.0).collect();
    let y: Vec<f64> = (0..n).map(|i| (i % 13) as f64 / 13.0).collect();
    let target = Target::new(0.0, 1.0, 2f64.powi(-18)).unwrap();
    let map = RowMap::new(vec![Column::plain(); d], target, Norm::Weight, None).unwrap();
    let e = Execution::new(None, Path::detect()).unwrap();
    let theta = Theta::new(&vec![0.01; d], map.target().step()).unwrap();
    let sums = |backing| -> Result<(Gradient, Energy, Store)> {
        let mut store = Store::new(map.clone(), backing);
        for (x, y) in x.chunks(2_500 * d).zip(y.chunks(2_500)) {
            store.extend(&Dense::new(x, y)?, Missing::Error, &e, &mut || false)?;
        }
        let energy = Energy::of(&store, &theta, TAU, &e, &mut || false)?;
        Ok((Gradient::of(&store, &theta, TAU, &e, &mut || false)?, energy, store))
    };
    let (gradient, energy, store) = sums(Backing::Memory).unwrap();
    let (from_file, energy_from_file, _) = sums(Backing::Directory(std::env::temp_dir())).unwrap();
    assert_eq!((&gradient, &energy), (&from_file, &energy_from_file));
    let copy = Store::from_bytes(map.clone(), &[], &store.to_bytes()).unwrap();
    assert_eq!(Gradient::of(&copy, &theta, TAU, &e, &mut || false).unwrap(), gradient);
    assert_eq!(Energy::of(&copy, &theta, TAU, &e, &mut || false).unwrap(), energy);
    assert!(sums(Backing::Directory("/nonexistent/for/sure".into())).is_err());
}

#[test]
fn a_failed_batch_leaves_nothing_behind() {
    let map = map(3, Norm::Weight, Some(0.2));
    let e = Execution::new(Some(2), Path::detect()).unwrap();
    let good: Vec<f64> = (0..90).map(|i| f64::from(i % 11) / 7.0).collect();
    let mut bad = good.clone();
    bad[50] = f64::NAN;
    let y = vec![0.5; 30];
    let theta = vec![0.1; map.features()];
    let once = fit(&map, &good, &y, 30, &theta, Backing::Memory, &e);

    let mut store = Store::new(map.clone(), Backing::Memory);
    let mut gram = Gram::new(&map);
    let add = |store: &mut Store, gram: &mut Gram, x: &[f64], missing| {
        gram.extend_storing(store, &Dense::new(x, &y).unwrap(), missing, &e, &mut || false)
    };
    assert_eq!(add(&mut store, &mut gram, &bad, Missing::Error), Err(Error::NotFinite));
    add(&mut store, &mut gram, &good, Missing::Error).unwrap();
    assert_eq!(add(&mut store, &mut gram, &bad, Missing::Error), Err(Error::NotFinite));
    let stop =
        gram.extend_storing(&mut store, &Dense::new(&good, &y).unwrap(), Missing::Error, &e, &mut || true);
    assert_eq!(stop, Err(Error::Interrupted));
    let t = Theta::new(&theta, map.target().step()).unwrap();
    let gradient = Gradient::of(&store, &t, TAU, &e, &mut || false).unwrap();
    let energy = Energy::of(&store, &t, TAU, &e, &mut || false).unwrap();
    assert_eq!((gram, gradient, energy), once);
    assert_eq!(Energy::of(&store, &t, TAU, &e, &mut || true), Err(Error::Interrupted));

    // Dropping the row gives the same result as a batch without it.
    let mut dropped = Gram::new(&map);
    dropped.extend(&map, &Dense::new(&bad, &y).unwrap(), Missing::Drop, &e, &mut || false).unwrap();
    let without: Vec<f64> =
        good.chunks(3).enumerate().filter(|(i, _)| *i != 16).flat_map(|(_, row)| row.to_vec()).collect();
    let mut fewer = Gram::new(&map);
    fewer.extend(&map, &Dense::new(&without, &y[1..]).unwrap(), Missing::Error, &e, &mut || false).unwrap();
    assert_eq!(dropped, fewer);
    let energy = |x: &[f64], y: &[f64]| {
        let mut store = Store::new(map.clone(), Backing::Memory);
        store.extend(&Dense::new(x, y).unwrap(), Missing::Drop, &e, &mut || false).unwrap();
        Energy::of(&store, &t, TAU, &e, &mut || false).unwrap()
    };
    assert_eq!(energy(&bad, &y), energy(&without, &y[1..]));
}

/// Every residual is ±τ, and the sum exceeds 64 bits.
#[test]
fn the_largest_energy_is_exact() {
    let target = Target::new(0.0, 1.0, 1.0).unwrap();
    let map = RowMap::new(vec![Column::plain()], target, Norm::Clip, None).unwrap();
    let theta = Theta::new(&[0.0], 1.0).unwrap();
    let (n, tau) = (100_003, 1 << 20);
    for y in [1e9, -1e9] {
        let mut store = Store::new(map.clone(), Backing::Memory);
        let e = Execution::on(Path::detect());
        store
            .extend(&Dense::new(&vec![0.0; n], &vec![y; n]).unwrap(), Missing::Error, &e, &mut || false)
            .unwrap();
        for e in executions() {
            let mut energy = Energy::of(&store, &theta, tau, &e, &mut || false).unwrap();
            assert_eq!(energy.exact(), [(n as i128) << 40]);
            for doubled in 1..30 {
                energy.merge(&energy.clone()).unwrap();
                assert_eq!(energy.exact(), [(n as i128) << (40 + doubled)]);
            }
        }
        assert!(Energy::of(&store, &theta, tau + 1, &e, &mut || false).is_err());
        assert!(Energy::of(&store, &theta, 0, &e, &mut || false).is_err());
    }
}

#[test]
fn blobs_are_rejected_unless_complete_and_of_their_kind() {
    let map = map(4, Norm::Clip, None);
    let e = Execution::on(Path::detect());
    let x: Vec<f64> = (0..40).map(|i| f64::from(i) / 10.0).collect();
    let y = vec![1.0; 10];
    let (gram, gradient, energy) = fit(&map, &x, &y, 10, &vec![0.0; map.features()], Backing::Memory, &e);
    assert_eq!(Gram::from_bytes(&gram.to_bytes()).unwrap(), gram);
    assert_eq!(Gradient::from_bytes(&gradient.to_bytes()).unwrap(), gradient);
    assert_eq!(Energy::from_bytes(&energy.to_bytes()).unwrap(), energy);
    assert!(Gram::from_bytes(&gradient.to_bytes()).is_err());
    assert!(Energy::from_bytes(&gradient.to_bytes()).is_err());
    let bytes = gram.to_bytes();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(Gram::from_bytes(&changed).is_err(), "a change of byte {at} was not noticed");
        assert!(Gram::from_bytes(&bytes[..at]).is_err(), "truncation at {at} was not noticed");
    }
    let bins = vec![Bins::equal(0.0, 1.0, 4).unwrap(); 5];
    let histogram = Histogram::new(bins.clone());
    assert_eq!(Histogram::new(bins).read(&histogram.to_bytes()).unwrap(), histogram);
    let others = vec![Bins::equal(0.0, 2.0, 4).unwrap(); 5];
    assert_eq!(Histogram::new(others).read(&histogram.to_bytes()), Err(Error::Mismatch("bins")));
    assert!(gram.clone().merge(&Gram::new(&self::map(4, Norm::Weight, None))).is_err());
}

#[test]
fn every_value_falls_into_its_bin() {
    let powers = Bins::powers(-3, 3).unwrap();
    let equal = Bins::equal(-1.0, 1.0, 4).unwrap();
    let values: [f64; 12] = [0.0, 1e-300, 0.12, 0.125, 1.0, 1.99, 2.0, 1e300, -0.125, -1.0, -8.0, -1e308];
    let e = Execution::on(Path::detect());
    let mut histogram = Histogram::new(vec![powers, equal]);
    histogram.extend(&Dense::new(&values, &values).unwrap(), Missing::Error, &e, &mut || false).unwrap();
    let (powers, equal) = histogram.exact().split_at(15);
    //                   -8 -4 -2 -1 -½ -¼ -⅛  0  ⅛  ¼  ½  1  2  4  8
    assert_eq!(powers, [2, 0, 0, 1, 0, 0, 1, 3, 1, 0, 0, 2, 1, 0, 1]);
    assert_eq!(equal, [2, 1, 1, 4, 0, 4]);
}
