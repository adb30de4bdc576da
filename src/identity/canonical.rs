//! The fast road: reads exactly the canonical form, in one pass along its known layout.
//!
//! Anything else, valid or not, is `None`: the general road then decides what it is. So this file accepts or steps
//! aside, and never refuses.

use super::{Dtype, HeadRange, IdentityView, InclusiveRange, MAX_INTEGER, PayloadHash, ShapeView, Text, write};

pub(super) fn parse(json: &[u8]) -> Option<IdentityView<'_>> {
    let mut cursor = Cursor { rest: core::str::from_utf8(json).ok()? };
    cursor.literal("{\"dtype\":\"")?;
    let dtype = cursor.dtype()?;
    cursor.literal(",\"head_range\":")?;
    let head_range = cursor.head_range()?;
    cursor.literal(",\"layer_range\":")?;
    let layer_range = cursor.range()?;
    cursor.literal(",\"model_id\":\"")?;
    let model_id = cursor.string()?;
    cursor.literal(",\"model_revision\":\"")?;
    let model_revision = cursor.string()?;
    cursor.literal(",\"payload_hash\":\"")?;
    let payload_hash = cursor.payload_hash()?;
    cursor.literal(",\"shape\":[")?;
    let shape = cursor.shape()?;
    cursor.literal(",\"token_span\":")?;
    let token_span = cursor.range()?;
    cursor.literal(",\"tokenizer_name\":\"")?;
    let tokenizer_name = cursor.string()?;
    cursor.literal(",\"tokenizer_revision\":\"")?;
    let tokenizer_revision = cursor.string()?;
    cursor.literal("}")?;
    cursor.rest.is_empty().then_some(IdentityView {
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
        canonical: Some(json),
    })
}

/// What is left to read. Every method takes its piece from the front, or gives up.
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn literal(&mut self, literal: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(literal)?;
        Some(())
    }

    /// The next `len` bytes.
    fn take(&mut self, len: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    /// The name and its closing quote.
    fn dtype(&mut self) -> Option<Dtype> {
        let name = self.take(memchr::memchr(b'"', self.rest.as_bytes())?)?;
        self.literal("\"")?;
        Dtype::from_name(name)
    }

    /// The hash and its closing quote.
    fn payload_hash(&mut self) -> Option<PayloadHash> {
        let hash = PayloadHash::from_text(self.take(64)?.as_bytes())?;
        self.literal("\"")?;
        Some(hash)
    }

    /// A string in canonical escaping and its closing quote; the opening one is already read.
    fn string(&mut self) -> Option<Text<'a>> {
        let quote = memchr::memchr(b'"', self.rest.as_bytes())?;
        let text = self.rest.get(..quote)?;
        // Without a branch per byte, so that the compiler can take many at once.
        if text.bytes().fold(true, |plain, byte| plain & write::stands_for_itself(byte)) {
            self.rest = self.rest.get(quote + 1..)?;
            return Some(Text::from_unescaped_json(text));
        }
        let text = self.take(escaped_string_len(self.rest.as_bytes())?)?;
        self.literal("\"")?;
        Some(Text::from_checked_json(text))
    }

    fn head_range(&mut self) -> Option<HeadRange> {
        match self.literal("[-1,-1]") {
            Some(()) => Some(HeadRange::All),
            None => self.range().map(HeadRange::Inclusive),
        }
    }

    fn range(&mut self) -> Option<InclusiveRange> {
        self.literal("[")?;
        let start = self.integer()?;
        self.literal(",")?;
        let end = self.integer()?;
        self.literal("]")?;
        InclusiveRange::new(start, end).ok()
    }

    /// The dimensions and the closing bracket; the opening one is already read.
    fn shape(&mut self) -> Option<ShapeView<'a>> {
        let start = self.rest;
        self.integer()?;
        while self.literal(",").is_some() {
            self.integer()?;
        }
        let elements = start.get(..start.len() - self.rest.len())?;
        self.literal("]")?;
        Some(ShapeView::from_checked_json(elements))
    }

    /// A number from 0 to 2^63-1 as the canonical form writes it: no sign, no leading zero.
    fn integer(&mut self) -> Option<u64> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit);
        let (value, len) = digits.take(20).fold((0_u128, 0), |(value, len), digit| {
            // At most 20 digits: far below 2^128.
            (value * 10 + u128::from(digit - b'0'), len + 1)
        });
        let digits = self.take(len)?;
        let canonical = len > 0 && (len == 1 || !digits.starts_with('0'));
        (canonical && value <= u128::from(MAX_INTEGER)).then_some(value as u64)
    }
}

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
