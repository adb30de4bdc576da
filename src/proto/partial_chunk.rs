//! [`PartialChunk`]: what is there of a chunk whose turn has not come, or that is not whole.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use super::{WireError, WireReason};
use crate::digest::{Digest, Sha256};

/// Data shorter than this is copied: it could keep a much larger buffer alive.
const MIN_SHARED_LEN: usize = 4096;

/// A piece of a chunk whose data has the hash that came with it.
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) data: Bytes,
    pub(super) digest: Digest,
    /// Whether the chunk ends where the data does.
    pub(super) reaches_end: bool,
}

impl Piece {
    pub(super) const fn end(&self) -> u64 {
        // In range: offset and length fit into the stream.
        self.offset + self.data.len() as u64
    }

    pub(super) const fn is_whole_chunk(&self) -> bool {
        self.offset == 0 && self.reaches_end
    }
}

/// The pieces of one chunk, by the offset at which they start. None is empty, none overlaps the next.
#[derive(Default)]
pub(super) struct PartialChunk {
    pieces: BTreeMap<u64, Bytes>,
    /// How many bytes the pieces have.
    there: u64,
    /// The chunk's length, once a piece has told it.
    len: Option<u64>,
    /// The chunk's digest, if it came as a whole.
    digest: Option<Digest>,
}

impl PartialChunk {
    pub(super) fn piece_count(&self) -> usize {
        self.pieces.len()
    }

    /// The chunk's length, if it is there from its first byte to its last.
    pub(super) fn whole_len(&self) -> Option<u64> {
        self.len.filter(|len| *len == self.there)
    }

    /// The ranges of `piece` that are not there yet, in order.
    ///
    /// # Errors
    /// [`WireReason::ChunkConflict`] when the piece disagrees with those that are there: in bytes, or about the end.
    pub(super) fn new_ranges(&self, piece: &Piece) -> Result<Vec<Range<u64>>, WireError> {
        self.check_end(piece)?;
        let mut new = Vec::new();
        let mut at = piece.offset;
        // The first piece that may overlap starts at or before this one.
        let first = self.pieces.range(..=at).next_back().map_or(at, |(start, _)| *start);
        for (&start, there) in self.pieces.range(first..piece.end().max(first)) {
            let end = start + there.len() as u64;
            let overlap = at.max(start)..end.min(piece.end());
            if overlap.is_empty() {
                continue;
            }
            if slice(&piece.data, piece.offset, &overlap) != slice(there, start, &overlap) {
                return Err(WireError::new(
                    WireReason::ChunkConflict,
                    "other bytes",
                    format!("those at bytes {} to {} that are there", overlap.start, overlap.end - 1),
                ));
            }
            if at < overlap.start {
                new.push(at..overlap.start);
            }
            at = overlap.end;
        }
        if at < piece.end() {
            new.push(at..piece.end());
        }
        Ok(new)
    }

    fn check_end(&self, piece: &Piece) -> Result<(), WireError> {
        let conflict = |found: String, expected: u64| {
            WireError::new(WireReason::ChunkConflict, found, format!("a chunk of {expected} bytes"))
        };
        if let Some(len) = self.len {
            if piece.end() > len || piece.reaches_end && piece.end() < len {
                return Err(conflict(format!("an end at byte {}", piece.end()), len));
            }
        } else if let Some((start, data)) = self.pieces.last_key_value() {
            let there = start + data.len() as u64;
            if piece.reaches_end && piece.end() < there {
                return Err(conflict(format!("an end at byte {}", piece.end()), there));
            }
        }
        Ok(())
    }

    /// Takes what is new of `piece`: the ranges that [`PartialChunk::new_ranges`] has given.
    pub(super) fn add(&mut self, piece: &Piece, new: Vec<Range<u64>>) {
        if piece.reaches_end {
            self.len = Some(piece.end());
        }
        if piece.is_whole_chunk() {
            self.digest = Some(piece.digest);
        }
        for range in new {
            // Within the piece.
            let (from, to) = ((range.start - piece.offset) as usize, (range.end - piece.offset) as usize);
            let part = &piece.data[from..to];
            // What is kept alive stays within twice what is kept.
            let shares = part.len() >= MIN_SHARED_LEN && part.len() >= piece.data.len() / 2;
            let part = if shares { piece.data.slice(from..to) } else { Bytes::copy_from_slice(part) };
            self.there += part.len() as u64;
            self.pieces.insert(range.start, part);
        }
    }

    /// What is missing, as far as it is known, in order: ranges between pieces, and an open one when the end is unknown.
    pub(super) fn gaps(&self) -> impl Iterator<Item = (u64, Option<u64>)> + '_ {
        let ends = self.pieces.iter().map(|(start, data)| start + data.len() as u64);
        let gap_starts = std::iter::once(0).chain(ends);
        let gap_ends = self.pieces.keys().map(|start| Some(*start)).chain([self.len]);
        gap_starts.zip(gap_ends).filter(|(start, end)| *end != Some(*start))
    }

    /// The pieces in order, and the digest of them all, of a chunk that is whole.
    pub(super) fn into_whole(self) -> (impl Iterator<Item = Bytes>, Digest) {
        let digest = self.digest.unwrap_or_else(|| {
            let mut hasher = Sha256::new();
            self.pieces.values().for_each(|piece| hasher.update(piece));
            hasher.finalize()
        });
        (self.pieces.into_values(), digest)
    }
}

/// The bytes of `range` in data that starts at `offset`.
fn slice<'a>(data: &'a [u8], offset: u64, range: &Range<u64>) -> &'a [u8] {
    // Within the data, which is in memory.
    &data[(range.start - offset) as usize..(range.end - offset) as usize]
}
