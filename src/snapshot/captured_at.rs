//! When a snapshot was captured.

use std::cmp::Ordering;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::identity::DomainError;

/// When a snapshot was captured: Unix seconds, finite and not negative (contract, section 4).
///
/// ```
/// use membrane_codec::snapshot::CapturedAt;
///
/// assert_eq!(CapturedAt::from_unix_seconds(1735600000.123)?.as_unix_seconds(), 1735600000.123);
/// assert!(CapturedAt::from_unix_seconds(f64::NAN).is_err());
/// # Ok::<(), membrane_codec::DomainError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapturedAt(f64);

impl CapturedAt {
    pub(super) const DOMAIN: &str = "a finite number of seconds, at least 0";

    /// This many seconds after the Unix epoch.
    ///
    /// # Errors
    /// Negative, infinite, or not a number.
    pub fn from_unix_seconds(seconds: f64) -> Result<Self, DomainError> {
        if seconds.is_finite() && seconds >= 0.0 { Ok(Self(seconds)) } else { Err(DomainError::new(Self::DOMAIN)) }
    }

    /// Now, by the system's clock. A clock before 1970 counts as 1970.
    pub fn now() -> Self {
        Self(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64()))
    }

    /// Seconds after the Unix epoch.
    pub const fn as_unix_seconds(self) -> f64 {
        self.0
    }
}

impl Eq for CapturedAt {}

impl PartialOrd for CapturedAt {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CapturedAt {
    fn cmp(&self, other: &Self) -> Ordering {
        // No NaN is among them, so there is an answer; 0 and -0 are one instant.
        self.0.partial_cmp(&other.0).unwrap_or(Ordering::Equal)
    }
}

impl fmt::Display for CapturedAt {
    /// The number of seconds, as JSON has it: with an exponent where it would be hundreds of digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
