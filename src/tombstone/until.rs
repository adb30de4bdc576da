//! The deadline of a tombstone.

use std::cmp::Ordering;
use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::identity::DomainError;

/// The deadline of a tombstone: Unix seconds, any finite number (contract, section 5). A tombstone is active while the time is
/// before it.
///
/// ```
/// use membrane_codec::tombstone::Until;
///
/// let until = Until::from_unix_seconds(1735600060.5)?;
/// assert!(until < Until::from_unix_seconds(1735600061.0)?);
/// assert!(Until::from_unix_seconds(f64::NAN).is_err());
/// assert!(Until::from_unix_seconds(f64::INFINITY).is_err());
/// # Ok::<(), membrane_codec::DomainError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until(f64);

impl Until {
    pub(super) const DOMAIN: &str = "a finite number of seconds";

    /// This many seconds after the Unix epoch.
    ///
    /// # Errors
    /// Infinite, or not a number.
    pub fn from_unix_seconds(seconds: f64) -> Result<Self, DomainError> {
        // Added to 0, so that -0 is not another deadline.
        if seconds.is_finite() { Ok(Self(seconds + 0.0)) } else { Err(DomainError::new(Self::DOMAIN)) }
    }

    /// This time after the Unix epoch.
    pub fn from_unix_time(since_epoch: Duration) -> Self {
        // Finite: at most 2^64 seconds.
        Self(since_epoch.as_secs_f64())
    }

    /// A deadline that was one before, and so is finite.
    pub(super) const fn from_finite(seconds: f64) -> Self {
        Self(seconds)
    }

    /// The number in the text of a JSON value.
    pub(super) fn from_json(raw: &str) -> Option<Self> {
        // Other values than numbers: std would read `inf`, JSON has no such word, and strings have quotes.
        Self::from_unix_seconds(raw.parse().ok()?).ok()
    }

    /// Seconds after the Unix epoch.
    pub const fn as_unix_seconds(self) -> f64 {
        self.0
    }
}

impl Eq for Until {}

impl PartialOrd for Until {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Until {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl fmt::Display for Until {
    /// The number of seconds, as JSON has it: with an exponent where it would be hundreds of digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for Until {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}
