//! Where everything lies in a frame (specification, section 3), and the checks that need no more than that: rows 1-6, 9
//! and 10 of the contract's table. Nothing here looks into the identity or hashes.

use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::{Detail, Error};
use crate::format::{HEADER_LEN, MAGIC, OVERHEAD_LEN, SCHEMA_VERSION, TRAILER_LEN};
#[cfg(feature = "migrate")]
use crate::format::{MAGIC_V2, MAGIC_V4};

const SCHEMA_OFFSET: u64 = 4;
const RESERVED_OFFSET: u64 = 6;
pub(super) const IDENTITY_LEN_OFFSET: u64 = 10;

/// The 14 bytes at the start of a frame, read where they lie. All integers are little-endian.
///
/// As a plain struct it can hold any values; [`FrameHeader::check`] says whether they are those of a v5 frame.
///
/// ```
/// use membrane_codec::FrameHeader;
///
/// let header = FrameHeader::from_bytes([0xC0, 0xDE, 0x01, 0x05, 5, 0, 0, 0, 0, 0, 0x10, 1, 0, 0]);
/// assert_eq!(header.check(), Ok(()));
/// assert_eq!(header.identity_len(), 272);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct FrameHeader {
    magic: [u8; 4],
    schema: U16,
    reserved: U32,
    identity_len: U32,
}

impl FrameHeader {
    /// The header of a v5 frame whose identity JSON has `identity_len` bytes.
    pub const fn new(identity_len: u32) -> Self {
        Self {
            magic: MAGIC,
            schema: U16::new(SCHEMA_VERSION),
            reserved: U32::new(0),
            identity_len: U32::new(identity_len),
        }
    }

    /// The header that these bytes hold, unchecked.
    pub fn from_bytes(bytes: [u8; HEADER_LEN]) -> Self {
        zerocopy::transmute!(bytes)
    }

    /// The 14 bytes.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        zerocopy::transmute!(self)
    }

    /// The magic; [`MAGIC`] in a v5 frame.
    pub const fn magic(&self) -> [u8; 4] {
        self.magic
    }

    /// The schema version; [`SCHEMA_VERSION`] in a v5 frame.
    pub const fn schema(&self) -> u16 {
        self.schema.get()
    }

    /// The reserved field; 0 in a v5 frame.
    pub const fn reserved(&self) -> u32 {
        self.reserved.get()
    }

    /// Length of the identity JSON in bytes.
    pub const fn identity_len(&self) -> u32 {
        self.identity_len.get()
    }

    /// Checks magic, schema and reserved: rows 2, 4 and 5 of the contract.
    ///
    /// # Errors
    /// [`Reason::OldVersion`](crate::Reason::OldVersion) or [`Reason::BadMagic`](crate::Reason::BadMagic),
    /// [`Reason::SchemaVersion`](crate::Reason::SchemaVersion),
    /// [`Reason::ReservedNotZero`](crate::Reason::ReservedNotZero), in this order.
    pub fn check(&self) -> Result<(), Error> {
        self.check_as(Accepts::Current)
    }

    /// As [`FrameHeader::check`], for what a reader accepts.
    pub(crate) fn check_as(&self, accepts: Accepts) -> Result<(), Error> {
        accepts.check_magic(&self.magic)?;
        accepts.check_schema(self)?;
        if self.reserved() != 0 {
            return Err(Error::new(RESERVED_OFFSET, Detail::Reserved { found: self.reserved() }));
        }
        Ok(())
    }
}

/// Which magics and schemas a reader accepts. All else is the same in every version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepts {
    /// Those of v5.
    Current,
    /// Those of v5, and those that a migration converts to them (contract, section 7).
    #[cfg(feature = "migrate")]
    Convertible,
}

impl Accepts {
    /// Each magic, with the schemas that may go with it.
    const fn versions(self) -> &'static [([u8; 4], &'static [u16])] {
        match self {
            Self::Current => &[(MAGIC, &[SCHEMA_VERSION])],
            #[cfg(feature = "migrate")]
            Self::Convertible => &[(MAGIC, &[SCHEMA_VERSION, 2, 4]), (MAGIC_V2, &[2]), (MAGIC_V4, &[4])],
        }
    }

    /// Row 2: as many bytes of the magic as there are must be right.
    fn check_magic(self, start: &[u8]) -> Result<(), Error> {
        let len = start.len().min(MAGIC.len());
        if self.versions().iter().any(|(magic, _)| start[..len] == magic[..len]) {
            return Ok(());
        }
        let mut found = [0; 4];
        found[..len].copy_from_slice(&start[..len]);
        Err(Error::new(0, Detail::Magic { found, len: len as u8 }))
    }

    /// Row 4, after row 2.
    fn check_schema(self, header: &FrameHeader) -> Result<(), Error> {
        let schemas = self.versions().iter().find(|(magic, _)| header.magic == *magic).map(|(_, schemas)| *schemas);
        let schemas = schemas.unwrap_or(&[SCHEMA_VERSION]);
        if schemas.contains(&header.schema()) {
            return Ok(());
        }
        Err(Error::new(SCHEMA_OFFSET, Detail::Schema { found: header.schema(), expected: schemas[0] }))
    }
}

/// The error for a source that ends within its first 14 bytes: rows 1, 2 and 3.
pub(super) fn header_cut_short(start: &[u8], accepts: Accepts) -> Error {
    let have = start.len() as u64;
    match accepts.check_magic(start) {
        Ok(()) => Error::new(have, Detail::HeaderTruncated { have }),
        Err(error) => error,
    }
}

/// The length of a frame with this identity_len and no payload.
pub(super) fn shortest_frame_len(identity_len: u32) -> u64 {
    OVERHEAD_LEN as u64 + u64::from(identity_len)
}

/// Rows 1-6 for a source of `source_len` bytes by `start`, its first 14, or all if it is shorter.
#[cfg(feature = "std")]
pub(crate) fn parse_header(start: &[u8], source_len: u64, accepts: Accepts) -> Result<FrameHeader, Error> {
    let Ok((header, _)) = FrameHeader::read_from_prefix(start) else {
        return Err(header_cut_short(start, accepts));
    };
    header.check_as(accepts)?;
    check_identity_fits(header.identity_len(), source_len)?;
    Ok(header)
}

/// Row 6, for a source of `have` bytes.
#[cfg(feature = "std")]
pub(super) fn check_identity_fits(identity_len: u32, have: u64) -> Result<(), Error> {
    if shortest_frame_len(identity_len) <= have { Ok(()) } else { Err(identity_does_not_fit(identity_len, have)) }
}

/// Row 6 where identities are held in memory: no longer than `cap`.
#[cfg(feature = "std")]
pub(super) fn check_identity_cap(identity_len: u32, cap: u32) -> Result<(), Error> {
    if identity_len <= cap {
        return Ok(());
    }
    Err(Error::new(IDENTITY_LEN_OFFSET, Detail::IdentityAboveCap { identity_len, cap }))
}

/// The error of row 6: the source has `have` bytes, too few for this identity_len.
pub(super) fn identity_does_not_fit(identity_len: u32, have: u64) -> Error {
    let frame_at_least = shortest_frame_len(identity_len);
    Error::new(IDENTITY_LEN_OFFSET, Detail::IdentityDoesNotFit { identity_len, frame_at_least, have })
}

/// The length of the frame that this header and payload_len describe. It may exceed every memory and file.
pub(super) fn frame_len(identity_len: u32, payload_len: u64) -> u128 {
    OVERHEAD_LEN as u128 + u128::from(identity_len) + u128::from(payload_len)
}

/// The error of row 9: the source ends after `have` bytes of a longer frame.
pub(super) fn truncated(frame_len: u128, have: u64) -> Error {
    Error::new(have, Detail::Truncated { frame_len, have })
}

/// Row 10, for a source of `have` bytes, `None` when all that is known is that bytes follow the frame.
pub(super) fn trailing_bytes(frame_len: u64, have: Option<u64>) -> Error {
    Error::new(frame_len, Detail::TrailingBytes { frame_len, have })
}

/// Row 11: the trailer stands at `offset` and must be the start of the payload's digest.
pub(super) fn check_trailer(stored: [u8; TRAILER_LEN], computed: [u8; TRAILER_LEN], offset: u64) -> Result<(), Error> {
    if stored == computed {
        return Ok(());
    }
    Err(Error::new(offset, Detail::Trailer { computed, stored }))
}

/// A frame's start: what rows 1-6 vouch for.
pub(super) struct Head<'a> {
    pub(super) header: &'a FrameHeader,
    pub(super) identity: &'a [u8],
    pub(super) payload_len: u64,
    /// What follows payload_len: at least [`TRAILER_LEN`] bytes.
    rest: &'a [u8],
    /// Length of the whole source.
    source_len: u64,
}

/// A frame's end: what row 9 vouches for.
pub(super) struct Body<'a> {
    pub(super) payload: &'a [u8],
    pub(super) trailer: &'a [u8; TRAILER_LEN],
    /// What follows the frame.
    pub(super) rest: &'a [u8],
}

/// Rows 1-6.
pub(super) fn parse_head(source: &[u8]) -> Result<Head<'_>, Error> {
    parse_head_of(source, source.len() as u64, Accepts::Current)
}

/// Rows 1-6 for a source of `source_len` bytes by `start`, its first: all of them, or as many as the shortest frame with
/// this identity has.
pub(super) fn parse_head_of(start: &[u8], source_len: u64, accepts: Accepts) -> Result<Head<'_>, Error> {
    let Ok((header, rest)) = FrameHeader::ref_from_prefix(start) else {
        return Err(header_cut_short(start, accepts));
    };
    header.check_as(accepts)?;
    let identity_len = header.identity_len();
    let split = || {
        let (identity, rest) = rest.split_at_checked(usize::try_from(identity_len).ok()?)?;
        let (payload_len, rest) = U64::read_from_prefix(rest).ok()?;
        (rest.len() >= TRAILER_LEN).then_some(Head {
            header,
            identity,
            payload_len: payload_len.get(),
            rest,
            source_len,
        })
    };
    split().ok_or_else(|| identity_does_not_fit(identity_len, source_len))
}

impl<'a> Head<'a> {
    /// Row 9.
    pub(super) fn parse_body(&self) -> Result<Body<'a>, Error> {
        let split = || {
            let (payload, rest) = self.rest.split_at_checked(usize::try_from(self.payload_len).ok()?)?;
            let (trailer, rest) = rest.split_first_chunk()?;
            Some(Body { payload, trailer, rest })
        };
        split().ok_or_else(|| truncated(frame_len(self.header.identity_len(), self.payload_len), self.source_len))
    }

    /// Row 9 by the lengths alone: the length of the frame, all of which is in the source.
    #[cfg(feature = "std")]
    pub(super) fn frame_len(&self) -> Result<u64, Error> {
        let frame_len = frame_len(self.header.identity_len(), self.payload_len);
        match u64::try_from(frame_len) {
            Ok(fits) if fits <= self.source_len => Ok(fits),
            _ => Err(truncated(frame_len, self.source_len)),
        }
    }

    /// Row 10.
    pub(super) fn check_nothing_follows(&self, body: &Body<'a>) -> Result<(), Error> {
        if body.rest.is_empty() {
            return Ok(());
        }
        Err(trailing_bytes(self.source_len - body.rest.len() as u64, Some(self.source_len)))
    }
}
