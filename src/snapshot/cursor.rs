//! [`Cursor`]: where keys and values lie in JSON text.
//!
//! It steps from one to the next and judges no grammar: that is serde_json's part. On text that is no JSON it may find
//! anything or give up, but what it finds lies within the text, and it never goes deeper than the limit.

use crate::format::MAX_NESTING;

/// A place in a text, from which one piece after the other is taken.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// Why there is nothing to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lost;

/// A piece of a text, and where it starts.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) at: usize,
    pub(super) raw: &'a str,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    /// Where it stands.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    /// The next byte that is not white space, which stays.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                next => return next.copied(),
            }
        }
    }

    /// Takes this byte.
    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> Result<(), Lost> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(Lost)
        }
    }

    /// Takes the bracket that opens an object or a list, and gives what tells its elements apart.
    #[inline]
    pub(super) fn open(&mut self, bracket: u8) -> Result<Elements, Lost> {
        self.take(bracket)?;
        // In ASCII, each closing bracket stands two after the one that opens.
        Ok(Elements { close: bracket + 2, is_first: true })
    }

    /// Takes a string; its piece is what stands between the quotes, and starts after the first.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Piece<'a>, Lost> {
        self.take(b'"')?;
        let start = self.at;
        let bytes = self.text.as_bytes();
        loop {
            let rest = bytes.get(self.at..).ok_or(Lost)?;
            let found = memchr::memchr2(b'"', b'\\', rest).ok_or(Lost)?;
            let is_end = rest[found] == b'"';
            self.at += found;
            if is_end {
                let raw = self.text.get(start..self.at).ok_or(Lost)?;
                self.at += 1;
                return Ok(Piece { at: start, raw });
            }
            self.at += 2;
        }
    }

    /// Takes the key of an entry and the colon behind it.
    #[inline]
    pub(super) fn key(&mut self) -> Result<Piece<'a>, Lost> {
        let key = self.string()?;
        self.take(b':')?;
        Ok(key)
    }

    /// Takes any value, inside `depth` brackets that are open.
    #[inline]
    pub(super) fn value(&mut self, depth: usize) -> Result<Piece<'a>, Lost> {
        let first = self.peek().ok_or(Lost)?;
        let at = self.at;
        match first {
            b'"' => _ = self.string()?,
            b'{' | b'[' => self.skip_brackets(depth)?,
            _ => self.skip_word(),
        }
        let raw = self.text.get(at..self.at).ok_or(Lost)?;
        Ok(Piece { at, raw })
    }

    fn skip_brackets(&mut self, outside: usize) -> Result<(), Lost> {
        let mut depth = outside;
        loop {
            match self.peek().ok_or(Lost)? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' if depth == MAX_NESTING => return Err(Lost),
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == outside {
                return Ok(());
            }
        }
    }

    /// A number, or one of the three words.
    fn skip_word(&mut self) {
        let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\t' | b'\r');
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(ends).unwrap_or(rest.len());
    }
}

/// Where one is among the elements of an object or a list.
#[derive(Clone)]
pub(super) struct Elements {
    close: u8,
    is_first: bool,
}

impl Elements {
    /// Whether there is another, before which `cursor` then stands; else it stands behind the closing bracket.
    #[inline]
    pub(super) fn next(&mut self, cursor: &mut Cursor<'_>) -> Result<bool, Lost> {
        if cursor.peek() == Some(self.close) {
            cursor.at += 1;
            return Ok(false);
        }
        if self.is_first {
            self.is_first = false;
        } else {
            cursor.take(b',')?;
        }
        Ok(true)
    }
}
