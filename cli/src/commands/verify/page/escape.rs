//! Text that can harm neither the page nor its reader. Names of files in a store can be anybody's.

use std::fmt::{self, Display, Write as _};
use std::io;

use serde_json::ser::Formatter;

use crate::json::{Escaped, is_unseen};

/// Text in HTML, between tags or in a quoted attribute.
pub(super) struct Html<T>(pub(super) T);

impl<T: Display> Display for Html<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(HtmlWriter(f), "{}", self.0)
    }
}

struct HtmlWriter<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for HtmlWriter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for piece in text.split_inclusive(['&', '<', '>', '"', '\'']) {
            let last = piece.chars().next_back();
            let entity = match last {
                Some('&') => "&amp;",
                Some('<') => "&lt;",
                Some('>') => "&gt;",
                Some('"') => "&quot;",
                Some('\'') => "&#39;",
                _ => {
                    self.0.write_str(piece)?;
                    continue;
                }
            };
            // The character at the end is one byte long.
            self.0.write_str(&piece[..piece.len() - 1])?;
            self.0.write_str(entity)?;
        }
        Ok(())
    }
}

/// A sentence as it is, save that what would not show, or would move what shows, is escaped as Rust does it. Quotes and
/// backslashes stay: unlike in a path, they deceive nobody here.
pub(super) fn legible(text: &str) -> String {
    text.split_inclusive(['"', '\'', '\\']).fold(String::with_capacity(text.len()), |mut legible, piece| {
        let plain = piece.trim_end_matches(['"', '\'', '\\']);
        // Writing to a String cannot fail.
        let _ = write!(legible, "{}{}", plain.escape_debug(), &piece[plain.len()..]);
        legible
    })
}

/// JSON that can stand in a `<script>` of an HTML page: no character in it ends the element or opens another, and none
/// moves what a reader of the source sees.
#[derive(Clone, Copy)]
pub(super) struct ScriptJson;

impl Formatter for ScriptJson {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, to: &mut W, fragment: &str) -> io::Result<()> {
        let is_escaped = |character| matches!(character, '<' | '>' | '&') || is_unseen(character);
        write!(to, "{}", Escaped { json: fragment, is_escaped })
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize as _;

    use super::*;

    fn script_json(text: &str) -> String {
        let mut json = Vec::new();
        text.serialize(&mut serde_json::Serializer::with_formatter(&mut json, ScriptJson)).expect("it serializes");
        String::from_utf8(json).expect("text")
    }

    #[test]
    fn html_holds_no_markup_of_the_text() {
        assert_eq!(
            Html("</script><img src=\"x\" onerror='y'>&amp;").to_string(),
            "&lt;/script&gt;&lt;img src=&quot;x&quot; onerror=&#39;y&#39;&gt;&amp;amp;"
        );
        assert_eq!(Html("naïve-模型/53.blob").to_string(), "naïve-模型/53.blob");
        assert_eq!(Html("").to_string(), "");
        assert_eq!(Html(format_args!("{}<{}", 1, 2)).to_string(), "1&lt;2");
    }

    #[test]
    fn sentences_keep_their_quotes_and_lose_what_does_not_show() {
        assert_eq!(legible(r#"found "int8\n", it's 'x'"#), r#"found "int8\n", it's 'x'"#);
        assert_eq!(legible("a\u{202e}b\u{0}c\nd\u{1b}[31m"), "a\\u{202e}b\\0c\\nd\\u{1b}[31m");
        assert_eq!(legible("naïve-模型 \"\"\\"), "naïve-模型 \"\"\\");
        assert_eq!(legible(""), "");
    }

    #[test]
    fn json_in_a_script_is_the_same_text_and_cannot_end_it() {
        let hostile = "</script><!--<script>&\u{2028}\u{2029}\u{202e}\u{7f}\u{85}\u{feff}\"\\\n\0 é模\u{1f600}";
        let json = script_json(hostile);
        assert_eq!(
            json,
            concat!(
                r#""\u003c/script\u003e\u003c!--\u003cscript\u003e\u0026\u2028\u2029\u202e\u007f\u0085\ufeff\"\\\n\u0000"#,
                " é模\u{1f600}\""
            )
        );
        assert_eq!(serde_json::from_str::<String>(&json).expect("JSON"), hostile);
    }
}
