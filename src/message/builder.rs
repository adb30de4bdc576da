//! Messages from plain values.

use core::fmt;
use core::num::NonZeroU64;

use super::{CompatFingerprint, Consistency, FragmentMessage, ReuseScore, TenantId, Ttl};
use crate::format::MessageField;
use crate::identity::{DomainError, PayloadHash, PayloadIdentity};

/// Builds a [`FragmentMessage`]. Start with [`FragmentMessage::builder`].
///
/// What is not set is: tenant `public`, the identity's payload_hash as payload_ref, 0 bytes, a ttl of 0, a reuse score of
/// 0, version 1, consistency `strong`, hlc 0, and the compatibility fingerprint that follows from the identity.
///
/// ```
/// use membrane_codec::{Consistency, FragmentMessage, MessageField, PayloadIdentity};
///
/// # let identity = |hash: &str| PayloadIdentity::from_json(format!(r#"{{"payload_hash": "{hash}", "model_id": "m", "model_revision": "",
/// #     "tokenizer_name": "m", "tokenizer_revision": "", "layer_range": [0, 0], "head_range": [-1, -1], "token_span": [0, 0],
/// #     "dtype": "nf4", "shape": [1]}}"#).as_bytes());
/// # let identity = identity("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")?;
/// let builder = FragmentMessage::builder(identity).payload_size(8 << 20).ttl(3600.0).consistency(Consistency::Quorum);
/// let message = builder.clone().tenant_id("acme").build()?;
/// assert_eq!(message.payload_ref, Some(message.identity.payload_hash));
///
/// let error = builder.tenant_id("acme/eu").build().unwrap_err();
/// assert_eq!(error.field(), MessageField::TenantId);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "call build() to have the message"]
pub struct MessageBuilder {
    message: FragmentMessage,
    /// The first value that was refused.
    refused: Option<BuildError>,
}

impl MessageBuilder {
    pub(super) fn new(identity: PayloadIdentity) -> Self {
        let message = FragmentMessage {
            tenant_id: TenantId::public(),
            payload_ref: Some(identity.payload_hash),
            payload_size: 0,
            ttl: Ttl::from(0),
            reuse_score: ReuseScore::ZERO,
            version_id: NonZeroU64::MIN,
            consistency: Consistency::Strong.into(),
            hlc: 0,
            fingerprint_compat: Some(identity.fingerprint_compat().into()),
            identity,
        };
        Self { message, refused: None }
    }

    fn set<T>(
        mut self,
        field: MessageField,
        value: Result<T, DomainError>,
        put: impl FnOnce(&mut FragmentMessage, T),
    ) -> Self {
        match value {
            Ok(value) => put(&mut self.message, value),
            Err(problem) => _ = self.refused.get_or_insert(BuildError { field, problem }),
        }
        self
    }

    /// Whose fragment it is; see [`TenantId`].
    pub fn tenant_id(self, tenant: &str) -> Self {
        self.set(MessageField::TenantId, tenant.parse(), |message, tenant| message.tenant_id = tenant)
    }

    /// The SHA-256 under which the payload is to be had, or none for a message about metadata only.
    pub fn payload_ref(mut self, payload: Option<PayloadHash>) -> Self {
        self.message.payload_ref = payload;
        self
    }

    /// The payload's length in bytes.
    pub fn payload_size(mut self, bytes: u64) -> Self {
        self.message.payload_size = bytes;
        self
    }

    /// For how many seconds the fragment stays: finite, 0 or more.
    pub fn ttl(self, seconds: f64) -> Self {
        self.set(MessageField::Ttl, Ttl::new(seconds), |message, ttl| message.ttl = ttl)
    }

    /// How likely the fragment is to be used again: from 0 to 1.
    pub fn reuse_score(self, score: f64) -> Self {
        self.set(MessageField::ReuseScore, ReuseScore::new(score), |message, score| message.reuse_score = score)
    }

    /// The fragment's version, from 1.
    pub fn version_id(self, version: u64) -> Self {
        let version = NonZeroU64::new(version).ok_or(DomainError::new(MessageField::VersionId.domain()));
        self.set(MessageField::VersionId, version, |message, version| message.version_id = version)
    }

    /// One of the [`Consistency`] levels, or any string.
    pub fn consistency(mut self, consistency: impl Into<String>) -> Self {
        self.message.consistency = consistency.into();
        self
    }

    /// The hybrid logical clock of the write.
    pub fn hlc(mut self, hlc: u64) -> Self {
        self.message.hlc = hlc;
        self
    }

    /// What an engine must have in common with the fragment, from [`CompatFields`](crate::CompatFields); none leaves it
    /// unstated.
    pub fn fingerprint_compat(mut self, fingerprint: Option<CompatFingerprint>) -> Self {
        self.message.fingerprint_compat = fingerprint;
        self
    }

    /// The message.
    ///
    /// # Errors
    /// [`BuildError`] for the first value that was set and is out of its field's domain.
    pub fn build(self) -> Result<FragmentMessage, BuildError> {
        match self.refused {
            None => Ok(self.message),
            Some(refused) => Err(refused),
        }
    }
}

/// A value that a message cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildError {
    field: MessageField,
    problem: DomainError,
}

impl BuildError {
    /// The field that it was for.
    pub const fn field(&self) -> MessageField {
        self.field
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.problem)
    }
}

impl core::error::Error for BuildError {}
