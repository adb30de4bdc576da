//! A frame that comes in pieces: the checks that a stream and a scrub share, who read differently but judge alike.
//!
//! Reads nothing, hashes nothing, allocates nothing.

use super::layout;
use crate::digest::Digest;
use crate::error::Error;
use crate::format::{HEADER_LEN, PAYLOAD_LEN_LEN, TRAILER_LEN};

/// What comes after payload_len: payload, trailer, and nothing more.
#[derive(Debug)]
pub(crate) struct Remainder {
    identity_len: u32,
    payload_len: u64,
    /// Payload that has not come yet.
    payload_left: u64,
    trailer: [u8; TRAILER_LEN],
    /// How much of the trailer came.
    trailer_len: usize,
    /// Something came after the frame's end.
    surplus: bool,
}

impl Remainder {
    pub(crate) const fn new(identity_len: u32, payload_len: u64) -> Self {
        Self {
            identity_len,
            payload_len,
            payload_left: payload_len,
            trailer: [0; TRAILER_LEN],
            trailer_len: 0,
            surplus: false,
        }
    }

    #[cfg(all(unix, feature = "scrub"))]
    pub(crate) const fn payload_len(&self) -> u64 {
        self.payload_len
    }

    /// How many bytes are missing to the frame's end; 2^64-1 for that many and more.
    pub(crate) const fn missing(&self) -> u64 {
        self.payload_left.saturating_add((TRAILER_LEN - self.trailer_len) as u64)
    }

    /// Whether something came after the frame's end: no verdict can change any more.
    #[cfg(all(unix, feature = "scrub"))]
    pub(crate) const fn has_surplus(&self) -> bool {
        self.surplus
    }

    /// Takes what comes next; returns the part of it that is payload.
    pub(crate) fn take<'p>(&mut self, piece: &'p [u8]) -> &'p [u8] {
        // No longer than the piece: fits usize.
        let payload_end = self.payload_left.min(piece.len() as u64) as usize;
        let (payload, rest) = piece.split_at(payload_end);
        self.payload_left -= payload.len() as u64;
        if self.payload_left == 0 {
            let (trailer, surplus) = rest.split_at(rest.len().min(TRAILER_LEN - self.trailer_len));
            self.trailer[self.trailer_len..self.trailer_len + trailer.len()].copy_from_slice(trailer);
            self.trailer_len += trailer.len();
            self.surplus |= !surplus.is_empty();
        }
        payload
    }

    /// Row 9 before anything is read, for a source of `source_len` bytes.
    pub(crate) fn check_source_len(&self, source_len: u64) -> Result<(), Error> {
        if self.frame_len() <= source_len.into() {
            Ok(())
        } else {
            Err(layout::truncated(self.frame_len(), source_len))
        }
    }

    /// Rows 9 and 10, at the end of the source. `source_len` is what an error names as the length found, where that is
    /// known to be longer than the frame.
    pub(crate) fn check_extent(&self, source_len: Option<u64>) -> Result<(), Error> {
        let frame_len = self.frame_len();
        let missing = u128::from(self.payload_left) + (TRAILER_LEN - self.trailer_len) as u128;
        if missing > 0 {
            // What came fits u64.
            return Err(layout::truncated(frame_len, (frame_len - missing) as u64));
        }
        if self.surplus {
            // All of it came: it fits.
            let frame_len = frame_len as u64;
            return Err(layout::trailing_bytes(frame_len, source_len.filter(|len| *len > frame_len)));
        }
        Ok(())
    }

    /// Row 11, by the SHA-256 of the payload. Wants the whole frame to be there.
    pub(crate) fn check_trailer(&self, payload_digest: Digest) -> Result<(), Error> {
        let trailer_offset = (HEADER_LEN + PAYLOAD_LEN_LEN) as u64 + u64::from(self.identity_len) + self.payload_len;
        layout::check_trailer(self.trailer, payload_digest.trailer(), trailer_offset)
    }

    pub(crate) fn frame_len(&self) -> u128 {
        layout::frame_len(self.identity_len, self.payload_len)
    }
}
