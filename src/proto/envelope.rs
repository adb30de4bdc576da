//! What an [`Envelope`] must say to be believed.

use super::messages::Envelope;
use super::{Compression, WireError, WireReason};
use crate::digest::Digest;
use crate::format::MessageField;
use crate::identity::Text;
use crate::tenant::is_tenant;

impl Envelope {
    /// Checks every field that has a domain: tenant_id, fingerprint_compat, content_hash, total_bytes and compression.
    ///
    /// # Errors
    /// [`WireReason::EnvelopeField`], naming the field; [`WireReason::Compression`].
    ///
    /// ```
    /// use membrane_codec::proto::{Chunker, Envelope};
    ///
    /// let payload = Chunker::new().cut(b"payload".as_slice().into())?;
    /// let envelope = Envelope { tenant_id: "public".into(), ..payload.envelope() };
    /// envelope.validate()?;
    ///
    /// let error = Envelope { tenant_id: "a/b".into(), ..envelope }.validate().unwrap_err();
    /// assert_eq!(error.field(), Some("tenant_id"));
    /// # Ok::<(), membrane_codec::proto::WireError>(())
    /// ```
    pub fn validate(&self) -> Result<(), WireError> {
        if !is_tenant(Text::from(self.tenant_id.as_str())) {
            let expected = MessageField::TenantId.domain();
            return Err(WireError::text(WireReason::EnvelopeField, "tenant_id", &self.tenant_id, expected));
        }
        if !self.fingerprint_compat.is_empty() && self.fingerprint_compat.parse::<Digest>().is_err() {
            let expected = "64 hexadecimal characters, or none";
            let found = &self.fingerprint_compat;
            return Err(WireError::text(WireReason::EnvelopeField, "fingerprint_compat", found, expected));
        }
        self.content_digest()?;
        self.payload_len()?;
        self.compression_method()?;
        Ok(())
    }

    /// The content_hash: the SHA-256 of the uncompressed payload.
    ///
    /// # Errors
    /// [`WireReason::EnvelopeField`] when it is not 64 hexadecimal characters of either case.
    pub fn content_digest(&self) -> Result<Digest, WireError> {
        let (found, expected) = (&self.content_hash, "64 hexadecimal characters");
        found.parse().map_err(|_| WireError::text(WireReason::EnvelopeField, "content_hash", found, expected))
    }

    /// The total_bytes: the length of the uncompressed payload.
    ///
    /// # Errors
    /// [`WireReason::EnvelopeField`] when it is negative.
    pub fn payload_len(&self) -> Result<u64, WireError> {
        let negative = |_| {
            WireError::new(WireReason::EnvelopeField, self.total_bytes.to_string(), "0 or more").of_field("total_bytes")
        };
        self.total_bytes.try_into().map_err(negative)
    }

    /// The compression, as its type.
    ///
    /// # Errors
    /// [`WireReason::Compression`] for a number that the contract does not have.
    pub fn compression_method(&self) -> Result<Compression, WireError> {
        self.compression.try_into()
    }
}
