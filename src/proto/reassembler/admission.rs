//! Which chunks are let in, where they wait, and when they go out.

use std::io::Write;

use super::Reassembler;
use crate::digest::Digest;
use crate::proto::messages::Chunk;
use crate::proto::partial_chunk::{PartialChunk, Piece};
use crate::proto::{ReceiveError, WireError, WireReason};

/// A chunk that went out.
pub(super) struct Gone {
    len: u64,
    digest: Digest,
}

impl Gone {
    /// Compares what comes again.
    fn check(&self, piece: &Piece) -> Result<(), WireError> {
        if piece.end() > self.len || piece.reaches_end && piece.end() < self.len {
            let (found, expected) =
                (format!("an end at byte {}", piece.end()), format!("a chunk of {} bytes", self.len));
            return Err(WireError::new(WireReason::ChunkConflict, found, expected));
        }
        if piece.is_whole_chunk() && piece.digest != self.digest {
            return Err(WireError::hash(WireReason::ChunkConflict, piece.digest, self.digest));
        }
        Ok(())
    }
}

impl<W: Write> Reassembler<W> {
    /// The chunk whose turn it is.
    pub(super) fn next_index(&self) -> u32 {
        // Fits: indexes are below 2^31.
        self.gone.len() as u32
    }

    /// More bytes of the stream than there can be.
    fn too_long(&self, found: u64) -> WireError {
        let expected = format!("at most {}, since total_bytes is {}", self.max_stream_len, self.total_bytes);
        WireError::new(WireReason::TooLong, format!("{found} bytes"), expected)
    }

    /// Takes a chunk whose data has the hash `computed`.
    pub(super) fn take(&mut self, chunk: Chunk, computed: Digest, reaches_end: bool) -> Result<(), ReceiveError> {
        self.outlet.check_unspoilt()?;
        let (index_sent, offset_sent, is_last) = (chunk.chunk_index, chunk.offset, chunk.is_last);
        let of_chunk = |error: WireError| error.of_chunk(index_sent, offset_sent);
        let index = self.checked_index(index_sent).map_err(of_chunk)?;
        let piece = self.checked_piece(chunk, computed, reaches_end).map_err(of_chunk)?;
        self.check_last(index, is_last).map_err(of_chunk)?;

        if let Some(gone) = self.gone.get(index as usize) {
            gone.check(&piece).map_err(of_chunk)?;
        } else {
            self.take_new(index, piece, of_chunk)?;
        }
        if is_last {
            self.last = Some(index);
        }
        self.let_go()
    }

    fn checked_index(&self, sent: i32) -> Result<u32, WireError> {
        u32::try_from(sent).ok().filter(|index| *index < self.max_chunks).ok_or_else(|| {
            let expected = format!("0 or more, and below {}, this receiver's limit", self.max_chunks);
            WireError::new(WireReason::ChunkIndex, sent.to_string(), expected).of_field("chunk_index")
        })
    }

    fn checked_piece(&self, chunk: Chunk, computed: Digest, reaches_end: bool) -> Result<Piece, WireError> {
        let offset = u64::try_from(chunk.offset).map_err(|_| {
            WireError::new(WireReason::ChunkRange, chunk.offset.to_string(), "0 or more").of_field("offset")
        })?;
        let sent = chunk.sha256_hex.parse::<Digest>().map_err(|_| {
            WireError::text(WireReason::ChunkHash, "sha256_hex", &chunk.sha256_hex, "64 hexadecimal characters")
        })?;
        if sent != computed {
            return Err(WireError::hash(WireReason::ChunkHash, computed, sent).of_field("sha256_hex"));
        }
        // No overflow: neither is above 2^63.
        let end = offset + chunk.data.len() as u64;
        if end > self.max_stream_len {
            return Err(self.too_long(end));
        }
        Ok(Piece { offset, data: chunk.data, digest: computed, reaches_end })
    }

    /// All chunks agree on which is the last.
    fn check_last(&self, index: u32, is_last: bool) -> Result<(), WireError> {
        let conflict = |found: String, expected: String| WireError::new(WireReason::ChunkConflict, found, expected);
        match self.last {
            Some(last) if index > last || is_last != (index == last) => {
                let found = if is_last { "another last chunk" } else { "a chunk that is not the last" };
                Err(conflict(found.into(), format!("chunk {last} as the last")).of_field("is_last"))
            }
            None if is_last => match self.highest_index().filter(|highest| *highest > index) {
                Some(highest) => {
                    Err(conflict("the last chunk".into(), format!("one after chunk {highest}")).of_field("is_last"))
                }
                None if self.has_part_that_is_not_last(index) => {
                    Err(conflict("the last chunk".into(), "what its other part said".into()).of_field("is_last"))
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn highest_index(&self) -> Option<u32> {
        self.waiting.last_key_value().map(|(index, _)| *index).or(self.next_index().checked_sub(1))
    }

    /// Whether there is something of a chunk while no chunk was the last.
    fn has_part_that_is_not_last(&self, index: u32) -> bool {
        index < self.next_index() || self.waiting.contains_key(&index)
    }

    /// Takes what is new of a piece of a chunk that has not gone out.
    fn take_new(
        &mut self,
        index: u32,
        piece: Piece,
        of_chunk: impl Fn(WireError) -> WireError,
    ) -> Result<(), ReceiveError> {
        let there = self.waiting.get(&index);
        let new = there.map_or_else(|| PartialChunk::default().new_ranges(&piece), |there| there.new_ranges(&piece));
        let new = new.map_err(&of_chunk)?;
        let new_len: u64 = new.iter().map(|range| range.end - range.start).sum();
        if new_len > self.max_stream_len - self.stream_len {
            return Err(of_chunk(self.too_long(self.stream_len + new_len)).into());
        }

        // Straight through, without a place in the queue.
        if there.is_none() && index == self.next_index() && piece.is_whole_chunk() {
            self.stream_len += new_len;
            self.gone.push(Gone { len: new_len, digest: piece.digest });
            return self.outlet.push(&piece.data);
        }
        if self.waiting_pieces + new.len() > self.max_chunks as usize {
            let expected = format!("at most {} pieces that wait, this receiver's limit", self.max_chunks);
            return Err(of_chunk(WireError::new(WireReason::PiecesLimit, "one more", expected)).into());
        }
        self.stream_len += new_len;
        self.waiting_len += new_len;
        self.waiting_pieces += new.len();
        self.waiting.entry(index).or_default().add(&piece, new);
        Ok(())
    }

    /// Sends out the chunks whose turn has come.
    fn let_go(&mut self) -> Result<(), ReceiveError> {
        while let Some(first) = self.waiting.first_entry() {
            if *first.key() != self.gone.len() as u32 {
                break;
            }
            let Some(len) = first.get().whole_len() else { break };
            let chunk = first.remove();
            self.waiting_pieces -= chunk.piece_count();
            self.waiting_len -= len;
            let (pieces, digest) = chunk.into_whole();
            self.gone.push(Gone { len, digest });
            for piece in pieces {
                self.outlet.push(&piece)?;
            }
        }
        Ok(())
    }
}
