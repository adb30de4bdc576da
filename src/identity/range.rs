//! The range fields: `layer_range`, `token_span`, `head_range`. Both ends are inside.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::DomainError;
use crate::format::{IdentityField, MAX_INTEGER};

/// A range of layers, heads or tokens with **both ends inside**: `0 <= start <= end < 2^63`. `[3, 3]` is one token.
///
/// ```
/// use membrane_codec::InclusiveRange;
///
/// let span = InclusiveRange::new(0, 127)?;
/// assert_eq!((span.start(), span.end(), span.count()), (0, 127, 128));
/// assert!(InclusiveRange::new(5, 4).is_err());
/// # Ok::<(), membrane_codec::DomainError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "[u64; 2]", into = "[u64; 2]")]
pub struct InclusiveRange {
    start: u64,
    end: u64,
}

impl InclusiveRange {
    /// The range from `start` to `end`, both inside.
    ///
    /// # Errors
    /// [`DomainError`] unless `start <= end < 2^63`.
    pub const fn new(start: u64, end: u64) -> Result<Self, DomainError> {
        if start <= end && end <= MAX_INTEGER {
            Ok(Self { start, end })
        } else {
            Err(DomainError::new(IdentityField::LayerRange.domain()))
        }
    }

    /// The first one inside.
    pub const fn start(self) -> u64 {
        self.start
    }

    /// The last one inside.
    pub const fn end(self) -> u64 {
        self.end
    }

    /// How many are inside: at least 1, at most 2^63.
    pub const fn count(self) -> u64 {
        // In range: end - start < 2^63.
        self.end - self.start + 1
    }
}

impl TryFrom<[u64; 2]> for InclusiveRange {
    type Error = DomainError;

    /// As [`InclusiveRange::new`].
    fn try_from([start, end]: [u64; 2]) -> Result<Self, DomainError> {
        Self::new(start, end)
    }
}

impl From<InclusiveRange> for [u64; 2] {
    fn from(range: InclusiveRange) -> Self {
        [range.start, range.end]
    }
}

impl fmt::Display for InclusiveRange {
    /// As in JSON: `[start,end]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{},{}]", self.start, self.end)
    }
}

/// The heads that a fragment holds: all of the model's, or a range.
///
/// ```
/// use membrane_codec::{HeadRange, InclusiveRange};
///
/// assert_eq!(HeadRange::try_from([-1, -1]), Ok(HeadRange::All));
/// assert_eq!(HeadRange::try_from([0, 7]), Ok(InclusiveRange::new(0, 7)?.into()));
/// assert!(HeadRange::try_from([-1, 0]).is_err());
/// # Ok::<(), membrane_codec::DomainError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "[i64; 2]", into = "[i64; 2]")]
pub enum HeadRange {
    /// Every head: `[-1, -1]` in JSON.
    All,
    /// The heads of this range, both ends inside.
    Inclusive(InclusiveRange),
}

impl HeadRange {
    /// `[-1, -1]` is [`HeadRange::All`]; all else must be an [`InclusiveRange`].
    pub(crate) fn from_bounds(start: i64, end: i64) -> Option<Self> {
        match (start, end) {
            (-1, -1) => Some(Self::All),
            _ => {
                let range = InclusiveRange::new(start.try_into().ok()?, end.try_into().ok()?).ok()?;
                Some(Self::Inclusive(range))
            }
        }
    }
}

impl TryFrom<[i64; 2]> for HeadRange {
    type Error = DomainError;

    /// From the two integers of the JSON form.
    ///
    /// # Errors
    /// [`DomainError`] unless they are `[-1, -1]` or `0 <= start <= end`.
    fn try_from([start, end]: [i64; 2]) -> Result<Self, DomainError> {
        Self::from_bounds(start, end).ok_or(DomainError::new(IdentityField::HeadRange.domain()))
    }
}

impl From<HeadRange> for [i64; 2] {
    fn from(heads: HeadRange) -> Self {
        match heads {
            HeadRange::All => [-1, -1],
            // Both fit: an InclusiveRange stays below 2^63.
            HeadRange::Inclusive(range) => [range.start as i64, range.end as i64],
        }
    }
}

impl From<InclusiveRange> for HeadRange {
    fn from(range: InclusiveRange) -> Self {
        Self::Inclusive(range)
    }
}

impl fmt::Display for HeadRange {
    /// As in JSON: `[start,end]`, `[-1,-1]` for all heads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("[-1,-1]"),
            Self::Inclusive(range) => range.fmt(f),
        }
    }
}
