//! Row map, Gram matrix, gradient pass and histograms, on shapes from small to wide.
//!
//! `cargo bench --bench core -- gradient` runs one group; throughput is in values of x per second.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dpfit_core::execution::{Execution, Path};
use dpfit_core::rowmap::{Column, Norm, RowMap, Target};
use dpfit_core::source::{Dense, Missing};
use dpfit_core::statistics::{Bins, Gradient, Gram, Histogram};
use dpfit_core::store::{Backing, Store, Theta};
use std::hint::black_box;
use std::time::Duration;

const SHAPES: [(usize, usize); 4] = [(20_640, 8), (100_000, 31), (50_000, 90), (7_797, 613)];
const TAU: i32 = 1 << 18;

/// Rows that look random; a linear congruential generator is enough for timing.
fn rows(n: usize, d: usize) -> (Vec<f64>, Vec<f64>) {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    ((0..n * d).map(|_| next()).collect(), (0..n).map(|_| next()).collect())
}

fn map(d: usize) -> RowMap {
    let target = Target::new(0.0, 1.0, 2f64.powi(-18)).expect("a valid target");
    RowMap::new(vec![Column::plain(); d], target, Norm::Clip, None).expect("a valid map")
}

fn executions() -> Vec<(String, Execution)> {
    let mut all = vec![
        ("portable-1".into(), Execution::new(Some(1), Path::portable())),
        ("fastest-1".into(), Execution::new(Some(1), Path::detect())),
    ];
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    if most > 1 {
        all.push((format!("fastest-{most}"), Execution::new(Some(most), Path::detect())));
    }
    all.into_iter().map(|(name, execution)| (name, execution.expect("a valid execution"))).collect()
}

fn each(
    criterion: &mut Criterion,
    group: &str,
    mut body: impl FnMut(&mut criterion::Bencher<'_>, usize, &Dense<'_>, &Execution),
) {
    let mut group = criterion.benchmark_group(group);
    group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
    for (n, d) in SHAPES {
        let (x, y) = rows(n, d);
        let source = Dense::new(&x, &y).expect("whole rows");
        group.throughput(Throughput::Elements((n * d) as u64));
        for (name, execution) in executions() {
            group.bench_function(BenchmarkId::new(name, format!("{n}x{d}")), |b| {
                body(b, d, &source, &execution);
            });
        }
    }
    group.finish();
}

fn fill(d: usize, source: &Dense<'_>, gram: Option<&mut Gram>, execution: &Execution) -> Store {
    let mut store = Store::new(map(d), Backing::Memory);
    match gram {
        None => store.extend(source, Missing::Error, execution, &mut || false),
        Some(gram) => gram.extend_storing(&mut store, source, Missing::Error, execution, &mut || false),
    }
    .expect("finite rows");
    store
}

fn rowmap(criterion: &mut Criterion) {
    each(criterion, "rowmap", |b, d, source, execution| {
        b.iter(|| fill(d, black_box(source), None, execution));
    });
}

fn gram(criterion: &mut Criterion) {
    each(criterion, "rowmap+gram", |b, d, source, execution| {
        b.iter(|| fill(d, black_box(source), Some(&mut Gram::new(&map(d))), execution));
    });
}

fn gradient(criterion: &mut Criterion) {
    each(criterion, "gradient", |b, d, source, execution| {
        let store = fill(d, source, None, execution);
        let theta: Vec<f64> = (0..d).map(|j| (j as f64).sin()).collect();
        let theta = Theta::new(&theta, store.map().target().step()).expect("finite");
        b.iter(|| Gradient::of(&store, black_box(&theta), TAU, execution, &mut || false));
    });
}

fn histogram(criterion: &mut Criterion) {
    each(criterion, "histogram", |b, d, source, execution| {
        let bins = vec![Bins::equal(-1.0, 1.0, 64).expect("valid bins"); d + 1];
        b.iter(|| {
            Histogram::new(bins.clone()).extend(black_box(source), Missing::Error, execution, &mut || false)
        });
    });
}

criterion_group!(benches, rowmap, gram, gradient, histogram);
criterion_main!(benches);
