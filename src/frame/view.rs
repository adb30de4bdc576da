//! A borrowed frame whose structure holds.

use core::fmt;

use super::layout::{self, FrameHeader, Head};
use crate::digest::{Digest, sha256};
use crate::error::Error;
use crate::format::{HEADER_LEN, OVERHEAD_LEN, PAYLOAD_LEN_LEN, TRAILER_LEN};
use crate::identity::IdentityView;

/// Rows 7 and 8, with offsets from the frame's start.
pub(crate) fn parse_identity(json: &[u8]) -> Result<IdentityView<'_>, Error> {
    IdentityView::parse(json).map_err(|error| error.shifted(HEADER_LEN as u64))
}

/// A v5 frame in a byte buffer: its structure is sound; its identity and payload are **not** checked until
/// [`Frame::identity`] and [`Frame::verify`] are called. [`parse_canonical`](crate::parse_canonical) calls them all.
///
/// ```
/// # let identity = membrane_codec::PayloadIdentity::from_json(br#"{"payload_hash":
/// #   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "model_id": "m", "model_revision": "",
/// #   "tokenizer_name": "m", "tokenizer_revision": "", "layer_range": [0, 0], "head_range": [-1, -1],
/// #   "token_span": [0, 0], "dtype": "nf4", "shape": [1]}"#)?;
/// # let bytes = membrane_codec::canonicalize(&identity, b"payload")?;
/// use membrane_codec::Frame;
///
/// let frame = Frame::parse(&bytes)?; // where everything lies
/// assert_eq!(frame.identity()?.model_id(), "m"); // what the payload is
/// frame.verify()?; // that the payload is what was written
/// assert_eq!(frame.payload(), b"payload");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    pub(super) header: &'a FrameHeader,
    pub(super) identity: &'a [u8],
    pub(super) payload: &'a [u8],
    pub(super) trailer: &'a [u8; TRAILER_LEN],
}

impl<'a> Frame<'a> {
    /// Views `bytes` as exactly one frame.
    ///
    /// Checks structure alone, rows 1-6, 9 and 10 of the contract: neither the identity's JSON nor the trailer.
    ///
    /// Cost: some nanoseconds, whatever the size; no allocation.
    ///
    /// # Errors
    /// [`Reason::Truncated`](crate::Reason::Truncated), [`Reason::OldVersion`](crate::Reason::OldVersion),
    /// [`Reason::BadMagic`](crate::Reason::BadMagic), [`Reason::SchemaVersion`](crate::Reason::SchemaVersion),
    /// [`Reason::ReservedNotZero`](crate::Reason::ReservedNotZero),
    /// [`Reason::IdentityLength`](crate::Reason::IdentityLength) or
    /// [`Reason::TrailingBytes`](crate::Reason::TrailingBytes): the first row of the contract's table that fails.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let head = layout::parse_head(bytes)?;
        let body = head.parse_body()?;
        head.check_nothing_follows(&body)?;
        Ok(Self::from_parts(&head, &body))
    }

    /// Views the start of `bytes` as a frame and returns it with what follows it.
    ///
    /// Cost: as [`Frame::parse`].
    ///
    /// # Errors
    /// As [`Frame::parse`], except that bytes after the frame are no error.
    pub fn parse_prefix(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        let head = layout::parse_head(bytes)?;
        let body = head.parse_body()?;
        Ok((Self::from_parts(&head, &body), body.rest))
    }

    pub(super) fn from_parts(head: &Head<'a>, body: &layout::Body<'a>) -> Self {
        Self { header: head.header, identity: head.identity, payload: body.payload, trailer: body.trailer }
    }

    /// The header.
    pub const fn header(&self) -> &'a FrameHeader {
        self.header
    }

    /// The identity's JSON text, unchecked.
    pub const fn identity_bytes(&self) -> &'a [u8] {
        self.identity
    }

    /// The payload, not checked against the trailer unless [`Frame::verify`] was called.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The trailer: meant to be the first 8 bytes of the payload's SHA-256.
    pub const fn trailer(&self) -> [u8; TRAILER_LEN] {
        *self.trailer
    }

    /// Length of the whole frame in bytes.
    pub const fn frame_len(&self) -> usize {
        // Cannot overflow: it is the length of a buffer that exists.
        OVERHEAD_LEN + self.identity.len() + self.payload.len()
    }

    /// Where the payload starts in the frame, in bytes.
    pub const fn payload_offset(&self) -> usize {
        HEADER_LEN + self.identity.len() + PAYLOAD_LEN_LEN
    }

    /// Reads the identity: rows 7 and 8 of the contract.
    ///
    /// Cost: one pass over the identity, no allocation, when it is in canonical form; see [`IdentityView::parse`].
    ///
    /// # Errors
    /// [`Reason::IdentityJson`](crate::Reason::IdentityJson) or
    /// [`Reason::IdentityField`](crate::Reason::IdentityField); offsets count from the start of the frame.
    pub fn identity(&self) -> Result<IdentityView<'a>, Error> {
        parse_identity(self.identity)
    }

    /// Hashes the payload and compares the trailer: row 11 of the contract. Returns the payload's SHA-256.
    ///
    /// Cost: one pass over the payload, no allocation.
    ///
    /// # Errors
    /// [`Reason::TrailerMismatch`](crate::Reason::TrailerMismatch).
    pub fn verify(&self) -> Result<Digest, Error> {
        let digest = sha256(self.payload);
        self.check_trailer(digest)?;
        Ok(digest)
    }

    /// Row 11, by the SHA-256 of the payload.
    pub(super) fn check_trailer(&self, payload_digest: Digest) -> Result<(), Error> {
        let offset = self.payload_offset() + self.payload.len();
        layout::check_trailer(*self.trailer, payload_digest.trailer(), offset as u64)
    }
}

impl fmt::Debug for Frame<'_> {
    /// Lengths instead of contents: payloads are large, and somebody's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("header", self.header)
            .field("payload_len", &self.payload.len())
            .field("trailer", self.trailer)
            .finish_non_exhaustive()
    }
}
