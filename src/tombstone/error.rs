//! [`TombstoneError`]: why bytes are no body of a tombstone, a delete or a gossip.

use std::borrow::Cow;
use std::fmt;

use crate::error::Excerpt;
use crate::json::Fault;

/// Which rule is broken. The codes ([`TombstoneReason::as_str`]) are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TombstoneReason {
    /// `tombstone_json`: not one strict JSON object, or a key that has a meaning is given twice.
    TombstoneJson,
    /// `tombstone_field`: a field is missing or out of its domain.
    TombstoneField,
}

impl TombstoneReason {
    /// Every reason, in the order in which a text that breaks several rules is judged.
    pub const ALL: &'static [Self] = &[Self::TombstoneJson, Self::TombstoneField];

    /// The stable reason code, in snake case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TombstoneJson => "tombstone_json",
            Self::TombstoneField => "tombstone_field",
        }
    }

    /// One sentence for an operator: what usually causes this and what to do.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::TombstoneJson => "The request was cut or its sender writes invalid JSON: look at the sender.",
            Self::TombstoneField => "The sender breaks the field's domain: look at the sender and its version.",
        }
    }
}

impl fmt::Display for TombstoneReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why bytes are no body of a tombstone, a delete or a gossip. Always of the class `SchemaError`.
///
/// Displayed, it is one line: the reason code, the byte offset, the field, what was found and what was expected.
///
/// ```
/// use membrane_codec::tombstone::{TombstoneReason, TombstoneRequest};
///
/// let error = TombstoneRequest::from_json(r#"{"content_hash": "abc", "until": 1, "node_id": "node-1"}"#).unwrap_err();
/// assert_eq!(error.reason(), TombstoneReason::TombstoneField);
/// assert_eq!(error.field(), Some("content_hash"));
/// assert_eq!(
///     error.to_string(),
///     "tombstone_field at byte 17: content_hash: found \"abc\", expected 64 hexadecimal characters"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TombstoneError(Box<Facts>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    reason: TombstoneReason,
    offset: u64,
    field: Option<String>,
    found: String,
    expected: Cow<'static, str>,
}

impl TombstoneError {
    /// The text is no strict JSON.
    pub(super) fn json(fault: &Fault) -> Self {
        let (found, expected) = (fault.problem.found().to_owned(), fault.problem.expected().to_string());
        Self(Box::new(Facts {
            reason: TombstoneReason::TombstoneJson,
            offset: fault.offset as u64,
            field: None,
            found,
            expected: expected.into(),
        }))
    }

    /// A key that may stand once stands here a second time.
    pub(super) fn duplicate(offset: usize, field: &str) -> Self {
        let reason = TombstoneReason::TombstoneJson;
        Self::new(reason, offset, field, "a second value".into(), "one")
    }

    /// The field is missing.
    pub(super) fn missing(field: &str, expected: &'static str) -> Self {
        Self::new(TombstoneReason::TombstoneField, 0, field, "nothing".into(), expected)
    }

    /// What the field holds is out of its domain.
    pub(super) fn domain(offset: usize, field: &str, raw: &str, expected: &'static str) -> Self {
        Self::new(TombstoneReason::TombstoneField, offset, field, Excerpt::of(raw).to_string(), expected)
    }

    fn new(reason: TombstoneReason, offset: usize, field: &str, found: String, expected: &'static str) -> Self {
        Self(Box::new(Facts {
            reason,
            offset: offset as u64,
            field: Some(field.into()),
            found,
            expected: expected.into(),
        }))
    }

    /// Which rule is broken.
    pub fn reason(&self) -> TombstoneReason {
        self.0.reason
    }

    /// Where, in bytes from the start of the text. For a missing field it is 0, for bytes that are missing where they end;
    /// for a syntax error it is exact within one byte.
    pub fn offset(&self) -> u64 {
        self.0.offset
    }

    /// The field at fault: `until`, or `fragment_tombstones["..."]` for an entry of a gossip. None where the text is no
    /// JSON.
    pub fn field(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    /// What was found, as text.
    pub fn found(&self) -> &str {
        &self.0.found
    }

    /// What was expected, as text.
    pub fn expected(&self) -> &str {
        &self.0.expected
    }
}

impl fmt::Display for TombstoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: ", self.reason(), self.offset())?;
        if let Some(field) = self.field() {
            write!(f, "{field}: ")?;
        }
        write!(f, "found {}, expected {}", self.found(), self.expected())
    }
}

impl std::error::Error for TombstoneError {}
