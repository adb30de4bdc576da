//! Writes frames whose payload is in memory.

use alloc::vec::Vec;
use core::fmt;

use bytes::BufMut;

use super::layout::{FrameHeader, frame_len};
use crate::digest::{Digest, sha256};
use crate::identity::IdentityView;

/// Why a frame cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The canonical identity JSON is longer than the 2^32-1 bytes that its length field can say.
    IdentityTooLong {
        /// Its length in bytes.
        len: u64,
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

/// The frame of `payload` under `identity`, a [`PayloadIdentity`](crate::PayloadIdentity) or an [`IdentityView`], its JSON
/// in canonical form (specification, section 3).
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
pub fn canonicalize<'a>(identity: impl Into<IdentityView<'a>>, payload: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let identity = identity.into();
    let layout = Layout::new(&identity, payload.len())?;
    let mut frame = Vec::with_capacity(layout.frame_len);
    layout.write(&identity, payload, &mut frame);
    Ok(frame)
}

/// The length in bytes of the frame of a payload of `payload_len` bytes under `identity`. Allocates nothing.
///
/// # Errors
/// [`EncodeError::IdentityTooLong`], [`EncodeError::FrameTooLong`].
///
/// ```
/// # let identity = membrane_codec::PayloadIdentity::from_json(br#"{"payload_hash":
/// #   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "model_id": "m", "model_revision": "",
/// #   "tokenizer_name": "m", "tokenizer_revision": "", "layer_range": [0, 0], "head_range": [-1, -1],
/// #   "token_span": [0, 0], "dtype": "nf4", "shape": [1]}"#)?;
/// use membrane_codec::{OVERHEAD_LEN, encoded_len};
///
/// assert_eq!(encoded_len(&identity, 7)?, OVERHEAD_LEN + identity.canonical_json().len() + 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encoded_len<'a>(identity: impl Into<IdentityView<'a>>, payload_len: usize) -> Result<usize, EncodeError> {
    Layout::new(&identity.into(), payload_len).map(|layout| layout.frame_len)
}

/// Appends the frame of `payload` under `identity` to `out` and returns the payload's SHA-256, of which the trailer is
/// the start (specification, section 3).
///
/// Cost: one copy and one hash of the payload; allocates nothing itself.
///
/// # Errors
/// [`EncodeError::IdentityTooLong`], [`EncodeError::FrameTooLong`], and [`EncodeError::BufferTooSmall`] when `out` cannot
/// take the whole frame. In each case nothing was written.
///
/// ```
/// # let identity = membrane_codec::PayloadIdentity::from_json(br#"{"payload_hash":
/// #   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "model_id": "m", "model_revision": "",
/// #   "tokenizer_name": "m", "tokenizer_revision": "", "layer_range": [0, 0], "head_range": [-1, -1],
/// #   "token_span": [0, 0], "dtype": "nf4", "shape": [1]}"#)?;
/// use membrane_codec::{encode, sha256};
///
/// let mut buffer = bytes::BytesMut::new();
/// let digest = encode(&identity, b"payload", &mut buffer)?;
/// assert_eq!(digest, sha256(b"payload"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode<'a>(
    identity: impl Into<IdentityView<'a>>,
    payload: &[u8],
    out: &mut impl BufMut,
) -> Result<Digest, EncodeError> {
    let identity = identity.into();
    let layout = Layout::new(&identity, payload.len())?;
    let available = out.remaining_mut();
    if available < layout.frame_len {
        return Err(EncodeError::BufferTooSmall { needed: layout.frame_len, available });
    }
    Ok(layout.write(&identity, payload, out))
}

/// The lengths of a frame that can be written.
struct Layout {
    header: FrameHeader,
    frame_len: usize,
}

impl Layout {
    fn new(identity: &IdentityView<'_>, payload_len: usize) -> Result<Self, EncodeError> {
        let header = header(identity.canonical_json_len())?;
        let frame_len = frame_len(header.identity_len(), payload_len as u64);
        // Nothing in memory is longer than isize::MAX.
        let frame_len = isize::try_from(frame_len).map_err(|_| EncodeError::FrameTooLong)?.unsigned_abs();
        Ok(Self { header, frame_len })
    }

    /// Writes the frame into `out`, which has room for all of it.
    fn write(&self, identity: &IdentityView<'_>, payload: &[u8], out: &mut impl BufMut) -> Digest {
        let digest = sha256(payload);
        out.put_slice(&self.header.to_bytes());
        // Cannot fail: there is room.
        let _ = identity.write_canonical_json(&mut Text(out));
        out.put_u64_le(payload.len() as u64);
        out.put_slice(payload);
        out.put_slice(&digest.trailer());
        digest
    }
}

/// The header of a frame whose identity JSON has `identity_len` bytes.
pub(super) fn header(identity_len: u64) -> Result<FrameHeader, EncodeError> {
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
