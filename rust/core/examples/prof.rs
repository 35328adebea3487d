use dpfit_core::kernel::Path;
use dpfit_core::panel::{Backing, Panel};
use dpfit_core::rowmap::{Column, Missing, Norm, RowMap, Target};
use dpfit_core::source::Dense;
use dpfit_core::statistics::Gram;
use dpfit_core::threads::Execution;
fn main() {
    let a: Vec<usize> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let (n, d, g, t) = (a[0], a[1], a[2], a[3]);
    let mut s = 1u64;
    let mut next = || {
        s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (s >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let x: Vec<f64> = (0..n * d).map(|_| next()).collect();
    let y: Vec<f64> = (0..n).map(|_| next()).collect();
    let src = Dense::new(&x, &y).unwrap();
    let map = RowMap::new(
        vec![Column::plain(); d],
        Target::new(0.0, 1.0, 2f64.powi(-18)).unwrap(),
        Norm::Clip,
        None,
    )
    .unwrap();
    let e = Execution::new(Some(t), Path::detect()).unwrap();
    let mut best = f64::MAX;
    for _ in 0..10 {
        let t0 = std::time::Instant::now();
        let mut p = Panel::new(map.clone(), Backing::Memory);
        let mut gram = Gram::new(&map);
        if g == 2 {
            gram.extend(&map, &src, Missing::Error, &e, &mut || false).unwrap();
        } else {
            p.extend(&src, Missing::Error, if g == 1 { Some(&mut gram) } else { None }, &e, &mut || false)
                .unwrap();
        }
        std::hint::black_box(&gram);
        std::hint::black_box(&p);
        best = best.min(t0.elapsed().as_secs_f64());
    }
    println!("{n}x{d} gram={g} threads={t}: {:.2} ms", best * 1e3);
}
