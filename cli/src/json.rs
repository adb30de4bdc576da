//! JSON as this program writes it: the same text, and nothing in it that a terminal obeys, that does not show, or that
//! moves what shows. Names of files in a store can be anybody's.

use std::fmt;

use serde::Serialize;

/// A value on one line, with its line feed.
pub(crate) fn line(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value).map(finished)
}

/// A value on several lines, for a file that people read.
pub(crate) fn lines(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(finished)
}

/// For numbers that are left out when there was nothing.
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// For flags that are left out unless they are set.
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

fn finished(json: String) -> String {
    // None of these stands outside of strings, which may hold them escaped as well.
    let mut legible =
        if json.contains(is_unseen) { Escaped { json: &json, is_escaped: is_unseen }.to_string() } else { json };
    legible.push('\n');
    legible
}

/// JSON, or a part of a string in it, with more characters escaped than it asks for.
pub(crate) struct Escaped<'a, F> {
    pub(crate) json: &'a str,
    pub(crate) is_escaped: F,
}

impl<F: Fn(char) -> bool> fmt::Display for Escaped<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.json;
        while let Some((at, character)) = rest.char_indices().find(|(_, character)| (self.is_escaped)(*character)) {
            f.write_str(&rest[..at])?;
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(f, "\\u{unit:04x}")?;
            }
            rest = &rest[at + character.len_utf8()..];
        }
        f.write_str(rest)
    }
}

/// Controls, what sets the direction of text, what has no width, and tags. serde_json itself escapes what is below a space.
pub(crate) fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_show_is_escaped_and_all_of_it_is_the_same_text() {
        let text = "a\u{7f}\u{9b}31m\u{202e}b\u{2066}\u{200b}\u{feff}\u{e0041}\u{ad} <é模\u{1f600}>\n\0\"\\";
        let json = line(&text).expect("it serializes");
        let expected = concat!(
            r#""a\u007f\u009b31m\u202eb\u2066\u200b\ufeff\udb40\udc41\u00ad"#,
            " <é模\u{1f600}>",
            r#"\n\u0000\"\\""#,
            "\n"
        );
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<String>(&json).expect("JSON"), text);
        // What is escaped here is escaped where text is quoted as well.
        for character in ('\0'..=char::MAX).filter(|character| is_unseen(*character)) {
            assert!(format!("{character:?}").starts_with("'\\u{"), "{character:?}");
        }
    }
}
