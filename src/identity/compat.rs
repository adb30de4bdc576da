//! The compatibility fingerprint of an identity (contract, section 3).

use core::fmt::{self, Write};

use super::{IdentityView, write};
use crate::digest::{Digest, Sha256};

pub(super) fn fingerprint(view: &IdentityView<'_>) -> Digest {
    let mut hasher = Sha256::new();
    // Hashing cannot fail.
    let _ = write_canonical_json(view, &mut hasher);
    hasher.finalize()
}

/// What an engine without layout versions and config hash would write, in canonical form.
fn write_canonical_json(view: &IdentityView<'_>, out: &mut impl Write) -> fmt::Result {
    write!(out, "{{\"config_hash\":\"\",\"dtype\":\"{}\",\"model_id\":", view.dtype)?;
    write::string(view.model_id, out)?;
    out.write_str(",\"model_layout_version\":0,\"model_revision\":")?;
    write::string(view.model_revision, out)?;
    out.write_str(",\"tokenizer_layout_version\":0,\"tokenizer_name\":")?;
    write::string(view.tokenizer_name, out)?;
    out.write_str(",\"tokenizer_revision\":")?;
    write::string(view.tokenizer_revision, out)?;
    out.write_char('}')
}
