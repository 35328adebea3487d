//! Weighted counts and sums of residuals, against those without weights.

use dpfit_core::Error;
use dpfit_core::execution::{Execution, Path};
use dpfit_core::rowmap::{Column, Norm, RowMap, Target};
use dpfit_core::source::{Dense, Missing};
use dpfit_core::statistics::{
    Energy, Part, ResidualCounts, ResidualSums, Statistic, Weight, WeightedResiduals,
};
use dpfit_core::store::{Backing, Store, Theta};

const ROWS: usize = 3000;
const STEP: f64 = 1.0 / 1024.0;
const EDGES: [i32; 3] = [5, 300, 2000];
const BY: [i16; 3] = [-4000, 0, 3000];

/// Rows whose second column is the weight: zero, one half and one, in turn, or always one.
fn store(varied: bool, n_jobs: usize, path: Path) -> (Store, Execution) {
    let columns = vec![
        Column::new(0.0, 2.0, &[(-1.0, 1.0, 0.6)]).unwrap(),
        Column::new(0.0, 1.0, &[(0.0, 1.0, 0.5)]).unwrap(),
    ];
    let map = RowMap::new(columns, Target::new(0.0, 1.0, STEP).unwrap(), Norm::Weight, Some(0.2)).unwrap();
    let execution = Execution::new(Some(n_jobs), path).unwrap();
    let weight = |i: usize| if varied { (i % 3) as f64 / 2.0 } else { 1.0 };
    let x: Vec<f64> = (0..ROWS).flat_map(|i| [3.0 * (i as f64).sin(), weight(i)]).collect();
    let y: Vec<f64> = (0..ROWS).map(|i| 4.0 * (1.7 * i as f64).cos()).collect();
    let mut store = Store::new(map, Backing::Memory);
    store.extend(&Dense::new(&x, &y).unwrap(), Missing::Error, &execution, &mut || false).unwrap();
    (store, execution)
}

fn all(store: &Store, weight: Weight, e: &Execution) -> Vec<Vec<i128>> {
    let theta = Theta::new(&[0.7, 0.0, -0.3], STEP).unwrap();
    let parts = [
        Part::Counts { edges: &EDGES },
        Part::CountsByFeature { feature: 0, edges: &BY },
        Part::CountsByFeature { feature: 0, edges: &[] },
        Part::Sums { tau: 900, feature: 0, edges: &BY },
        Part::Squares { tau: 900 },
    ];
    let of = |part| WeightedResiduals::of(store, &theta, weight, part, e, &mut || false).unwrap();
    parts.into_iter().map(|part| of(part).exact().to_vec()).collect()
}

#[test]
fn equal_weights_multiply_all_sums() {
    let (store, e) = store(false, 2, Path::detect());
    let theta = Theta::new(&[0.7, 0.0, -0.3], STEP).unwrap();
    let weight = Weight { feature: 1, most: 1 << 14 };
    let counts = ResidualCounts::of(&store, &theta, &EDGES, &e, &mut || false).unwrap();
    let edges = [BY.to_vec(), vec![], vec![]];
    let sums = ResidualSums::of(&store, &theta, 900, &edges, &e, &mut || false).unwrap();
    let squares = Energy::of(&store, &theta, 900, &e, &mut || false).unwrap();
    let times = |exact: &[i128]| exact.iter().map(|sum| sum << 14).collect::<Vec<_>>();
    let found = all(&store, weight, &e);
    assert_eq!(found[0], times(counts.exact()));
    assert_eq!(found[3], times(sums.exact()));
    assert_eq!(found[4], times(squares.exact()));
    assert_eq!(found[1].iter().sum::<i128>(), (ROWS as i128) << 14);
    assert_eq!(found[2], [(ROWS as i128) << 14]);
    // A bound below the weight of all rows clamps it.
    let clamped = all(&store, Weight { feature: 1, most: 7 }, &e);
    assert_eq!(clamped[2], [7 * ROWS as i128]);
}

#[test]
fn threads_and_paths_change_nothing() {
    let weight = Weight { feature: 1, most: 1 << 14 };
    let (rows, e) = store(true, 1, Path::portable());
    let expected = all(&rows, weight, &e);
    assert_eq!(expected[2], [(ROWS as i128) << 13]);
    for path in [Path::detect(), Path::portable()] {
        for n_jobs in [2, 4] {
            let (rows, e) = store(true, n_jobs, path);
            assert_eq!(all(&rows, weight, &e), expected);
        }
    }
    // A weight that can be negative counts as zero.
    let found = all(&rows, Weight { feature: 0, most: 1000 }, &e);
    assert!(found[0].iter().all(|&count| count >= 0) && found[2][0] > 0);
}

#[test]
fn invalid_parameters_are_rejected() {
    let (store, e) = store(false, 1, Path::detect());
    let theta = Theta::new(&[0.7, 0.0, -0.3], STEP).unwrap();
    let good = Weight { feature: 1, most: 9 };
    let counts = Part::Counts { edges: &EDGES };
    for (weight, part) in [
        (Weight { feature: 3, most: 9 }, counts),
        (Weight { feature: 1, most: 0 }, counts),
        (Weight { feature: 1, most: -5 }, counts),
        (good, Part::Counts { edges: &[] }),
        (good, Part::Counts { edges: &[0, 1] }),
        (good, Part::Counts { edges: &[2, 2] }),
        (good, Part::Sums { tau: 0, feature: 0, edges: &BY }),
        (good, Part::Sums { tau: 5, feature: 3, edges: &BY }),
        (good, Part::Sums { tau: 5, feature: 0, edges: &[1, 1] }),
        (good, Part::CountsByFeature { feature: 0, edges: &[1, 0] }),
        (good, Part::CountsByFeature { feature: 9, edges: &BY }),
        (good, Part::Squares { tau: -1 }),
    ] {
        let found = WeightedResiduals::of(&store, &theta, weight, part, &e, &mut || false);
        assert!(matches!(found, Err(Error::Parameter { .. })), "{weight:?} {part:?}");
    }
    let found = WeightedResiduals::of(&store, &theta, good, counts, &e, &mut || false).unwrap();
    let bytes = found.to_bytes();
    assert_eq!(WeightedResiduals::from_bytes(&bytes).unwrap(), found);
    assert!(WeightedResiduals::from_bytes(&bytes[..bytes.len() - 1]).is_err());
    let other = Part::Counts { edges: &[5, 300, 2001] };
    let mut other = WeightedResiduals::of(&store, &theta, good, other, &e, &mut || false).unwrap();
    assert!(other.merge(&found).is_err());
}
