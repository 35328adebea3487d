//! A process that was told that it was forked starts no work on threads that it does not have. The test is alone in its
//! process, because it takes the threads away for good.

use dpfit_core::execution::{Execution, Path, forked};

#[test]
fn a_process_that_was_forked_uses_no_threads_of_its_parent() {
    let threads = || Execution::new(Some(2), Path::detect()).unwrap().threads();
    assert_eq!(threads(), 2);
    forked();
    // Although the number of the process is the same.
    assert_eq!(threads(), 1);
}
