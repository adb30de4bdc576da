//! The `payload_hash` field.

use alloc::borrow::Cow;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use super::DomainError;
use crate::digest::Digest;
use crate::format::IdentityField;

/// The `payload_hash` of an identity: 64 hexadecimal characters, kept in the case in which they were written.
///
/// Case matters to the fingerprint, which hashes the text, so two of these are equal only when their text is. Compare
/// with [`PayloadHash::digest`] to ask whether they name the same hash.
///
/// ```
/// use membrane_codec::{PayloadHash, sha256};
///
/// let upper: PayloadHash = sha256(b"kv").to_string().to_uppercase().parse()?;
/// assert_eq!(upper.digest(), sha256(b"kv"));
/// assert_ne!(upper, PayloadHash::from(sha256(b"kv")));
/// # Ok::<(), membrane_codec::DomainError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Cow<'_, str>", into = "alloc::string::String")]
pub struct PayloadHash([u8; Digest::HEX_LEN]);

impl PayloadHash {
    /// The 64 characters, as written.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).expect("only ASCII gets in")
    }

    /// The hash that they name.
    pub fn digest(&self) -> Digest {
        Digest::from_hex(&self.0).expect("only hexadecimal characters get in")
    }

    pub(crate) fn from_text(text: &[u8]) -> Option<Self> {
        let hex: &[u8; Digest::HEX_LEN] = text.try_into().ok()?;
        // Without a branch per byte, so that the compiler can take all 64 at once.
        let legal = hex.iter().fold(true, |legal, byte| legal & byte.is_ascii_hexdigit());
        legal.then_some(Self(*hex))
    }
}

impl FromStr for PayloadHash {
    type Err = DomainError;

    /// Takes 64 hexadecimal characters of either case.
    ///
    /// # Errors
    /// [`DomainError`] when the text has another length or holds another character.
    fn from_str(text: &str) -> Result<Self, DomainError> {
        Self::from_text(text.as_bytes()).ok_or(DomainError::new(IdentityField::PayloadHash.domain()))
    }
}

impl TryFrom<Cow<'_, str>> for PayloadHash {
    type Error = DomainError;

    /// As [`PayloadHash::from_str`].
    fn try_from(text: Cow<'_, str>) -> Result<Self, DomainError> {
        text.parse()
    }
}

impl From<Digest> for PayloadHash {
    /// In lower case, as producers write it.
    fn from(digest: Digest) -> Self {
        Self(digest.to_hex())
    }
}

impl From<PayloadHash> for alloc::string::String {
    fn from(hash: PayloadHash) -> Self {
        hash.as_str().into()
    }
}

impl fmt::Display for PayloadHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for PayloadHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PayloadHash({self})")
    }
}
