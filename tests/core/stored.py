"""The rows of a store, read back from its bytes: what the core made of each of them."""

import numpy as np

HEADER = len(b"dpfit\x02") + 1 + len(b"rows") + 8
CHECKSUM = 16
LANES = 16
# Where the target of each row of a tile lies.
TARGET_PLACES = [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15]


def stored_rows(rows, features):
    """Return the integers and the targets of all rows, zeros that fill the last tile included."""
    body = np.frombuffer(rows.to_bytes()[HEADER:-CHECKSUM], dtype="<i2")
    lines = (features + 1) // 2
    stride = lines + 1 + ((lines + 1) % 8 == 0)
    tiles = body.reshape(-1, stride, 2 * LANES)
    values = tiles[:, :lines].reshape(-1, 2 * lines, LANES).transpose(0, 2, 1)
    targets = np.ascontiguousarray(tiles[:, lines]).view("<i4")[:, TARGET_PLACES]
    return (
        values.reshape(-1, 2 * lines)[:, :features].astype(np.int64),
        targets.reshape(-1).astype(np.int64),
    )
