//! The contract a second time, as plainly as it can be said: an oracle for tests and fuzzers.
//!
//! It shares no code with the library, so that a mistake in one is not repeated in the other. It is slow, allocates for
//! everything and stops at the first problem with nothing but its reason code.

#![allow(dead_code)] // Each test takes what it needs.

pub(crate) mod message;

use std::iter::Peekable;
use std::str::Chars;

use sha2::{Digest, Sha256};

/// How deep arrays and objects may be nested, a top-level object being the first level.
const MAX_NESTING: usize = 128;

const KEYS: [&str; 10] = [
    "payload_hash",
    "model_id",
    "model_revision",
    "tokenizer_name",
    "tokenizer_revision",
    "layer_range",
    "head_range",
    "token_span",
    "dtype",
    "shape",
];

const DTYPES: [&str; 12] = [
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "fp8_e4m3", "fp8_e5m2",
    "nf4",
];

/// A JSON value. Objects keep every member in its order, numbers keep their text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// Reads strict JSON (RFC 8259); `None` for anything else.
pub(crate) fn json(bytes: &[u8]) -> Option<Value> {
    let mut reader = Reader { chars: std::str::from_utf8(bytes).ok()?.chars().peekable() };
    reader.white_space();
    let value = reader.value(0)?;
    reader.white_space();
    reader.chars.next().is_none().then_some(value)
}

/// Recursive descent with one character of lookahead. Each method reads one rule of the grammar's, or gives `None`.
struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
}

impl Reader<'_> {
    fn white_space(&mut self) {
        while self.chars.next_if(|c| matches!(c, ' ' | '\t' | '\n' | '\r')).is_some() {}
    }

    /// Takes the next character if it is this one.
    fn take(&mut self, wanted: char) -> bool {
        self.chars.next_if_eq(&wanted).is_some()
    }

    fn expect(&mut self, wanted: char) -> Option<()> {
        self.take(wanted).then_some(())
    }

    /// A value inside of `level` arrays and objects.
    fn value(&mut self, level: usize) -> Option<Value> {
        match self.chars.peek()? {
            '{' => self.object(level + 1),
            '[' => self.array(level + 1),
            '"' => self.string().map(Value::String),
            't' => self.word("true", Value::Bool(true)),
            'f' => self.word("false", Value::Bool(false)),
            'n' => self.word("null", Value::Null),
            _ => self.number().map(Value::Number),
        }
    }

    fn object(&mut self, level: usize) -> Option<Value> {
        self.between('{', '}', level, |reader| {
            let key = reader.string()?;
            reader.white_space();
            reader.expect(':')?;
            reader.white_space();
            Some((key, reader.value(level)?))
        })
        .map(Value::Object)
    }

    fn array(&mut self, level: usize) -> Option<Value> {
        self.between('[', ']', level, |reader| reader.value(level)).map(Value::Array)
    }

    /// Brackets around any number of items with commas between them.
    fn between<T>(
        &mut self,
        open: char,
        close: char,
        level: usize,
        item: impl Fn(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        if level > MAX_NESTING {
            return None;
        }
        let mut items = Vec::new();
        self.expect(open)?;
        self.white_space();
        if self.take(close) {
            return Some(items);
        }
        loop {
            self.white_space();
            items.push(item(self)?);
            self.white_space();
            if self.take(close) {
                return Some(items);
            }
            self.expect(',')?;
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Option<Value> {
        word.chars().try_for_each(|letter| self.expect(letter))?;
        Some(value)
    }

    /// As UTF-16, because that is what `\u` escapes count in: what is no valid UTF-16 holds half of a surrogate pair.
    fn string(&mut self) -> Option<String> {
        let mut units = Vec::new();
        self.expect('"')?;
        loop {
            match self.chars.next()? {
                '"' => return String::from_utf16(&units).ok(),
                '\\' => units.push(self.escape()?),
                '\0'..='\u{1f}' => return None,
                character => units.extend_from_slice(character.encode_utf16(&mut [0; 2])),
            }
        }
    }

    /// What follows a backslash, as one unit of UTF-16.
    fn escape(&mut self) -> Option<u16> {
        match self.chars.next()? {
            '"' => Some(0x22),
            '\\' => Some(0x5c),
            '/' => Some(0x2f),
            'b' => Some(0x08),
            'f' => Some(0x0c),
            'n' => Some(0x0a),
            'r' => Some(0x0d),
            't' => Some(0x09),
            'u' => (0..4).try_fold(0, |unit, _| Some(unit * 16 + self.chars.next()?.to_digit(16)? as u16)),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<String> {
        let mut text = String::new();
        if self.take('-') {
            text.push('-');
        }
        if self.take('0') {
            text.push('0');
        } else {
            text.push_str(&self.digits()?);
        }
        if self.take('.') {
            text.push('.');
            text.push_str(&self.digits()?);
        }
        if let Some(e) = self.chars.next_if(|c| matches!(c, 'e' | 'E')) {
            text.push(e);
            text.extend(self.chars.next_if(|c| matches!(c, '+' | '-')));
            text.push_str(&self.digits()?);
        }
        Some(text)
    }

    /// One or more.
    fn digits(&mut self) -> Option<String> {
        let mut digits = String::new();
        while let Some(digit) = self.chars.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        (!digits.is_empty()).then_some(digits)
    }
}

/// The ten fields.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Identity {
    pub(crate) payload_hash: String,
    pub(crate) model_id: String,
    pub(crate) model_revision: String,
    pub(crate) tokenizer_name: String,
    pub(crate) tokenizer_revision: String,
    pub(crate) layer_range: (i64, i64),
    pub(crate) head_range: (i64, i64),
    pub(crate) token_span: (i64, i64),
    pub(crate) dtype: String,
    pub(crate) shape: Vec<i64>,
}

/// Rows 7 and 8 of the contract's table: the identity, or the reason code.
pub(crate) fn identity(bytes: &[u8]) -> Result<Identity, &'static str> {
    let Some(Value::Object(members)) = json(bytes) else {
        return Err("identity_json");
    };
    let count = |key| members.iter().filter(|(name, _)| name == key).count();
    if KEYS.into_iter().any(|key| count(key) > 1) {
        return Err("identity_json");
    }
    ten_fields(&members).ok_or("identity_field")
}

fn ten_fields(members: &[(String, Value)]) -> Option<Identity> {
    let value = |key| members.iter().find(|(name, _)| name == key).map(|(_, value)| value);
    Some(Identity {
        payload_hash: string(value("payload_hash")?).filter(|hash| is_payload_hash(hash))?,
        model_id: string(value("model_id")?)?,
        model_revision: string(value("model_revision")?)?,
        tokenizer_name: string(value("tokenizer_name")?)?,
        tokenizer_revision: string(value("tokenizer_revision")?)?,
        layer_range: two_integers(value("layer_range")?).filter(is_range)?,
        head_range: two_integers(value("head_range")?).filter(|heads| *heads == (-1, -1) || is_range(heads))?,
        token_span: two_integers(value("token_span")?).filter(is_range)?,
        dtype: string(value("dtype")?).filter(|dtype| DTYPES.contains(&dtype.as_str()))?,
        shape: integers(value("shape")?).filter(|dims| !dims.is_empty() && dims.iter().all(|dim| *dim >= 0))?,
    })
}

fn string(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// Within int64; no fraction, no exponent.
fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(text) if !text.contains(['.', 'e', 'E']) => text.parse().ok(),
        _ => None,
    }
}

fn integers(value: &Value) -> Option<Vec<i64>> {
    match value {
        Value::Array(elements) => elements.iter().map(integer).collect(),
        _ => None,
    }
}

fn two_integers(value: &Value) -> Option<(i64, i64)> {
    match integers(value)?[..] {
        [start, end] => Some((start, end)),
        _ => None,
    }
}

fn is_range(&(start, end): &(i64, i64)) -> bool {
    0 <= start && start <= end
}

fn is_payload_hash(text: &str) -> bool {
    text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit())
}

/// The canonical form of contract, section 2.
pub(crate) fn canonical_json(identity: &Identity) -> String {
    let range = |(start, end)| format!("[{start},{end}]");
    let dims: Vec<String> = identity.shape.iter().map(i64::to_string).collect();
    let members = [
        format!("\"dtype\":{}", canonical_string(&identity.dtype)),
        format!("\"head_range\":{}", range(identity.head_range)),
        format!("\"layer_range\":{}", range(identity.layer_range)),
        format!("\"model_id\":{}", canonical_string(&identity.model_id)),
        format!("\"model_revision\":{}", canonical_string(&identity.model_revision)),
        format!("\"payload_hash\":{}", canonical_string(&identity.payload_hash)),
        format!("\"shape\":[{}]", dims.join(",")),
        format!("\"token_span\":{}", range(identity.token_span)),
        format!("\"tokenizer_name\":{}", canonical_string(&identity.tokenizer_name)),
        format!("\"tokenizer_revision\":{}", canonical_string(&identity.tokenizer_revision)),
    ];
    format!("{{{}}}", members.join(","))
}

fn canonical_string(text: &str) -> String {
    let escaped: String = text.chars().map(canonical_character).collect();
    format!("\"{escaped}\"")
}

fn canonical_character(character: char) -> String {
    match character {
        '"' => r#"\""#.into(),
        '\\' => r"\\".into(),
        '\n' => r"\n".into(),
        '\r' => r"\r".into(),
        '\t' => r"\t".into(),
        '\u{c}' => r"\f".into(),
        '\u{8}' => r"\b".into(),
        '\u{20}'..='\u{7e}' => character.into(),
        _ => character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    }
}

/// A frame that passes every row of the contract's table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FrameParts {
    pub(crate) identity: Identity,
    pub(crate) payload: Vec<u8>,
    /// The payload's SHA-256.
    pub(crate) digest: [u8; 32],
}

/// The contract's table, from row 1 to row 11: the frame, or the reason code of the first row that fails.
pub(crate) fn frame(bytes: &[u8]) -> Result<FrameParts, &'static str> {
    let identity = identity(identity_json(bytes)?)?; // Rows 1 to 8.
    let (payload, trailer) = payload_and_trailer(bytes)?; // Rows 9 and 10.
    let digest: [u8; 32] = Sha256::digest(payload).into();
    if trailer != &digest[..8] {
        return Err("trailer_mismatch"); // Row 11.
    }
    Ok(FrameParts { identity, payload: payload.to_vec(), digest })
}

/// Structure alone, rows 1 to 6, 9 and 10: identity_json, payload and trailer as they lie.
pub(crate) fn structure(bytes: &[u8]) -> Result<[&[u8]; 3], &'static str> {
    let identity = identity_json(bytes)?;
    let (payload, trailer) = payload_and_trailer(bytes)?;
    Ok([identity, payload, trailer])
}

/// Rows 1 to 6: where the identity lies.
fn identity_json(bytes: &[u8]) -> Result<&[u8], &'static str> {
    let magic = [0xC0, 0xDE, 0x01, 0x05];
    let start = &bytes[..bytes.len().min(4)];
    if bytes.is_empty() {
        Err("truncated")
    } else if start == [0xC0, 0xDE, 0x01, 0x02] || start == [0xC0, 0xDE, 0x01, 0x04] {
        Err("old_version")
    } else if !magic.starts_with(start) {
        Err("bad_magic")
    } else if bytes.len() < 14 {
        Err("truncated")
    } else if little_endian(&bytes[4..6]) != 5 {
        Err("schema_version")
    } else if little_endian(&bytes[6..10]) != 0 {
        Err("reserved_not_zero")
    } else if 14 + little_endian(&bytes[10..14]) + 16 > bytes.len() as u128 {
        Err("identity_length")
    } else {
        Ok(&bytes[14..14 + little_endian(&bytes[10..14]) as usize])
    }
}

/// Rows 9 and 10, for bytes that passed rows 1 to 6.
fn payload_and_trailer(bytes: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
    let payload_len_at = 14 + little_endian(&bytes[10..14]) as usize;
    let payload_at = payload_len_at + 8;
    let payload_len = little_endian(&bytes[payload_len_at..payload_at]);
    let frame_len = payload_at as u128 + payload_len + 8;
    if frame_len > bytes.len() as u128 {
        Err("truncated")
    } else if frame_len < bytes.len() as u128 {
        Err("trailing_bytes")
    } else {
        Ok(bytes[payload_at..].split_at(payload_len as usize))
    }
}

/// Wide, so that no sum of lengths overflows.
fn little_endian(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |value, byte| value * 256 + u128::from(*byte))
}

/// What a search of bytes for frames comes upon, as offsets: a frame from one to the other, a place that is none, or what
/// lies between frames.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    Frame(u64, u64),
    Refused(u64, &'static str),
    Gap(u64, u64),
}

/// Every intact frame, wherever it starts, unless it starts inside another that is intact.
pub(crate) fn scan(bytes: &[u8]) -> Vec<Found> {
    let mut found = Vec::new();
    let (mut at, mut gap) = (0, 0);
    while at < bytes.len() {
        if matches!(bytes[at..], [0xC0, 0xDE, 0x01, 0x02 | 0x04 | 0x05, ..]) {
            match first_frame_len(&bytes[at..]) {
                Ok(len) => {
                    if gap < at {
                        found.push(Found::Gap(gap as u64, at as u64));
                    }
                    found.push(Found::Frame(at as u64, (at + len) as u64));
                    at += len;
                    gap = at;
                    continue;
                }
                Err(reason) => found.push(Found::Refused(at as u64, reason)),
            }
        }
        at += 1;
    }
    if gap < at {
        found.push(Found::Gap(gap as u64, at as u64));
    }
    found
}

/// The length of the intact frame that these bytes start with: all rows but row 10.
fn first_frame_len(bytes: &[u8]) -> Result<usize, &'static str> {
    match frame(bytes) {
        Err("trailing_bytes") => {
            let payload_len_at = 14 + little_endian(&bytes[10..14]) as usize;
            let len = payload_len_at + 16 + little_endian(&bytes[payload_len_at..payload_len_at + 8]) as usize;
            frame(&bytes[..len]).map(|_| len)
        }
        verdict => verdict.map(|_| bytes.len()),
    }
}
