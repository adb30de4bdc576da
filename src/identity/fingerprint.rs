//! The two fingerprints of an identity: the whole of it, and what one engine needs to use what another computed.

use core::fmt::{self, Write};

use super::{CompatFields, IdentityView, PayloadIdentity};
use crate::digest::{Digest, Sha256, sha256};

impl IdentityView<'_> {
    /// The fingerprint (specification, section 1): the SHA-256 of the canonical JSON form. Two identities have the same
    /// one exactly when all ten fields are equal.
    ///
    /// Cost: the hash of a few hundred bytes; no allocation. An identity parsed from canonical JSON is hashed as it lies.
    pub fn fingerprint(&self) -> Digest {
        match self.canonical {
            Some(json) => sha256(json.as_bytes()),
            None => sha256_of(|hasher| self.write_canonical_json(hasher)),
        }
    }

    /// The `fingerprint_compat` of this identity (contract, section 3): what must agree for one engine to use what
    /// another computed. Model, tokenizer and dtype count; layout versions are 0 and the config hash is empty. An engine
    /// that has those takes [`CompatFields`].
    ///
    /// Cost: the hash of some hundred bytes; no allocation.
    pub fn fingerprint_compat(&self) -> Digest {
        CompatFields::from_identity(self).fingerprint()
    }
}

impl PayloadIdentity {
    /// The fingerprint (specification, section 1): the SHA-256 of [`PayloadIdentity::canonical_json`].
    pub fn fingerprint(&self) -> Digest {
        self.as_view().fingerprint()
    }

    /// The `fingerprint_compat` of this identity (contract, section 3); see [`IdentityView::fingerprint_compat`].
    pub fn fingerprint_compat(&self) -> Digest {
        self.as_view().fingerprint_compat()
    }
}

/// The SHA-256 of what `write` writes.
pub(super) fn sha256_of(write: impl FnOnce(&mut Hashed) -> fmt::Result) -> Digest {
    let mut hashed = Hashed(Sha256::new());
    // Hashing cannot fail.
    let _ = write(&mut hashed);
    hashed.0.finalize()
}

/// Takes text into a hash.
pub(super) struct Hashed(Sha256);

impl Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}
