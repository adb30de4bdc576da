//! zstd, in pieces.

use std::io;

use zstd::stream::raw;
use zstd::stream::raw::{DParameter, Operation};

use super::{Output, bytes_after_the_end};
use crate::proto::{Compression, ReceiveError, WireError};

/// What a frame begins with. A skippable frame, which the decoder would take for an empty one, begins otherwise.
const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// What is decoded at once: a block of the format.
const BUFFER_LEN: usize = 128 * 1024;

pub(in crate::proto) struct ZstdDecoder {
    decoder: raw::Decoder<'static>,
    buffer: Box<[u8]>,
    /// How many bytes of the magic came.
    magic_len: usize,
    has_ended: bool,
}

impl ZstdDecoder {
    pub(super) fn new(max_window_log: u32) -> Result<Self, WireError> {
        let mut decoder = raw::Decoder::new().map_err(refused)?;
        decoder.set_parameter(DParameter::WindowLogMax(max_window_log)).map_err(refused)?;
        Ok(Self { decoder, buffer: vec![0; BUFFER_LEN].into(), magic_len: 0, has_ended: false })
    }

    pub(super) const fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub(super) fn decode(&mut self, mut piece: &[u8], output: &mut Output<'_>) -> Result<(), ReceiveError> {
        let magic = MAGIC[self.magic_len..].iter().zip(piece);
        if magic.clone().any(|(expected, found)| expected != found) {
            return Err(WireError::compressed_stream(Compression::Zstd, "something else than a frame").into());
        }
        self.magic_len += magic.len();
        // A full buffer may have left more inside the decoder.
        let mut was_full = false;
        while was_full || !piece.is_empty() {
            if self.has_ended {
                return Err(bytes_after_the_end(Compression::Zstd));
            }
            let step = self.decoder.run_on_buffers(piece, &mut self.buffer).map_err(refused)?;
            piece = &piece[step.bytes_read..];
            output(&self.buffer[..step.bytes_written])?;
            self.has_ended = step.remaining == 0;
            was_full = step.bytes_written == BUFFER_LEN && !self.has_ended;
        }
        Ok(())
    }
}

fn refused(error: io::Error) -> WireError {
    WireError::compressed_stream(Compression::Zstd, error.to_string())
}
