//! One frame of any version, in memory.

use core::fmt;

use crate::digest::{Digest, sha256};
use crate::error::Error;
use crate::format::{MAGIC, MAGIC_V2, MAGIC_V4, SCHEMA_VERSION};
use crate::frame::{Accepts, FrameHeader, UnverifiedFrame};
use crate::identity::IdentityView;

/// The versions of a frame that can be read or converted, by magic and schema (contract, section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FrameVersion {
    /// Magic `C0 DE 01 02`, schema 2.
    V2,
    /// Magic `C0 DE 01 04`, schema 4.
    V4,
    /// The magic of v5 over schema 2: what Membrane's own tool makes of v2, and no reader of v5 accepts.
    V5OverSchema2,
    /// The magic of v5 over schema 4.
    V5OverSchema4,
    /// Magic `C0 DE 01 05`, schema 5: nothing to convert.
    V5,
}

impl FrameVersion {
    /// Every version, the oldest first.
    pub const ALL: &'static [Self] = &[Self::V2, Self::V4, Self::V5OverSchema2, Self::V5OverSchema4, Self::V5];

    /// A stable name: `v2`, `v4`, `v5_over_schema_2`, `v5_over_schema_4` or `v5`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2 => "v2",
            Self::V4 => "v4",
            Self::V5OverSchema2 => "v5_over_schema_2",
            Self::V5OverSchema4 => "v5_over_schema_4",
            Self::V5 => "v5",
        }
    }

    /// The version that a header claims, whatever its other fields hold; `None` for magics and schemas that do not go
    /// together or are none of these.
    pub fn of(header: &FrameHeader) -> Option<Self> {
        match (header.magic(), header.schema()) {
            (MAGIC_V2, 2) => Some(Self::V2),
            (MAGIC_V4, 4) => Some(Self::V4),
            (MAGIC, 2) => Some(Self::V5OverSchema2),
            (MAGIC, 4) => Some(Self::V5OverSchema4),
            (MAGIC, SCHEMA_VERSION) => Some(Self::V5),
            _ => None,
        }
    }
}

impl fmt::Display for FrameVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The first bytes of every v5 frame, magic and schema: all that a migration writes.
pub const V5_START: [u8; 6] = {
    let [a, b, c, d] = MAGIC;
    let [schema, high] = SCHEMA_VERSION.to_le_bytes();
    [a, b, c, d, schema, high]
};

/// A frame of any version that passed every check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameMigration<'a> {
    version: FrameVersion,
    identity: IdentityView<'a>,
    payload_digest: Digest,
}

impl<'a> FrameMigration<'a> {
    /// What the frame is.
    pub const fn version(&self) -> FrameVersion {
        self.version
    }

    /// What is to be written over the frame's first six bytes to make it v5; `None` when it is. All else stays.
    pub fn new_start(&self) -> Option<[u8; V5_START.len()]> {
        (self.version != FrameVersion::V5).then_some(V5_START)
    }

    /// The identity, which no checksum of the format covers.
    pub const fn identity(&self) -> &IdentityView<'a> {
        &self.identity
    }

    /// The payload's SHA-256, all 32 bytes.
    pub const fn payload_digest(&self) -> Digest {
        self.payload_digest
    }
}

/// Verifies exactly one frame of v2, v4 or v5 and says what makes it v5 (specification, section 7).
///
/// v2 and v4 have the layout of v5: every check of [`parse_canonical`](crate::parse_canonical) is made, in its order, with
/// the magics and schemas of [`FrameVersion`] accepted.
///
/// Cost: as [`parse_canonical`](crate::parse_canonical). Nothing is copied, nothing written.
///
/// # Errors
/// As [`parse_canonical`](crate::parse_canonical). A magic that is none of the three is
/// [`Reason::BadMagic`](crate::Reason::BadMagic); a schema that does not go with its magic is
/// [`Reason::SchemaVersion`](crate::Reason::SchemaVersion). Such a frame is to be left as it is.
///
/// ```
/// use membrane_codec::migrate::{FrameVersion, migrate_frame};
/// use membrane_codec::parse_canonical;
/// # let identity = membrane_codec::PayloadIdentity::from_json(br#"{"payload_hash":
/// #   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "model_id": "m", "model_revision": "",
/// #   "tokenizer_name": "m", "tokenizer_revision": "", "layer_range": [0, 0], "head_range": [-1, -1],
/// #   "token_span": [0, 0], "dtype": "nf4", "shape": [1]}"#)?;
/// # let mut stored = membrane_codec::canonicalize(&identity, b"payload")?;
/// # stored[..6].copy_from_slice(&[0xC0, 0xDE, 0x01, 0x04, 4, 0]);
///
/// let migration = migrate_frame(&stored)?;
/// assert_eq!(migration.version(), FrameVersion::V4);
/// if let Some(start) = migration.new_start() {
///     stored[..start.len()].copy_from_slice(&start);
/// }
/// assert_eq!(parse_canonical(&stored)?.payload(), b"payload");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn migrate_frame(bytes: &[u8]) -> Result<FrameMigration<'_>, Error> {
    let frame = UnverifiedFrame::parse_as(bytes, Accepts::Convertible)?;
    let verified = frame.conclude(sha256(frame.payload()))?;
    // Accepted, so it is one of them.
    let version = FrameVersion::of(verified.frame().header()).unwrap_or(FrameVersion::V5);
    Ok(FrameMigration { version, identity: *verified.identity(), payload_digest: verified.payload_digest() })
}
