//! Writes frames whose payload is not in memory as a whole.

use std::io::{self, Write};

use super::encode::{EncodeError, header};
use super::layout::frame_len;
use crate::digest::{Digest, Sha256};
use crate::identity::IdentityView;

/// Writes one frame (specification, section 3) to `W`, its payload in pieces: header and identity at once, then what is written to this writer, and
/// the trailer, computed on the way, when it is finished.
///
/// The payload's length is said first. Should another number of bytes come, the writer refuses and never writes a
/// trailer, so that what lies in `W` is no valid frame.
///
/// Cost: constant memory beside the identity's JSON; each piece is hashed and handed on. Small pieces deserve a
/// [`BufWriter`](std::io::BufWriter) as `W`.
///
/// ```
/// # let identity = membrane_codec::PayloadIdentity::from_json(br#"{"payload_hash":
/// #   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "model_id": "m", "model_revision": "",
/// #   "tokenizer_name": "m", "tokenizer_revision": "", "layer_range": [0, 0], "head_range": [-1, -1],
/// #   "token_span": [0, 0], "dtype": "nf4", "shape": [1]}"#)?;
/// use std::io::Write;
/// use membrane_codec::{FrameWriter, canonicalize, sha256};
///
/// let mut writer = FrameWriter::new(Vec::new(), &identity, 7)?;
/// writer.write_all(b"pay")?;
/// writer.write_all(b"load")?;
/// let (bytes, digest) = writer.finish()?;
/// assert_eq!(bytes, canonicalize(&identity, b"payload")?);
/// assert_eq!(digest, sha256(b"payload"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "without finish() there is no frame"]
pub struct FrameWriter<W> {
    sink: W,
    hasher: Sha256,
    declared: u64,
    written: u64,
    /// Why no frame can come of this any more.
    spoilt: Option<Spoilt>,
}

#[derive(Clone, Copy, Debug)]
enum Spoilt {
    TooLong,
    LyingSink,
}

impl<W: Write> FrameWriter<W> {
    /// Starts a frame in `sink`: writes its header, the canonical identity JSON and `payload_len`, the number of payload
    /// bytes that will follow.
    ///
    /// # Errors
    /// An [`io::Error`] of `sink`, or one of kind [`InvalidInput`](io::ErrorKind::InvalidInput) around an
    /// [`EncodeError`]: [`IdentityTooLong`](EncodeError::IdentityTooLong), or
    /// [`FrameTooLong`](EncodeError::FrameTooLong) for a frame of 2^64 bytes or more.
    pub fn new<'a>(mut sink: W, identity: impl Into<IdentityView<'a>>, payload_len: u64) -> io::Result<Self> {
        let identity = identity.into();
        let header = header(identity.canonical_json_len()).map_err(invalid_input)?;
        let json = identity.canonical_json();
        if frame_len(header.identity_len(), payload_len) > u64::MAX.into() {
            return Err(invalid_input(EncodeError::FrameTooLong));
        }
        sink.write_all(&header.to_bytes())?;
        sink.write_all(json.as_bytes())?;
        sink.write_all(&payload_len.to_le_bytes())?;
        Ok(Self { sink, hasher: Sha256::new(), declared: payload_len, written: 0, spoilt: None })
    }

    /// Ends the frame with its trailer, flushes, and returns the sink and the payload's SHA-256.
    ///
    /// # Errors
    /// An [`io::Error`] of the sink, or one of kind [`InvalidInput`](io::ErrorKind::InvalidInput) around
    /// [`EncodeError::PayloadTooShort`] or [`EncodeError::PayloadTooLong`]. The sink then is dropped, and what it holds
    /// is no frame.
    pub fn finish(mut self) -> io::Result<(W, Digest)> {
        self.check_unspoilt()?;
        if self.written < self.declared {
            let (declared, written) = (self.declared, self.written);
            return Err(invalid_input(EncodeError::PayloadTooShort { declared, written }));
        }
        let digest = self.hasher.finalize();
        self.sink.write_all(&digest.trailer())?;
        self.sink.flush()?;
        Ok((self.sink, digest))
    }

    fn check_unspoilt(&self) -> io::Result<()> {
        match self.spoilt {
            None => Ok(()),
            Some(Spoilt::TooLong) => Err(invalid_input(EncodeError::PayloadTooLong { declared: self.declared })),
            Some(Spoilt::LyingSink) => Err(io::Error::other("the sink took more than it was given")),
        }
    }
}

impl<W: Write> Write for FrameWriter<W> {
    /// Takes payload bytes.
    ///
    /// # Errors
    /// An [`io::Error`] of the sink, or one of kind [`InvalidInput`](io::ErrorKind::InvalidInput) around
    /// [`EncodeError::PayloadTooLong`] when `buf` would exceed the declared length: none of `buf` is written, and the
    /// frame can no longer be finished.
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if buf.len() as u64 > self.declared - self.written {
            self.spoilt = Some(Spoilt::TooLong);
        }
        self.check_unspoilt()?;
        let taken = self.sink.write(buf)?;
        let Some(piece) = buf.get(..taken) else {
            // The trailer would cover bytes that never were.
            self.spoilt = Some(Spoilt::LyingSink);
            return self.check_unspoilt().map(|()| 0);
        };
        self.hasher.update(piece);
        self.written += taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

fn invalid_input(error: EncodeError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}
