//! A frame that owns its buffer, for handing parts on without copying them.

use core::fmt;
use core::ops::Range;

use bytes::Bytes;

use super::{Frame, FrameHeader, parse_canonical};
use crate::digest::Digest;
use crate::error::Error;
use crate::format::{HEADER_LEN, TRAILER_LEN};
use crate::identity::IdentityView;

/// The owned twin of [`Frame`]: a v5 frame (specification, section 3) in shared [`Bytes`], whose identity and payload share the buffer.
///
/// As with [`Frame`], [`OwnedFrame::parse`] checks structure alone; [`OwnedFrame::parse_canonical`] checks everything. To
/// ask for more, run a [`Verifier`](crate::Verifier) over the bytes first. Parts cost a reference count, no copy.
///
/// ```
/// # let identity = membrane_codec::PayloadIdentity::from_json(br#"{"payload_hash":
/// #   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "model_id": "m", "model_revision": "",
/// #   "tokenizer_name": "m", "tokenizer_revision": "", "layer_range": [0, 0], "head_range": [-1, -1],
/// #   "token_span": [0, 0], "dtype": "nf4", "shape": [1]}"#)?;
/// # let bytes = bytes::Bytes::from(membrane_codec::canonicalize(&identity, b"payload")?);
/// use membrane_codec::OwnedFrame;
///
/// let payload = OwnedFrame::parse_canonical(bytes)?.payload();
/// assert_eq!(payload, &b"payload"[..]); // no copy: still the frame's buffer
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct OwnedFrame {
    bytes: Bytes,
    header: FrameHeader,
    identity: Range<usize>,
    payload: Range<usize>,
    trailer: [u8; TRAILER_LEN],
}

impl OwnedFrame {
    /// Takes `bytes` as exactly one frame; checks structure alone, as [`Frame::parse`]. No copy.
    ///
    /// # Errors
    /// As [`Frame::parse`].
    pub fn parse(bytes: Bytes) -> Result<Self, Error> {
        let frame = Frame::parse(&bytes)?;
        Ok(Self {
            header: *frame.header(),
            identity: HEADER_LEN..HEADER_LEN + frame.identity_bytes().len(),
            payload: frame.payload_offset()..frame.payload_offset() + frame.payload().len(),
            trailer: frame.trailer(),
            bytes,
        })
    }

    /// Takes `bytes` as exactly one frame and verifies it, as [`parse_canonical`](crate::parse_canonical). No copy.
    ///
    /// # Errors
    /// As [`parse_canonical`](crate::parse_canonical).
    pub fn parse_canonical(bytes: Bytes) -> Result<Self, Error> {
        parse_canonical(&bytes)?;
        Self::parse(bytes)
    }

    /// Takes the first frame off `bytes`, which keeps what follows it; checks structure alone. No copy.
    ///
    /// # Errors
    /// As [`Frame::parse_prefix`]; `bytes` then is as it was.
    pub fn parse_prefix(bytes: &mut Bytes) -> Result<Self, Error> {
        let (frame, _) = Frame::parse_prefix(bytes)?;
        let frame_len = frame.frame_len();
        Self::parse(bytes.slice(..frame_len)).inspect(|_| _ = bytes.split_to(frame_len))
    }

    /// A view of this frame, with everything that can be asked of one.
    pub fn as_frame(&self) -> Frame<'_> {
        Frame {
            header: &self.header,
            identity: &self.bytes[self.identity.clone()],
            payload: &self.bytes[self.payload.clone()],
            trailer: &self.trailer,
        }
    }

    /// The header.
    pub const fn header(&self) -> &FrameHeader {
        &self.header
    }

    /// The whole frame. Shares the buffer.
    pub fn bytes(&self) -> Bytes {
        self.bytes.clone()
    }

    /// The identity's JSON text, unchecked. Shares the buffer.
    pub fn identity_bytes(&self) -> Bytes {
        self.bytes.slice(self.identity.clone())
    }

    /// The payload. Shares the buffer.
    pub fn payload(&self) -> Bytes {
        self.bytes.slice(self.payload.clone())
    }

    /// The trailer: meant to be the first 8 bytes of the payload's SHA-256.
    pub const fn trailer(&self) -> [u8; TRAILER_LEN] {
        self.trailer
    }

    /// Reads the identity; see [`Frame::identity`].
    ///
    /// # Errors
    /// As [`Frame::identity`].
    pub fn identity(&self) -> Result<IdentityView<'_>, Error> {
        self.as_frame().identity()
    }

    /// Hashes the payload and compares the trailer; see [`Frame::verify`].
    ///
    /// # Errors
    /// As [`Frame::verify`].
    pub fn verify(&self) -> Result<Digest, Error> {
        self.as_frame().verify()
    }
}

impl fmt::Debug for OwnedFrame {
    /// As [`Frame`]'s.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_frame().fmt(f)
    }
}
