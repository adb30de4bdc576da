//! An owned message.

use core::num::NonZeroU64;

use super::{
    CompatFingerprint, Compatibility, Consistency, MessageBuilder, MessageView, ReuseScore, TenantId, Ttl, general,
    plain,
};
use crate::digest::Digest;
use crate::error::Error;
use crate::identity::{PayloadHash, PayloadIdentity, Text};

/// A fragment message (specification, section 2; contract, section 3), owned.
///
/// Each field's type admits legal values only, so any value of this type is a valid message. [`FragmentMessage::builder`]
/// takes plain values instead and checks them.
#[derive(Clone, Debug, PartialEq)]
pub struct FragmentMessage {
    /// Whose fragment it is.
    pub tenant_id: TenantId,
    /// What the payload is.
    pub identity: PayloadIdentity,
    /// The SHA-256 under which the payload is to be had; none when the message is about metadata only.
    pub payload_ref: Option<PayloadHash>,
    /// The payload's length in bytes.
    pub payload_size: u64,
    /// For how many seconds the fragment stays.
    pub ttl: Ttl,
    /// How likely the fragment is to be used again.
    pub reuse_score: ReuseScore,
    /// The fragment's version.
    pub version_id: NonZeroU64,
    /// Any string; see [`Consistency`].
    pub consistency: String,
    /// The hybrid logical clock of the write.
    pub hlc: u64,
    /// What an engine must have in common with the fragment; none writes an empty string.
    pub fingerprint_compat: Option<CompatFingerprint>,
}

impl FragmentMessage {
    /// Starts a message about the fragment of this identity. What is not set has the value that [`MessageBuilder`] names.
    pub fn builder(identity: PayloadIdentity) -> MessageBuilder {
        MessageBuilder::new(identity)
    }

    /// Parses one body. For many bodies [`MessageParser`](super::MessageParser) is made: it allocates nothing.
    ///
    /// # Errors
    /// As [`MessageParser::parse`](super::MessageParser::parse).
    pub fn from_json(body: &[u8]) -> Result<Self, Error> {
        match plain::parse(body) {
            Some(view) => Ok(view.to_message()),
            None => general::parse(body).map(|view| view.to_message()),
        }
    }

    /// A view of this message. Cost: nothing but copying references.
    pub fn as_view(&self) -> MessageView<'_> {
        MessageView {
            tenant_id: Text::from(self.tenant_id.as_str()),
            identity: self.identity.as_view(),
            payload_ref: self.payload_ref,
            payload_size: self.payload_size,
            ttl: self.ttl,
            reuse_score: self.reuse_score,
            version_id: self.version_id,
            consistency: Text::from(self.consistency.as_str()),
            hlc: self.hlc,
            fingerprint_compat: self.fingerprint_compat,
        }
    }

    /// As [`MessageView::consistency_level`].
    pub fn consistency_level(&self) -> Option<Consistency> {
        self.as_view().consistency_level()
    }

    /// As [`MessageView::compatibility`].
    pub fn compatibility(&self, engine: Digest) -> Compatibility {
        self.as_view().compatibility(engine)
    }

    /// As [`MessageView::to_json`].
    pub fn to_json(&self) -> String {
        self.as_view().to_json()
    }
}

impl MessageView<'_> {
    /// An owned copy. Allocates each string and the shape.
    pub fn to_message(&self) -> FragmentMessage {
        FragmentMessage {
            tenant_id: TenantId::from_checked(self.tenant_id),
            identity: self.identity.to_identity(),
            payload_ref: self.payload_ref,
            payload_size: self.payload_size,
            ttl: self.ttl,
            reuse_score: self.reuse_score,
            version_id: self.version_id,
            consistency: self.consistency.into(),
            hlc: self.hlc,
            fingerprint_compat: self.fingerprint_compat,
        }
    }
}
