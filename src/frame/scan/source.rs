//! The search in a source of any size, in bounded memory.

use std::fmt;
use std::io::{self, Read, Seek, Write};
use std::iter::FusedIterator;

use super::window::Window;
use super::{Course, Ground, MagicFinder, Passed, Refusal, ScanEvent, Then, leading_zeros};
use crate::digest::Digest;
use crate::error::Error;
use crate::format::{HEADER_LEN, MAGIC, OVERHEAD_LEN};
use crate::frame::layout::Accepts;
use crate::frame::view::parse_identity;
use crate::frame::{FrameReader, ReadError, VerifiedFrame, layout, parse_canonical};
use crate::identity::PayloadIdentity;

/// Finds every intact frame (specification, section 3) in something that can be read at any place: a file, a disk.
///
/// Gives the events that [`scan`](crate::scan) gives on the same bytes; the one difference is the cap on the identity's
/// length, which is that of [`FrameReader`]. Where the source cannot be read, the search goes on behind that place, 4 KiB
/// at a time, and says which range is missing. A scanner never writes.
///
/// Cost: as [`scan`](crate::scan); where the magic is looked for, each byte is read once. A frame that was found is hashed
/// while it is read; one that is damaged is read as often as it is hashed. Memory for 512 KiB of the source, or for two
/// identities of the greatest length that is allowed.
///
/// ```
/// # let identity = membrane_codec::PayloadIdentity::from_json(br#"{"payload_hash":
/// #   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "model_id": "m", "model_revision": "",
/// #   "tokenizer_name": "m", "tokenizer_revision": "", "layer_range": [0, 0], "head_range": [-1, -1],
/// #   "token_span": [0, 0], "dtype": "nf4", "shape": [1]}"#)?;
/// # let frame = membrane_codec::canonicalize(&identity, b"payload")?;
/// # let image = std::io::Cursor::new([&[0; 4096], &frame[..]].concat());
/// use membrane_codec::{FrameScanner, ScanEvent};
///
/// let mut scanner = FrameScanner::new(image)?; // any Read + Seek
/// let mut saved = Vec::new();
/// while let Some(event) = scanner.next() {
///     match event {
///         ScanEvent::Frame { offset, frame } => saved.push(scanner.copy_frame(offset, &frame, Vec::new())?),
///         event => assert_eq!(event, ScanEvent::Gap { range: 0..4096, zeros: true }),
///     }
/// }
/// assert_eq!(saved, [frame]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FrameScanner<R> {
    course: Course<StoredFrame>,
    ground: Source<R>,
}

impl<R: Read + Seek> FrameScanner<R> {
    /// A scanner of `source`, from its first byte to where it ends now.
    ///
    /// # Errors
    /// An [`io::Error`] when the source cannot say where it ends. Errors after this one are events.
    pub fn new(source: R) -> io::Result<Self> {
        let ground = Source {
            window: Window::new(source)?,
            finder: MagicFinder::new(),
            max_identity_len: FrameReader::DEFAULT_MAX_IDENTITY_LEN,
        };
        Ok(Self { course: Course::new(), ground })
    }

    /// As [`Scan::max_depth`](crate::Scan::max_depth).
    pub const fn max_depth(mut self, depth: usize) -> Self {
        self.course.max_depth = depth;
        self
    }

    /// The longest identity JSON to accept, in bytes; see [`FrameReader::max_identity_len`].
    pub const fn max_identity_len(mut self, bytes: u32) -> Self {
        self.ground.max_identity_len = bytes;
        self
    }

    /// Where the search for the next frame need not read: `next_data` gives the first byte at or after a place that may be
    /// something else than a zero, or the source's length when none follows. A sparse file's holes then cost a system call
    /// each. It may move the source, as seeks do. Frames are read through holes like anything else.
    ///
    /// On Linux, for a regular file, that is `lseek` with `SEEK_DATA`, which fails with `ENXIO` behind the last data.
    pub fn next_data(mut self, next_data: fn(&mut R, u64) -> io::Result<u64>) -> Self {
        self.ground.window.set_next_data(next_data);
        self
    }

    /// How much of the source is read at once, in bytes, unless an identity is longer.
    ///
    /// Makes no difference but in speed; it exists so that tests and fuzzers can have windows end anywhere.
    #[doc(hidden)]
    pub fn window_len(mut self, bytes: usize) -> Self {
        self.ground.window = self.ground.window.with_len(bytes);
        self
    }

    /// Length of the source in bytes, as it was at the start.
    pub fn source_len(&self) -> u64 {
        self.ground.window.source_len()
    }

    /// Why the source could not be read where it failed last: for an [`Unreadable`](ScanEvent::Unreadable) event that just
    /// came, its cause.
    pub fn read_error(&self) -> Option<&io::Error> {
        self.ground.window.error()
    }

    /// Copies the frame that was found at `offset` to `sink`, byte for byte, and verifies it once more on the way. Returns
    /// the sink, flushed.
    ///
    /// As with [`FrameStream::copy_payload`](crate::FrameStream::copy_payload), bytes reach the sink before they are known
    /// to be good; it is taken by value, and dropped on any error with what it holds.
    ///
    /// Cost: one hash of the payload; reads the frame again unless it was found just now and is short.
    ///
    /// # Errors
    /// [`ReadError::Frame`] or [`ReadError::Source`] when the source has changed since, or cannot be read any more;
    /// [`ReadError::Sink`].
    pub fn copy_frame<W: Write>(&mut self, offset: u64, frame: &StoredFrame, sink: W) -> Result<W, ReadError> {
        let mut tee = Tee { source: self.ground.window.reader(offset), sink, sink_error: None };
        let reader = FrameReader::new().max_identity_len(u32::MAX).source_len(frame.frame_len()).leave_rest(true);
        let copied = StoredFrame::read(&reader, &mut tee);
        if let Some(error) = tee.sink_error {
            return Err(ReadError::Sink(error));
        }
        if copied? != *frame {
            return Err(ReadError::Source(io::Error::other("the frame has changed since it was found")));
        }
        tee.sink.flush().map_err(ReadError::Sink)?;
        Ok(tee.sink)
    }
}

impl<R: Read + Seek> Iterator for FrameScanner<R> {
    type Item = ScanEvent<StoredFrame>;

    fn next(&mut self) -> Option<Self::Item> {
        self.course.next(&mut self.ground)
    }
}

impl<R: Read + Seek> FusedIterator for FrameScanner<R> {}

impl<R> fmt::Debug for FrameScanner<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameScanner").field("at", &self.course.at).finish_non_exhaustive()
    }
}

/// An intact frame that [`FrameScanner`] found: all but its payload, which stays where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFrame {
    identity: PayloadIdentity,
    identity_len: u32,
    payload_len: u64,
    payload_digest: Digest,
}

impl StoredFrame {
    /// The identity. No checksum of the format covers it; see [`Verifier`](crate::Verifier).
    pub const fn identity(&self) -> &PayloadIdentity {
        &self.identity
    }

    /// Length of the payload in bytes.
    pub const fn payload_len(&self) -> u64 {
        self.payload_len
    }

    /// The payload's SHA-256, all 32 bytes.
    pub const fn payload_digest(&self) -> Digest {
        self.payload_digest
    }

    /// Length of the whole frame in bytes.
    pub const fn frame_len(&self) -> u64 {
        // Cannot overflow: it was read from a source.
        OVERHEAD_LEN as u64 + self.identity_len as u64 + self.payload_len
    }

    /// Reads and verifies the frame at the start of `source`.
    fn read(reader: &FrameReader, source: impl Read) -> Result<Self, ReadError> {
        let stream = reader.open(source)?;
        let identity = stream.identity()?.to_identity();
        let (identity_len, payload_len) = (stream.header().identity_len(), stream.payload_len());
        Ok(Self { identity, identity_len, payload_len, payload_digest: stream.verify()? })
    }
}

impl From<VerifiedFrame<'_>> for StoredFrame {
    fn from(frame: VerifiedFrame<'_>) -> Self {
        Self {
            identity: frame.identity().to_identity(),
            identity_len: frame.frame().header().identity_len(),
            payload_len: frame.payload().len() as u64,
            payload_digest: frame.payload_digest(),
        }
    }
}

struct Source<R> {
    window: Window<R>,
    finder: MagicFinder,
    max_identity_len: u32,
}

impl<R: Read + Seek> Source<R> {
    /// The `wanted` bytes at and after `at`, or all that the source still has, and perhaps more than `wanted`.
    fn bring(&mut self, at: u64, wanted: usize) -> Result<&[u8], Refusal> {
        let left = self.window.source_len() - at;
        let bytes = self.window.bring(at, wanted);
        if bytes.len() as u64 >= left.min(wanted as u64) { Ok(bytes) } else { Err(Refusal::Unreadable) }
    }

    /// As `parse_canonical`, for a frame that does not fit into the window.
    fn stream(&mut self, at: u64) -> Result<StoredFrame, Refusal> {
        let reader = FrameReader::new()
            .max_identity_len(self.max_identity_len)
            .source_len(self.window.source_len() - at)
            .leave_rest(true);
        StoredFrame::read(&reader, self.window.reader(at)).map_err(|error| match error {
            ReadError::Frame(error) => Refusal::Damaged(error),
            _ => Refusal::Unreadable,
        })
    }
}

impl<R: Read + Seek> Ground for Source<R> {
    type Frame = StoredFrame;
    /// Its length.
    type Claim = u64;

    fn pass_over(&mut self, mut from: u64) -> Passed {
        let mut zeros = true;
        loop {
            // A magic has no zeros, so none begins in a hole. A frame may reach over one: those are read through.
            from = self.window.skip_hole(from, MAGIC.len());
            let mut bytes = self.window.bring(from, MAGIC.len());
            if zeros {
                let leading = leading_zeros(bytes);
                from += leading as u64;
                bytes = &bytes[leading..];
            }
            if let Some(found) = self.finder.find(bytes) {
                return Passed { end: from + found as u64, zeros: zeros && found == 0, then: Then::Magic };
            }
            // Without the zeros that it started with, any byte left is something else.
            let (left, all_zeros) = (bytes.len(), zeros && bytes.is_empty());
            let end = from + left as u64;
            if end == self.window.source_len() {
                return Passed { end, zeros: all_zeros, then: Then::End };
            }
            if self.window.ends_unreadable_at(end) {
                return Passed { end, zeros: all_zeros, then: Then::Unreadable(self.window.skip_unreadable()) };
            }
            // A magic may start in the last bytes and go on in the next window.
            let passed = left.saturating_sub(MAGIC.len() - 1);
            zeros &= passed == 0;
            from += passed as u64;
        }
    }

    fn claim(&mut self, at: u64) -> Result<(u64, u64), Refusal> {
        let (left, cap) = (self.window.source_len() - at, self.max_identity_len);
        let start = self.bring(at, HEADER_LEN)?;
        let header = layout::parse_header(start, left, Accepts::Current).map_err(Refusal::Damaged)?;
        layout::check_identity_cap(header.identity_len(), cap).map_err(Refusal::Damaged)?;
        // At most what the source has, and the cap: what does not fit usize could not be read either.
        let head_len = usize::try_from(layout::shortest_frame_len(header.identity_len())).unwrap_or(usize::MAX);
        let frame_len = claimed_len(self.bring(at, head_len)?, left).map_err(Refusal::Damaged)?;
        Ok((frame_len, frame_len))
    }

    fn verify(&mut self, at: u64, frame_len: u64) -> Result<StoredFrame, Refusal> {
        match usize::try_from(frame_len) {
            Ok(frame_len) if frame_len <= self.window.longest_held() => {
                let frame = &self.bring(at, frame_len)?[..frame_len];
                parse_canonical(frame).map(StoredFrame::from).map_err(Refusal::Damaged)
            }
            _ => self.stream(at),
        }
    }
}

/// Rows 1-9 for a source of `source_len` bytes that starts with `start`: the length of its frame.
fn claimed_len(start: &[u8], source_len: u64) -> Result<u64, Error> {
    let head = layout::parse_head_of(start, source_len, Accepts::Current)?;
    parse_identity(head.identity)?;
    head.frame_len()
}

/// Gives what it reads to a sink as well.
struct Tee<R, W> {
    source: R,
    sink: W,
    sink_error: Option<io::Error>,
}

impl<R: Read, W: Write> Read for Tee<R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.source.read(buffer)?;
        self.sink.write_all(&buffer[..got]).map_err(|error| {
            let stop = io::Error::other("the sink failed");
            self.sink_error = Some(error);
            stop
        })?;
        Ok(got)
    }
}
