//! What must agree for one engine to use what another computed.

use core::fmt::{self, Write};

use super::{Dtype, IdentityView, Text, fingerprint, write};
use crate::digest::Digest;

/// The eight fields under the compatibility fingerprint (contract, section 3): two engines whose fingerprints are equal
/// can use each other's fragments.
///
/// An identity holds five of them, and what is computed from it alone has layout versions 0 and no config hash
/// ([`CompatFields::from_identity`]). A live engine that knows its layouts and its configuration fills in the rest.
///
/// ```
/// use membrane_codec::{CompatFields, Dtype};
///
/// let engine = CompatFields {
///     model_id: "llama-3-8b".into(),
///     model_revision: "".into(),
///     model_layout_version: 2,
///     tokenizer_name: "llama-3-8b".into(),
///     tokenizer_revision: "".into(),
///     tokenizer_layout_version: 1,
///     dtype: Dtype::Float16,
///     config_hash: "rope-scaled".into(),
/// };
/// let plain = CompatFields { model_layout_version: 0, tokenizer_layout_version: 0, config_hash: "".into(), ..engine };
/// assert_ne!(engine.fingerprint(), plain.fingerprint());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompatFields<'a> {
    /// The model that computed the tensor.
    pub model_id: Text<'a>,
    /// The model's revision; empty when unpinned.
    pub model_revision: Text<'a>,
    /// The version of the layout in which the engine keeps the model's tensors; 0 when it has none.
    pub model_layout_version: u64,
    /// The tokenizer.
    pub tokenizer_name: Text<'a>,
    /// The tokenizer's revision.
    pub tokenizer_revision: Text<'a>,
    /// The version of the tokenizer's layout; 0 when it has none.
    pub tokenizer_layout_version: u64,
    /// The tensor's element type.
    pub dtype: Dtype,
    /// The hash of what else the engine's configuration changes in its tensors; empty when nothing.
    pub config_hash: Text<'a>,
}

impl<'a> CompatFields<'a> {
    /// What an identity says of them: layout versions 0 and an empty config hash.
    pub fn from_identity(identity: &IdentityView<'a>) -> Self {
        Self {
            model_id: identity.model_id,
            model_revision: identity.model_revision,
            model_layout_version: 0,
            tokenizer_name: identity.tokenizer_name,
            tokenizer_revision: identity.tokenizer_revision,
            tokenizer_layout_version: 0,
            dtype: identity.dtype,
            config_hash: Text::from(""),
        }
    }

    /// The `fingerprint_compat`: the SHA-256 of the eight fields as canonical JSON, in the same form as an identity's.
    ///
    /// Cost: the hash of some hundred bytes; no allocation.
    pub fn fingerprint(&self) -> Digest {
        fingerprint::sha256_of(|hasher| self.write_canonical_json(hasher))
    }

    fn write_canonical_json(&self, out: &mut impl Write) -> fmt::Result {
        out.write_str("{\"config_hash\":")?;
        write::string(self.config_hash, out)?;
        write!(out, ",\"dtype\":\"{}\",\"model_id\":", self.dtype)?;
        write::string(self.model_id, out)?;
        write!(out, ",\"model_layout_version\":{},\"model_revision\":", self.model_layout_version)?;
        write::string(self.model_revision, out)?;
        write!(out, ",\"tokenizer_layout_version\":{},\"tokenizer_name\":", self.tokenizer_layout_version)?;
        write::string(self.tokenizer_name, out)?;
        out.write_str(",\"tokenizer_revision\":")?;
        write::string(self.tokenizer_revision, out)?;
        out.write_char('}')
    }
}
