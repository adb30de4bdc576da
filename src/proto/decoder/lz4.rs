//! LZ4 frames, in pieces.
//!
//! The library's decoder pulls: it reads a block as a whole and loses what it has read when a source cannot give more. So
//! pieces are collected until the next block is whole, and the decoder is asked for exactly that block.

use std::collections::VecDeque;
use std::io::BufRead;

use lz4_flex::frame::FrameDecoder;

use super::{Output, bytes_after_the_end};
use crate::proto::{Compression, ReceiveError, WireError};

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4D, 0x18];
/// Magic, flags, block size and header checksum; what the flags add comes between.
const MIN_HEADER_LEN: usize = 7;
const BLOCK_LEN_LEN: usize = 4;
const CHECKSUM_LEN: usize = 4;

const HAS_BLOCK_CHECKSUMS: u8 = 1 << 4;
const HAS_CONTENT_SIZE: u8 = 1 << 3;
const HAS_CONTENT_CHECKSUM: u8 = 1 << 2;
const HAS_DICTIONARY: u8 = 1;

pub(in crate::proto) struct Lz4Decoder {
    /// Reads from what was collected.
    decoder: FrameDecoder<VecDeque<u8>>,
    header: Option<Header>,
    has_ended: bool,
}

impl Lz4Decoder {
    pub(super) fn new() -> Self {
        Self { decoder: FrameDecoder::new(VecDeque::new()), header: None, has_ended: false }
    }

    pub(super) const fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub(super) fn decode(&mut self, mut piece: &[u8], output: &mut Output<'_>) -> Result<(), ReceiveError> {
        while !piece.is_empty() {
            if self.has_ended {
                return Err(bytes_after_the_end(Compression::Lz4));
            }
            let unit = self.next_unit()?;
            let missing = unit.len() - self.decoder.get_ref().len();
            let (taken, rest) = piece.split_at(missing.min(piece.len()));
            self.decoder.get_mut().extend(taken);
            piece = rest;
            self.decode_whole_unit(output)?;
        }
        Ok(())
    }

    /// Decodes a block, or sees the end, if all of it was collected.
    fn decode_whole_unit(&mut self, output: &mut Output<'_>) -> Result<(), ReceiveError> {
        let unit = self.next_unit()?;
        if unit.len() > self.decoder.get_ref().len() {
            return Ok(());
        }
        let (header, is_end) = match unit {
            Unit::Unknown(_) => return Ok(()),
            Unit::Block { header, .. } => (header, false),
            Unit::End { header, .. } => (header, true),
        };
        let block = self.decoder.fill_buf().map_err(|error| refused(error.to_string()))?;
        let block_len = block.len();
        output(block)?;
        self.decoder.consume(block_len);
        debug_assert!(self.decoder.get_ref().is_empty(), "the decoder takes exactly what was counted");
        self.header = Some(header);
        self.has_ended = is_end;
        Ok(())
    }

    /// What the collected bytes are the start of. The frame's header belongs to the first unit.
    fn next_unit(&self) -> Result<Unit, ReceiveError> {
        let collected = self.decoder.get_ref();
        let (header, header_len) = match self.header {
            Some(header) => (header, 0),
            None => {
                let Some(start) = first_bytes(collected, 0) else { return Ok(Unit::Unknown(MIN_HEADER_LEN)) };
                let header = Header::parse(start)?;
                (header, header.len())
            }
        };
        let Some(block_len) = first_bytes(collected, header_len) else {
            return Ok(Unit::Unknown(header_len + BLOCK_LEN_LEN));
        };
        let len_before_data = header_len + BLOCK_LEN_LEN;
        match u32::from_le_bytes(block_len) {
            0 => Ok(Unit::End { header, len: len_before_data + header.content_checksum_len() }),
            // The highest bit says whether the block is stored as it is.
            word => {
                let data_len = (word & 0x7fff_ffff) as usize;
                if data_len > header.max_block_len {
                    return Err(refused("a block longer than the frame's header allows"));
                }
                Ok(Unit::Block { header, len: len_before_data + data_len + header.block_checksum_len() })
            }
        }
    }
}

/// What the decoder consumes at once, and its length in bytes.
enum Unit {
    /// The length is not known before so many bytes are there.
    Unknown(usize),
    Block {
        header: Header,
        len: usize,
    },
    End {
        header: Header,
        len: usize,
    },
}

impl Unit {
    const fn len(&self) -> usize {
        match self {
            Self::Unknown(len) | Self::Block { len, .. } | Self::End { len, .. } => *len,
        }
    }
}

/// What the frame's header says about the lengths that follow. Everything else is the library's to check.
#[derive(Clone, Copy)]
struct Header {
    flags: u8,
    max_block_len: usize,
}

impl Header {
    fn parse([a, b, c, d, flags, block_size, _]: [u8; MIN_HEADER_LEN]) -> Result<Self, ReceiveError> {
        if [a, b, c, d] != MAGIC {
            return Err(refused("another magic"));
        }
        if flags & HAS_DICTIONARY != 0 {
            return Err(refused("a dictionary"));
        }
        let max_block_len = match block_size >> 4 & 7 {
            4 => 64 << 10,
            5 => 256 << 10,
            6 => 1 << 20,
            7 => 4 << 20,
            _ => return Err(refused("an unknown block size")),
        };
        Ok(Self { flags, max_block_len })
    }

    const fn len(self) -> usize {
        MIN_HEADER_LEN + if self.flags & HAS_CONTENT_SIZE != 0 { 8 } else { 0 }
    }

    const fn block_checksum_len(self) -> usize {
        if self.flags & HAS_BLOCK_CHECKSUMS != 0 { CHECKSUM_LEN } else { 0 }
    }

    const fn content_checksum_len(self) -> usize {
        if self.flags & HAS_CONTENT_CHECKSUM != 0 { CHECKSUM_LEN } else { 0 }
    }
}

/// The `N` bytes from `at` on, if they are there.
fn first_bytes<const N: usize>(collected: &VecDeque<u8>, at: usize) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let mut found = collected.iter().skip(at);
    bytes.iter_mut().try_for_each(|byte| found.next().map(|next| *byte = *next))?;
    Some(bytes)
}

fn refused(problem: impl Into<std::borrow::Cow<'static, str>>) -> ReceiveError {
    WireError::compressed_stream(Compression::Lz4, problem).into()
}
