//! A borrowed identity.

use core::fmt;

use super::{Dtype, HeadRange, InclusiveRange, PayloadHash, ShapeView, Text};

/// A valid identity, borrowed from its JSON or from a [`PayloadIdentity`](super::PayloadIdentity). Two views are equal when all ten fields are.
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
    pub(crate) payload_hash: PayloadHash,
    pub(crate) model_id: Text<'a>,
    pub(crate) model_revision: Text<'a>,
    pub(crate) tokenizer_name: Text<'a>,
    pub(crate) tokenizer_revision: Text<'a>,
    pub(crate) layer_range: InclusiveRange,
    pub(crate) head_range: HeadRange,
    pub(crate) token_span: InclusiveRange,
    pub(crate) dtype: Dtype,
    pub(crate) shape: ShapeView<'a>,
    /// The JSON that this was parsed from, if it was in canonical form.
    pub(crate) canonical: Option<&'a str>,
}

impl<'a> IdentityView<'a> {
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

    /// The same identity, without knowledge of the JSON that it was parsed from.
    #[cfg(feature = "message")]
    pub(crate) const fn without_json(self) -> Self {
        Self { canonical: None, ..self }
    }

    /// Whether this was parsed from JSON in canonical form, so that writing it again gives the same bytes.
    pub const fn is_canonical(&self) -> bool {
        self.canonical.is_some()
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
