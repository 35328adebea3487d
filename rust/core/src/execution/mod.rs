//! How a call is run: the number of threads, the code path, and how the caller can stop it.
//!
//! dpfit has a thread pool of its own, so that a caller inside joblib, Dask or Spark can ask for one thread without
//! affecting other pools. Threads do not survive a fork: a forked child runs everything on the calling thread.

mod path;

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::ThreadPool;

use crate::error::{Error, Result, parameter};

pub(crate) use path::Kind;
pub use path::Path;

/// The pools that were used last, and the process that created them.
struct Pools {
    process: Process,
    recent: Mutex<Recent>,
}

/// Pools of different sizes, the last one used at the end.
///
/// A pool that is not here ends its threads when the last call that runs on it returns. So threads do not accumulate in
/// a program that tries many values of `n_jobs`.
#[derive(Debug, Default)]
struct Recent(Vec<Arc<ThreadPool>>);

impl Recent {
    /// Two threads of the caller that ask for different sizes in turn do not start new pools all the time.
    const KEPT: usize = 2;

    /// Return the pool of this size; start it if there is none. Keep it unless it is much larger than the machine.
    fn pool(&mut self, threads: usize) -> Option<Arc<ThreadPool>> {
        let known = self.0.iter().position(|pool| pool.current_num_threads() == threads);
        let pool = if let Some(place) = known {
            self.0.remove(place)
        } else {
            let name = |index| format!("dpfit-{index}");
            // If the system gives no more threads, the calling thread does all the work.
            Arc::new(rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build().ok()?)
        };
        if threads <= 4 * allowed() {
            self.0.push(Arc::clone(&pool));
            let old = self.0.len().saturating_sub(Self::KEPT);
            self.0.drain(..old);
        }
        Some(pool)
    }
}

/// What distinguishes a process from those that it was forked from: its number, and how often [`forked`] was called. The
/// number alone is not enough, because numbers of processes that have ended are used again, and containers count anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    number: u32,
    forks: u32,
}

impl Process {
    fn this() -> Self {
        Self { number: std::process::id(), forks: FORKS.load(Ordering::Relaxed) }
    }
}

static FORKS: AtomicU32 = AtomicU32::new(0);

/// Say that this process was just forked, so that it does not wait for threads of its parent. A child with another number is
/// noticed without this.
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

static POOLS: OnceLock<Pools> = OnceLock::new();

/// With fewer values than this, a second thread costs more time than it saves.
const WORTH_A_THREAD: usize = 200_000;

/// How to run a call.
#[derive(Debug, Clone)]
pub struct Execution {
    pool: Option<Arc<ThreadPool>>,
    path: Path,
}

impl Execution {
    /// Run on `n_jobs` threads (`None`: the cores that this process may use) and on `path`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if `n_jobs` is zero or above 1024.
    pub fn new(n_jobs: Option<usize>, path: Path) -> Result<Self> {
        let threads = match n_jobs {
            None => allowed(),
            Some(threads) => threads,
        };
        if !(1..=1024).contains(&threads) {
            return Err(parameter("n_jobs", "between 1 and 1024", threads));
        }
        Ok(Self { pool: if threads == 1 { None } else { pool(threads) }, path })
    }

    /// Run on the calling thread only.
    pub fn on(path: Path) -> Self {
        Self { pool: None, path }
    }

    /// The code path.
    pub fn path(&self) -> Path {
        self.path
    }

    /// The pool, if there is more than one thread.
    pub fn pool(&self) -> Option<&ThreadPool> {
        self.pool.as_deref()
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.pool().map_or(1, ThreadPool::current_num_threads)
    }

    /// Fold `work` over `items`, which have `cost` values in total, and merge the results of the threads. Items go to
    /// threads in any order and grouping, so the result must not depend on them: sums of integers do not.
    pub(crate) fn fold<I, T>(
        &self,
        cost: usize,
        items: I,
        start: impl Fn() -> T + Sync,
        work: impl Fn(&mut T, I::Item) -> Result<()> + Sync,
        merge: impl Fn(&mut T, T) -> Result<()>,
    ) -> Result<T>
    where
        I: Iterator + Send,
        T: Send,
    {
        let Some(pool) = self.pool().filter(|_| cost >= WORTH_A_THREAD) else {
            let mut state = start();
            for item in items {
                work(&mut state, item)?;
            }
            return Ok(state);
        };
        let queue = Mutex::new(items);
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        // A thread that comes too late finds nothing to do, and has no state to merge.
        let worker = || {
            let mut item = next()?;
            let mut state = start();
            loop {
                if let Err(error) = work(&mut state, item) {
                    return Some(Err(error));
                }
                match next() {
                    Some(other) => item = other,
                    None => return Some(Ok(state)),
                }
            }
        };
        let mut states = pool.install(|| shared(pool.current_num_threads(), &worker)).into_iter();
        let mut total = states.next().unwrap_or_else(|| Ok(start()))?;
        for state in states {
            merge(&mut total, state?)?;
        }
        Ok(total)
    }
}

/// Return the results of several calls of `worker` on the threads of the current pool. Nobody waits for a thread that has no
/// core: calls that no other thread has begun are made by this one.
fn shared<T: Send>(calls: usize, worker: &(impl Fn() -> Option<T> + Sync)) -> Vec<T> {
    if calls < 2 {
        return worker().into_iter().collect();
    }
    let (mut found, others) = rayon::join(|| shared(calls / 2, worker), || shared(calls - calls / 2, worker));
    found.extend(others);
    found
}

/// The number of cores that this process may use, by its affinity and its control group. Read once, because it reads files.
fn allowed() -> usize {
    static ALLOWED: OnceLock<usize> = OnceLock::new();
    *ALLOWED.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from).min(1024))
}

/// Return the pool of this size, or `None` in a forked child, where the parent's threads do not exist.
fn pool(threads: usize) -> Option<Arc<ThreadPool>> {
    let process = Process::this();
    let pools = POOLS.get_or_init(|| Pools { process, recent: Mutex::default() });
    // Checked before the lock is taken: a thread of the parent may have held it during the fork.
    if pools.process != process {
        return None;
    }
    pools.recent.lock().unwrap_or_else(PoisonError::into_inner).pool(threads)
}

/// Returns whether the caller wants to stop. It is called on the calling thread, a few times a second.
pub type Stop<'a> = &'a mut dyn FnMut() -> bool;

/// Process `0..total` in waves of `size`, and call `stop` between them.
pub(crate) fn waves(
    total: usize,
    size: usize,
    stop: Stop<'_>,
    mut wave: impl FnMut(Range<usize>) -> Result<()>,
) -> Result<()> {
    let mut done = 0;
    while done < total {
        if stop() {
            return Err(Error::Interrupted);
        }
        let end = total.min(done + size.max(1));
        wave(done..end)?;
        done = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fold_is_the_same_on_any_number_of_threads() {
        for n_jobs in [Some(1), Some(2), Some(5), None] {
            let execution = Execution::new(n_jobs, Path::detect()).unwrap();
            let add = |sum: &mut u64, item: u64| {
                *sum += item;
                Ok(())
            };
            assert_eq!(execution.fold(usize::MAX, 0..1000u64, || 0, add, add), Ok(499_500));
            assert_eq!(execution.fold(0, 0..0u64, || 0, add, add), Ok(0));
        }
    }

    #[test]
    fn an_error_of_one_item_is_the_error_of_all() {
        let execution = Execution::new(Some(2), Path::detect()).unwrap();
        let work = |(): &mut (), item: i32| if item == 77 { Err(Error::NotFinite) } else { Ok(()) };
        assert_eq!(execution.fold(usize::MAX, 0..100, || (), work, |(), ()| Ok(())), Err(Error::NotFinite));
    }

    #[test]
    fn waves_cover_everything_once_and_stop_when_asked() {
        let mut seen = Vec::new();
        let push = |range: Range<usize>| {
            seen.extend(range);
            Ok(())
        };
        waves(10, 4, &mut || false, push).unwrap();
        assert_eq!(seen, (0..10).collect::<Vec<_>>());
        let mut left = 2;
        let mut stop = || {
            left -= 1;
            left < 0
        };
        assert_eq!(waves(100, 1, &mut stop, |_| Ok(())), Err(Error::Interrupted));
    }

    #[test]
    fn pools_are_reused_but_not_kept_for_good() {
        let mut recent = Recent::default();
        let two = recent.pool(2).unwrap();
        assert!(Arc::ptr_eq(&two, &recent.pool(2).unwrap()));
        let three = recent.pool(3).unwrap();
        assert!(Arc::ptr_eq(&two, &recent.pool(2).unwrap()));
        let held = Arc::downgrade(&three);
        drop(three);
        assert!(held.upgrade().is_some());
        recent.pool(4).unwrap();
        assert!(held.upgrade().is_none());
        let huge = Arc::downgrade(&recent.pool(4 * allowed() + 1).unwrap());
        assert!(huge.upgrade().is_none());
        assert_eq!(recent.0.len(), Recent::KEPT);
    }

    #[test]
    fn zero_jobs_are_refused() {
        assert!(Execution::new(Some(0), Path::detect()).is_err());
    }
}
