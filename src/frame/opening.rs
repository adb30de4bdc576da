//! The start of a frame in the first bytes of a file that may be longer than what was read of it.

use super::layout::{self, Accepts, FrameHeader};
use super::pieces::Remainder;
use crate::error::Error;
use crate::format::{HEADER_LEN, TRAILER_LEN};

/// A frame's start in the first bytes of its source.
#[derive(Debug)]
pub(crate) enum Opening<'a> {
    /// Rows 1-6 hold, and row 9 as far as the source's length tells.
    Open {
        header: FrameHeader,
        /// The identity's JSON, unchecked.
        identity: &'a [u8],
        /// Nothing of which has been taken.
        remainder: Remainder,
        /// What follows payload_len.
        rest: &'a [u8],
    },
    /// The identity, and what row 6 asks for after it, is longer than the bytes that are there.
    NeedsMore,
}

/// Reads a frame's start, with the checks of a stream whose length is known (`source_len`) and whose identities are
/// capped. `start` is the whole source, or some of it when `whole` is not set.
pub(crate) fn open_start(
    start: &[u8],
    whole: bool,
    source_len: Option<u64>,
    cap: u32,
    accepts: Accepts,
) -> Result<Opening<'_>, Error> {
    let Some((header, rest)) = start.split_first_chunk::<HEADER_LEN>() else {
        return if whole { Err(layout::header_cut_short(start, accepts)) } else { Ok(Opening::NeedsMore) };
    };
    let header = FrameHeader::from_bytes(*header);
    header.check_as(accepts)?;
    let identity_len = header.identity_len();
    let have = if whole { Some(start.len() as u64) } else { source_len };
    if let Some(have) = have {
        layout::check_identity_fits(identity_len, have)?;
    }
    layout::check_identity_cap(identity_len, cap)?;
    let split = || {
        let (identity, rest) = rest.split_at_checked(usize::try_from(identity_len).ok()?)?;
        let (payload_len, rest) = rest.split_first_chunk()?;
        // Row 6 wants the room of a trailer: where the source's length is not known, only its bytes tell.
        (rest.len() >= TRAILER_LEN).then_some((identity, u64::from_le_bytes(*payload_len), rest))
    };
    let Some((identity, payload_len, rest)) = split() else { return Ok(Opening::NeedsMore) };
    let remainder = Remainder::new(identity_len, payload_len);
    Ok(Opening::Open { header, identity, remainder, rest })
}
