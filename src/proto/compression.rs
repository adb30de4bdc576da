//! [`Compression`]: how a payload travels, and the sender's half of it.

use std::fmt;
use std::io::{self, Write};

use bytes::Bytes;
use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
use zstd::stream::write::Encoder;

use super::{WireError, WireReason};

/// How a payload travels: the three values of [`Envelope::compression`](super::Envelope::compression).
///
/// The whole payload is compressed as one stream, and the chunks are cuts of the stream. A stream is exactly one frame of
/// its format: nothing before or after it, and no dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Compression {
    /// As it is.
    #[default]
    None,
    /// One zstd frame (RFC 8878).
    Zstd,
    /// One LZ4 frame (the LZ4 frame format, magic `04 22 4D 18`; not a bare block).
    Lz4,
}

impl Compression {
    /// Every compression.
    pub const ALL: &'static [Self] = &[Self::None, Self::Zstd, Self::Lz4];

    /// The number in an envelope.
    pub const fn number(self) -> i32 {
        match self {
            Self::None => 0,
            Self::Zstd => 1,
            Self::Lz4 => 2,
        }
    }

    /// The name: `none`, `zstd` or `lz4`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
        }
    }
}

impl TryFrom<i32> for Compression {
    type Error = WireError;

    /// The compression of this number.
    ///
    /// # Errors
    /// [`WireReason::Compression`] for any number but 0, 1 and 2.
    fn try_from(number: i32) -> Result<Self, WireError> {
        let unknown = || {
            WireError::new(WireReason::Compression, number.to_string(), "0 (none), 1 (zstd) or 2 (lz4)")
                .of_field("compression")
        };
        Self::ALL.iter().copied().find(|known| known.number() == number).ok_or_else(unknown)
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The stream in which `payload` travels. Shares its memory when it is not compressed.
pub(super) fn compress(payload: &Bytes, compression: Compression, zstd_level: i32) -> Result<Bytes, WireError> {
    let stream = match compression {
        Compression::None => return Ok(payload.clone()),
        Compression::Zstd => zstd_frame(payload, zstd_level),
        Compression::Lz4 => lz4_frame(payload),
    };
    stream.map(Bytes::from).map_err(|error| WireError::compressed_stream(compression, error.to_string()))
}

fn zstd_frame(payload: &[u8], level: i32) -> io::Result<Vec<u8>> {
    let mut encoder = Encoder::new(Vec::new(), level)?;
    // The window then is no longer than the payload.
    encoder.set_pledged_src_size(Some(payload.len() as u64))?;
    encoder.write_all(payload)?;
    encoder.finish()
}

fn lz4_frame(payload: &[u8]) -> io::Result<Vec<u8>> {
    let info = FrameInfo::new().content_size(Some(payload.len() as u64)).block_size(BlockSize::Max256KB);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(payload)?;
    Ok(encoder.finish()?)
}
