//! [`SnapshotError`]: why bytes are no snapshot.

use std::fmt;

use super::cursor::Piece;
use crate::error::Excerpt;
use crate::json::Fault;

/// Which rule is broken. The codes ([`SnapshotReason::as_str`]) are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SnapshotReason {
    /// `snapshot_json`: not one strict JSON object, or a key that has a meaning is given twice.
    SnapshotJson,
    /// `snapshot_version`: `schema_version` is not 5.
    SnapshotVersion,
    /// `snapshot_field`: a field is missing or out of its domain.
    SnapshotField,
}

impl SnapshotReason {
    /// Every reason, in the order in which a text that breaks several rules is judged.
    pub const ALL: &'static [Self] = &[Self::SnapshotJson, Self::SnapshotVersion, Self::SnapshotField];

    /// The stable reason code, in snake case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SnapshotJson => "snapshot_json",
            Self::SnapshotVersion => "snapshot_version",
            Self::SnapshotField => "snapshot_field",
        }
    }

    /// One sentence for an operator: what usually causes this and what to do.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::SnapshotJson => {
                "The file was cut, damaged or edited: move it aside, the node then starts without a snapshot."
            }
            Self::SnapshotVersion => {
                "Another version of Membrane wrote it: start the node with that version, or move the file aside."
            }
            Self::SnapshotField => {
                "The file was damaged or edited, or its producer breaks the field's domain: mend it or move it aside."
            }
        }
    }
}

impl fmt::Display for SnapshotReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why bytes are no snapshot (specification, section 4). Always of the class `SchemaError`.
///
/// Displayed, it is one line: the reason code, the byte offset, the field, what was found and what was expected.
///
/// ```
/// use membrane_codec::snapshot::{Snapshot, SnapshotReason};
///
/// let json = r#"{"schema_version": 5, "cluster_epoch": 17, "captured_at": 0,
///     "membership": [{"node_id": "peer-1", "host": "10.0.0.1", "port": 65536}]}"#;
/// let error = Snapshot::from_json(json).unwrap_err();
/// assert_eq!(error.reason(), SnapshotReason::SnapshotField);
/// assert_eq!(error.field(), Some("membership[0].port"));
/// assert_eq!(
///     error.to_string(),
///     "snapshot_field at byte 130: membership[0].port: found 65536, expected an integer from 1 to 65535"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotError(Box<Facts>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    reason: SnapshotReason,
    offset: u64,
    field: Option<String>,
    found: String,
    expected: String,
}

impl SnapshotError {
    /// The domain of `schema_version`.
    pub(super) const VERSION: &str = "the integer 5";

    /// The text is no strict JSON.
    pub(super) fn json(fault: Fault) -> Self {
        let (found, expected) = (fault.problem.found().into(), fault.problem.expected().to_string());
        Self::new(SnapshotReason::SnapshotJson, fault.offset as u64, None, found, expected)
    }

    /// A key that may stand once stands here a second time.
    pub(super) fn duplicate(offset: usize, field: String) -> Self {
        Self::new(SnapshotReason::SnapshotJson, offset as u64, Some(field), "a second value".into(), "one".into())
    }

    /// What `schema_version` holds is not 5.
    pub(super) fn version(found: Piece<'_>) -> Self {
        let mut error = Self::domain("schema_version".into(), found, Self::VERSION);
        error.0.reason = SnapshotReason::SnapshotVersion;
        error
    }

    /// What a field holds is out of its domain.
    pub(super) fn domain(field: String, found: Piece<'_>, expected: &str) -> Self {
        let excerpt = Excerpt::of(found.raw).to_string();
        Self::new(SnapshotReason::SnapshotField, found.at as u64, Some(field), excerpt, expected.into())
    }

    /// The object that starts here lacks a field.
    pub(super) fn missing(field: String, object: usize, expected: &str) -> Self {
        let nothing = "nothing".into();
        Self::new(SnapshotReason::SnapshotField, object as u64, Some(field), nothing, expected.into())
    }

    fn new(reason: SnapshotReason, offset: u64, field: Option<String>, found: String, expected: String) -> Self {
        Self(Box::new(Facts { reason, offset, field, found, expected }))
    }

    /// Which rule is broken.
    pub fn reason(&self) -> SnapshotReason {
        self.0.reason
    }

    /// Where, in bytes from the start of the text. For a missing field it is where its object starts, for bytes that are
    /// missing where they end; for a syntax error it is exact within one byte.
    pub fn offset(&self) -> u64 {
        self.0.offset
    }

    /// The field at fault, as a path from the outermost object: `membership[3].port`, `shards.primary_map["hash1"]`. None
    /// where the text is no JSON.
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

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: ", self.reason(), self.offset())?;
        if let Some(field) = self.field() {
            write!(f, "{field}: ")?;
        }
        write!(f, "found {}, expected {}", self.found(), self.expected())
    }
}

impl std::error::Error for SnapshotError {}
