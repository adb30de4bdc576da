//! A borrowed identity.

use alloc::string::String;
use core::fmt;

use super::{
    Dtype, HeadRange, InclusiveRange, PayloadHash, PayloadIdentity, ShapeView, Text, canonical, compat, general, write,
};
use crate::digest::{Digest, Sha256, sha256};
use crate::error::Error;

/// A valid identity, borrowed from its JSON or from a [`PayloadIdentity`]. Two views are equal when all ten fields are.
///
/// ```
/// use membrane_codec::{HeadRange, IdentityView};
///
/// let hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// let json = format!(
///     r#"{{"payload_hash": "{hash}", "model_id": "llama-3-8b", "model_revision": "", "tokenizer_name": "llama-3-8b",
///         "tokenizer_revision": "", "layer_range": [0, 32], "head_range": [-1, -1], "token_span": [0, 128],
///         "dtype": "float16", "shape": [1, 32, 32, 128, 64]}}"#
/// );
/// let identity = IdentityView::parse(json.as_bytes())?;
/// assert_eq!(identity.model_id(), "llama-3-8b");
/// assert_eq!(identity.head_range(), HeadRange::All);
/// assert!(identity.shape().dims().eq([1, 32, 32, 128, 64]));
/// # Ok::<(), membrane_codec::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct IdentityView<'a> {
    pub(super) payload_hash: PayloadHash,
    pub(super) model_id: Text<'a>,
    pub(super) model_revision: Text<'a>,
    pub(super) tokenizer_name: Text<'a>,
    pub(super) tokenizer_revision: Text<'a>,
    pub(super) layer_range: InclusiveRange,
    pub(super) head_range: HeadRange,
    pub(super) token_span: InclusiveRange,
    pub(super) dtype: Dtype,
    pub(super) shape: ShapeView<'a>,
    /// The JSON that this was parsed from, if it was in canonical form.
    pub(super) canonical: Option<&'a [u8]>,
}

impl<'a> IdentityView<'a> {
    /// Parses the JSON text of one identity (contract, section 2): strict RFC 8259 in UTF-8, keys in any order, unknown
    /// keys ignored.
    ///
    /// Cost: canonical form takes one pass and allocates nothing. Any other form goes through serde_json, whose scratch
    /// memory is at most in proportion to `json`. PERF.md has figures for both.
    ///
    /// # Errors
    /// Offsets count from the start of `json`.
    /// * [`Reason::IdentityJson`](crate::Reason::IdentityJson): not UTF-8, not one JSON object, one of the ten fields
    ///   twice, a lone surrogate, or nested deeper than [`MAX_NESTING`](crate::MAX_NESTING).
    /// * [`Reason::IdentityField`](crate::Reason::IdentityField): a field is missing or out of its domain; the error
    ///   names the first such field in the order of the specification.
    pub fn parse(json: &'a [u8]) -> Result<Self, Error> {
        match canonical::parse(json) {
            Some(view) => Ok(view),
            None => general::parse(json),
        }
    }

    /// As [`IdentityView::parse`], always on the general road.
    ///
    /// The result is the same, slower; it exists so that the two roads can be compared by tests, fuzzers and benches.
    ///
    /// # Errors
    /// As [`IdentityView::parse`].
    #[doc(hidden)]
    pub fn parse_general(json: &'a [u8]) -> Result<Self, Error> {
        general::parse(json)
    }

    /// `payload_hash`: the key under which a store holds the payload; meant to be its SHA-256.
    pub const fn payload_hash(&self) -> PayloadHash {
        self.payload_hash
    }

    /// `model_id`: any string.
    pub const fn model_id(&self) -> Text<'a> {
        self.model_id
    }

    /// `model_revision`: any string, empty when unpinned.
    pub const fn model_revision(&self) -> Text<'a> {
        self.model_revision
    }

    /// `tokenizer_name`: any string.
    pub const fn tokenizer_name(&self) -> Text<'a> {
        self.tokenizer_name
    }

    /// `tokenizer_revision`: any string.
    pub const fn tokenizer_revision(&self) -> Text<'a> {
        self.tokenizer_revision
    }

    /// `layer_range`: the layers held, both ends inside.
    pub const fn layer_range(&self) -> InclusiveRange {
        self.layer_range
    }

    /// `head_range`: the heads held, both ends inside, or all.
    pub const fn head_range(&self) -> HeadRange {
        self.head_range
    }

    /// `token_span`: the tokens held, both ends inside.
    pub const fn token_span(&self) -> InclusiveRange {
        self.token_span
    }

    /// `dtype`: the tensor's element type.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// `shape`: the tensor's dimensions.
    pub const fn shape(&self) -> ShapeView<'a> {
        self.shape
    }

    /// Whether this was parsed from JSON in canonical form, so that writing it again gives the same bytes.
    pub const fn is_canonical(&self) -> bool {
        self.canonical.is_some()
    }

    /// Writes the canonical JSON form (contract, section 2) into `out`. Allocates nothing itself.
    ///
    /// # Errors
    /// Only those of `out`.
    pub fn write_canonical_json(&self, out: &mut impl fmt::Write) -> fmt::Result {
        write::identity(self, out)
    }

    /// The canonical JSON form: keys sorted, no white space, ASCII.
    pub fn canonical_json(&self) -> String {
        let mut json = String::with_capacity(self.canonical_json_len());
        // Writing to a String cannot fail.
        let _ = self.write_canonical_json(&mut json);
        json
    }

    /// The length in bytes of the canonical JSON form. Allocates nothing.
    pub(crate) fn canonical_json_len(&self) -> usize {
        struct Length(usize);

        impl fmt::Write for Length {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.0 += text.len();
                Ok(())
            }
        }

        let mut length = Length(0);
        // Counting cannot fail.
        let _ = self.write_canonical_json(&mut length);
        length.0
    }

    /// The fingerprint (specification, section 1): the SHA-256 of the canonical JSON form. Two identities have the same
    /// one exactly when all ten fields are equal.
    ///
    /// Cost: the hash of a few hundred bytes; no allocation. An identity parsed from canonical JSON is hashed as it lies.
    pub fn fingerprint(&self) -> Digest {
        match self.canonical {
            Some(json) => sha256(json),
            None => {
                let mut hasher = Sha256::new();
                // Hashing cannot fail.
                let _ = self.write_canonical_json(&mut hasher);
                hasher.finalize()
            }
        }
    }

    /// The `fingerprint_compat` of this identity (contract, section 3): what must agree for one engine to use what
    /// another computed. Model, tokenizer and dtype count; layout versions are 0 and the config hash is empty.
    pub fn fingerprint_compat(&self) -> Digest {
        compat::fingerprint(self)
    }

    /// An owned copy.
    pub fn to_identity(&self) -> PayloadIdentity {
        PayloadIdentity {
            payload_hash: self.payload_hash,
            model_id: self.model_id.into(),
            model_revision: self.model_revision.into(),
            tokenizer_name: self.tokenizer_name.into(),
            tokenizer_revision: self.tokenizer_revision.into(),
            layer_range: self.layer_range,
            head_range: self.head_range,
            token_span: self.token_span,
            dtype: self.dtype,
            shape: self.shape.to_shape(),
        }
    }
}

impl PartialEq for IdentityView<'_> {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            payload_hash,
            model_id,
            model_revision,
            tokenizer_name,
            tokenizer_revision,
            layer_range,
            head_range,
            token_span,
            dtype,
            shape,
            canonical: _,
        } = self;
        *payload_hash == other.payload_hash
            && *model_id == other.model_id
            && *model_revision == other.model_revision
            && *tokenizer_name == other.tokenizer_name
            && *tokenizer_revision == other.tokenizer_revision
            && *layer_range == other.layer_range
            && *head_range == other.head_range
            && *token_span == other.token_span
            && *dtype == other.dtype
            && *shape == other.shape
    }
}

impl Eq for IdentityView<'_> {}

impl fmt::Debug for IdentityView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityView")
            .field("payload_hash", &self.payload_hash)
            .field("model_id", &self.model_id)
            .field("model_revision", &self.model_revision)
            .field("tokenizer_name", &self.tokenizer_name)
            .field("tokenizer_revision", &self.tokenizer_revision)
            .field("layer_range", &self.layer_range)
            .field("head_range", &self.head_range)
            .field("token_span", &self.token_span)
            .field("dtype", &self.dtype)
            .field("shape", &self.shape)
            .finish()
    }
}
