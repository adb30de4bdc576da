//! [`Decoder`]: the receiver's half of the compressions. Takes the stream in pieces of any size, as they become complete,
//! and gives what is in it at once.
//!
//! Cost: no input is kept beyond what the format needs to go on: a window for zstd, one block for LZ4.

mod lz4;
mod zstd;

use self::lz4::Lz4Decoder;
use self::zstd::ZstdDecoder;
use super::{Compression, Limits, ReceiveError, WireError};

/// Takes decoded bytes.
pub(super) type Output<'a> = dyn FnMut(&[u8]) -> Result<(), ReceiveError> + 'a;

/// Decodes one stream.
pub(super) enum Decoder {
    /// Not compressed.
    Plain,
    Zstd(ZstdDecoder),
    Lz4(Lz4Decoder),
}

impl Decoder {
    pub(super) fn new(compression: Compression, limits: &Limits) -> Result<Self, WireError> {
        Ok(match compression {
            Compression::None => Self::Plain,
            Compression::Zstd => Self::Zstd(ZstdDecoder::new(limits.max_zstd_window_log)?),
            Compression::Lz4 => Self::Lz4(Lz4Decoder::new()),
        })
    }

    /// Takes the next piece of the stream and gives `output` what can be decoded now. After an error it must not be used.
    pub(super) fn decode(&mut self, piece: &[u8], output: &mut Output<'_>) -> Result<(), ReceiveError> {
        match self {
            Self::Plain => output(piece),
            Self::Zstd(decoder) => decoder.decode(piece, output),
            Self::Lz4(decoder) => decoder.decode(piece, output),
        }
    }

    /// Whether the stream has ended, where it says so itself.
    pub(super) const fn has_ended(&self) -> Option<bool> {
        match self {
            Self::Plain => None,
            Self::Zstd(decoder) => Some(decoder.has_ended()),
            Self::Lz4(decoder) => Some(decoder.has_ended()),
        }
    }
}

fn bytes_after_the_end(compression: Compression) -> ReceiveError {
    WireError::compressed_stream(compression, "bytes after its end").into()
}
