//! The `fingerprint_compat` field, and the question that it is there for.

use core::fmt;
use core::str::FromStr;

use crate::digest::Digest;
use crate::format::IdentityField;
use crate::identity::{DomainError, PayloadHash};

/// A `fingerprint_compat`: 64 hexadecimal characters, kept in the case in which they were written.
///
/// Two are equal only when their text is; [`CompatFingerprint::digest`] is for asking whether they name the same hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CompatFingerprint(PayloadHash);

impl CompatFingerprint {
    pub(super) fn from_text(text: &[u8]) -> Option<Self> {
        PayloadHash::from_text(text).map(Self)
    }

    /// These 64 characters.
    pub(super) const fn from_characters(characters: PayloadHash) -> Self {
        Self(characters)
    }

    /// The 64 characters, as written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The hash that they name.
    pub fn digest(&self) -> Digest {
        self.0.digest()
    }
}

impl From<Digest> for CompatFingerprint {
    /// In lower case, as producers write it.
    fn from(digest: Digest) -> Self {
        Self(digest.into())
    }
}

impl FromStr for CompatFingerprint {
    type Err = DomainError;

    /// Takes 64 hexadecimal characters of either case.
    ///
    /// # Errors
    /// [`DomainError`] when the text has another length or holds another character.
    fn from_str(text: &str) -> Result<Self, DomainError> {
        Self::from_text(text.as_bytes()).ok_or(DomainError::new(IdentityField::PayloadHash.domain()))
    }
}

impl fmt::Display for CompatFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Whether an engine can use what a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compatibility {
    /// The message states the engine's own fingerprint.
    Same,
    /// It states another one: the tensor would make the engine talk nonsense.
    Different,
    /// It states none. The message's identity still has one: see
    /// [`IdentityView::fingerprint_compat`](crate::IdentityView::fingerprint_compat).
    Unstated,
}

impl Compatibility {
    pub(super) fn of(stated: Option<CompatFingerprint>, engine: Digest) -> Self {
        match stated {
            None => Self::Unstated,
            Some(stated) if stated.digest() == engine => Self::Same,
            Some(_) => Self::Different,
        }
    }
}
