//! An owned identity.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::{Dtype, HeadRange, IdentityView, InclusiveRange, PayloadHash, Shape, Text};
use crate::digest::Digest;
use crate::error::Error;

/// The ten fields that identify a fragment (specification, section 1), owned.
///
/// Each field's type admits legal values only, so any value of this type is a valid identity; there is nothing to check
/// after it is built. With serde it is the JSON sub-dict of the specification; unknown keys are ignored. To read JSON
/// under the contract's exact rules and reason codes use [`PayloadIdentity::from_json`].
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

    /// The canonical JSON form (contract, section 2): keys sorted, no white space, ASCII. It is what a frame carries.
    pub fn canonical_json(&self) -> String {
        self.as_view().canonical_json()
    }

    /// The fingerprint (specification, section 1): the SHA-256 of [`PayloadIdentity::canonical_json`].
    pub fn fingerprint(&self) -> Digest {
        self.as_view().fingerprint()
    }

    /// The `fingerprint_compat` of this identity (contract, section 3); see [`IdentityView::fingerprint_compat`].
    pub fn fingerprint_compat(&self) -> Digest {
        self.as_view().fingerprint_compat()
    }
}
