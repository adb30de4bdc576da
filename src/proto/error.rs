//! [`WireError`]: why a message, a chunk or a transfer is refused.

use std::borrow::Cow;
use std::fmt;
use std::io;

use super::Compression;
use crate::digest::Digest;
use crate::error::ErrorClass;

/// Which check of the protobuf form failed. The codes ([`WireReason::as_str`]) are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum WireReason {
    /// `envelope_field`: a field of an [`Envelope`](super::Envelope) is out of its domain.
    EnvelopeField,
    /// `compression`: the envelope names a compression that the contract does not have.
    Compression,
    /// `total_bytes_limit`: the payload is longer than this receiver takes.
    TotalBytesLimit,
    /// `tensor_field`: a field of a [`TensorPayload`](super::TensorPayload) is out of its domain.
    TensorField,
    /// `tensor_length`: a tensor's data is not as long as its shape and element type say.
    TensorLength,
    /// `chunk_length`: chunks of this length cannot be made.
    ChunkLength,
    /// `chunk_index`: there is no such chunk, or more of them than the limit allows.
    ChunkIndex,
    /// `chunk_range`: an offset or a length is negative or leads out of the chunk.
    ChunkRange,
    /// `chunk_hash`: the data of a chunk does not have the SHA-256 that comes with it.
    ChunkHash,
    /// `chunk_conflict`: a chunk contradicts what was accepted before: other bytes, another end, or another last chunk.
    ChunkConflict,
    /// `not_requested`: a chunk is not what was asked for.
    NotRequested,
    /// `pieces_limit`: more pieces wait for what comes before them than the limit allows.
    PiecesLimit,
    /// `too_long`: with this chunk there would be more bytes than the envelope announces.
    TooLong,
    /// `incomplete`: chunks are still missing.
    Incomplete,
    /// `compressed_stream`: the chunks hold no intact stream of the envelope's compression.
    CompressedStream,
    /// `content_length`: the payload is shorter or longer than the envelope announces.
    ContentLength,
    /// `content_hash`: the payload does not have the SHA-256 that the envelope announces.
    ContentHash,
}

impl WireReason {
    /// Every reason.
    pub const ALL: &'static [Self] = &[
        Self::EnvelopeField,
        Self::Compression,
        Self::TotalBytesLimit,
        Self::TensorField,
        Self::TensorLength,
        Self::ChunkLength,
        Self::ChunkIndex,
        Self::ChunkRange,
        Self::ChunkHash,
        Self::ChunkConflict,
        Self::NotRequested,
        Self::PiecesLimit,
        Self::TooLong,
        Self::Incomplete,
        Self::CompressedStream,
        Self::ContentLength,
        Self::ContentHash,
    ];

    /// The stable code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EnvelopeField => "envelope_field",
            Self::Compression => "compression",
            Self::TotalBytesLimit => "total_bytes_limit",
            Self::TensorField => "tensor_field",
            Self::TensorLength => "tensor_length",
            Self::ChunkLength => "chunk_length",
            Self::ChunkIndex => "chunk_index",
            Self::ChunkRange => "chunk_range",
            Self::ChunkHash => "chunk_hash",
            Self::ChunkConflict => "chunk_conflict",
            Self::NotRequested => "not_requested",
            Self::PiecesLimit => "pieces_limit",
            Self::TooLong => "too_long",
            Self::Incomplete => "incomplete",
            Self::CompressedStream => "compressed_stream",
            Self::ContentLength => "content_length",
            Self::ContentHash => "content_hash",
        }
    }

    /// The class that every error of this reason has.
    pub const fn class(self) -> ErrorClass {
        match self {
            Self::EnvelopeField
            | Self::Compression
            | Self::TotalBytesLimit
            | Self::TensorField
            | Self::ChunkLength
            | Self::ChunkIndex
            | Self::ChunkRange
            | Self::NotRequested
            | Self::PiecesLimit => ErrorClass::Schema,
            Self::TensorLength
            | Self::ChunkHash
            | Self::ChunkConflict
            | Self::TooLong
            | Self::Incomplete
            | Self::CompressedStream
            | Self::ContentLength
            | Self::ContentHash => ErrorClass::CorruptPayload,
        }
    }

    /// Whether a transfer goes on after this refusal: the chunk was not taken, all else is as before. Otherwise start anew.
    pub const fn is_recoverable(self) -> bool {
        matches!(
            self,
            Self::ChunkIndex
                | Self::ChunkRange
                | Self::ChunkHash
                | Self::ChunkConflict
                | Self::NotRequested
                | Self::PiecesLimit
                | Self::TooLong
        )
    }

    /// One sentence for an operator: what usually causes this and what to do.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::EnvelopeField | Self::TensorField => "The sender breaks the field's domain: mend the sender.",
            Self::Compression => "The sender is newer than this receiver or damaged: send with compression 0, 1 or 2.",
            Self::TotalBytesLimit => "Raise the receiver's limit if payloads of this length are meant to be.",
            Self::TensorLength => "The tensor was cut or mixed up with another: have it sent again.",
            Self::ChunkLength => "Choose another length of chunks.",
            Self::ChunkIndex => {
                "The sender counts otherwise, or cuts too fine: choose longer chunks or raise the limit."
            }
            Self::ChunkRange => "The other side counts otherwise: offsets are within the chunk.",
            Self::ChunkHash => "The chunk changed on its way: ask for it again.",
            Self::ChunkConflict => {
                "Chunks of two transfers were mixed up, or the sender changed the payload: start anew."
            }
            Self::NotRequested => "An answer went to another request: ask again.",
            Self::PiecesLimit => "Ask for what is missing at the front first, or raise the limit.",
            Self::TooLong => "Envelope and chunks belong to different payloads, or the sender lies: start anew.",
            Self::Incomplete => "Ask for what is missing.",
            Self::CompressedStream => {
                "The sender's stream is damaged, or asks for a larger window than the limit: start anew, or raise it."
            }
            Self::ContentLength | Self::ContentHash => {
                "Envelope and chunks belong to different payloads, or the source is damaged: verify it and start anew."
            }
        }
    }
}

impl fmt::Display for WireReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why a message, a chunk or a transfer of the protobuf form is refused.
///
/// Displayed, it is one line: the reason code, the field or the chunk, what was found and what was expected.
///
/// ```
/// use membrane_codec::proto::{Envelope, WireReason};
///
/// let error = Envelope { compression: 3, ..Envelope::default() }.compression_method().unwrap_err();
/// assert_eq!(error.reason(), WireReason::Compression);
/// assert_eq!(error.to_string(), "compression: found 3, expected 0 (none), 1 (zstd) or 2 (lz4)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireError {
    reason: WireReason,
    /// Boxed: results that carry an error stay small.
    facts: Box<Facts>,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct Facts {
    field: Option<&'static str>,
    chunk: Option<(i32, i64)>,
    found: Cow<'static, str>,
    expected: Cow<'static, str>,
}

impl WireError {
    pub(super) fn new(
        reason: WireReason,
        found: impl Into<Cow<'static, str>>,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        let facts = Facts { found: found.into(), expected: expected.into(), ..Facts::default() };
        Self { reason, facts: Box::new(facts) }
    }

    /// The same error, of this field.
    pub(super) fn of_field(mut self, field: &'static str) -> Self {
        self.facts.field = Some(field);
        self
    }

    /// The same error, of what starts here in this chunk.
    pub(super) fn of_chunk(mut self, index: i32, offset: i64) -> Self {
        self.facts.chunk = Some((index, offset));
        self
    }

    /// A text that is out of its field's domain. Shown escaped and cut: nobody vouches for it, and it goes to a terminal.
    pub(super) fn text(reason: WireReason, field: &'static str, found: &str, expected: &'static str) -> Self {
        Self::new(reason, excerpt(found), expected).of_field(field)
    }

    /// A payload of another length than total_bytes.
    pub(super) fn content_length(found: String, total_bytes: u64) -> Self {
        Self::new(WireReason::ContentLength, found, total_bytes.to_string()).of_field("total_bytes")
    }

    pub(super) fn compressed_stream(compression: Compression, problem: impl Into<Cow<'static, str>>) -> Self {
        Self::new(WireReason::CompressedStream, problem, format!("one intact {compression} frame"))
    }

    pub(super) fn hash(reason: WireReason, found: Digest, expected: Digest) -> Self {
        Self::new(reason, found.to_string(), expected.to_string())
    }

    /// The class of the specification (section 3).
    pub fn class(&self) -> ErrorClass {
        self.reason.class()
    }

    /// Which check failed.
    pub fn reason(&self) -> WireReason {
        self.reason
    }

    /// The field of the message at fault, by its name in the .proto file.
    pub fn field(&self) -> Option<&'static str> {
        self.facts.field
    }

    /// The chunk at fault: its index and the offset within it, as they were sent.
    pub fn chunk(&self) -> Option<(i32, i64)> {
        self.facts.chunk
    }

    /// What was found, as text.
    pub fn found(&self) -> &str {
        &self.facts.found
    }

    /// What was expected, as text.
    pub fn expected(&self) -> &str {
        &self.facts.expected
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)?;
        if let Some((index, offset)) = self.facts.chunk {
            write!(f, " in chunk {index} at byte {offset}")?;
        }
        match self.facts.field {
            // The compression has a reason of its own, and would be named twice.
            Some(field) if field != self.reason.as_str() => write!(f, ": {field}: ")?,
            _ => f.write_str(": ")?,
        }
        write!(f, "found {}, expected {}", self.facts.found, self.facts.expected)
    }
}

impl std::error::Error for WireError {}

/// The beginning of a text, with nothing in it that would move or hide what a terminal shows.
fn excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 40;
    let mut shown: String = text.chars().take(MAX_CHARS).flat_map(char::escape_debug).collect();
    shown.insert(0, '"');
    shown.push_str(if text.chars().nth(MAX_CHARS).is_some() { "\"..." } else { "\"" });
    shown
}

/// Why a transfer cannot be received.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The chunk or the transfer is refused: a verdict.
    Refused(WireError),
    /// The sink could not be written. No verdict; the transfer cannot go on.
    Sink(io::Error),
}

impl fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Sink(error) => write!(f, "cannot write the payload: {error}"),
        }
    }
}

impl std::error::Error for ReceiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(error) => Some(error),
            Self::Sink(error) => Some(error),
        }
    }
}

impl From<WireError> for ReceiveError {
    fn from(error: WireError) -> Self {
        Self::Refused(error)
    }
}
