//! Text for people: paths and strings that cannot harm a terminal.

use std::fmt::Write;
use std::path::Path;

/// A path on one line. Control characters are escaped and what is not UTF-8 is replaced, since file names in a store can
/// be anybody's.
pub(crate) fn printable(path: &Path) -> String {
    if path == Path::new("-") {
        return "standard input".into();
    }
    escape_controls(&path.to_string_lossy())
}

/// The text with its control characters escaped.
pub(crate) fn escape_controls(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut line, character| {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
        line
    })
}

/// Bytes in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// `1 frame`, `2 frames`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
