//! The sender: [`Chunker`] cuts a payload, [`ChunkedPayload`] is the payload cut, which gives chunks and answers requests.

use std::fmt;

use bytes::Bytes;

use super::compression::compress;
use super::messages::{Chunk, ChunkRequest, Envelope};
use super::{Compression, WireError, WireReason};
use crate::digest::{Digest, sha256, sha256_many};

/// How to cut payloads into chunks. [`Chunker::cut`] does it.
///
/// ```
/// use bytes::Bytes;
/// use membrane_codec::proto::{Chunker, Compression};
///
/// let payload = Bytes::from(vec![7; 10_000_000]);
/// let cut = Chunker::new().cut(payload.clone())?;
/// assert_eq!(cut.chunk_count(), 10);
///
/// let cut = Chunker::new().compression(Compression::Zstd).cut(payload)?;
/// assert_eq!(cut.chunk_count(), 1);
/// # Ok::<(), membrane_codec::proto::WireError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunker {
    chunk_len: usize,
    compression: Compression,
    zstd_level: i32,
    content_digest: Option<Digest>,
}

impl Chunker {
    /// The longest chunk that [`Chunker::chunk_len`] takes: 4 MiB less 1 KiB.
    ///
    /// By default gRPC receives messages of at most 4 MiB; the rest is room for the chunk's other fields, which take
    /// about 100 bytes, and for what carries the message.
    pub const MAX_CHUNK_LEN: usize = (4 << 20) - (1 << 10);

    /// The length of chunks unless [`Chunker::chunk_len`] sets another: 1 MiB.
    ///
    /// Some thousand times the chunk's other fields, and little to send again when one is lost.
    pub const DEFAULT_CHUNK_LEN: usize = 1 << 20;

    /// The highest level of [`Chunker::zstd_level`]: 19. Higher ones ask the receiver for more than the 8 MiB of window
    /// that every zstd decoder is expected to have.
    pub const MAX_ZSTD_LEVEL: i32 = 19;

    /// A chunker with chunks of 1 MiB and no compression.
    pub const fn new() -> Self {
        Self {
            chunk_len: Self::DEFAULT_CHUNK_LEN,
            compression: Compression::None,
            zstd_level: zstd::DEFAULT_COMPRESSION_LEVEL,
            content_digest: None,
        }
    }

    /// The length of every chunk but the last, in bytes: from 1 to [`Chunker::MAX_CHUNK_LEN`], else [`Chunker::cut`]
    /// refuses.
    pub const fn chunk_len(mut self, bytes: usize) -> Self {
        self.chunk_len = bytes;
        self
    }

    /// How the payload travels.
    pub const fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// The level for zstd, 3 by default: negative for speed, up to [`Chunker::MAX_ZSTD_LEVEL`], which stands for all
    /// above it. Without meaning for the other compressions.
    pub const fn zstd_level(mut self, level: i32) -> Self {
        self.zstd_level = if level < Self::MAX_ZSTD_LEVEL { level } else { Self::MAX_ZSTD_LEVEL };
        self
    }

    /// The payload's SHA-256, when it is known (a store's key, say). It is then not computed, and not checked either:
    /// should it be wrong, the receiver refuses the payload in the end.
    pub const fn content_digest(mut self, digest: Digest) -> Self {
        self.content_digest = Some(digest);
        self
    }

    /// Compresses the payload if it is to be, cuts the stream into chunks and hashes them. Any bytes can be the payload,
    /// a frame's for example. An empty stream gives one empty chunk, the last.
    ///
    /// Cost: the chunks share the memory of `payload`, or of its compressed stream, which takes one allocation that
    /// grows. All chunks, and the payload if its digest is not known, are hashed at once
    /// ([`sha256_many`]); in one thread.
    ///
    /// # Errors
    /// [`WireReason::ChunkLength`] for a length of chunks that is out of bounds, or so short that there would be 2^31
    /// chunks or more; [`WireReason::CompressedStream`] when the compressor fails (it has no memory, say).
    pub fn cut(&self, payload: Bytes) -> Result<ChunkedPayload, WireError> {
        if !(1..=Self::MAX_CHUNK_LEN).contains(&self.chunk_len) {
            let bounds = format!("1 to {} bytes", Self::MAX_CHUNK_LEN);
            return Err(WireError::new(WireReason::ChunkLength, self.chunk_len.to_string(), bounds));
        }
        let stream = compress(&payload, self.compression, self.zstd_level)?;
        let chunk_count = stream.len().div_ceil(self.chunk_len).max(1);
        if i32::try_from(chunk_count).is_err() {
            let found = format!("{chunk_count} chunks of {} bytes", self.chunk_len);
            return Err(WireError::new(WireReason::ChunkLength, found, "at most 2^31-1 chunks"));
        }

        let mut messages: Vec<&[u8]> = Vec::with_capacity(chunk_count + 1);
        messages.extend(stream.chunks(self.chunk_len));
        if stream.is_empty() {
            messages.push(&stream);
        }
        if self.content_digest.is_none() {
            messages.push(&payload);
        }
        let mut digests = sha256_many(&messages);
        // The one after the chunks', if it was asked for.
        let computed = digests.drain(chunk_count..).next();
        let content_digest = self.content_digest.or(computed).unwrap_or_else(|| sha256(&payload));
        Ok(ChunkedPayload {
            total_bytes: payload.len() as u64,
            content_digest,
            compression: self.compression,
            stream,
            chunk_len: self.chunk_len,
            digests,
        })
    }
}

impl Default for Chunker {
    fn default() -> Self {
        Self::new()
    }
}

/// A payload cut into chunks, ready to be sent: gives the envelope, the chunks, and answers to requests.
///
/// Holds the payload, or its compressed stream, and 32 bytes for each chunk. Cloning copies no payload.
#[derive(Clone, PartialEq, Eq)]
pub struct ChunkedPayload {
    total_bytes: u64,
    content_digest: Digest,
    compression: Compression,
    stream: Bytes,
    chunk_len: usize,
    /// One for each chunk; at least one, at most 2^31-1.
    digests: Vec<Digest>,
}

impl ChunkedPayload {
    /// The envelope, with content_hash, total_bytes and compression set and the rest empty, for the caller to set:
    ///
    /// ```
    /// # use membrane_codec::proto::{Chunker, Envelope};
    /// # let payload = Chunker::new().cut(b"payload".as_slice().into())?;
    /// let envelope = Envelope { tenant_id: "public".into(), model_id: "llama-3-8b".into(), ..payload.envelope() };
    /// # envelope.validate()?;
    /// # Ok::<(), membrane_codec::proto::WireError>(())
    /// ```
    pub fn envelope(&self) -> Envelope {
        Envelope {
            content_hash: self.content_digest.to_string(),
            // In range: nothing in memory is longer than isize::MAX.
            total_bytes: self.total_bytes as i64,
            compression: self.compression.number(),
            ..Envelope::default()
        }
    }

    /// How many chunks there are: 1 or more.
    pub fn chunk_count(&self) -> usize {
        self.digests.len()
    }

    /// The SHA-256 of the uncompressed payload.
    pub const fn content_digest(&self) -> Digest {
        self.content_digest
    }

    /// The length in bytes of what travels: of the payload, or of its compressed stream.
    pub fn stream_len(&self) -> usize {
        self.stream.len()
    }

    /// The chunk of this index; `None` if there is none. Shares the payload's memory.
    pub fn chunk(&self, index: usize) -> Option<Chunk> {
        let digest = self.digests.get(index)?;
        Some(self.message(index, 0, self.chunk_data(index), *digest))
    }

    /// All chunks in order. They share the payload's memory.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = Chunk> + '_ {
        let chunk = |(index, digest): (usize, &Digest)| self.message(index, 0, self.chunk_data(index), *digest);
        self.digests.iter().enumerate().map(chunk)
    }

    /// What a receiver asks for: the bytes of chunk `chunk_index` from `offset` on, counted from the chunk's first byte;
    /// at most `length` of them, or all up to the chunk's end when that is 0. An answer is shorter than it was asked for
    /// where the chunk ends, and empty when `offset` is the chunk's length. Shares the payload's memory.
    ///
    /// Cost: for a whole chunk nothing; a part is hashed.
    ///
    /// # Errors
    /// [`WireReason::ChunkIndex`] when there is no such chunk: the contract's messages have no list of chunks, and no
    /// index that asks for one. [`WireReason::ChunkRange`] when `offset` or `length` is negative or `offset` lies behind
    /// the chunk's end.
    pub fn answer(&self, request: &ChunkRequest) -> Result<Chunk, WireError> {
        let of_chunk = |error: WireError| error.of_chunk(request.chunk_index, request.offset);
        let index = usize::try_from(request.chunk_index).ok().filter(|index| *index < self.digests.len());
        let index = index.ok_or_else(|| {
            let (found, expected) = (request.chunk_index.to_string(), format!("0 to {}", self.digests.len() - 1));
            of_chunk(WireError::new(WireReason::ChunkIndex, found, expected)).of_field("chunk_index")
        })?;
        let data = self.chunk_data(index);
        let offset = usize::try_from(request.offset).ok().filter(|offset| *offset <= data.len());
        let offset = offset.ok_or_else(|| {
            let (found, expected) = (request.offset.to_string(), format!("0 to {}", data.len()));
            of_chunk(WireError::new(WireReason::ChunkRange, found, expected)).of_field("offset")
        })?;
        let rest = data.len() - offset;
        let len = match u64::try_from(request.length) {
            Ok(0) => rest,
            // Fits: no longer than the rest.
            Ok(length) => length.min(rest as u64) as usize,
            Err(_) => {
                let error = WireError::new(WireReason::ChunkRange, request.length.to_string(), "0 or more");
                return Err(of_chunk(error).of_field("length"));
            }
        };
        if len == data.len() {
            return Ok(self.message(index, 0, data, self.digests[index]));
        }
        let part = data.slice(offset..offset + len);
        let digest = sha256(&part);
        Ok(self.message(index, offset, part, digest))
    }

    /// The bytes of a chunk that there is.
    fn chunk_data(&self, index: usize) -> Bytes {
        let start = index * self.chunk_len;
        self.stream.slice(start..self.stream.len().min(start + self.chunk_len))
    }

    fn message(&self, index: usize, offset: usize, data: Bytes, digest: Digest) -> Chunk {
        Chunk {
            // Both in range: there are less than 2^31 chunks, and none is longer than MAX_CHUNK_LEN.
            chunk_index: index as i32,
            offset: offset as i64,
            data,
            sha256_hex: digest.to_string(),
            is_last: index + 1 == self.digests.len(),
        }
    }
}

impl fmt::Debug for ChunkedPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkedPayload")
            .field("total_bytes", &self.total_bytes)
            .field("content_digest", &self.content_digest)
            .field("compression", &self.compression)
            .field("stream_len", &self.stream.len())
            .field("chunk_len", &self.chunk_len)
            .field("chunk_count", &self.digests.len())
            .finish()
    }
}

impl fmt::Debug for Chunk {
    /// The length of the data instead of the data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk")
            .field("chunk_index", &self.chunk_index)
            .field("offset", &self.offset)
            .field("data_len", &self.data.len())
            .field("sha256_hex", &self.sha256_hex)
            .field("is_last", &self.is_last)
            .finish()
    }
}
