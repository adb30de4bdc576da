//! [`Error`]: why bytes are not a valid frame, identity or message. A class, a stable reason code, where, what was found and
//! what was expected.
//!
//! An error is a plain value of some dozen bytes: making, copying and dropping one never allocates, so that scanning
//! damaged storage, where most verdicts are errors, costs no more than scanning sound storage.

mod detail;

use core::fmt;

pub(crate) use self::detail::Detail;
pub use self::detail::JsonProblem;
pub(crate) use self::detail::{Document, Excerpt, FieldProblem};
use crate::format::{Field, TRAILER_LEN};

/// The two classes of the specification (section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorClass {
    /// `SchemaError`: these bytes do not claim to be a v5 frame, or their structure or identity breaks its rules.
    Schema,
    /// `CorruptPayloadError`: a v5 frame, but bytes are missing, left over or changed.
    CorruptPayload,
}

impl ErrorClass {
    /// The status word of this class in reports and vectors: `schema_error` or `corrupt_payload`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Schema => "schema_error",
            Self::CorruptPayload => "corrupt_payload",
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Which check failed. The codes ([`Reason::as_str`]) are stable: they are the ones of the vectors, the command line's
/// JSON and every other implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// `truncated`: the bytes end before the frame does.
    Truncated,
    /// `old_version`: the magic of format v2 or v4.
    OldVersion,
    /// `bad_magic`: the first four bytes are not `C0 DE 01 05`.
    BadMagic,
    /// `schema_version`: the header's schema is not 5.
    SchemaVersion,
    /// `reserved_not_zero`: the header's reserved field is not 0.
    ReservedNotZero,
    /// `identity_length`: the identity does not fit into the bytes that there are, or a stream's cap forbids it.
    IdentityLength,
    /// `identity_json`: the identity is not one strict JSON object.
    IdentityJson,
    /// `identity_field`: one of the ten identity fields is missing or out of its domain.
    IdentityField,
    /// `trailing_bytes`: bytes follow the end of the frame.
    TrailingBytes,
    /// `trailer_mismatch`: the payload's SHA-256 does not begin with the trailer.
    TrailerMismatch,
    /// `message_json`: the message is not one strict JSON object.
    MessageJson,
    /// `message_version`: the message's schema_version is not 5.
    MessageVersion,
    /// `message_field`: one of the eleven message fields is missing or out of its domain.
    MessageField,
}

impl Reason {
    /// Every reason: those of frames, then those of messages.
    pub const ALL: &'static [Self] = &[
        Self::OldVersion,
        Self::BadMagic,
        Self::SchemaVersion,
        Self::ReservedNotZero,
        Self::IdentityLength,
        Self::IdentityJson,
        Self::IdentityField,
        Self::Truncated,
        Self::TrailingBytes,
        Self::TrailerMismatch,
        Self::MessageJson,
        Self::MessageVersion,
        Self::MessageField,
    ];

    /// The reasons that a frame can have, in the order in which the checks run.
    pub const OF_FRAMES: &'static [Self] = &[
        Self::OldVersion,
        Self::BadMagic,
        Self::SchemaVersion,
        Self::ReservedNotZero,
        Self::IdentityLength,
        Self::IdentityJson,
        Self::IdentityField,
        Self::Truncated,
        Self::TrailingBytes,
        Self::TrailerMismatch,
    ];

    /// The stable reason code, in snake case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::OldVersion => "old_version",
            Self::BadMagic => "bad_magic",
            Self::SchemaVersion => "schema_version",
            Self::ReservedNotZero => "reserved_not_zero",
            Self::IdentityLength => "identity_length",
            Self::IdentityJson => "identity_json",
            Self::IdentityField => "identity_field",
            Self::TrailingBytes => "trailing_bytes",
            Self::TrailerMismatch => "trailer_mismatch",
            Self::MessageJson => "message_json",
            Self::MessageVersion => "message_version",
            Self::MessageField => "message_field",
        }
    }

    /// The class that every error of this reason has.
    pub const fn class(self) -> ErrorClass {
        match self {
            Self::Truncated | Self::TrailingBytes | Self::TrailerMismatch => ErrorClass::CorruptPayload,
            Self::OldVersion
            | Self::BadMagic
            | Self::SchemaVersion
            | Self::ReservedNotZero
            | Self::IdentityLength
            | Self::IdentityJson
            | Self::IdentityField
            | Self::MessageJson
            | Self::MessageVersion
            | Self::MessageField => ErrorClass::Schema,
        }
    }

    /// One sentence for an operator: what usually causes this and what to do.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Truncated => "The write never finished or the file was cut: restore the frame from a replica.",
            Self::OldVersion => "A frame of format v2 or v4: `membrane-codec migrate frames` converts it to v5.",
            Self::BadMagic => "Not a Membrane frame: check that the path belongs to the store; if it does, restore it.",
            Self::SchemaVersion => {
                "Another schema version: `membrane-codec migrate frames` converts 2 and 4 to v5; restore a frame that was v5."
            }
            Self::ReservedNotZero => "The header was damaged or written by a newer format: restore the frame.",
            Self::IdentityLength => {
                "The header was damaged or the file was cut: restore the frame. Or its identity is longer than the reader's cap."
            }
            Self::IdentityJson => "The identity was damaged or its producer writes invalid JSON: restore the frame.",
            Self::IdentityField => {
                "The identity was damaged or its producer breaks the field's domain: restore the frame."
            }
            Self::TrailingBytes => {
                "More than one frame was written here, or a shorter frame over a longer one: restore the frame."
            }
            Self::TrailerMismatch => "The payload or its trailer changed after it was written: restore the frame.",
            Self::MessageJson => {
                "The body was cut or its producer writes invalid JSON: send it again, or mend the producer."
            }
            Self::MessageVersion => {
                "The sender speaks another version: upgrade it, and convert stored messages of versions 2 to 4 with `membrane-codec migrate envelopes`."
            }
            Self::MessageField => "The sender breaks the field's domain: mend it; the fields of v5 are all required.",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Two trailers that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailers {
    /// What the frame carries.
    pub stored: [u8; TRAILER_LEN],
    /// The first bytes of the payload's SHA-256.
    pub computed: [u8; TRAILER_LEN],
}

/// Why bytes are not a valid frame, or text not a valid identity or message.
///
/// Displayed, it is one line: the reason code, the byte offset, what was found and what was expected.
///
/// ```
/// use membrane_codec::{ErrorClass, Frame, Reason};
///
/// let error = Frame::parse(b"GGUF").unwrap_err();
/// assert_eq!(error.class(), ErrorClass::Schema);
/// assert_eq!(error.reason(), Reason::BadMagic);
/// assert_eq!(error.offset(), 0);
/// assert_eq!(error.to_string(), "bad_magic at byte 0: found magic 47475546, expected c0de0105");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    offset: u64,
    detail: Detail,
}

impl Error {
    pub(crate) const fn new(offset: u64, detail: Detail) -> Self {
        Self { offset, detail }
    }

    /// The same error, seen from a frame or message in which the identity starts `by` bytes after the first.
    pub(crate) const fn shifted(mut self, by: u64) -> Self {
        self.offset = self.offset.saturating_add(by);
        self
    }

    /// The same error, seen from a text that is `by` bytes shorter before it.
    #[cfg(feature = "migrate")]
    pub(crate) const fn moved_back(mut self, by: u64) -> Self {
        self.offset = self.offset.saturating_sub(by);
        self
    }

    /// The class of the specification.
    pub const fn class(&self) -> ErrorClass {
        self.reason().class()
    }

    /// Which check failed.
    pub const fn reason(&self) -> Reason {
        self.detail.reason()
    }

    /// Where, in bytes: from the start of the frame, or of the JSON text when an identity or a message was parsed. For bytes
    /// that are missing it is where they end; for a syntax error in JSON it is exact within one byte.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The field at fault: for [`Reason::IdentityField`], [`Reason::MessageField`] and [`Reason::MessageVersion`], and for
    /// [`Reason::IdentityJson`] and [`Reason::MessageJson`] when a field is given twice.
    pub const fn field(&self) -> Option<Field> {
        self.detail.field()
    }

    /// What is wrong with the JSON text, for [`Reason::IdentityJson`] and [`Reason::MessageJson`].
    pub const fn json_problem(&self) -> Option<JsonProblem> {
        match self.detail {
            Detail::Json(_, problem) => Some(problem),
            _ => None,
        }
    }

    /// Whether the reader's own cap on identities refused the frame, which says nothing about the frame: with a higher one
    /// it may be sound. Only streams and scrubs have a cap.
    pub const fn is_above_cap(&self) -> bool {
        #[cfg(feature = "std")]
        return matches!(self.detail, Detail::IdentityAboveCap { .. });
        #[cfg(not(feature = "std"))]
        false
    }

    /// The trailer that the frame carries and the one that its payload has, for [`Reason::TrailerMismatch`].
    pub const fn trailers(&self) -> Option<Trailers> {
        match self.detail {
            Detail::Trailer { stored, computed } => Some(Trailers { stored, computed }),
            _ => None,
        }
    }

    /// What was found, as text.
    pub fn found(&self) -> impl fmt::Display + '_ {
        detail::Found(&self.detail)
    }

    /// What was expected, as text.
    pub fn expected(&self) -> impl fmt::Display + '_ {
        detail::Expected(&self.detail)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: ", self.reason(), self.offset)?;
        if let Some(field) = self.field() {
            write!(f, "{field}: ")?;
        }
        write!(f, "found {}, expected {}", self.found(), self.expected())
    }
}

impl core::error::Error for Error {}
