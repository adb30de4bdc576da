//! The names of the eleven message fields and the domain of each.

use core::fmt;

/// One of the eleven keys of a fragment message (specification, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageField {
    /// `schema_version`
    SchemaVersion,
    /// `tenant_id`
    TenantId,
    /// `identity`
    Identity,
    /// `payload_ref`
    PayloadRef,
    /// `payload_size`
    PayloadSize,
    /// `ttl`
    Ttl,
    /// `reuse_score`
    ReuseScore,
    /// `version_id`
    VersionId,
    /// `consistency`
    Consistency,
    /// `hlc`
    Hlc,
    /// `fingerprint_compat`
    FingerprintCompat,
}

impl MessageField {
    /// All eleven, in the order of the specification. When several are at fault, an error names the first in this order.
    pub const ALL: [Self; 11] = [
        Self::SchemaVersion,
        Self::TenantId,
        Self::Identity,
        Self::PayloadRef,
        Self::PayloadSize,
        Self::Ttl,
        Self::ReuseScore,
        Self::VersionId,
        Self::Consistency,
        Self::Hlc,
        Self::FingerprintCompat,
    ];

    /// The field's key in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SchemaVersion => "schema_version",
            Self::TenantId => "tenant_id",
            Self::Identity => "identity",
            Self::PayloadRef => "payload_ref",
            Self::PayloadSize => "payload_size",
            Self::Ttl => "ttl",
            Self::ReuseScore => "reuse_score",
            Self::VersionId => "version_id",
            Self::Consistency => "consistency",
            Self::Hlc => "hlc",
            Self::FingerprintCompat => "fingerprint_compat",
        }
    }

    /// What the field may hold, in words (contract, section 3).
    pub const fn domain(self) -> &'static str {
        match self {
            Self::SchemaVersion => "the integer 5",
            Self::TenantId => {
                "1 to 128 characters, none of them white space, a control character, a colon, a slash, a backslash or a quote"
            }
            Self::Identity => "an identity object",
            Self::PayloadRef => "64 hexadecimal characters, or null",
            Self::PayloadSize | Self::Hlc => "an integer from 0 to 2^64-1",
            Self::Ttl => "a finite number of seconds, 0 or more",
            Self::ReuseScore => "a number from 0 to 1",
            Self::VersionId => "an integer from 1 to 2^64-1",
            Self::Consistency => "a string",
            Self::FingerprintCompat => "64 hexadecimal characters, or an empty string",
        }
    }
}

impl fmt::Display for MessageField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
