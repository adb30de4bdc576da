//! SHA-256, the one hash of the format: [`sha256`] of a slice, [`Sha256`] in pieces, [`sha256_many`] and [`ManyHasher`] of
//! many messages at once, and [`Digest`], what all return.
//!
//! A frame's trailer is the first eight bytes of the SHA-256 of its payload, `payload_hash` is meant to be all
//! thirty-two, and a fingerprint is the SHA-256 of the canonical identity JSON (specification, sections 1 and 3).
//!
//! Cost: one pass over the data, no allocation per message. `backend` alone decides which library hashes one message,
//! `kernel` alone what hashes many; the last lane of many always goes through sha2.

mod backend;
mod kernel;
mod lanes;
mod many;

use core::fmt;
use core::str::FromStr;

pub use self::kernel::Kernel;
pub use self::many::{ManyHasher, sha256_many, sha256_many_with};
pub(crate) use self::many::{longest_first, sha256_from};
use crate::format::TRAILER_LEN;

/// A SHA-256 digest: 32 bytes, shown and parsed as 64 hexadecimal characters.
///
/// Comparison is by value, not in constant time: nothing in the format is a secret.
///
/// ```
/// use membrane_codec::{Digest, sha256};
///
/// let digest = sha256(b"");
/// assert_eq!(digest.trailer(), [0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14]);
/// assert_eq!(digest.to_string().parse(), Ok(digest));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; Digest::LEN]);

impl Digest {
    /// Length in bytes.
    pub const LEN: usize = 32;
    /// Length in hexadecimal characters.
    pub const HEX_LEN: usize = 64;

    /// A digest from its 32 bytes.
    pub const fn from_bytes(bytes: [u8; Digest::LEN]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; Digest::LEN] {
        &self.0
    }

    /// The first 8 bytes: what a frame whose payload has this digest carries as its trailer (specification, section 3).
    pub const fn trailer(&self) -> [u8; TRAILER_LEN] {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        [a, b, c, d, e, f, g, h]
    }

    /// A digest from exactly 64 hexadecimal characters of either case; `None` for anything else.
    pub(crate) fn from_hex(hex: &[u8; Digest::HEX_LEN]) -> Option<Self> {
        let mut bytes = [0; Digest::LEN];
        base16ct::mixed::decode(hex, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// The 64 lower-case hexadecimal characters.
    pub(crate) fn to_hex(self) -> [u8; Digest::HEX_LEN] {
        let mut hex = [0; Digest::HEX_LEN];
        // Cannot fail: the buffer holds exactly two characters per byte.
        let _ = base16ct::lower::encode(&self.0, &mut hex);
        hex
    }
}

impl From<[u8; Digest::LEN]> for Digest {
    fn from(bytes: [u8; Digest::LEN]) -> Self {
        Self(bytes)
    }
}

impl From<Digest> for [u8; Digest::LEN] {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl AsRef<[u8]> for Digest {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Digest {
    /// 64 lower-case hexadecimal characters; width and alignment are honoured.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = self.to_hex();
        f.pad(core::str::from_utf8(&hex).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = ParseDigestError;

    /// Parses 64 hexadecimal characters of either case.
    ///
    /// # Errors
    /// [`ParseDigestError`] when the text has another length or holds another character.
    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        text.as_bytes().try_into().ok().and_then(Self::from_hex).ok_or(ParseDigestError)
    }
}

/// The text is not 64 hexadecimal characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseDigestError;

impl fmt::Display for ParseDigestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a digest is written as 64 hexadecimal characters")
    }
}

impl core::error::Error for ParseDigestError {}

/// The SHA-256 of `data`, any number of bytes.
///
/// Cost: one pass over `data`, no allocation. PERF.md gives the measured rates.
///
/// ```
/// let digest = membrane_codec::sha256(b"abc");
/// assert_eq!(digest.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
/// ```
pub fn sha256(data: &[u8]) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(data);
    hasher.finalize()
}

/// A SHA-256 computed in pieces, for data that is never in memory as a whole.
///
/// ```
/// use membrane_codec::{Sha256, sha256};
///
/// let mut hasher = Sha256::new();
/// hasher.update(b"a");
/// hasher.update(b"bc");
/// assert_eq!(hasher.finalize(), sha256(b"abc"));
/// ```
#[derive(Clone)]
pub struct Sha256(backend::Hasher);

impl Sha256 {
    /// A hasher that has seen nothing.
    pub fn new() -> Self {
        Self(backend::Hasher::new())
    }

    /// Appends `data` to what is hashed.
    pub fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    /// The digest of all that was appended.
    pub fn finalize(self) -> Digest {
        Digest(self.0.finalize())
    }
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sha256 { .. }")
    }
}
