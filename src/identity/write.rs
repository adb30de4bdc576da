//! Writes the canonical JSON form (contract, section 2).

use core::fmt::{self, Write};

use super::{IdentityView, Text};

pub(super) fn identity(view: &IdentityView<'_>, out: &mut impl Write) -> fmt::Result {
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
pub(super) fn string(text: Text<'_>, out: &mut impl Write) -> fmt::Result {
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
