//! Whole verdicts: every check of the contract, and the findings that go beyond it.

use core::fmt;

use super::Frame;
use super::layout::{self, Accepts};
use super::view::parse_identity;
use crate::digest::{Digest, sha256};
use crate::error::Error;
use crate::identity::{IdentityView, PayloadHash};

/// Reads and verifies exactly one frame (specification, section 3): every check of the contract, in its order.
///
/// Cost: one pass over the payload to hash it; the rest is nanoseconds when the identity is in canonical form, which also
/// allocates nothing, and some hundred more when it is not.
///
/// # Errors
/// The first row that holds, with its reason; `len` is the length of `bytes`:
///
/// | row | what is wrong | reason |
/// |---|---|---|
/// | 1 | nothing is there | [`Truncated`](crate::Reason::Truncated) |
/// | 2 | the first bytes, four or as many as there are, are not `C0 DE 01 05` | [`OldVersion`](crate::Reason::OldVersion) for `C0 DE 01 02` and `C0 DE 01 04`, else [`BadMagic`](crate::Reason::BadMagic) |
/// | 3 | shorter than the 14 bytes of a header | [`Truncated`](crate::Reason::Truncated) |
/// | 4 | schema is not 5 | [`SchemaVersion`](crate::Reason::SchemaVersion) |
/// | 5 | reserved is not 0 | [`ReservedNotZero`](crate::Reason::ReservedNotZero) |
/// | 6 | 14 + identity_len + 16 > `len` | [`IdentityLength`](crate::Reason::IdentityLength) |
/// | 7 | the identity is not one strict JSON object | [`IdentityJson`](crate::Reason::IdentityJson) |
/// | 8 | a field of the identity is missing or out of its domain | [`IdentityField`](crate::Reason::IdentityField) |
/// | 9 | 14 + identity_len + 8 + payload_len + 8 > `len` | [`Truncated`](crate::Reason::Truncated) |
/// | 10 | the same sum < `len` | [`TrailingBytes`](crate::Reason::TrailingBytes) |
/// | 11 | the trailer is not the first 8 bytes of the payload's SHA-256 | [`TrailerMismatch`](crate::Reason::TrailerMismatch) |
///
/// Rows 7 and 8 are [`IdentityView::parse`]. Other readers name these rows in their documentation.
///
/// ```
/// use membrane_codec::{Reason, canonicalize, parse_canonical};
/// # let identity = membrane_codec::PayloadIdentity::from_json(br#"{"payload_hash":
/// #   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "model_id": "m", "model_revision": "",
/// #   "tokenizer_name": "m", "tokenizer_revision": "", "layer_range": [0, 0], "head_range": [-1, -1],
/// #   "token_span": [0, 0], "dtype": "nf4", "shape": [1]}"#)?;
///
/// let mut bytes = canonicalize(&identity, b"payload")?;
/// assert_eq!(parse_canonical(&bytes)?.payload(), b"payload");
///
/// let last = bytes.len() - 1;
/// bytes[last] ^= 1;
/// assert_eq!(parse_canonical(&bytes).unwrap_err().reason(), Reason::TrailerMismatch);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parse_canonical(bytes: &[u8]) -> Result<VerifiedFrame<'_>, Error> {
    let frame = UnverifiedFrame::parse(bytes)?;
    frame.conclude(sha256(frame.payload()))
}

/// A frame of which all is known but whether the trailer holds: rows 1-10.
#[derive(Clone, Copy)]
pub(crate) struct UnverifiedFrame<'a> {
    frame: Frame<'a>,
    identity: IdentityView<'a>,
}

impl<'a> UnverifiedFrame<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::parse_as(bytes, Accepts::Current)
    }

    pub(crate) fn parse_as(bytes: &'a [u8], accepts: Accepts) -> Result<Self, Error> {
        let head = layout::parse_head_of(bytes, bytes.len() as u64, accepts)?;
        let identity = parse_identity(head.identity)?;
        let body = head.parse_body()?;
        head.check_nothing_follows(&body)?;
        Ok(Self { frame: Frame::from_parts(&head, &body), identity })
    }

    /// As [`UnverifiedFrame::parse`], except that bytes after the frame are no error: without row 10.
    pub(super) fn parse_prefix(bytes: &'a [u8]) -> Result<Self, Error> {
        let head = layout::parse_head(bytes)?;
        let identity = parse_identity(head.identity)?;
        let body = head.parse_body()?;
        Ok(Self { frame: Frame::from_parts(&head, &body), identity })
    }

    pub(super) fn frame_len(&self) -> usize {
        self.frame.frame_len()
    }

    pub(crate) fn payload(&self) -> &'a [u8] {
        self.frame.payload()
    }

    /// Row 11, by the SHA-256 of the payload.
    pub(crate) fn conclude(&self, payload_digest: Digest) -> Result<VerifiedFrame<'a>, Error> {
        self.frame.check_trailer(payload_digest)?;
        Ok(VerifiedFrame { frame: self.frame, identity: self.identity, payload_digest })
    }
}

/// A frame that passed every check of the contract. Only what verifies makes one: [`parse_canonical`], [`Verifier`] and
/// [`verify_batch`](crate::verify_batch).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifiedFrame<'a> {
    frame: Frame<'a>,
    identity: IdentityView<'a>,
    payload_digest: Digest,
}

impl<'a> VerifiedFrame<'a> {
    /// The frame's structure.
    pub const fn frame(&self) -> Frame<'a> {
        self.frame
    }

    /// The identity. No checksum of the format covers it; see [`Verifier`].
    pub const fn identity(&self) -> &IdentityView<'a> {
        &self.identity
    }

    /// The payload: its hash agreed with the trailer.
    pub const fn payload(&self) -> &'a [u8] {
        self.frame.payload()
    }

    /// The payload's SHA-256, all 32 bytes.
    pub const fn payload_digest(&self) -> Digest {
        self.payload_digest
    }
}

/// Verifies frames against more than the contract asks.
///
/// A trailer covers the payload alone: a frame whose identity was swapped still passes every check. A verifier therefore
/// can be told what to expect. What then disagrees is a [`Finding`], kept apart from errors, because producers exist
/// whose payload_hash is not the hash of the stored bytes: whether a finding is a failure is the caller's to say.
///
/// ```
/// use membrane_codec::{Finding, Verifier, canonicalize, sha256};
/// # let identity = membrane_codec::PayloadIdentity::from_json(br#"{"payload_hash":
/// #   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "model_id": "m", "model_revision": "",
/// #   "tokenizer_name": "m", "tokenizer_revision": "", "layer_range": [0, 0], "head_range": [-1, -1],
/// #   "token_span": [0, 0], "dtype": "nf4", "shape": [1]}"#)?;
///
/// let bytes = canonicalize(&identity, b"not the payload that was named")?;
/// let verifier = Verifier::new().check_payload_hash(true);
/// let (frame, findings) = verifier.verify(&bytes)?;
/// assert_eq!(
///     findings.iter().collect::<Vec<_>>(),
///     [Finding::PayloadHash { named: identity.payload_hash, computed: frame.payload_digest() }]
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verifier {
    check_payload_hash: bool,
    key: Option<Digest>,
    fingerprint: Option<Digest>,
}

impl Verifier {
    /// A verifier that expects nothing beyond the contract.
    pub const fn new() -> Self {
        Self { check_payload_hash: false, key: None, fingerprint: None }
    }

    /// Whether the identity's payload_hash must be the SHA-256 of the payload. Costs nothing: the digest is there.
    pub const fn check_payload_hash(mut self, check: bool) -> Self {
        self.check_payload_hash = check;
        self
    }

    /// The key under which a store holds the frame, by convention the file stem of `{key[:2]}/{key[2:4]}/{key}.blob`:
    /// the identity's payload_hash must name the same hash.
    pub const fn expect_key(mut self, key: Digest) -> Self {
        self.key = Some(key);
        self
    }

    /// The identity's fingerprint must be this one. Costs the hash of a few hundred bytes.
    pub const fn expect_fingerprint(mut self, fingerprint: Digest) -> Self {
        self.fingerprint = Some(fingerprint);
        self
    }

    /// Verifies exactly one frame, as [`parse_canonical`] does, then what this verifier expects.
    ///
    /// # Errors
    /// As [`parse_canonical`]. Findings are not errors.
    pub fn verify<'a>(&self, bytes: &'a [u8]) -> Result<(VerifiedFrame<'a>, Findings), Error> {
        let frame = parse_canonical(bytes)?;
        let findings = self.findings(&frame.identity, frame.payload_digest);
        Ok((frame, findings))
    }

    /// What this verifier finds in a frame that was verified elsewhere, from its identity and its payload's SHA-256.
    /// Allocates nothing.
    pub fn findings(&self, identity: &IdentityView<'_>, payload_digest: Digest) -> Findings {
        let named = identity.payload_hash();
        let payload_hash = (self.check_payload_hash && named.digest() != payload_digest)
            .then_some(Finding::PayloadHash { named, computed: payload_digest });
        let key =
            self.key.filter(|expected| *expected != named.digest()).map(|expected| Finding::Key { expected, named });
        let fingerprint = self.fingerprint.and_then(|expected| {
            let computed = identity.fingerprint();
            (expected != computed).then_some(Finding::Fingerprint { expected, computed })
        });
        Findings([payload_hash, key, fingerprint])
    }
}

/// Something that disagrees with what a [`Verifier`] was told to expect, in a frame that is sound by the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// `payload_hash_mismatch`: the identity names another hash than the payload has.
    PayloadHash {
        /// What the identity says.
        named: PayloadHash,
        /// The payload's SHA-256.
        computed: Digest,
    },
    /// `key_mismatch`: the frame lies under another key than its identity names.
    Key {
        /// The key under which the frame lies.
        expected: Digest,
        /// What the identity says.
        named: PayloadHash,
    },
    /// `fingerprint_mismatch`: the identity is another one.
    Fingerprint {
        /// The fingerprint that was asked for.
        expected: Digest,
        /// The identity's fingerprint.
        computed: Digest,
    },
}

impl Finding {
    /// The stable code of this kind of finding, in snake case.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::PayloadHash { .. } => "payload_hash_mismatch",
            Self::Key { .. } => "key_mismatch",
            Self::Fingerprint { .. } => "fingerprint_mismatch",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.as_str())?;
        match self {
            Self::PayloadHash { named, computed } => {
                write!(f, "the identity names {named}, the payload has {computed}")
            }
            Self::Key { expected, named } => write!(f, "stored under {expected}, the identity names {named}"),
            Self::Fingerprint { expected, computed } => write!(f, "expected {expected}, the identity has {computed}"),
        }
    }
}

/// What a [`Verifier`] found in one frame; empty when all is as expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings([Option<Finding>; 3]);

impl Findings {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The findings: payload_hash, then key, then fingerprint.
    pub fn iter(&self) -> impl Iterator<Item = Finding> + use<> {
        self.0.into_iter().flatten()
    }
}

impl IntoIterator for Findings {
    type Item = Finding;
    type IntoIter = core::iter::Flatten<core::array::IntoIter<Option<Finding>, 3>>;

    /// As [`Findings::iter`].
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().flatten()
    }
}
