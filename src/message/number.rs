//! The numbers of a message that may be integers or not: `ttl` and `reuse_score`.

use core::fmt;

use crate::format::MessageField;
use crate::identity::DomainError;

/// A JSON number that is not negative, as it was written: as an integer or not. So 3600.0 stays 3600.0 and 3600 stays 3600.
///
/// Displayed it is the JSON number with the fewest digits that reads back as the same value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Without fraction and exponent, at most 2^64-1.
    Integer(u64),
    /// Any other; finite.
    Float(f64),
}

impl Number {
    /// The value, rounded to the nearest f64.
    pub const fn as_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// From the text of a JSON value: a number in the domain of both fields, finite and not negative.
    pub(super) fn from_json(raw: &str) -> Option<Self> {
        let integer = raw.bytes().all(|byte| byte.is_ascii_digit());
        match raw.parse() {
            Ok(value) if integer => Some(Self::Integer(value)),
            // An integer, by the rules of identities.
            _ if raw == "-0" => Some(Self::Integer(0)),
            // Not for words: these begin with quotes, brackets or letters, and of letters f64 knows some.
            _ if raw.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
                raw.parse().ok().and_then(Self::from_f64)
            }
            _ => None,
        }
    }

    pub(super) fn from_f64(value: f64) -> Option<Self> {
        (value.is_finite() && value >= 0.0).then_some(Self::Float(value))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            // Always with a point or an exponent, and exact.
            Self::Float(value) => write!(f, "{value:?}"),
        }
    }
}

/// `ttl`: for how many seconds the fragment stays, a finite number that is not negative.
///
/// ```
/// use membrane_codec::Ttl;
///
/// assert_eq!(Ttl::from(3600).to_string(), "3600");
/// assert_eq!(Ttl::new(3600.0)?.to_string(), "3600.0");
/// assert!(Ttl::new(f64::INFINITY).is_err());
/// # Ok::<(), membrane_codec::DomainError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ttl(Number);

impl Ttl {
    /// So many seconds.
    ///
    /// # Errors
    /// [`DomainError`] unless they are finite and not negative.
    pub fn new(seconds: f64) -> Result<Self, DomainError> {
        Number::from_f64(seconds).map(Self).ok_or(DomainError::new(MessageField::Ttl.domain()))
    }

    pub(super) const fn from_number(number: Number) -> Self {
        Self(number)
    }

    /// The number as it was written.
    pub const fn number(self) -> Number {
        self.0
    }

    /// The seconds.
    pub const fn as_secs_f64(self) -> f64 {
        self.0.as_f64()
    }
}

impl From<u64> for Ttl {
    /// So many whole seconds.
    fn from(seconds: u64) -> Self {
        Self(Number::Integer(seconds))
    }
}

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `reuse_score`: how likely the fragment is to be used again, from 0 to 1.
///
/// ```
/// use membrane_codec::ReuseScore;
///
/// assert_eq!(ReuseScore::new(0.87)?.to_string(), "0.87");
/// assert!(ReuseScore::new(1.5).is_err());
/// # Ok::<(), membrane_codec::DomainError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReuseScore(Number);

impl ReuseScore {
    /// This score.
    ///
    /// # Errors
    /// [`DomainError`] unless it is from 0 to 1.
    pub fn new(score: f64) -> Result<Self, DomainError> {
        Number::from_f64(score).and_then(Self::from_number).ok_or(DomainError::new(MessageField::ReuseScore.domain()))
    }

    /// The integer 0.
    pub const ZERO: Self = Self(Number::Integer(0));
    /// The integer 1.
    pub const ONE: Self = Self(Number::Integer(1));

    pub(super) fn from_number(number: Number) -> Option<Self> {
        (number.as_f64() <= 1.0).then_some(Self(number))
    }

    /// The number as it was written.
    pub const fn number(self) -> Number {
        self.0
    }

    /// The score.
    pub const fn as_f64(self) -> f64 {
        self.0.as_f64()
    }
}

impl fmt::Display for ReuseScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
