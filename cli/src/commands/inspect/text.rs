//! An [`Anatomy`] for people.

use std::io::{self, Write};

use super::Anatomy;
use crate::display::escape_controls;

pub(super) fn print(anatomy: &Anatomy, out: &mut impl Write, path: &str) -> io::Result<()> {
    let line = |out: &mut dyn Write, name: &str, value: &str| writeln!(out, "  {name:<20}{value}");
    writeln!(out, "{path}\n\nheader")?;
    match &anatomy.header {
        None => line(out, "(cut short)", "")?,
        Some(header) => {
            line(out, "magic", &header.magic)?;
            line(out, "schema", &header.schema.to_string())?;
            line(out, "reserved", &header.reserved.to_string())?;
            line(out, "identity_len", &header.identity_len.to_string())?;
        }
    }
    if let Some(identity) = &anatomy.identity {
        writeln!(out, "\nidentity")?;
        line(out, "payload_hash", identity.payload_hash.as_str())?;
        line(out, "model_id", &escape_controls(&identity.model_id))?;
        line(out, "model_revision", &escape_controls(&identity.model_revision))?;
        line(out, "tokenizer_name", &escape_controls(&identity.tokenizer_name))?;
        line(out, "tokenizer_revision", &escape_controls(&identity.tokenizer_revision))?;
        line(out, "layer_range", &identity.layer_range.to_string())?;
        line(out, "head_range", &identity.head_range.to_string())?;
        line(out, "token_span", &identity.token_span.to_string())?;
        line(out, "dtype", identity.dtype.as_str())?;
        line(out, "shape", &format!("{:?}", identity.shape.dims()))?;
        line(out, "canonical form", if anatomy.canonical == Some(true) { "yes" } else { "no" })?;
    }
    if let Some(fingerprint) = &anatomy.fingerprint {
        line(out, "fingerprint", fingerprint)?;
    }
    if let (Some(offset), Some(len)) = (anatomy.payload_offset, anatomy.payload_len) {
        writeln!(out, "\npayload")?;
        line(out, "offset", &offset.to_string())?;
        line(out, "length", &len.to_string())?;
    }
    if let (Some(sha256), Some(trailer)) = (&anatomy.payload_sha256, &anatomy.trailer) {
        line(out, "SHA-256", sha256)?;
        line(out, "trailer", trailer)?;
    }
    writeln!(out, "\nchecks")?;
    for check in &anatomy.checks {
        let result = check.result.replace('_', " ");
        writeln!(
            out,
            "{}",
            format!("  {:<20}{result:<13}{}", check.name, check.detail.as_deref().unwrap_or_default()).trim_end()
        )?;
    }
    Ok(())
}
