//! The speed of the two hot loops relative to the limits of the machine, measured in the same run.
//!
//! The pass over the rows is compared with reading memory, the Gram matrix with fused multiply-adds in registers. The
//! figures are medians of interleaved runs, so that noise of the machine affects both sides of each ratio.

use std::hint::black_box;
use std::time::Instant;

use dpfit_core::execution::{Execution, Path};
use dpfit_core::layout::Layout;
use dpfit_core::rowmap::{Column, Norm, RowMap, Target};
use dpfit_core::source::{Dense, Missing};
use dpfit_core::statistics::{Gradient, Gram};
use dpfit_core::store::{Backing, Store, Theta};

const RUNS: usize = 15;

fn main() {
    // `cargo bench` passes --bench, `cargo test --benches` passes --test.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{threads} threads, medians of {RUNS} interleaved runs");
    for (n, d) in [(581_835, 9), (581_835, 31), (515_345, 90)] {
        pass(n, d, threads);
    }
    for (n, d) in [(100_000, 90), (7_797, 613)] {
        gram(n, d);
    }
}

fn source(n: usize, d: usize) -> (Vec<f64>, Vec<f64>) {
    let value = |i: usize| ((i * 7919) % 10_007) as f64 / 5_003.5 - 1.0;
    ((0..n * d).map(value).collect(), (0..n).map(value).collect())
}

fn map(d: usize) -> RowMap {
    let target = Target::new(0.0, 1.0, 2f64.powi(-18)).expect("a valid target");
    RowMap::new(vec![Column::plain(); d], target, Norm::Clip, None).expect("a valid map")
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn timed<T>(body: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    black_box(body());
    start.elapsed().as_secs_f64()
}

/// A pass over the rows, compared with reading as many bytes.
fn pass(n: usize, d: usize, threads: usize) {
    let (x, y) = source(n, d);
    let execution = Execution::new(Some(threads), Path::detect()).expect("a valid execution");
    let mut store = Store::new(map(d), Backing::Memory);
    let rows = Dense::new(&x, &y).expect("whole rows");
    store.extend(&rows, Missing::Error, &execution, &mut || false).expect("finite rows");
    let theta: Vec<f64> = (0..d).map(|j| (j as f64).sin()).collect();
    let theta = Theta::new(&theta, store.map().target().step()).expect("finite");
    let bytes = Layout::tiles(n) * Layout::new(d).bytes();
    let memory = vec![1u64; (256 << 20) / 8];
    let (mut reads, mut passes) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        reads.push(timed(|| read(&memory, threads)));
        passes.push(timed(|| Gradient::of(&store, &theta, 1 << 18, &execution, &mut || false)));
    }
    let limit = size_of_val(&memory[..]) as f64 / median(reads) / 1e9;
    let time = median(passes);
    let speed = bytes as f64 / time / 1e9;
    let share = 100.0 * speed / limit;
    println!(
        "pass  {n:>7} x {d:<3} {:>8.3} ms  {speed:>5.1} GB/s, {share:>3.0} % of the read bandwidth {limit:.1}",
        time * 1e3
    );
}

/// X'X of rows in the cache, compared with multiply-adds in registers, on one thread.
fn gram(n: usize, d: usize) {
    let (x, y) = source(n, d);
    let execution = Execution::on(Path::detect());
    let rows = Dense::new(&x, &y).expect("whole rows");
    let map = map(d);
    let (mut peaks, mut with, mut without) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        peaks.push(timed(multiply_add));
        with.push(timed(|| {
            let (mut store, mut gram) = (Store::new(map.clone(), Backing::Memory), Gram::new(&map));
            gram.extend_storing(&mut store, &rows, Missing::Error, &execution, &mut || false)
                .expect("finite rows");
            (store, gram)
        }));
        without.push(timed(|| {
            let mut store = Store::new(map.clone(), Backing::Memory);
            store.extend(&rows, Missing::Error, &execution, &mut || false).expect("finite rows");
            store
        }));
    }
    let peak = MULTIPLY_ADDS * 2.0 / median(peaks) / 1e9;
    let time = median(with) - median(without);
    let speed = (n * d * (d + 1)) as f64 / time / 1e9;
    let share = 100.0 * speed / peak;
    println!(
        "gram  {n:>7} x {d:<3} {:>8.3} ms  {speed:>5.1} G/s, {share:>3.0} % of the FMA peak {peak:.1}",
        time * 1e3
    );
}

fn read(memory: &[u64], threads: usize) -> u64 {
    std::thread::scope(|scope| {
        let parts: Vec<_> = memory
            .chunks(memory.len().div_ceil(threads))
            .map(|part| scope.spawn(|| part.iter().fold(0u64, |sum, value| sum.wrapping_add(*value))))
            .collect();
        parts.into_iter().map(|part| part.join().unwrap_or(0)).fold(0, u64::wrapping_add)
    })
}

const MULTIPLY_ADDS: f64 = 4e6 * 12.0 * 4.0;

/// Twelve chains of four doubles each.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn multiply_add() -> f64 {
    use std::arch::x86_64::{_mm256_add_pd, _mm256_cvtsd_f64, _mm256_fmadd_pd, _mm256_set1_pd};

    #[target_feature(enable = "avx2,fma")]
    fn chains() -> f64 {
        let (a, b) = (_mm256_set1_pd(black_box(0.999)), _mm256_set1_pd(black_box(0.001)));
        let mut sums = [a; 12];
        for _ in 0..4_000_000 {
            for sum in &mut sums {
                *sum = _mm256_fmadd_pd(*sum, a, b);
            }
        }
        _mm256_cvtsd_f64(sums.into_iter().fold(a, |a, b| _mm256_add_pd(a, b)))
    }
    assert!(std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma"));
    // SAFETY: the processor has both features.
    unsafe { chains() }
}

/// Twelve chains of four, without vectors of a known width.
#[cfg(not(target_arch = "x86_64"))]
fn multiply_add() -> f64 {
    let (a, b) = (black_box(0.999f64), black_box(0.001));
    let mut sums = [a; 48];
    for _ in 0..4_000_000 {
        for sum in &mut sums {
            *sum = sum.mul_add(a, b);
        }
    }
    sums.iter().sum()
}
