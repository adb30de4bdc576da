//! [`Reassembler`]: the receiver. Takes chunks in any order and gives the payload, or says what is missing.

mod admission;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;

use self::admission::Gone;
use super::messages::{Chunk, ChunkRequest, Envelope};
use super::outlet::Outlet;
use super::partial_chunk::PartialChunk;
use super::{Compression, Limits, ReceiveError, WireError, WireReason};
use crate::digest::{Digest, sha256, sha256_many};

/// Puts one payload together from its chunks, which may come in any order, twice, or in parts, and writes it into `W`.
///
/// A chunk whose turn has come goes through decompression and hash into the sink at once; others wait. What lies in the
/// sink is the sender's payload only when [`Reassembler::finish`] gives the sink back.
///
/// A refused chunk changes nothing, and the transfer goes on without it, as long as
/// [`is_recoverable`](WireReason::is_recoverable) says so; else every later call gives the same error.
///
/// Memory: the bytes that wait, never more than total_bytes (for a compressed stream and 1/128 and 64 KiB more, see below);
/// some hundred bytes for each chunk; for a compressed stream what its decoder needs: 8 MiB of window for zstd with the
/// default [`Limits`], at most 17 MiB for LZ4. Nothing is allocated by a number that a message claims. Data of 4 KiB and
/// more is not copied, so it keeps the buffer alive that its message was decoded from: decode each message from a buffer of
/// its own.
///
/// A compressed stream may be as long as total_bytes + total_bytes/128 + 64 KiB: more than either format makes of what
/// cannot be compressed.
///
/// ```
/// use membrane_codec::proto::{Chunker, Envelope, Reassembler};
///
/// let payload = Chunker::new().chunk_len(3).cut(b"payload".as_slice().into())?;
/// let envelope = Envelope { tenant_id: "public".into(), ..payload.envelope() };
///
/// let mut reassembler = Reassembler::in_memory(&envelope)?;
/// reassembler.receive(payload.chunk(2).expect("the last of three"))?;
/// for request in reassembler.missing().collect::<Vec<_>>() {
///     reassembler.receive(payload.answer(&request)?)?;
/// }
/// assert_eq!(reassembler.finish()?, b"payload");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reassembler<W> {
    content_digest: Digest,
    total_bytes: u64,
    compression: Compression,
    max_chunks: u32,
    /// How long the stream may be.
    max_stream_len: u64,
    /// How many bytes of the stream there are, each counted once.
    stream_len: u64,
    /// How many of them wait.
    waiting_len: u64,
    /// How many pieces wait.
    waiting_pieces: usize,
    /// The chunks that went out, from the first on.
    gone: Vec<Gone>,
    /// What there is of the chunks after those.
    waiting: BTreeMap<u32, PartialChunk>,
    /// The index of the last chunk, once it has told.
    last: Option<u32>,
    outlet: Outlet<W>,
}

impl Reassembler<Vec<u8>> {
    /// Starts a transfer into memory, with the default [`Limits`]. The vector grows with what comes.
    ///
    /// # Errors
    /// As [`Reassembler::new`].
    pub fn in_memory(envelope: &Envelope) -> Result<Self, WireError> {
        Self::new(envelope, Limits::new(), Vec::new())
    }
}

impl<W: Write> Reassembler<W> {
    /// Starts the transfer that `envelope` announces, into `sink`. Chunks are written as wholes, so `sink` needs no
    /// [`BufWriter`](std::io::BufWriter) unless they are small.
    ///
    /// # Errors
    /// As [`Envelope::validate`]; [`WireReason::TotalBytesLimit`]; [`WireReason::CompressedStream`] when the decompressor
    /// cannot be made.
    pub fn new(envelope: &Envelope, limits: Limits, sink: W) -> Result<Self, WireError> {
        envelope.validate()?;
        let (total_bytes, compression) = (envelope.payload_len()?, envelope.compression_method()?);
        if total_bytes > limits.max_total_bytes {
            let limit = format!("at most {}, this receiver's limit", limits.max_total_bytes);
            let error = WireError::new(WireReason::TotalBytesLimit, total_bytes.to_string(), limit);
            return Err(error.of_field("total_bytes"));
        }
        Ok(Self {
            content_digest: envelope.content_digest()?,
            total_bytes,
            compression,
            max_chunks: limits.max_chunks,
            max_stream_len: match compression {
                Compression::None => total_bytes,
                // In range: total_bytes is below 2^63.
                Compression::Zstd | Compression::Lz4 => total_bytes + total_bytes / 128 + (64 << 10),
            },
            stream_len: 0,
            waiting_len: 0,
            waiting_pieces: 0,
            gone: Vec::new(),
            waiting: BTreeMap::new(),
            last: None,
            outlet: Outlet::new(compression, total_bytes, &limits, sink)?,
        })
    }

    /// Takes a chunk that runs to its end: one that came unasked, or the answer to a request whose `length` is 0. One that
    /// is there already is taken again if it agrees.
    ///
    /// Once a chunk went out, only its hash and length are known: what comes again as a whole is compared with those, and a
    /// part is ignored after its own hash was checked.
    ///
    /// Cost: one hash of the data; when its turn has come one more of what goes out, and the decompression.
    ///
    /// # Errors
    /// [`ReceiveError::Refused`] with [`WireReason::ChunkIndex`], [`WireReason::ChunkRange`], [`WireReason::ChunkHash`],
    /// [`WireReason::ChunkConflict`], [`WireReason::TooLong`], [`WireReason::PiecesLimit`]: the transfer goes on. With
    /// [`WireReason::CompressedStream`] or [`WireReason::ContentLength`] (more came out of a compressed stream than was
    /// announced), and after a [`ReceiveError::Sink`], it cannot.
    pub fn receive(&mut self, chunk: Chunk) -> Result<(), ReceiveError> {
        let computed = sha256(&chunk.data);
        self.take(chunk, computed, true)
    }

    /// As [`Reassembler::receive`] for several chunks, hashed at once ([`sha256_many`]); gives the verdict on each, in
    /// their order. In one thread.
    ///
    /// ```
    /// # use membrane_codec::proto::{Chunker, Envelope, Reassembler};
    /// # let payload = Chunker::new().chunk_len(3).cut(b"payload".as_slice().into())?;
    /// # let envelope = Envelope { tenant_id: "public".into(), ..payload.envelope() };
    /// let mut reassembler = Reassembler::in_memory(&envelope)?;
    /// let verdicts = reassembler.receive_many(payload.chunks().collect());
    /// assert!(verdicts.iter().all(Result::is_ok));
    /// assert_eq!(reassembler.finish()?, b"payload");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn receive_many(&mut self, chunks: Vec<Chunk>) -> Vec<Result<(), ReceiveError>> {
        let data: Vec<&[u8]> = chunks.iter().map(|chunk| &chunk.data[..]).collect();
        let digests = sha256_many(&data);
        chunks.into_iter().zip(digests).map(|(chunk, computed)| self.take(chunk, computed, true)).collect()
    }

    /// Takes the answer to `request`. One that is shorter than the request's `length` says where the chunk ends; one that
    /// is as long may be a part of it.
    ///
    /// # Errors
    /// As [`Reassembler::receive`], and [`WireReason::NotRequested`] when it is another chunk, starts elsewhere, or is
    /// longer.
    ///
    /// ```
    /// # use membrane_codec::proto::{ChunkRequest, Chunker, Envelope, Reassembler};
    /// # let payload = Chunker::new().cut(b"payload".as_slice().into())?;
    /// # let envelope = Envelope { tenant_id: "public".into(), ..payload.envelope() };
    /// let mut reassembler = Reassembler::in_memory(&envelope)?;
    /// for offset in [5, 0] {
    ///     let request = ChunkRequest { chunk_index: 0, offset, length: 5 };
    ///     reassembler.receive_answer(&request, payload.answer(&request)?)?;
    /// }
    /// assert_eq!(reassembler.finish()?, b"payload");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn receive_answer(&mut self, request: &ChunkRequest, chunk: Chunk) -> Result<(), ReceiveError> {
        let len = chunk.data.len() as u64;
        let asked = u64::try_from(request.length).unwrap_or(0);
        let fits = asked == 0 || len <= asked;
        if (chunk.chunk_index, chunk.offset) != (request.chunk_index, request.offset) || !fits {
            let expected = format!("chunk {} from byte {} on", request.chunk_index, request.offset);
            let expected = if asked == 0 { expected } else { format!("{expected}, at most {asked} bytes") };
            let error = WireError::new(WireReason::NotRequested, format!("{len} bytes there"), expected);
            return Err(error.of_chunk(chunk.chunk_index, chunk.offset).into());
        }
        let computed = sha256(&chunk.data);
        self.take(chunk, computed, asked == 0 || len < asked)
    }

    /// What is still to be asked for, in order: parts of chunks, whole chunks, and the chunk after those that are known,
    /// as long as none has said that it is the last. Empty when [`Reassembler::finish`] has something to say.
    ///
    /// Requests of parts have their `length`, so give their answers to [`Reassembler::receive_answer`]; it takes the
    /// others' as well.
    ///
    /// Lazy: when a chunk claims to be the billionth, the gap before it costs nothing until it is asked for.
    pub fn missing(&self) -> impl Iterator<Item = ChunkRequest> + '_ {
        let first = self.next_index();
        let after_known = self.waiting.last_key_value().map_or(first, |(index, _)| index + 1);
        // Without the last chunk's word there is one more.
        let end = self.last.map_or(after_known + 1, |last| last + 1);
        let indexes = if self.outlet.has_ended() { 0..0 } else { first..end };
        indexes.flat_map(|index| {
            let partial = self.waiting.get(&index);
            let whole = partial.is_none().then_some((0, None));
            whole.into_iter().chain(partial.into_iter().flat_map(PartialChunk::gaps)).map(move |(start, end)| {
                // In range: an index is below 2^31, an offset below max_stream_len, which is below 2^63 + 2^57.
                ChunkRequest {
                    chunk_index: index as i32,
                    offset: start as i64,
                    length: end.map_or(0, |end| (end - start) as i64),
                }
            })
        })
    }

    /// Whether nothing is left to ask for: [`missing`](Self::missing) is empty, and [`Reassembler::finish`] says whether what
    /// came is the payload.
    pub fn is_complete(&self) -> bool {
        self.missing().next().is_none()
    }

    /// How many bytes came, each counted once: of the payload, or of its compressed stream.
    pub const fn received_len(&self) -> u64 {
        self.stream_len
    }

    /// How many of them wait in memory for what comes before them.
    pub const fn waiting_len(&self) -> u64 {
        self.waiting_len
    }

    /// How many bytes of the uncompressed payload were written into the sink.
    pub const fn written_len(&self) -> u64 {
        self.outlet.written()
    }

    /// The flushed sink, once the payload in it is the one that the envelope announced, in length and SHA-256.
    ///
    /// # Errors
    /// [`ReceiveError::Refused`] with what spoilt the transfer before, or with [`WireReason::Incomplete`],
    /// [`WireReason::CompressedStream`] (it goes on after the last chunk, or chunks after its end),
    /// [`WireReason::ContentLength`], [`WireReason::ContentHash`]; [`ReceiveError::Sink`]. The sink then is dropped, and
    /// what it holds is not the payload.
    pub fn finish(self) -> Result<W, ReceiveError> {
        self.outlet.check_unspoilt()?;
        let written = self.outlet.written();
        if !self.outlet.has_ended() {
            return Err(self.why_not_ended(written).into());
        }
        if self.waiting_len > 0 {
            // Not without compression: then all bytes that were announced went out.
            return Err(WireError::compressed_stream(self.compression, "bytes after its end").into());
        }
        if written != self.total_bytes {
            return Err(WireError::content_length(format!("{written} bytes"), self.total_bytes).into());
        }
        let (sink, hasher) = self.outlet.finish()?;
        let computed = hasher.finalize();
        if computed != self.content_digest {
            let error = WireError::hash(WireReason::ContentHash, computed, self.content_digest);
            return Err(error.of_field("content_hash").into());
        }
        Ok(sink)
    }

    fn why_not_ended(&self, written: u64) -> WireError {
        if self.last.is_none_or(|last| self.next_index() <= last) {
            let found = format!("{written} bytes of the payload");
            return WireError::new(WireReason::Incomplete, found, format!("{} bytes", self.total_bytes));
        }
        match self.compression {
            Compression::None => WireError::content_length(format!("{written} bytes"), self.total_bytes),
            compression => WireError::compressed_stream(compression, "its beginning alone"),
        }
    }
}

impl<W> fmt::Debug for Reassembler<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reassembler")
            .field("content_digest", &self.content_digest)
            .field("total_bytes", &self.total_bytes)
            .field("compression", &self.compression)
            .field("received_len", &self.stream_len)
            .field("waiting_len", &self.waiting_len)
            .field("chunks_gone", &self.gone.len())
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}
