//! The facts behind an [`Error`](super::Error), one variant per way to fail, and their wording.

use core::fmt;

use super::Reason;
use crate::format::{Field, HEADER_LEN, MAGIC, MAGIC_V2, MAGIC_V4, MAX_NESTING, MessageField};

/// What is wrong with the JSON text of an identity or a message (contract, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonProblem {
    /// The bytes are not UTF-8.
    InvalidUtf8,
    /// The text begins with a byte order mark.
    ByteOrderMark,
    /// The text breaks the grammar of RFC 8259 here.
    Syntax,
    /// The text ends inside a value.
    UnexpectedEnd,
    /// A JSON value, but not an object.
    NotAnObject,
    /// Something other than white space follows the object.
    TrailingCharacters,
    /// A `\u` escape names half of a surrogate pair.
    LoneSurrogate,
    /// Arrays and objects are nested deeper than [`MAX_NESTING`].
    TooDeep,
    /// A field is given twice.
    DuplicateField(Field),
}

impl JsonProblem {
    /// What was found, in words.
    pub(crate) const fn found(self) -> &'static str {
        match self {
            Self::InvalidUtf8 => "bytes that are not UTF-8",
            Self::ByteOrderMark => "a byte order mark",
            Self::Syntax => "a JSON syntax error",
            Self::UnexpectedEnd => "the end of the text",
            Self::NotAnObject => "another JSON value",
            Self::TrailingCharacters => "characters after the object",
            Self::LoneSurrogate => "half of a surrogate pair",
            Self::TooDeep => "a deeper level",
            Self::DuplicateField(_) => "a second value",
        }
    }

    /// What was expected, in words.
    pub(crate) const fn expected(self) -> impl fmt::Display {
        ExpectedJson(self)
    }
}

struct ExpectedJson(JsonProblem);

impl fmt::Display for ExpectedJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            JsonProblem::InvalidUtf8 => f.write_str("UTF-8"),
            JsonProblem::ByteOrderMark => f.write_str("JSON without one"),
            JsonProblem::Syntax => f.write_str("strict JSON (RFC 8259)"),
            JsonProblem::UnexpectedEnd => f.write_str("the rest of the object"),
            JsonProblem::NotAnObject => f.write_str("one object"),
            JsonProblem::TrailingCharacters => f.write_str("the end"),
            JsonProblem::LoneSurrogate => f.write_str("whole pairs"),
            JsonProblem::TooDeep => write!(f, "at most {MAX_NESTING} levels"),
            JsonProblem::DuplicateField(_) => f.write_str("one"),
        }
    }
}

/// Which kind of text breaks the rules of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Document {
    Identity,
    #[cfg(feature = "message")]
    Message,
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldProblem {
    Missing,
    OutOfDomain(Excerpt),
}

/// One variant per way to fail; the reason follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Row 1 of the contract's table, and row 3.
    HeaderTruncated {
        have: u64,
    },
    /// Row 2: as many bytes of the magic as there are.
    Magic {
        found: [u8; 4],
        len: u8,
    },
    Schema {
        found: u16,
        /// The one that goes with the magic.
        expected: u16,
    },
    Reserved {
        found: u32,
    },
    IdentityDoesNotFit {
        identity_len: u32,
        frame_at_least: u64,
        have: u64,
    },
    #[cfg(feature = "std")]
    IdentityAboveCap {
        identity_len: u32,
        cap: u32,
    },
    Json(Document, JsonProblem),
    Field(Field, FieldProblem),
    /// Row 9. Wide, since payload_len alone may be 2^64-1.
    Truncated {
        frame_len: u128,
        have: u64,
    },
    /// Row 10. A stream only knows that something follows.
    TrailingBytes {
        frame_len: u64,
        have: Option<u64>,
    },
    Trailer {
        computed: [u8; 8],
        stored: [u8; 8],
    },
}

impl Detail {
    pub(super) const fn reason(&self) -> Reason {
        match self {
            Self::HeaderTruncated { .. } | Self::Truncated { .. } => Reason::Truncated,
            Self::Magic { found: MAGIC_V2 | MAGIC_V4, len: 4 } => Reason::OldVersion,
            Self::Magic { .. } => Reason::BadMagic,
            Self::Schema { .. } => Reason::SchemaVersion,
            Self::Reserved { .. } => Reason::ReservedNotZero,
            Self::IdentityDoesNotFit { .. } => Reason::IdentityLength,
            #[cfg(feature = "std")]
            Self::IdentityAboveCap { .. } => Reason::IdentityLength,
            Self::Json(Document::Identity, _) => Reason::IdentityJson,
            #[cfg(feature = "message")]
            Self::Json(Document::Message, _) => Reason::MessageJson,
            Self::Field(Field::Identity(_), _) => Reason::IdentityField,
            // Another version explains why other fields are missing; no version does not.
            Self::Field(Field::Message(MessageField::SchemaVersion), FieldProblem::OutOfDomain(_)) => {
                Reason::MessageVersion
            }
            Self::Field(Field::Message(_), _) => Reason::MessageField,
            Self::TrailingBytes { .. } => Reason::TrailingBytes,
            Self::Trailer { .. } => Reason::TrailerMismatch,
        }
    }

    pub(super) const fn field(&self) -> Option<Field> {
        match self {
            Self::Field(field, _) | Self::Json(_, JsonProblem::DuplicateField(field)) => Some(*field),
            _ => None,
        }
    }
}

pub(super) struct Found<'a>(pub(super) &'a Detail);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self.0 {
            Detail::HeaderTruncated { have } | Detail::Truncated { have, .. } => write!(f, "{}", Bytes(have.into())),
            Detail::Magic { found, len } => {
                f.write_str("magic ")?;
                Hex(found.get(..len.into()).unwrap_or(&found)).fmt(f)
            }
            Detail::Schema { found, .. } => write!(f, "schema {found}"),
            Detail::Reserved { found } => write!(f, "reserved {found:#010x}"),
            Detail::IdentityDoesNotFit { identity_len, have, .. } => {
                write!(f, "identity_len {identity_len} in {}", Bytes(have.into()))
            }
            #[cfg(feature = "std")]
            Detail::IdentityAboveCap { identity_len, .. } => write!(f, "identity_len {identity_len}"),
            Detail::Json(_, problem) => f.write_str(problem.found()),
            Detail::Field(_, FieldProblem::Missing) => f.write_str("nothing"),
            Detail::Field(_, FieldProblem::OutOfDomain(ref excerpt)) => excerpt.fmt(f),
            Detail::TrailingBytes { have: Some(have), .. } => write!(f, "{}", Bytes(have.into())),
            Detail::TrailingBytes { have: None, .. } => f.write_str("further bytes"),
            Detail::Trailer { stored, .. } => write!(f, "trailer {}", Hex(&stored)),
        }
    }
}

pub(super) struct Expected<'a>(pub(super) &'a Detail);

impl fmt::Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self.0 {
            Detail::HeaderTruncated { .. } => write!(f, "a header of {HEADER_LEN} bytes"),
            Detail::Magic { .. } => Hex(&MAGIC).fmt(f),
            Detail::Schema { expected, .. } => write!(f, "{expected}"),
            Detail::Reserved { .. } => f.write_str("0"),
            Detail::IdentityDoesNotFit { frame_at_least, .. } => {
                write!(f, "at least {} for it", Bytes(frame_at_least.into()))
            }
            #[cfg(feature = "std")]
            Detail::IdentityAboveCap { cap, .. } => write!(f, "at most {cap}, the cap for streams"),
            Detail::Json(_, problem) => problem.expected().fmt(f),
            Detail::Field(field, _) => f.write_str(field.domain()),
            Detail::Truncated { frame_len, .. } => write!(f, "a frame of {}", Bytes(frame_len)),
            Detail::TrailingBytes { frame_len, .. } => write!(f, "a frame of {}", Bytes(frame_len.into())),
            Detail::Trailer { computed, .. } => {
                write!(f, "{}, the first 8 bytes of the payload's SHA-256", Hex(&computed))
            }
        }
    }
}

struct Bytes(u128);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 byte"),
            n => write!(f, "{n} bytes"),
        }
    }
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The beginning of a JSON value, kept inside the error so that failing costs no allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Excerpt {
    bytes: [u8; Excerpt::MAX_LEN],
    len: u8,
    cut: bool,
}

impl Excerpt {
    const MAX_LEN: usize = 40;

    pub(crate) fn of(text: &str) -> Self {
        let end = (0..=Self::MAX_LEN.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        let kept = &text[..end];
        let mut bytes = [0; Self::MAX_LEN];
        bytes.iter_mut().zip(kept.bytes()).for_each(|(to, from)| *to = from);
        // Fits: at most MAX_LEN.
        Self { bytes, len: kept.len() as u8, cut: kept.len() < text.len() }
    }
}

impl fmt::Display for Excerpt {
    /// What would not show, or would move what shows, is escaped: the text comes from a file that nobody vouches for and
    /// goes to a terminal. Quotes and backslashes stay as JSON has them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.bytes.get(..self.len.into()).and_then(|bytes| core::str::from_utf8(bytes).ok());
        for character in text.unwrap_or_default().chars() {
            match character {
                '"' | '\'' | '\\' => fmt::Write::write_char(f, character)?,
                _ => write!(f, "{}", character.escape_debug())?,
            }
        }
        f.write_str(if self.cut { "..." } else { "" })
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Excerpt({self})")
    }
}
