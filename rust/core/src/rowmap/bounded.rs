//! Rows of doubles, quantised within the bound: for rows that are mapped to rows.

use super::kernel;
use super::mapper::erase;
use super::quantise::{SQUARES, weight};
use crate::execution::Path;
use crate::layout::{LANES, Layout, Line};
use crate::source::Lanes;

/// Scale the rows of a tile down to norm one, round them toward zero and write them. Return the weight of every row.
/// `squares` are the squared norms of the rows.
///
/// # Privacy
/// Every row satisfies Σq² ≤ 2^30 by the argument in [`super::quantise`]. The sensitivities rely on a check, not on the
/// argument: a row above the bound would become zeros and get the weight zero.
pub(crate) fn quantise_bounded(
    path: Path,
    values: &[Lanes],
    squares: &Lanes,
    layout: Layout,
    tile: &mut [Line],
) -> Lanes {
    let mut weights = Lanes([0.0; LANES]);
    path.run(
        #[inline(always)]
        || {
            for lane in 0..LANES {
                weights.0[lane] = weight(squares.0[lane], 1.0);
            }
        },
    );
    let integers = kernel::quantise(path, values, &weights, tile);
    for (lane, _) in integers.iter().enumerate().filter(|&(_, &squares)| squares > SQUARES) {
        weights.0[lane] = 0.0;
        erase(layout, lane, tile);
    }
    weights
}
