//! Writes the canonical JSON form (contract, section 2).

use alloc::string::String;
use core::fmt::{self, Write};

use super::{IdentityView, PayloadIdentity, Text};

impl IdentityView<'_> {
    /// Writes the canonical JSON form (contract, section 2) into `out`. Allocates nothing itself.
    ///
    /// # Errors
    /// Only those of `out`.
    pub fn write_canonical_json(&self, out: &mut impl Write) -> fmt::Result {
        match self.canonical {
            Some(json) => out.write_str(json),
            None => identity(self, out),
        }
    }

    /// The canonical JSON form (contract, section 2): keys sorted, no white space, and every character outside
    /// U+0020..U+007E escaped, as `\"`, `\\`, `\n`, `\r`, `\t`, `\f` or `\b` where there is such an escape and as
    /// `\u` and four lower-case hexadecimal digits else, in surrogate pairs above U+FFFF.
    ///
    /// Cost: one allocation of exactly the length.
    pub fn canonical_json(&self) -> String {
        let len = self.canonical_json_len();
        let mut json = String::with_capacity(len.try_into().unwrap_or(0));
        // Writing to a String cannot fail.
        let _ = self.write_canonical_json(&mut json);
        json
    }

    /// The length in bytes of the canonical JSON form. It may exceed what this machine can address, since escapes take up
    /// to six times the room of what they stand for. Allocates nothing.
    pub(crate) fn canonical_json_len(&self) -> u64 {
        struct Length(u64);

        impl Write for Length {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.0 = self.0.saturating_add(text.len() as u64);
                Ok(())
            }
        }

        let mut length = Length(0);
        // Counting cannot fail.
        let _ = self.write_canonical_json(&mut length);
        length.0
    }
}

impl PayloadIdentity {
    /// The canonical JSON form (contract, section 2): keys sorted, no white space, ASCII. It is what a frame carries.
    pub fn canonical_json(&self) -> String {
        self.as_view().canonical_json()
    }
}

fn identity(view: &IdentityView<'_>, out: &mut impl Write) -> fmt::Result {
    write!(
        out,
        "{{\"dtype\":\"{}\",\"head_range\":{},\"layer_range\":{},\"model_id\":",
        view.dtype, view.head_range, view.layer_range
    )?;
    string(view.model_id, out)?;
    out.write_str(",\"model_revision\":")?;
    string(view.model_revision, out)?;
    write!(out, ",\"payload_hash\":\"{}\",\"shape\":", view.payload_hash)?;
    let mut separator = '[';
    for dim in view.shape.dims() {
        write!(out, "{separator}{dim}")?;
        separator = ',';
    }
    write!(out, "],\"token_span\":{},\"tokenizer_name\":", view.token_span)?;
    string(view.tokenizer_name, out)?;
    out.write_str(",\"tokenizer_revision\":")?;
    string(view.tokenizer_revision, out)?;
    out.write_char('}')
}

/// One string in quotes, every character outside U+0020..U+007E escaped.
pub(crate) fn string(text: Text<'_>, out: &mut impl Write) -> fmt::Result {
    out.write_char('"')?;
    match text.as_unescaped() {
        Some(text) if text.bytes().all(stands_for_itself) => out.write_str(text)?,
        _ => text.chars().try_for_each(|character| escaped(character, out))?,
    }
    out.write_char('"')
}

/// Whether the canonical form has this byte of a string as it is.
pub(super) const fn stands_for_itself(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'
}

fn escaped(character: char, out: &mut impl Write) -> fmt::Result {
    match character {
        '"' => out.write_str("\\\""),
        '\\' => out.write_str("\\\\"),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        '\u{c}' => out.write_str("\\f"),
        '\u{8}' => out.write_str("\\b"),
        ' '..='~' => out.write_char(character),
        _ => character.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}")),
    }
}
