//! Which features of a row come from one column, and how many of them can vary at once.

use super::RowMap;
use super::columns::{Column, Features};

/// The features of one column, or a part of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// The first feature.
    pub(crate) first: usize,
    /// The number of features.
    pub(crate) len: usize,
    pub(crate) kind: Kind,
}

/// What a row can have in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any value: the run has one feature.
    Single,
    /// At most one value that is not zero.
    Levels,
    /// Ramps that tile an interval. The first `middle` of them fall from right to left, down from zero, the others rise from
    /// left to right. The ramps between the middle and x are full, one is partly so, and the others are zero.
    Ramps { middle: usize },
}

impl RowMap {
    /// Return the runs of all features in order, the constant last.
    ///
    /// A run says what most rows are like and not what all must be: rounding can make two full ramps differ.
    pub(crate) fn runs(&self) -> Vec<Run> {
        let mut found = Vec::new();
        let mut first = 0;
        for column in self.columns() {
            let len = column.features();
            match kind(column) {
                Some(kind) => found.push(Run { first, len, kind }),
                None => found.extend((first..first + len).map(single)),
            }
            first += len;
        }
        found.extend((first..self.features()).map(single));
        found
    }
}

fn single(first: usize) -> Run {
    Run { first, len: 1, kind: Kind::Single }
}

/// Return the kind of a column with several features, unless they can all vary at once.
fn kind(column: &Column) -> Option<Kind> {
    match &column.features {
        Features::Levels { count, .. } => (*count > 1).then_some(Kind::Levels),
        Features::Ramps(ramps) => {
            let middle = ramps.iter().take_while(|ramp| ramp.most == 0.0).count();
            let rise = ramps[middle..].iter().all(|ramp| ramp.least == 0.0);
            (ramps.len() > 1 && rise).then_some(Kind::Ramps { middle })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rowmap::{Norm, Target};

    #[test]
    fn columns_become_runs() {
        let around = [(-2.0, -1.0, 1.0), (-1.0, 0.0, 1.0), (0.0, 1.0, 1.0), (1.0, 2.0, 1.0)];
        let across = [(-2.0, 1.0, 1.0), (1.0, 2.0, 1.0)];
        let columns = vec![
            Column::new(0.0, 1.0, &around).unwrap(),
            Column::levels(3, 0.5).unwrap(),
            Column::new(0.0, 1.0, &across).unwrap(),
            Column::new(0.0, 1.0, &around[2..]).unwrap(),
            Column::plain(),
            Column::new(0.0, 1.0, &[]).unwrap(),
            Column::levels(1, 0.5).unwrap(),
        ];
        let target = Target::new(0.0, 1.0, 1.0).unwrap();
        let map = RowMap::new(columns, target, Norm::Weight, Some(0.5)).unwrap();
        let run = |first, len, kind| Run { first, len, kind };
        let expected = [
            run(0, 4, Kind::Ramps { middle: 2 }),
            run(4, 3, Kind::Levels),
            single(7),
            single(8),
            run(9, 2, Kind::Ramps { middle: 0 }),
            single(11),
            single(12),
            single(13),
        ];
        assert_eq!(map.runs(), expected);
    }
}
