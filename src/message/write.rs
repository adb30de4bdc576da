//! Writes a message as JSON.

use core::fmt::{self, Write};

use super::MessageView;
use crate::format::SCHEMA_VERSION;
use crate::identity::write_string;

impl MessageView<'_> {
    /// Writes the body: the eleven fields in the order of the specification, without white space, in ASCII with the escapes
    /// of the canonical form, and the identity in canonical form. Numbers stay what they were. Allocates nothing itself.
    ///
    /// # Errors
    /// Only those of `out`.
    pub fn write_json(&self, out: &mut impl Write) -> fmt::Result {
        write!(out, "{{\"schema_version\":{SCHEMA_VERSION},\"tenant_id\":")?;
        write_string(self.tenant_id, out)?;
        out.write_str(",\"identity\":")?;
        self.identity.write_canonical_json(out)?;
        out.write_str(",\"payload_ref\":")?;
        match self.payload_ref {
            Some(hash) => write!(out, "\"{hash}\"")?,
            None => out.write_str("null")?,
        }
        write!(
            out,
            ",\"payload_size\":{},\"ttl\":{},\"reuse_score\":{},\"version_id\":{},\"consistency\":",
            self.payload_size, self.ttl, self.reuse_score, self.version_id
        )?;
        write_string(self.consistency, out)?;
        write!(out, ",\"hlc\":{},\"fingerprint_compat\":\"", self.hlc)?;
        if let Some(fingerprint) = self.fingerprint_compat {
            write!(out, "{fingerprint}")?;
        }
        out.write_str("\"}")
    }

    /// The body, as [`MessageView::write_json`] writes it.
    pub fn to_json(&self) -> String {
        let mut json = String::with_capacity(1024);
        // Writing to a String cannot fail.
        let _ = self.write_json(&mut json);
        json
    }
}
