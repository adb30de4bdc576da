//! A string field, borrowed from JSON with its escapes left in place.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt::{self, Write};

/// A string field of an identity or a message, borrowed. Parsed from JSON it keeps the text as it lies there and undoes the escapes
/// when it is read, so that holding `na\u00efve` allocates nothing.
///
/// Displayed it is the string itself; two are equal when their strings are.
///
/// ```
/// use membrane_codec::Text;
///
/// let name = Text::from("llama-3-8b");
/// assert_eq!(name.to_cow(), "llama-3-8b");
/// assert_eq!(name, "llama-3-8b");
/// ```
#[derive(Clone, Copy)]
pub struct Text<'a> {
    raw: &'a str,
    escaped: bool,
}

impl<'a> Text<'a> {
    /// From the text of a JSON value, which must be valid and without lone surrogates; `None` if it is no string.
    pub(crate) fn from_json(raw: &'a str) -> Option<Self> {
        Some(Self::from_checked_json(raw.strip_prefix('"')?.strip_suffix('"')?))
    }

    /// `raw` must be what stands between the quotes of a valid JSON string without lone surrogates.
    pub(super) fn from_checked_json(raw: &'a str) -> Self {
        Self { raw, escaped: memchr::memchr(b'\\', raw.as_bytes()).is_some() }
    }

    /// As [`Text::from_checked_json`], where it is known that no escape occurs.
    pub(crate) const fn from_unescaped_json(raw: &'a str) -> Self {
        Self { raw, escaped: false }
    }

    /// The string, borrowed when the JSON holds no escape in it.
    ///
    /// Cost: one allocation when there is an escape.
    pub fn to_cow(self) -> Cow<'a, str> {
        if self.escaped { Cow::Owned(self.chars().collect()) } else { Cow::Borrowed(self.raw) }
    }

    /// The characters of the string, escapes undone. Never allocates.
    pub fn chars(self) -> Chars<'a> {
        Chars { raw: self.raw.chars(), escaped: self.escaped }
    }

    /// Whether the string has no characters.
    pub const fn is_empty(self) -> bool {
        self.raw.is_empty()
    }

    /// The string as one slice, when no escape occurs in it.
    pub(super) const fn as_unescaped(self) -> Option<&'a str> {
        if self.escaped { None } else { Some(self.raw) }
    }
}

impl<'a> From<&'a str> for Text<'a> {
    /// The string as it is: nothing in it is an escape.
    fn from(text: &'a str) -> Self {
        Self { raw: text, escaped: false }
    }
}

impl From<Text<'_>> for String {
    fn from(text: Text<'_>) -> Self {
        text.to_cow().into_owned()
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.chars().eq(other.chars())
    }
}

impl Eq for Text<'_> {}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        *self == Text::from(other)
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_unescaped() {
            Some(text) => f.pad(text),
            None => self.chars().try_for_each(|character| f.write_char(character)),
        }
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        self.chars().flat_map(char::escape_debug).try_for_each(|character| f.write_char(character))?;
        f.write_char('"')
    }
}

/// The characters of a [`Text`], in order.
#[derive(Clone, Debug)]
pub struct Chars<'a> {
    raw: core::str::Chars<'a>,
    escaped: bool,
}

impl Chars<'_> {
    fn unescape(&mut self) -> Option<char> {
        Some(match self.raw.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let first = self.utf16_unit()?;
                if (0xD800..0xDC00).contains(&first) {
                    // The text was checked: `\u` and a low surrogate follow.
                    self.raw.nth(1)?;
                    let second = self.utf16_unit()?;
                    char::from_u32(0x10000 + ((first & 0x3FF) << 10) + (second & 0x3FF))?
                } else {
                    char::from_u32(first)?
                }
            }
            quote_backslash_or_slash => quote_backslash_or_slash,
        })
    }

    fn utf16_unit(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |unit, _| Some(unit << 4 | self.raw.next()?.to_digit(16)?))
    }
}

impl Iterator for Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        match self.raw.next()? {
            '\\' if self.escaped => self.unescape(),
            character => Some(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_escape_is_undone() {
        let text = Text::from_checked_json(r#"\"\\\/\b\f\n\r\t\u0041\u00e9\u6a21\ud83d\ude00z"#);
        assert_eq!(text.to_cow(), "\"\\/\u{8}\u{c}\n\r\tA\u{e9}\u{6a21}\u{1f600}z");
        assert_eq!(text.to_string(), text.to_cow());
    }

    #[test]
    fn a_string_that_is_not_json_keeps_its_backslashes() {
        assert_eq!(Text::from(r"a\nb").to_cow(), r"a\nb");
        assert_ne!(Text::from(r"a\nb"), Text::from_checked_json(r"a\nb"));
    }
}
