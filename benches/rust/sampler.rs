//! Draws per second of the exact Gaussian sampler, at several scales, on one thread and on two.
#![allow(missing_docs, reason = "criterion's macros define undocumented functions")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dpfit_core::execution::{Execution, Path};
use dpfit_core::noise::{Entropy, Scales, Sigma, rounded_gaussian};

const LEN: usize = 1 << 16;

fn sampler(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rounded_gaussian");
    group.throughput(Throughput::Elements(LEN as u64));
    let mut entropy = Entropy::insecure_seed(1);
    let alone = Execution::on(Path::detect());
    // From 2^64 on every draw needs two digits; just below, many do.
    for exponent in [-2, 0, 20, 40, 62, 100] {
        let scales = Scales::Same { sigma: Sigma::new(2f64.powi(exponent)).unwrap(), len: LEN };
        group.bench_function(format!("sigma=2^{exponent}"), |bencher| {
            bencher.iter(|| rounded_gaussian(&mut entropy, scales, &alone, &mut || false));
        });
    }
    let sigmas: Vec<Sigma> =
        (0..LEN).map(|i| Sigma::new(2f64.powi(20) * (1.0 + i as f64)).unwrap()).collect();
    group.bench_function("one sigma per entry", |bencher| {
        bencher.iter(|| rounded_gaussian(&mut entropy, Scales::Each(&sigmas), &alone, &mut || false));
    });
    let two = Execution::new(Some(2), Path::detect()).unwrap();
    let scales = Scales::Same { sigma: Sigma::new(2f64.powi(20)).unwrap(), len: LEN };
    group.bench_function("sigma=2^20, two threads", |bencher| {
        bencher.iter(|| rounded_gaussian(&mut entropy, scales, &two, &mut || false));
    });
    group.finish();
    // The cost of a release of one number: the key, the setup of the cipher and its first block.
    let mut system = Entropy::system();
    let single = Scales::Same { sigma: Sigma::new(1.0).unwrap(), len: 1 };
    criterion.bench_function("one entry, key from the system", |bencher| {
        bencher.iter(|| rounded_gaussian(&mut system, single, &alone, &mut || false));
    });
}

criterion_group!(benches, sampler);
criterion_main!(benches);
