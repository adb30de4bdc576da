//! An [`Anatomy`] for people.

use std::fmt::Display;
use std::io::{self, Write};

use super::Anatomy;
use crate::display::quoted;

pub(super) fn print(anatomy: &Anatomy, out: &mut impl Write, path: &str) -> io::Result<()> {
    writeln!(out, "{path}\n\nheader")?;
    match &anatomy.header {
        None => line(out, "(cut short)", "")?,
        Some(header) => {
            line(out, "magic", &header.magic)?;
            line(out, "schema", header.schema)?;
            line(out, "reserved", header.reserved)?;
            line(out, "identity_len", header.identity_len)?;
        }
    }
    if let Some(identity) = &anatomy.identity {
        writeln!(out, "\nidentity")?;
        line(out, "payload_hash", identity.payload_hash)?;
        line(out, "model_id", quoted(&identity.model_id))?;
        line(out, "model_revision", quoted(&identity.model_revision))?;
        line(out, "tokenizer_name", quoted(&identity.tokenizer_name))?;
        line(out, "tokenizer_revision", quoted(&identity.tokenizer_revision))?;
        line(out, "layer_range", identity.layer_range)?;
        line(out, "head_range", identity.head_range)?;
        line(out, "token_span", identity.token_span)?;
        line(out, "dtype", identity.dtype)?;
        line(out, "shape", format_args!("{:?}", identity.shape.dims()))?;
        line(out, "canonical form", if anatomy.canonical == Some(true) { "yes" } else { "no" })?;
    }
    if let Some(fingerprint) = &anatomy.fingerprint {
        line(out, "fingerprint", fingerprint)?;
    }
    if let (Some(offset), Some(len)) = (anatomy.payload_offset, anatomy.payload_len) {
        writeln!(out, "\npayload")?;
        line(out, "offset", offset)?;
        line(out, "length", len)?;
    }
    if let Some(sha256) = &anatomy.payload_sha256 {
        line(out, "SHA-256", sha256)?;
    }
    if let Some(trailer) = &anatomy.trailer {
        line(out, "trailer", trailer)?;
    }
    writeln!(out, "\nchecks")?;
    for check in &anatomy.checks {
        let (result, detail) = (check.result.replace('_', " "), check.detail.as_deref().unwrap_or_default());
        line(out, check.name, format_args!("{result:<13}{detail}"))?;
    }
    Ok(())
}

/// A name in its column and what goes with it.
fn line(out: &mut impl Write, name: &str, value: impl Display) -> io::Result<()> {
    writeln!(out, "{}", format!("  {name:<20}{value}").trim_end())
}
