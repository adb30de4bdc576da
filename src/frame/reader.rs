//! Verifies frames of any size from a stream, in constant memory.
//!
//! Memory follows the bytes that arrive, never a length that they claim: the identity grows as it is read and is capped,
//! the payload passes through one buffer of at most 128 KiB.

use std::fmt;
use std::io::{self, Read, Write};

use super::layout::{self, Accepts, FrameHeader};
use super::pieces::Remainder;
use super::verified::{Findings, Verifier};
use super::view::parse_identity;
use crate::digest::{Digest, Sha256};
use crate::error::Error;
use crate::format::{HEADER_LEN, PAYLOAD_LEN_LEN, TRAILER_LEN};
use crate::identity::IdentityView;

/// The payload passes through a buffer of at most this size: small enough for a second-level cache, large enough for a
/// read to cost less than the hash of what it brings.
const BUFFER_LEN: u64 = 128 * 1024;

/// Why a stream gave no verified frame.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes are no valid frame: a verdict, the same that a slice of these bytes gets.
    Frame(Error),
    /// The source could not be read. No verdict.
    Source(io::Error),
    /// The sink could not be written. No verdict.
    Sink(io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frame(error) => error.fmt(f),
            Self::Source(error) => write!(f, "cannot read the frame: {error}"),
            Self::Sink(error) => write!(f, "cannot write the payload: {error}"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Frame(error) => Some(error),
            Self::Source(error) | Self::Sink(error) => Some(error),
        }
    }
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        Self::Frame(error)
    }
}

/// How to read frames (specification, section 3) from streams. Starts a [`FrameStream`] with [`FrameReader::open`].
///
/// A stream reaches the verdict, reason and offset that [`parse_canonical`](crate::parse_canonical) reaches on a slice
/// of the same bytes, however they arrive; the one difference is the cap on the identity's length.
///
/// ```
/// # let identity = membrane_codec::PayloadIdentity::from_json(br#"{"payload_hash":
/// #   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "model_id": "m", "model_revision": "",
/// #   "tokenizer_name": "m", "tokenizer_revision": "", "layer_range": [0, 0], "head_range": [-1, -1],
/// #   "token_span": [0, 0], "dtype": "nf4", "shape": [1]}"#)?;
/// # let file = membrane_codec::canonicalize(&identity, b"payload")?;
/// # let file = file.as_slice();
/// use membrane_codec::FrameReader;
///
/// let stream = FrameReader::new().open(file)?; // any io::Read
/// assert_eq!(stream.identity()?.model_id(), "m");
/// let (payload, digest) = stream.copy_payload(Vec::new())?; // the sink comes back only if the trailer held
/// assert_eq!(payload, b"payload");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameReader {
    max_identity_len: u32,
    source_len: Option<u64>,
    leave_rest: bool,
    accepts: Accepts,
}

impl FrameReader {
    /// The cap on identity_len unless [`FrameReader::max_identity_len`] sets another: 1 MiB.
    ///
    /// The identity is the only part that a stream must hold in memory, and its length field can say 4 GiB. Identities
    /// have some hundred bytes; a megabyte leaves room for long names and unknown keys, and a thousand concurrent
    /// streams of hostile data stay within a gigabyte.
    pub const DEFAULT_MAX_IDENTITY_LEN: u32 = 1 << 20;

    /// A reader with the default cap, for sources of unknown length that hold exactly one frame.
    pub const fn new() -> Self {
        Self {
            max_identity_len: Self::DEFAULT_MAX_IDENTITY_LEN,
            source_len: None,
            leave_rest: false,
            accepts: Accepts::Current,
        }
    }

    /// The longest identity JSON to accept, in bytes. A longer one is
    /// [`Reason::IdentityLength`](crate::Reason::IdentityLength).
    pub const fn max_identity_len(mut self, bytes: u32) -> Self {
        self.max_identity_len = bytes;
        self
    }

    /// The length of the source in bytes, from where it stands now, when that is known (a file's, say).
    ///
    /// A frame that claims to be longer is then refused without reading it: one of 2^64-1 bytes in a file of 4 GiB at
    /// once. It is a limit and nothing else: whether the source ends with the frame, only reading decides.
    pub const fn source_len(mut self, bytes: u64) -> Self {
        self.source_len = Some(bytes);
        self
    }

    /// Whether bytes after the frame are left unread in the source instead of being
    /// [`Reason::TrailingBytes`](crate::Reason::TrailingBytes): for frames one after another; see
    /// [`FrameReader::open_next`].
    pub const fn leave_rest(mut self, leave: bool) -> Self {
        self.leave_rest = leave;
        self
    }

    /// Which versions to read.
    #[cfg(all(unix, feature = "scrub"))]
    pub(crate) const fn accepts(mut self, accepts: Accepts) -> Self {
        self.accepts = accepts;
        self
    }

    /// Reads header and identity and checks rows 1-8 of the contract. The payload is still unread.
    ///
    /// Wants no [`BufReader`](io::BufReader): it reads the header in one call, the identity in some, the payload in large
    /// pieces, and never past the frame's end (or one byte past it, to see that there is nothing).
    ///
    /// # Errors
    /// [`ReadError::Frame`] with the first row that fails; [`ReadError::Source`].
    pub fn open<R: Read>(&self, source: R) -> Result<FrameStream<R>, ReadError> {
        self.open_structure(source)?.with_checked_identity()
    }

    /// As [`FrameReader::open`], for the next of several frames one after another; `None` when the source is at its end.
    /// Goes with [`leave_rest`](FrameReader::leave_rest), and with a [`source_len`](FrameReader::source_len) of what is
    /// left.
    ///
    /// # Errors
    /// As [`FrameReader::open`].
    ///
    /// ```
    /// # let identity = membrane_codec::PayloadIdentity::from_json(br#"{"payload_hash":
    /// #   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "model_id": "m", "model_revision": "",
    /// #   "tokenizer_name": "m", "tokenizer_revision": "", "layer_range": [0, 0], "head_range": [-1, -1],
    /// #   "token_span": [0, 0], "dtype": "nf4", "shape": [1]}"#)?;
    /// # let mut source = membrane_codec::canonicalize(&identity, b"one")?;
    /// # source.extend(membrane_codec::canonicalize(&identity, b"two")?);
    /// # let mut source = source.as_slice();
    /// use membrane_codec::FrameReader;
    ///
    /// let reader = FrameReader::new().leave_rest(true);
    /// let mut payloads = Vec::new();
    /// while let Some(stream) = reader.open_next(&mut source)? {
    ///     payloads.push(stream.copy_payload(Vec::new())?.0);
    /// }
    /// assert_eq!(payloads, [b"one", b"two"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_next<R: Read>(&self, mut source: R) -> Result<Option<FrameStream<R>>, ReadError> {
        let start = read_header(&mut source)?;
        if start.is_empty() {
            return Ok(None);
        }
        self.open_after_header(&start, source).and_then(FrameStream::with_checked_identity).map(Some)
    }

    /// As [`FrameReader::open`] for structure alone, rows 1-6: the identity's JSON is read but not checked.
    ///
    /// # Errors
    /// As [`FrameReader::open`], without [`Reason::IdentityJson`](crate::Reason::IdentityJson) and
    /// [`Reason::IdentityField`](crate::Reason::IdentityField).
    pub fn open_structure<R: Read>(&self, mut source: R) -> Result<FrameStream<R>, ReadError> {
        let start = read_header(&mut source)?;
        self.open_after_header(&start, source)
    }

    /// Goes on after `start`, all that came of the header.
    fn open_after_header<R: Read>(&self, start: &[u8], mut source: R) -> Result<FrameStream<R>, ReadError> {
        let Ok(start) = start.try_into() else { return Err(layout::header_cut_short(start, self.accepts).into()) };
        let header = FrameHeader::from_bytes(start);
        header.check_as(self.accepts)?;
        let identity_len = header.identity_len();
        if let Some(source_len) = self.source_len {
            layout::check_identity_fits(identity_len, source_len)?;
        }
        layout::check_identity_cap(identity_len, self.max_identity_len)?;

        // Grows with what arrives. What row 6 asks for comes along: payload_len and as much as a trailer.
        let mut identity = Vec::new();
        let wanted = u64::from(identity_len) + (PAYLOAD_LEN_LEN + TRAILER_LEN) as u64;
        source.by_ref().take(wanted).read_to_end(&mut identity).map_err(ReadError::Source)?;
        let have = HEADER_LEN as u64 + identity.len() as u64;
        layout::check_identity_fits(identity_len, have)?;

        // Both chunks are there, by row 6.
        let (mut payload_len, mut ahead) = ([0; PAYLOAD_LEN_LEN], [0; TRAILER_LEN]);
        ahead.copy_from_slice(&identity[identity.len() - TRAILER_LEN..]);
        identity.truncate(identity.len() - TRAILER_LEN);
        payload_len.copy_from_slice(&identity[identity.len() - PAYLOAD_LEN_LEN..]);
        identity.truncate(identity.len() - PAYLOAD_LEN_LEN);
        let payload_len = u64::from_le_bytes(payload_len);
        Ok(FrameStream { source, options: *self, header, identity, payload_len, ahead })
    }
}

impl Default for FrameReader {
    fn default() -> Self {
        Self::new()
    }
}

/// A frame of which header and identity were read from a stream; the payload follows.
///
/// There is no way to get at the payload but through [`FrameStream::copy_payload`], which gives its sink back only when
/// the trailer held.
#[must_use = "the payload is still unread"]
pub struct FrameStream<R> {
    source: R,
    options: FrameReader,
    header: FrameHeader,
    identity: Vec<u8>,
    payload_len: u64,
    /// The 8 bytes after payload_len, read to judge row 6: payload, trailer, or some of both.
    ahead: [u8; TRAILER_LEN],
}

impl<R> fmt::Debug for FrameStream<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameStream")
            .field("header", &self.header)
            .field("payload_len", &self.payload_len)
            .finish_non_exhaustive()
    }
}

impl<R: Read> FrameStream<R> {
    /// The header.
    pub const fn header(&self) -> &FrameHeader {
        &self.header
    }

    /// The identity's JSON text.
    pub fn identity_bytes(&self) -> &[u8] {
        &self.identity
    }

    /// Reads the identity; cannot fail after [`FrameReader::open`], which did it before.
    ///
    /// # Errors
    /// After [`FrameReader::open_structure`] as [`Frame::identity`](crate::Frame::identity).
    pub fn identity(&self) -> Result<IdentityView<'_>, Error> {
        parse_identity(&self.identity)
    }

    /// Where the payload starts in the frame, in bytes.
    pub fn payload_offset(&self) -> u64 {
        (HEADER_LEN + PAYLOAD_LEN_LEN) as u64 + u64::from(self.header.identity_len())
    }

    /// The length of the payload in bytes, as the frame claims it. Do not allocate by it.
    pub const fn payload_len(&self) -> u64 {
        self.payload_len
    }

    /// Reads the payload, keeps nothing of it, and checks rows 9-11 of the contract. Returns the payload's SHA-256.
    ///
    /// # Errors
    /// [`ReadError::Frame`] with [`Reason::Truncated`](crate::Reason::Truncated),
    /// [`Reason::TrailingBytes`](crate::Reason::TrailingBytes) or
    /// [`Reason::TrailerMismatch`](crate::Reason::TrailerMismatch); [`ReadError::Source`].
    pub fn verify(self) -> Result<Digest, ReadError> {
        self.copy_payload(io::sink()).map(|(_, digest)| digest)
    }

    /// As [`FrameStream::verify`], and then what `verifier` expects beyond the contract.
    ///
    /// # Errors
    /// As [`FrameStream::verify`]; after [`FrameReader::open_structure`] also those of [`FrameStream::identity`]. Findings
    /// are not errors.
    pub fn verify_with(mut self, verifier: &Verifier) -> Result<(Digest, Findings), ReadError> {
        let identity = std::mem::take(&mut self.identity);
        let identity = parse_identity(&identity)?;
        let digest = self.verify()?;
        Ok((digest, verifier.findings(&identity, digest)))
    }

    /// Writes the payload to `sink` and checks rows 9-11 of the contract on the way. Returns the sink, flushed, and the
    /// payload's SHA-256.
    ///
    /// Bytes reach the sink before their hash is known. It is therefore taken by value and dropped on any error: a `Vec`
    /// or a temporary file is gone then, and with it what was not verified. A caller who passes `&mut sink` instead
    /// keeps it, and must discard what it holds when this fails.
    ///
    /// Cost: one hash of the payload; memory for at most 128 KiB of it.
    ///
    /// # Errors
    /// As [`FrameStream::verify`], and [`ReadError::Sink`].
    pub fn copy_payload<W: Write>(mut self, mut sink: W) -> Result<(W, Digest), ReadError> {
        let mut remainder = Remainder::new(self.header.identity_len(), self.payload_len);
        if let Some(source_len) = self.options.source_len {
            remainder.check_source_len(source_len)?;
        }
        let mut hasher = Sha256::new();
        let mut take = |remainder: &mut Remainder, piece: &[u8]| {
            let payload = remainder.take(piece);
            hasher.update(payload);
            sink.write_all(payload).map_err(ReadError::Sink)
        };
        take(&mut remainder, &self.ahead)?;
        let mut buffer = vec![0; remainder.missing().min(BUFFER_LEN) as usize];
        while remainder.missing() > 0 {
            let wanted = remainder.missing().min(BUFFER_LEN) as usize;
            match read_some(&mut self.source, &mut buffer[..wanted]).map_err(ReadError::Source)? {
                0 => break,
                got => take(&mut remainder, &buffer[..got])?,
            }
        }
        if remainder.missing() == 0 && !self.options.leave_rest {
            // Row 10, by one byte.
            let mut next = [0];
            let got = read_some(&mut self.source, &mut next).map_err(ReadError::Source)?;
            remainder.take(&next[..got]);
        }
        remainder.check_extent(self.options.source_len)?;
        let digest = hasher.finalize();
        remainder.check_trailer(digest)?;
        sink.flush().map_err(ReadError::Sink)?;
        Ok((sink, digest))
    }

    fn with_checked_identity(self) -> Result<Self, ReadError> {
        self.identity()?;
        Ok(self)
    }
}

/// The 14 bytes of a header, or as many as there are.
fn read_header(source: &mut impl Read) -> Result<Vec<u8>, ReadError> {
    let mut start = vec![0; HEADER_LEN];
    let got = read_full(source, &mut start).map_err(ReadError::Source)?;
    start.truncate(got);
    Ok(start)
}

/// One read that is not interrupted; 0 only at the end of the source or for an empty buffer.
fn read_some(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(got) if got > buffer.len() => return Err(io::Error::other("the source gave more than was asked for")),
            result => return result,
        }
    }
}

/// Reads until the buffer is full or the source ends; returns how much came.
fn read_full(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read_some(source, &mut buffer[filled..])? {
            0 => break,
            got => filled += got,
        }
    }
    Ok(filled)
}
