//! Proves on frames whose lengths and trailer are right (unless damaged on purpose), so that no checksum hides what is
//! behind it: verdicts are those of the naive reader, and what is accepted survives being written and read again.
//!
//! Frames come from a sketch: an identity that is valid in any of the ways in which JSON can write it, edited, with one
//! field made odd, or not; a payload; and at most one field of the framing damaged after all was repaired.

#![no_main]

use std::io::Write;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use membrane_codec::{FrameWriter, VerifiedFrame, canonicalize, encode, encoded_len, parse_canonical, sha256};
use membrane_codec_fuzz::{check_frame, check_identity, lower_hex, trailer_of};

fuzz_target!(|sketch: FrameSketch| {
    let mut identity = sketch.identity.json(sketch.payload).into_bytes();
    sketch.edits.iter().for_each(|edit| edit.apply(&mut identity));
    check_identity(&identity);

    let mut bytes = frame(&identity, sketch.payload);
    if let Some(damage) = &sketch.damage {
        damage.apply(&mut bytes, identity.len());
    }
    if let Some(frame) = check_frame(&bytes) {
        check_round_trip(&frame, &bytes);
    }
});

/// What was accepted is written, by each of the ways to write, as the same frame in canonical form.
fn check_round_trip(frame: &VerifiedFrame<'_>, bytes: &[u8]) {
    let identity = frame.identity().to_identity();
    let written = canonicalize(&identity, frame.payload()).expect("a frame of this length exists");
    let again = parse_canonical(&written).expect("a frame that was written is sound");
    assert_eq!(again.identity().to_identity(), identity);
    assert_eq!(again.identity().fingerprint(), frame.identity().fingerprint());
    assert_eq!(again.payload(), frame.payload());
    assert!(again.identity().is_canonical());
    assert_eq!(written == bytes, frame.identity().is_canonical());

    let mut encoded = Vec::new();
    assert_eq!(encode(frame.identity(), frame.payload(), &mut encoded), Ok(sha256(frame.payload())));
    assert_eq!(encoded_len(frame.identity(), frame.payload().len()), Ok(written.len()));
    assert_eq!(encoded, written);

    let payload_len = frame.payload().len() as u64;
    let mut writer = FrameWriter::new(Vec::new(), &identity, payload_len).expect("a Vec takes everything");
    let (first, second) = frame.payload().split_at(frame.payload().len() / 3);
    writer.write_all(first).and_then(|()| writer.write_all(second)).expect("as long as was declared");
    assert_eq!(writer.finish().expect("as long as was declared"), (written, frame.payload_digest()));
}

/// A frame around any identity text.
fn frame(identity: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xC0, 0xDE, 0x01, 0x05, 5, 0, 0, 0, 0, 0];
    bytes.extend((identity.len() as u32).to_le_bytes());
    bytes.extend(identity);
    bytes.extend((payload.len() as u64).to_le_bytes());
    bytes.extend(payload);
    bytes.extend(trailer_of(payload));
    bytes
}

#[derive(Arbitrary, Debug)]
struct FrameSketch<'a> {
    identity: IdentitySketch<'a>,
    edits: Vec<Edit>,
    damage: Option<Damage>,
    payload: &'a [u8],
}

#[derive(Arbitrary, Debug)]
struct IdentitySketch<'a> {
    payload_hash: Hash,
    names: [Name<'a>; 4],
    layers: (Size, Size),
    heads: Option<(Size, Size)>,
    tokens: (Size, Size),
    dtype: u8,
    first_dim: Size,
    other_dims: Vec<Size>,
    /// Canonical form if there is none.
    layout: Option<Layout<'a>>,
}

#[derive(Arbitrary, Debug)]
enum Hash {
    OfPayload,
    OfPayloadInUpperCase,
    Other([u8; 32]),
}

#[derive(Arbitrary, Debug)]
enum Name<'a> {
    Usual(u8),
    Text(&'a str),
    Characters(Vec<char>),
}

/// A number in the domain of ranges and dimensions.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Size {
    Small(u8),
    Any(u64),
    Greatest,
}

/// How identity JSON departs from its canonical form.
#[derive(Arbitrary, Debug)]
struct Layout<'a> {
    swaps: Vec<(u8, u8)>,
    space: u8,
    escapes: Escapes,
    key_escapes: Escapes,
    unknown: Vec<(&'a str, Json<'a>)>,
    odd: Option<(u8, Odd<'a>)>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Escapes {
    Canonical,
    CanonicalInUpperCase,
    Fewest,
    Every,
}

/// What happens to one of the ten fields.
#[derive(Arbitrary, Debug)]
enum Odd<'a> {
    Missing,
    Twice,
    Value(Json<'a>),
    FirstElement(Json<'a>),
}

/// JSON that the format does not expect, valid nevertheless.
#[derive(Arbitrary, Debug)]
enum Json<'a> {
    Null,
    Bool(bool),
    Integer(i64),
    /// Around 2^63.
    IntegerAtLimit(i8),
    LongInteger(i64, u64),
    Fraction(i32, u32),
    Exponent(i32, i16),
    Text(&'a str),
    Array(Vec<Json<'a>>),
    Object(Vec<(&'a str, Json<'a>)>),
    /// Around the deepest nesting that is accepted.
    Nested(u8),
}

const NAMES: [&str; 6] = ["", "m", "llama-3-8b", "na\u{ef}ve-\u{6a21}\u{578b}", "\u{1f600}", "a/b\"c\\d\u{7f}\n"];

const DTYPES: [&str; 12] = [
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "fp8_e4m3", "fp8_e5m2",
    "nf4",
];

const SPACES: [&str; 4] = ["", " ", "\n", "\r\t"];

impl Hash {
    fn text(&self, payload: &[u8]) -> String {
        match self {
            Self::OfPayload => sha256(payload).to_string(),
            Self::OfPayloadInUpperCase => sha256(payload).to_string().to_uppercase(),
            Self::Other(bytes) => lower_hex(bytes),
        }
    }
}

impl Name<'_> {
    fn text(&self) -> String {
        match self {
            Self::Usual(name) => NAMES[usize::from(*name) % NAMES.len()].into(),
            Self::Text(text) => (*text).into(),
            Self::Characters(characters) => characters.iter().collect(),
        }
    }
}

impl Size {
    fn value(self) -> u64 {
        match self {
            Self::Small(size) => size.into(),
            Self::Any(size) => size >> 1,
            Self::Greatest => i64::MAX as u64,
        }
    }
}

impl IdentitySketch<'_> {
    fn json(&self, payload: &[u8]) -> String {
        let mut members = self.members(payload);
        let Some(layout) = &self.layout else {
            let members: Vec<String> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            return format!("{{{}}}", members.join(","));
        };
        if let Some((field, odd)) = &layout.odd {
            odd.apply(usize::from(*field) % members.len(), &mut members);
        }
        members.extend(layout.unknown.iter().map(|(key, value)| (*key, value.text())));
        for (left, right) in &layout.swaps {
            let len = members.len();
            members.swap(usize::from(*left) % len, usize::from(*right) % len);
        }
        let space = SPACES[usize::from(layout.space) % SPACES.len()];
        let members: Vec<String> = members
            .iter()
            .map(|(key, value)| format!("{space}{}{space}:{space}{value}{space}", quoted(key, layout.key_escapes)))
            .collect();
        format!("{space}{{{}}}{space}", members.join(","))
    }

    /// The ten fields in the order of the canonical form, each with the text of its value.
    fn members(&self, payload: &[u8]) -> Vec<(&str, String)> {
        let (space, escapes) = match &self.layout {
            Some(layout) => (SPACES[usize::from(layout.space) % SPACES.len()], layout.escapes),
            None => ("", Escapes::Canonical),
        };
        let array = |elements: Vec<u64>| {
            let elements: Vec<String> = elements.iter().map(|element| format!("{space}{element}{space}")).collect();
            format!("[{}]", elements.join(","))
        };
        let range = |(a, b): (Size, Size)| array(vec![a.value().min(b.value()), a.value().max(b.value())]);
        let [model_id, model_revision, tokenizer_name, tokenizer_revision] = &self.names;
        let name = |name: &Name<'_>| quoted(&name.text(), escapes);
        let dims = [self.first_dim].iter().chain(&self.other_dims).map(|size| size.value()).collect();
        vec![
            ("dtype", quoted(DTYPES[usize::from(self.dtype) % DTYPES.len()], escapes)),
            ("head_range", self.heads.map_or_else(|| format!("[-1,{space}-1]"), range)),
            ("layer_range", range(self.layers)),
            ("model_id", name(model_id)),
            ("model_revision", name(model_revision)),
            ("payload_hash", quoted(&self.payload_hash.text(payload), escapes)),
            ("shape", array(dims)),
            ("token_span", range(self.tokens)),
            ("tokenizer_name", name(tokenizer_name)),
            ("tokenizer_revision", name(tokenizer_revision)),
        ]
    }
}

impl Odd<'_> {
    fn apply(&self, field: usize, members: &mut Vec<(&str, String)>) {
        match self {
            Self::Missing => _ = members.remove(field),
            Self::Twice => members.push(members[field].clone()),
            Self::Value(value) => members[field].1 = value.text(),
            Self::FirstElement(element) => {
                if let Some((_, others)) = members[field].1.split_once(',') {
                    members[field].1 = format!("[{},{others}", element.text());
                }
            }
        }
    }
}

impl Json<'_> {
    fn text(&self) -> String {
        match self {
            Self::Null => "null".into(),
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::IntegerAtLimit(distance) => ((1_i128 << 63) + i128::from(*distance)).to_string(),
            Self::LongInteger(high, low) => format!("{}{low}", high | 1),
            Self::Fraction(whole, part) => format!("{whole}.{part}"),
            Self::Exponent(mantissa, exponent) => format!("{mantissa}E{exponent:+}"),
            Self::Text(text) => quoted(text, Escapes::Fewest),
            Self::Array(elements) => {
                let elements: Vec<String> = elements.iter().map(Json::text).collect();
                format!("[{}]", elements.join(","))
            }
            Self::Object(members) => {
                let member =
                    |(key, value): &(&str, Json<'_>)| format!("{}:{}", quoted(key, Escapes::Fewest), value.text());
                let members: Vec<String> = members.iter().map(member).collect();
                format!("{{{}}}", members.join(","))
            }
            Self::Nested(levels) => {
                let levels = 120 + usize::from(levels % 16);
                format!("{}{}", "[".repeat(levels), "]".repeat(levels))
            }
        }
    }
}

fn quoted(text: &str, escapes: Escapes) -> String {
    let in_units = |character: char| {
        let units = character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
        if matches!(escapes, Escapes::CanonicalInUpperCase) { units.to_uppercase().replace('U', "u") } else { units }
    };
    let escaped = |character: char| match (escapes, character) {
        (Escapes::Every, _) => in_units(character),
        (_, '"' | '\\') => format!("\\{character}"),
        (_, '\n') => "\\n".into(),
        (_, '\r') => "\\r".into(),
        (_, '\t') => "\\t".into(),
        (_, '\u{c}') => "\\f".into(),
        (_, '\u{8}') => "\\b".into(),
        (Escapes::Fewest, ' '..) | (_, ' '..='~') => character.into(),
        _ => in_units(character),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// A change to the identity's text.
#[derive(Arbitrary, Debug)]
struct Edit {
    at: u16,
    change: Change,
}

#[derive(Arbitrary, Debug)]
enum Change {
    Replace(u8),
    Insert(u8),
    Remove(u8),
}

/// What breaks JSON, or nearly does.
const SNIPPETS: [&[u8]; 20] = [
    b"\\ud800",
    b"\\udc00",
    b"\\ud83d\\ude00",
    b"\\u0000",
    b"\\/",
    b"\\x",
    b"\"",
    b",",
    b":",
    b"{",
    b"}",
    b"[",
    b"]",
    b" ",
    b"0",
    b"-",
    b".",
    b"e1",
    b"\xef\xbb\xbf",
    b"\xff",
];

impl Edit {
    fn apply(&self, text: &mut Vec<u8>) {
        let at = usize::from(self.at) % (text.len() + 1);
        match self.change {
            Change::Replace(byte) => {
                if let Some(place) = text.get_mut(at) {
                    *place = byte;
                }
            }
            Change::Insert(snippet) => {
                let snippet = SNIPPETS[usize::from(snippet) % SNIPPETS.len()];
                text.splice(at..at, snippet.iter().copied());
            }
            Change::Remove(len) => _ = text.drain(at..text.len().min(at + usize::from(len % 8))),
        }
    }
}

/// One wrong field in a frame that is otherwise right.
#[derive(Arbitrary, Debug)]
enum Damage {
    Magic(u8, u8),
    Schema(u16),
    Reserved(u32),
    IdentityLen(Length),
    PayloadLen(Length),
    Trailer(u8, u8),
    Cut(u16),
    Follow(Vec<u8>),
}

#[derive(Arbitrary, Debug)]
enum Length {
    Less(u8),
    More(u8),
    Any(u64),
}

impl Length {
    fn instead_of(&self, right: u64) -> u64 {
        match self {
            Self::Less(by) => right.wrapping_sub((*by).into()),
            Self::More(by) => right.wrapping_add((*by).into()),
            Self::Any(length) => *length,
        }
    }
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>, identity_len: usize) {
        let payload_len_at = 14 + identity_len;
        let end = bytes.len();
        match self {
            Self::Magic(at, byte) => bytes[usize::from(at % 4)] = *byte,
            Self::Schema(schema) => bytes[4..6].copy_from_slice(&schema.to_le_bytes()),
            Self::Reserved(reserved) => bytes[6..10].copy_from_slice(&reserved.to_le_bytes()),
            Self::IdentityLen(length) => {
                let length = length.instead_of(identity_len as u64) as u32;
                bytes[10..14].copy_from_slice(&length.to_le_bytes());
            }
            Self::PayloadLen(length) => {
                let length = length.instead_of((end - payload_len_at - 16) as u64);
                bytes[payload_len_at..payload_len_at + 8].copy_from_slice(&length.to_le_bytes());
            }
            Self::Trailer(at, change) => bytes[end - 1 - usize::from(at % 8)] ^= change,
            Self::Cut(len) => bytes.truncate(end - usize::from(*len) % (end + 1)),
            Self::Follow(rest) => bytes.extend(rest),
        }
    }
}
