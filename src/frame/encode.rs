//! Writes frames whose payload is in memory.

use alloc::vec::Vec;
use core::fmt;

use bytes::BufMut;

use super::layout::{FrameHeader, OVERHEAD_LEN};
use crate::digest::{Digest, sha256};
use crate::identity::{IdentityView, PayloadIdentity};

/// Why a frame cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The canonical identity JSON is longer than the 2^32-1 bytes that its length field can say.
    IdentityTooLong {
        /// Its length in bytes.
        len: usize,
    },
    /// The frame is longer than this machine can address, or than 2^64-1 bytes.
    FrameTooLong,
    /// The target buffer has no room for the frame. Nothing was written into it.
    BufferTooSmall {
        /// Length of the frame in bytes.
        needed: usize,
        /// Room in the buffer in bytes.
        available: usize,
    },
    /// The payload ended before the length that was declared.
    PayloadTooShort {
        /// Length in bytes, as declared.
        declared: u64,
        /// Length in bytes, as it came.
        written: u64,
    },
    /// The payload goes on after the length that was declared.
    PayloadTooLong {
        /// Length in bytes, as declared.
        declared: u64,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IdentityTooLong { len } => {
                write!(f, "the identity JSON has {len} bytes, a frame holds at most 2^32-1")
            }
            Self::FrameTooLong => f.write_str("the frame would be longer than this machine can address"),
            Self::BufferTooSmall { needed, available } => {
                write!(f, "the frame has {needed} bytes, the buffer has room for {available}")
            }
            Self::PayloadTooShort { declared, written } => {
                write!(f, "the payload ended after {written} bytes, {declared} were declared")
            }
            Self::PayloadTooLong { declared } => {
                write!(f, "the payload goes on after the {declared} bytes that were declared")
            }
        }
    }
}

impl core::error::Error for EncodeError {}

/// The frame of `payload` under `identity`, its JSON in canonical form (specification, section 3).
///
/// `identity.payload_hash` is written as it is; whether it is the SHA-256 of `payload` is the caller's choice.
///
/// Cost: one allocation of exactly the frame's length, one copy and one hash of the payload.
///
/// # Errors
/// [`EncodeError::IdentityTooLong`], [`EncodeError::FrameTooLong`].
///
/// ```
/// # let identity = membrane_codec::PayloadIdentity::from_json(br#"{"payload_hash":
/// #   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "model_id": "m", "model_revision": "",
/// #   "tokenizer_name": "m", "tokenizer_revision": "", "layer_range": [0, 0], "head_range": [-1, -1],
/// #   "token_span": [0, 0], "dtype": "nf4", "shape": [1]}"#)?;
/// use membrane_codec::{canonicalize, parse_canonical};
///
/// let bytes = canonicalize(&identity, b"payload")?;
/// let frame = parse_canonical(&bytes)?;
/// assert_eq!(frame.identity().to_identity(), identity);
/// assert_eq!(frame.payload(), b"payload");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn canonicalize(identity: &PayloadIdentity, payload: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let identity = identity.as_view();
    let mut frame = Vec::with_capacity(encoded_len(&identity, payload.len())?);
    encode(&identity, payload, &mut frame)?;
    Ok(frame)
}

/// The length in bytes of the frame of a payload of `payload_len` bytes under `identity`. Allocates nothing.
///
/// # Errors
/// [`EncodeError::IdentityTooLong`], [`EncodeError::FrameTooLong`].
pub fn encoded_len(identity: &IdentityView<'_>, payload_len: usize) -> Result<usize, EncodeError> {
    let identity_len = identity.canonical_json_len();
    header(identity_len)?;
    OVERHEAD_LEN.checked_add(identity_len).and_then(|len| len.checked_add(payload_len)).ok_or(EncodeError::FrameTooLong)
}

/// Appends the frame of `payload` under `identity` to `out` and returns the payload's SHA-256, of which the trailer is
/// the start.
///
/// Cost: one copy and one hash of the payload; allocates nothing itself.
///
/// # Errors
/// [`EncodeError::IdentityTooLong`], [`EncodeError::FrameTooLong`], and [`EncodeError::BufferTooSmall`] when `out` cannot
/// take the whole frame. In each case nothing was written.
pub fn encode(identity: &IdentityView<'_>, payload: &[u8], out: &mut impl BufMut) -> Result<Digest, EncodeError> {
    let needed = encoded_len(identity, payload.len())?;
    let available = out.remaining_mut();
    if available < needed {
        return Err(EncodeError::BufferTooSmall { needed, available });
    }
    let digest = sha256(payload);
    out.put_slice(&header(needed - OVERHEAD_LEN - payload.len())?.to_bytes());
    // Cannot fail: there is room for the whole frame.
    let _ = identity.write_canonical_json(&mut Text(out));
    out.put_u64_le(payload.len() as u64);
    out.put_slice(payload);
    out.put_slice(&digest.trailer());
    Ok(digest)
}

/// The header of a frame whose identity JSON has `identity_len` bytes.
pub(super) fn header(identity_len: usize) -> Result<FrameHeader, EncodeError> {
    let len = identity_len.try_into().map_err(|_| EncodeError::IdentityTooLong { len: identity_len })?;
    Ok(FrameHeader::new(len))
}

/// Takes text into a [`BufMut`] that has room for it.
struct Text<'a, B>(&'a mut B);

impl<B: BufMut> fmt::Write for Text<'_, B> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.put_slice(text.as_bytes());
        Ok(())
    }
}
