//! Rows with missing values that are kept.

use dpfit_core::Error;
use dpfit_core::execution::{Execution, Path};
use dpfit_core::rowmap::{Column, Norm, RowMap, Target};
use dpfit_core::source::{Dense, Missing};
use dpfit_core::statistics::{Bins, ExampleGradient, Gram, Histogram, Statistic};

/// With an indicator, a missing value is mapped to the middle of its column, and only a row without a target is left out.
#[test]
fn missing_values_count_as_the_middle_of_their_column() {
    let columns = vec![
        Column::new(10.0, 2.0, &[(-1.0, 0.0, 0.3), (0.0, 2.0, 0.2)]).unwrap(),
        Column::new(0.0, 1.0, &[(0.0, 1.0, 0.5)]).unwrap(),
        Column::levels(3, 0.4).unwrap(),
        Column::new(7.0, 1.0, &[]).unwrap(),
    ];
    let middles: Vec<f64> = columns.iter().map(Column::middle).collect();
    assert_eq!(middles, [11.0, 0.5, -1.0, 7.0]);
    assert_eq!(
        Column::new(3.0, 1.0, &[(f64::NEG_INFINITY, 2.0, 1.0)]).unwrap().middle().to_bits(),
        3f64.to_bits()
    );
    let map =
        RowMap::new(columns, Target::new(0.0, 1.0, 1.0 / 1024.0).unwrap(), Norm::Weight, Some(0.2)).unwrap();
    let e = Execution::new(Some(2), Path::detect()).unwrap();
    let missing = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -f64::NAN];
    // All subsets of columns are missing, in more rows than a strip has.
    let rows: Vec<usize> = (0..1000).collect();
    let value =
        |row: usize, column: usize| ((row * 7 + column) % 3) as f64 + if column == 0 { 9.0 } else { 0.0 };
    let x: Vec<f64> = rows
        .iter()
        .flat_map(|&row| {
            (0..4).map(move |j| if row >> j & 1 == 1 { missing[(row / 16) % 4] } else { value(row, j) })
        })
        .collect();
    let filled: Vec<f64> =
        x.iter().enumerate().map(|(i, x)| if x.is_finite() { *x } else { middles[i % 4] }).collect();
    let y: Vec<f64> = rows.iter().map(|row| (row % 5) as f64 / 4.0).collect();
    let some: Vec<f64> =
        rows.iter().map(|row| if row % 9 == 0 { missing[row % 4] } else { y[*row] }).collect();
    let gram = |x: &[f64], y: &[f64], missing: Missing, path: Path| {
        let mut gram = Gram::new(&map);
        let e = Execution::new(Some(2), path).unwrap();
        gram.extend(&map, &Dense::new(x, y).unwrap(), missing, &e, &mut || false).unwrap();
        gram
    };
    for path in [Path::detect(), Path::portable()] {
        let plain = gram(&filled, &y, Missing::Error, path);
        assert_eq!(gram(&x, &y, Missing::Indicator, path), plain);
        assert_ne!(gram(&x, &y, Missing::Drop, path), plain);
        assert_eq!(gram(&x, &some, Missing::Indicator, path), gram(&filled, &some, Missing::Drop, path));
    }

    let bins = vec![Bins::powers(-3, 5).unwrap(), Bins::equal(0.0, 3.0, 3).unwrap(), Bins::Skip, Bins::Skip];
    let mut counts =
        Histogram::new([bins.clone(), vec![Bins::equal(0.0, 1.0, 2).unwrap()]].concat()).with_missing();
    let mut without = Histogram::new(counts.bins().to_vec());
    for counts in [&mut counts, &mut without] {
        counts.extend(&Dense::new(&x, &some).unwrap(), Missing::Indicator, &e, &mut || false).unwrap();
    }
    assert!(without.clone().read(&counts.to_bytes()).is_err());
    let kept: Vec<usize> = rows.iter().copied().filter(|row| row % 9 != 0).collect();
    let (powers, rest) = counts.exact().split_at(bins[0].len() + 1);
    let (equal, target) = rest.split_at(bins[1].len() + 1);
    for (column, counts) in [powers, equal].into_iter().enumerate() {
        let missing = kept.iter().filter(|&row| row >> column & 1 == 1).count() as i128;
        assert_eq!(counts.last(), Some(&missing));
        assert_eq!(counts.iter().sum::<i128>(), kept.len() as i128);
    }
    assert_eq!(target.iter().sum::<i128>(), kept.len() as i128);
    // The other counts are those of the values that are there.
    for level in 0..3 {
        let there = kept.iter().filter(|&&row| row >> 1 & 1 == 0 && value(row, 1) as usize == level).count();
        assert_eq!(equal[1 + level], there as i128);
    }
    let others = [&powers[..powers.len() - 1], &equal[..equal.len() - 1], target].concat();
    assert_eq!(without.exact(), others);
    // Rows without missing values are counted as ever.
    let mut plain = Histogram::new(counts.bins().to_vec()).with_missing();
    plain.extend(&Dense::new(&filled, &y).unwrap(), Missing::Indicator, &e, &mut || false).unwrap();
    let mut usual = Histogram::new(counts.bins().to_vec());
    usual.extend(&Dense::new(&filled, &y).unwrap(), Missing::Error, &e, &mut || false).unwrap();
    assert_eq!(plain.exact().iter().sum::<i128>(), usual.exact().iter().sum::<i128>());
    let theta = [0.0; 4];
    let refused =
        ExampleGradient::of(&Dense::new(&x, &y).unwrap(), &theta, 1.0, Missing::Indicator, &e, &mut || false);
    assert!(matches!(refused, Err(Error::Parameter { .. })));
}
