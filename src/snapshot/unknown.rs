//! Keys that this version gives no meaning.

use std::fmt;
use std::io::{self, Write};

use super::cursor::{Cursor, Piece};
use crate::identity::Text;

/// Entries of an object whose keys have no meaning here. They are kept as they lie in the text, digit for digit, in their
/// order, even given twice, and saved again (contract, section 4).
///
/// Cost: the length of their text; looking one up goes through all of it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct UnknownKeys {
    /// Entries of checked JSON, with a comma after each.
    entries: String,
}

impl UnknownKeys {
    /// The value of a key, as JSON text. Of a key that is given several times, the last.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.iter().filter(|(name, _)| *name == *key).last().map(|(_, value)| value)
    }

    /// Every key and its value, as JSON text.
    pub fn iter(&self) -> impl Iterator<Item = (Text<'_>, &str)> {
        let mut cursor = Cursor::new(&self.entries, 0);
        std::iter::from_fn(move || {
            let key = cursor.key().ok()?;
            let value = cursor.value(0).ok()?;
            cursor.take(b',').ok()?;
            Some((Text::from_checked_json(key.raw), value.raw))
        })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entry of checked JSON.
    pub(super) fn push(&mut self, key: Piece<'_>, value: Piece<'_>) {
        self.entries.extend(["\"", key.raw, "\":", value.raw, ","]);
    }

    /// Writes a comma and an entry, for each.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        match self.entries.strip_suffix(',') {
            None => Ok(()),
            Some(entries) => write!(out, ",{entries}"),
        }
    }
}

impl fmt::Debug for UnknownKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
