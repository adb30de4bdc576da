//! A borrowed message.

use core::num::NonZeroU64;

use super::{CompatFingerprint, Compatibility, Consistency, ReuseScore, Ttl};
use crate::digest::Digest;
use crate::identity::{IdentityView, PayloadHash, Text};

/// A valid message, borrowed from its body or from a [`FragmentMessage`](super::FragmentMessage). Two are equal when all
/// eleven fields are.
///
/// Its identity does not remember whether it was in canonical form: [`IdentityView::is_canonical`] always says no.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageView<'a> {
    pub(super) tenant_id: Text<'a>,
    pub(super) identity: IdentityView<'a>,
    pub(super) payload_ref: Option<PayloadHash>,
    pub(super) payload_size: u64,
    pub(super) ttl: Ttl,
    pub(super) reuse_score: ReuseScore,
    pub(super) version_id: NonZeroU64,
    pub(super) consistency: Text<'a>,
    pub(super) hlc: u64,
    pub(super) fingerprint_compat: Option<CompatFingerprint>,
}

impl<'a> MessageView<'a> {
    /// `tenant_id`: whose fragment it is; see [`TenantId`](super::TenantId) for what it may hold.
    pub const fn tenant_id(&self) -> Text<'a> {
        self.tenant_id
    }

    /// `identity`: what the payload is.
    pub const fn identity(&self) -> IdentityView<'a> {
        self.identity
    }

    /// `payload_ref`: the SHA-256 under which the payload is to be had; none when the message is about metadata only.
    pub const fn payload_ref(&self) -> Option<PayloadHash> {
        self.payload_ref
    }

    /// `payload_size`: the payload's length in bytes.
    pub const fn payload_size(&self) -> u64 {
        self.payload_size
    }

    /// `ttl`: for how many seconds the fragment stays.
    pub const fn ttl(&self) -> Ttl {
        self.ttl
    }

    /// `reuse_score`: how likely the fragment is to be used again.
    pub const fn reuse_score(&self) -> ReuseScore {
        self.reuse_score
    }

    /// `version_id`: the fragment's version, from 1.
    pub const fn version_id(&self) -> NonZeroU64 {
        self.version_id
    }

    /// `consistency`: any string.
    pub const fn consistency(&self) -> Text<'a> {
        self.consistency
    }

    /// `consistency` as one of the levels of the specification, if it is one: exactly its name, in lower case.
    pub fn consistency_level(&self) -> Option<Consistency> {
        Consistency::ALL.into_iter().find(|level| self.consistency == level.as_str())
    }

    /// `hlc`: the hybrid logical clock of the write.
    pub const fn hlc(&self) -> u64 {
        self.hlc
    }

    /// `fingerprint_compat`, unless it is empty.
    pub const fn fingerprint_compat(&self) -> Option<CompatFingerprint> {
        self.fingerprint_compat
    }

    /// Whether the engine with this compatibility fingerprint can use what the message is about: compares it with the one
    /// that the message states. [`CompatFields::fingerprint`](crate::CompatFields::fingerprint) computes an engine's.
    pub fn compatibility(&self, engine: Digest) -> Compatibility {
        Compatibility::of(self.fingerprint_compat, engine)
    }
}
