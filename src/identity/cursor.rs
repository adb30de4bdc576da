//! Takes the pieces of an identity or a message, one by one, from the front of a JSON text whose layout is known.

use super::{Dtype, HeadRange, InclusiveRange, PayloadHash, ShapeView, Text, write};
use crate::format::MAX_INTEGER;

/// Whether all of the text is printable ASCII without a backslash: nearly always so, and then no string needs a look at
/// each of its bytes.
pub(crate) fn is_plain(json: &[u8]) -> bool {
    /// Of fixed length and without a branch per byte, so that the compiler takes many at once.
    #[inline(always)]
    fn chunk_is_plain(chunk: &[u8; 32]) -> bool {
        chunk.iter().fold(true, |plain, &byte| plain & (byte.wrapping_sub(b' ') <= b'~' - b' ') & (byte != b'\\'))
    }
    let (chunks, rest) = json.as_chunks();
    // The last chunk overlaps the one before. No identity is shorter than a chunk, and no message.
    let end_is_plain = rest.is_empty() || json.last_chunk().is_some_and(chunk_is_plain);
    end_is_plain && chunks.iter().all(chunk_is_plain)
}

/// What is left to read. Every method takes its piece from the front, or gives up. What closes a piece, a quote or a
/// bracket, is left to the literal that follows.
///
/// Inlined throughout: as calls, their results would travel through memory, and waiting for that would be a third of the
/// whole cost.
pub(crate) struct Cursor<'a> {
    pub(crate) rest: &'a str,
    /// Whether strings end at the next quote and hold nothing that could be wrong.
    pub(crate) plain: bool,
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    pub(crate) fn literal(&mut self, literal: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(literal)?;
        Some(())
    }

    /// Any number of spaces.
    #[inline(always)]
    #[cfg(feature = "message")]
    pub(crate) fn spaces(&mut self) {
        while self.literal(" ").is_some() {}
    }

    /// The next `len` bytes.
    #[inline(always)]
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    #[inline(always)]
    pub(crate) fn dtype(&mut self) -> Option<Dtype> {
        Dtype::from_name(self.take(memchr::memchr(b'"', self.rest.as_bytes())?)?)
    }

    #[inline(always)]
    pub(crate) fn payload_hash(&mut self) -> Option<PayloadHash> {
        PayloadHash::from_text(self.take(64)?.as_bytes())
    }

    /// A string in canonical escaping.
    #[inline(always)]
    pub(crate) fn string(&mut self) -> Option<Text<'a>> {
        if self.plain {
            self.take(memchr::memchr(b'"', self.rest.as_bytes())?).map(Text::from_unescaped_json)
        } else {
            self.take(escaped_string_len(self.rest.as_bytes())?).map(Text::from_checked_json)
        }
    }

    #[inline(always)]
    pub(crate) fn head_range(&mut self) -> Option<HeadRange> {
        match self.literal("-1,-1") {
            Some(()) => Some(HeadRange::All),
            None => self.range().map(HeadRange::Inclusive),
        }
    }

    #[inline(always)]
    pub(crate) fn range(&mut self) -> Option<InclusiveRange> {
        let start = self.integer()?;
        self.literal(",")?;
        let end = self.integer()?;
        InclusiveRange::new(start, end).ok()
    }

    #[inline(always)]
    pub(crate) fn shape(&mut self) -> Option<ShapeView<'a>> {
        let start = self.rest;
        self.integer()?;
        while self.literal(",").is_some() {
            self.integer()?;
        }
        start.get(..start.len() - self.rest.len()).map(ShapeView::from_checked_json)
    }

    /// A number from 0 to 2^63-1 as the canonical form writes it: no sign, no leading zero.
    #[inline(always)]
    pub(crate) fn integer(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        let mut len = 0;
        for digit in
            self.rest.bytes().take(MAX_DIGITS).map(|byte| byte.wrapping_sub(b'0')).take_while(|&digit| digit < 10)
        {
            // Cannot overflow: below 10^19.
            value = value * 10 + u64::from(digit);
            len += 1;
        }
        let digits = self.take(len)?;
        let canonical = len == 1 || (len > 1 && !digits.starts_with('0'));
        (canonical && value <= MAX_INTEGER).then_some(value)
    }
}

/// As many digits as 2^63-1 has. A twentieth stays unread and is then taken for what should follow the number.
const MAX_DIGITS: usize = 19;

/// The length of a string with escapes, up to its closing quote, provided that it is escaped exactly as the canonical
/// form does it.
fn escaped_string_len(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += match *bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => match *bytes.get(at + 1)? {
                b'"' | b'\\' | b'n' | b'r' | b't' | b'f' | b'b' => 2,
                b'u' => match utf16_unit(bytes.get(at + 2..at + 6)?)? {
                    // These stand for themselves or have a short escape.
                    0x20..=0x7E | 0x08..=0x0A | 0x0C | 0x0D => return None,
                    0xD800..=0xDBFF => match bytes.get(at + 6..at + 12)? {
                        [b'\\', b'u', low @ ..] if matches!(utf16_unit(low)?, 0xDC00..=0xDFFF) => 12,
                        _ => return None,
                    },
                    0xDC00..=0xDFFF => return None,
                    _ => 6,
                },
                _ => return None,
            },
            byte if write::stands_for_itself(byte) => 1,
            _ => return None,
        };
    }
}

/// Four lower-case hexadecimal digits.
fn utf16_unit(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |unit, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(unit << 4 | u32::from(value))
    })
}
