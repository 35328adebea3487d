//! Stores in memory that other stores used before: nothing of these is left.

use dpfit_core::Error;
use dpfit_core::execution::{Execution, Path};
use dpfit_core::rowmap::{Column, Norm, RowMap, Target};
use dpfit_core::source::{Dense, Missing};
use dpfit_core::store::{Backing, Matrix, Memory, Store};

/// An intercept beside x takes a half of a line of its own.
fn map(columns: usize) -> RowMap {
    let target = Target::new(0.0, 1.0, 2f64.powi(-16)).unwrap();
    RowMap::new(vec![Column::plain(); columns], target, Norm::Clip, Some(0.25)).unwrap()
}

fn rows(columns: usize, count: usize) -> (Vec<f64>, Vec<f64>) {
    let value = |i: usize| ((i * 7919) % 1009) as f64 / 1009.0 - 0.5;
    ((0..columns * count).map(value).collect(), (0..count).map(value).collect())
}

/// Store rows in two batches, the second of which starts within a tile, and fail once in between.
fn fill(store: &mut Store, columns: usize, count: usize, execution: &Execution) {
    let (mut x, y) = rows(columns, count);
    let first = count / 2 + 3;
    let mut add = |x: &[f64], y: &[f64]| {
        let source = Dense::new(x, y).unwrap();
        store.extend(&source, Missing::Error, execution, &mut || false)
    };
    add(&x[..first * columns], &y[..first]).unwrap();
    let last = x.len() - 1;
    let good = std::mem::replace(&mut x[last], f64::NAN);
    assert!(matches!(add(&x[first * columns..], &y[first..]), Err(Error::NotFinite)));
    x[last] = good;
    add(&x[first * columns..], &y[first..]).unwrap();
}

/// Leave memory behind that is full of other rows, for two stores of about this number of bytes.
fn soil(memory: &Memory, bytes: usize, execution: &Execution) {
    let (columns, target) = (34, Target::new(0.0, 1.0, 1e-6).unwrap());
    let map = RowMap::new(vec![Column::plain(); columns], target, Norm::Weight, None).unwrap();
    let rows = bytes / (2 * columns + 4);
    let (x, y) = (vec![-0.1; columns * rows], vec![-1.0; rows]);
    let stores = [0, 1].map(|_| {
        let mut store = Store::new(map.clone(), Backing::Memory).within(memory.clone());
        store.extend(&Dense::new(&x, &y).unwrap(), Missing::Error, execution, &mut || false).unwrap();
        store
    });
    drop(stores);
}

#[test]
fn rows_are_the_same_in_memory_that_was_used() {
    let folder = tempfile::tempdir().unwrap();
    for backing in [Backing::Memory, Backing::Directory(folder.path().to_path_buf())] {
        // Tiles with a feature that has no neighbour in its line, and with lines between them.
        for (columns, outputs) in [(12, 13), (13, 5), (7, 14), (11, 12)] {
            let entries: Vec<f64> =
                (0..(columns + 1) * outputs).map(|i| ((i * 37) % 11) as f64 / 20.0).collect();
            let matrix = Matrix::new(&entries, outputs).unwrap();
            for execution in
                [Path::portable(), Path::detect()].map(|path| Execution::new(Some(2), path).unwrap())
            {
                let bytes = |memory: Memory| {
                    let mut store = Store::new(map(columns), backing.clone()).within(memory);
                    fill(&mut store, columns, 200_001, &execution);
                    let mapped = store.mapped(&matrix, backing.clone(), &execution, &mut || false).unwrap();
                    (store.to_bytes(), mapped.to_bytes())
                };
                let used = Memory::default();
                let expected = bytes(Memory::default());
                soil(&used, expected.0.len().max(expected.1.len()), &execution);
                let again = bytes(used.clone());
                assert!(again == expected);
                // And in memory that these stores left.
                assert!(again == bytes(used));
            }
        }
    }
}
