//! An owned identity.

use alloc::string::String;
use core::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Dtype, HeadRange, IdentityView, InclusiveRange, PayloadHash, Shape, Text};
use crate::error::Error;

/// The ten fields that identify a fragment (specification, section 1), owned.
///
/// Each field's type admits legal values only, so any value of this type is a valid identity; there is nothing to check
/// after it is built.
///
/// With serde it is the JSON sub-dict of the specification, for embedding in other documents. What the contract asks of
/// the text itself is then up to the serde format: serde_json passes lone surrogates and deep nesting inside unknown keys
/// and refuses `-0`. For verdicts with reason codes use [`PayloadIdentity::from_json`].
///
/// ```
/// use membrane_codec::{Dtype, HeadRange, InclusiveRange, PayloadIdentity, sha256};
///
/// let payload = vec![0; 2 * 64];
/// let identity = PayloadIdentity {
///     payload_hash: sha256(&payload).into(),
///     model_id: "llama-3-8b".into(),
///     model_revision: String::new(),
///     tokenizer_name: "llama-3-8b".into(),
///     tokenizer_revision: String::new(),
///     layer_range: InclusiveRange::new(0, 0)?,
///     head_range: HeadRange::All,
///     token_span: InclusiveRange::new(0, 0)?,
///     dtype: Dtype::Float16,
///     shape: [1, 1, 1, 1, 64].try_into()?,
/// };
/// let json = identity.canonical_json();
/// assert!(json.starts_with(r#"{"dtype":"float16","head_range":[-1,-1],"layer_range":[0,0],"#));
/// assert_eq!(PayloadIdentity::from_json(json.as_bytes())?, identity);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct PayloadIdentity {
    /// The key under which a store holds the payload: by intent the SHA-256 of the payload, in hexadecimal.
    pub payload_hash: PayloadHash,
    /// The model that computed the tensor. Any string.
    pub model_id: String,
    /// The model's revision; empty when unpinned. Any string.
    pub model_revision: String,
    /// The tokenizer. Any string.
    pub tokenizer_name: String,
    /// The tokenizer's revision. Any string.
    pub tokenizer_revision: String,
    /// The layers held, both ends inside.
    pub layer_range: InclusiveRange,
    /// The attention heads held, both ends inside, or all of them.
    pub head_range: HeadRange,
    /// The tokens held, both ends inside.
    pub token_span: InclusiveRange,
    /// The tensor's element type.
    pub dtype: Dtype,
    /// The tensor's dimensions.
    pub shape: Shape,
}

impl PayloadIdentity {
    /// Parses the JSON text of one identity under the contract's rules, as [`IdentityView::parse`] does, into owned
    /// fields.
    ///
    /// # Errors
    /// As [`IdentityView::parse`].
    pub fn from_json(json: &[u8]) -> Result<Self, Error> {
        IdentityView::parse(json).map(|view| view.to_identity())
    }

    /// A view of this identity. Cost: nothing but copying references.
    pub fn as_view(&self) -> IdentityView<'_> {
        IdentityView {
            payload_hash: self.payload_hash,
            model_id: Text::from(self.model_id.as_str()),
            model_revision: Text::from(self.model_revision.as_str()),
            tokenizer_name: Text::from(self.tokenizer_name.as_str()),
            tokenizer_revision: Text::from(self.tokenizer_revision.as_str()),
            layer_range: self.layer_range,
            head_range: self.head_range,
            token_span: self.token_span,
            dtype: self.dtype,
            shape: self.shape.as_view(),
            canonical: None,
        }
    }
}

impl<'a> From<&'a PayloadIdentity> for IdentityView<'a> {
    /// As [`PayloadIdentity::as_view`].
    fn from(identity: &'a PayloadIdentity) -> Self {
        identity.as_view()
    }
}

impl<'a> From<&IdentityView<'a>> for IdentityView<'a> {
    /// A copy: of references, mostly.
    fn from(view: &IdentityView<'a>) -> Self {
        *view
    }
}

impl IdentityView<'_> {
    /// An owned copy. Allocates each string and the shape.
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

/// The same ten fields, for serde to derive their reading.
#[derive(Deserialize)]
struct Fields {
    payload_hash: PayloadHash,
    model_id: String,
    model_revision: String,
    tokenizer_name: String,
    tokenizer_revision: String,
    layer_range: InclusiveRange,
    head_range: HeadRange,
    token_span: InclusiveRange,
    dtype: Dtype,
    shape: Shape,
}

impl From<Fields> for PayloadIdentity {
    fn from(fields: Fields) -> Self {
        Self {
            payload_hash: fields.payload_hash,
            model_id: fields.model_id,
            model_revision: fields.model_revision,
            tokenizer_name: fields.tokenizer_name,
            tokenizer_revision: fields.tokenizer_revision,
            layer_range: fields.layer_range,
            head_range: fields.head_range,
            token_span: fields.token_span,
            dtype: fields.dtype,
            shape: fields.shape,
        }
    }
}

impl<'de> Deserialize<'de> for PayloadIdentity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Takes an object and nothing else: serde's own reading of a struct would take an array of its fields as well.
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = PayloadIdentity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an identity object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PayloadIdentity, A::Error> {
                Fields::deserialize(MapAccessDeserializer::new(map)).map(PayloadIdentity::from)
            }
        }

        deserializer.deserialize_map(Object)
    }
}
