//! [`LimitError`]: what a table does not record for a peer.

use std::fmt;

use super::Until;

/// Why a table does not record what a peer asks for. The table is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitError {
    /// The deadline is further ahead than [`TombstoneTable::with_max_ahead`](super::TombstoneTable::with_max_ahead) allows.
    TooFarAhead {
        /// The deadline.
        until: Until,
    },
    /// There are as many tombstones as [`TombstoneTable::with_max_len`](super::TombstoneTable::with_max_len) allows.
    NoRoom {
        /// How many that are.
        max_len: usize,
    },
}

impl LimitError {
    /// The stable reason code, in snake case.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::TooFarAhead { .. } => "tombstone_too_far_ahead",
            Self::NoRoom { .. } => "tombstone_no_room",
        }
    }
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.reason())?;
        match self {
            Self::TooFarAhead { until } => {
                write!(f, "until {until} is further ahead than this node believes: look at the peer and its clock")
            }
            Self::NoRoom { max_len } => {
                write!(f, "there are {max_len} tombstones already: wait for some to end, or raise the limit")
            }
        }
    }
}

impl std::error::Error for LimitError {}
