//! The fast road: reads exactly the canonical form, in one pass along its known layout.
//!
//! Anything else, valid or not, is `None`: the general road then decides what it is. So this file accepts or steps
//! aside, and never refuses.

use super::{Dtype, HeadRange, IdentityView, InclusiveRange, PayloadHash, ShapeView, Text, write};
use crate::format::MAX_INTEGER;

pub(super) fn parse(json: &[u8]) -> Option<IdentityView<'_>> {
    let text = core::str::from_utf8(json).ok()?;
    let mut cursor = Cursor { rest: text, plain: is_plain(json) };
    cursor.literal("{\"dtype\":\"")?;
    let dtype = cursor.dtype()?;
    cursor.literal("\",\"head_range\":[")?;
    let head_range = cursor.head_range()?;
    cursor.literal("],\"layer_range\":[")?;
    let layer_range = cursor.range()?;
    cursor.literal("],\"model_id\":\"")?;
    let model_id = cursor.string()?;
    cursor.literal("\",\"model_revision\":\"")?;
    let model_revision = cursor.string()?;
    cursor.literal("\",\"payload_hash\":\"")?;
    let payload_hash = cursor.payload_hash()?;
    cursor.literal("\",\"shape\":[")?;
    let shape = cursor.shape()?;
    cursor.literal("],\"token_span\":[")?;
    let token_span = cursor.range()?;
    cursor.literal("],\"tokenizer_name\":\"")?;
    let tokenizer_name = cursor.string()?;
    cursor.literal("\",\"tokenizer_revision\":\"")?;
    let tokenizer_revision = cursor.string()?;
    (cursor.rest == "\"}").then_some(IdentityView {
        payload_hash,
        model_id,
        model_revision,
        tokenizer_name,
        tokenizer_revision,
        layer_range,
        head_range,
        token_span,
        dtype,
        shape,
        canonical: Some(text),
    })
}

/// Whether all of the text is printable ASCII without a backslash: nearly always so, and then no string needs a look at
/// each of its bytes.
fn is_plain(json: &[u8]) -> bool {
    /// Of fixed length and without a branch per byte, so that the compiler takes many at once.
    #[inline(always)]
    fn chunk_is_plain(chunk: &[u8; 32]) -> bool {
        chunk.iter().fold(true, |plain, &byte| plain & (byte.wrapping_sub(b' ') <= b'~' - b' ') & (byte != b'\\'))
    }
    let (chunks, rest) = json.as_chunks();
    // The last chunk overlaps the one before. An identity is never shorter than a chunk.
    let end_is_plain = rest.is_empty() || json.last_chunk().is_some_and(chunk_is_plain);
    end_is_plain && chunks.iter().all(chunk_is_plain)
}

/// What is left to read. Every method takes its piece from the front, or gives up. What closes a piece, a quote or a
/// bracket, is left to the literal that follows.
///
/// Inlined throughout: as calls, their results would travel through memory, and waiting for that would be a third of the
/// whole cost.
struct Cursor<'a> {
    rest: &'a str,
    /// Whether strings end at the next quote and hold nothing that could be wrong.
    plain: bool,
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    fn literal(&mut self, literal: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(literal)?;
        Some(())
    }

    /// The next `len` bytes.
    #[inline(always)]
    fn take(&mut self, len: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    #[inline(always)]
    fn dtype(&mut self) -> Option<Dtype> {
        Dtype::from_name(self.take(memchr::memchr(b'"', self.rest.as_bytes())?)?)
    }

    #[inline(always)]
    fn payload_hash(&mut self) -> Option<PayloadHash> {
        PayloadHash::from_text(self.take(64)?.as_bytes())
    }

    /// A string in canonical escaping.
    #[inline(always)]
    fn string(&mut self) -> Option<Text<'a>> {
        if self.plain {
            self.take(memchr::memchr(b'"', self.rest.as_bytes())?).map(Text::from_unescaped_json)
        } else {
            self.take(escaped_string_len(self.rest.as_bytes())?).map(Text::from_checked_json)
        }
    }

    #[inline(always)]
    fn head_range(&mut self) -> Option<HeadRange> {
        match self.literal("-1,-1") {
            Some(()) => Some(HeadRange::All),
            None => self.range().map(HeadRange::Inclusive),
        }
    }

    #[inline(always)]
    fn range(&mut self) -> Option<InclusiveRange> {
        let start = self.integer()?;
        self.literal(",")?;
        let end = self.integer()?;
        InclusiveRange::new(start, end).ok()
    }

    #[inline(always)]
    fn shape(&mut self) -> Option<ShapeView<'a>> {
        let start = self.rest;
        self.integer()?;
        while self.literal(",").is_some() {
            self.integer()?;
        }
        start.get(..start.len() - self.rest.len()).map(ShapeView::from_checked_json)
    }

    /// A number from 0 to 2^63-1 as the canonical form writes it: no sign, no leading zero.
    #[inline(always)]
    fn integer(&mut self) -> Option<u64> {
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
