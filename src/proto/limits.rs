//! [`Limits`]: what a receiver is ready to take.

/// What a receiver is ready to take, whatever an envelope and its chunks claim. Nothing is ever allocated by a claim;
/// these bound what may be allocated for what really comes.
///
/// ```
/// use membrane_codec::proto::Limits;
///
/// let limits = Limits::new().max_total_bytes(64 << 20);
/// # let _ = limits;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub(super) max_total_bytes: u64,
    pub(super) max_chunks: u32,
    pub(super) max_zstd_window_log: u32,
}

impl Limits {
    /// The longest payload unless [`Limits::max_total_bytes`] sets another: 1 GiB.
    pub const DEFAULT_MAX_TOTAL_BYTES: u64 = 1 << 30;

    /// The most chunks unless [`Limits::max_chunks`] sets another: 65,536, which makes a payload of 1 GiB in chunks of
    /// 16 KiB.
    pub const DEFAULT_MAX_CHUNKS: u32 = 1 << 16;

    /// The largest window for zstd unless [`Limits::max_zstd_window_log`] sets another: 2^23 bytes, 8 MiB, which RFC 8878
    /// recommends every decoder to support.
    pub const DEFAULT_MAX_ZSTD_WINDOW_LOG: u32 = 23;

    /// The default limits.
    pub const fn new() -> Self {
        Self {
            max_total_bytes: Self::DEFAULT_MAX_TOTAL_BYTES,
            max_chunks: Self::DEFAULT_MAX_CHUNKS,
            max_zstd_window_log: Self::DEFAULT_MAX_ZSTD_WINDOW_LOG,
        }
    }

    /// The longest uncompressed payload to accept, in bytes.
    pub const fn max_total_bytes(mut self, bytes: u64) -> Self {
        self.max_total_bytes = bytes;
        self
    }

    /// The most chunks of a transfer, and the most pieces that may wait for what comes before them. Each costs some
    /// hundred bytes beside its data.
    pub const fn max_chunks(mut self, chunks: u32) -> Self {
        self.max_chunks = chunks;
        self
    }

    /// The logarithm to the base 2 of the largest window that a zstd stream may ask for, in bytes; brought into 10..=30,
    /// what every build of zstd understands. The window is allocated when the stream's first bytes ask for it.
    pub const fn max_zstd_window_log(mut self, log: u32) -> Self {
        self.max_zstd_window_log = match log {
            0..10 => 10,
            10..=30 => log,
            _ => 30,
        };
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}
