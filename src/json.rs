//! Strict JSON (contract, section 2): the rules for every JSON text of the format, beyond what serde_json asks.
//!
//! serde_json checks the grammar and gives the raw text of each value. Checked here: no lone surrogates and no deep nesting
//! anywhere, no known key twice. Costs two passes over the text; allocates nothing but serde_json's scratch memory: for keys
//! with escapes, and a byte for each bracket that is open, no more than may be.

use core::fmt;
use core::marker::PhantomData;
use core::str;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::error::{Detail, Document, Error, Excerpt, FieldProblem, JsonProblem};
use crate::format::{Field, MAX_NESTING};

/// The known keys of one kind of object.
pub(crate) trait Key: Copy + Into<Field> {
    /// Which kind of object it is, for its errors.
    const DOCUMENT: Document;

    fn from_name(name: &str) -> Option<Self>;

    /// From 0, without gaps.
    fn index(self) -> usize;
}

/// One JSON object: the raw text of the value of each of the `N` known keys. Unknown ones are ignored, whatever they hold.
pub(crate) struct Object<'a, K, const N: usize> {
    json: &'a [u8],
    raw: [Option<&'a str>; N],
    keys: PhantomData<K>,
}

impl<'a, K: Key, const N: usize> Object<'a, K, N> {
    /// Reads the one object that `json` is.
    pub(crate) fn parse(json: &'a [u8]) -> Result<Self, Error> {
        let error = |fault: Fault| Error::new(fault.offset as u64, Detail::Json(K::DOCUMENT, fault.problem));
        let Members { raw, duplicate } = members(json, K::from_name, K::index).map_err(error)?;
        match duplicate {
            Some((key, raw)) => Err(error(fault(offset_in(json, raw), JsonProblem::DuplicateField(key.into())))),
            None => Ok(Self { json, raw, keys: PhantomData }),
        }
    }

    /// What `read` makes of the raw text of this key's value. `None` from it means that the value is out of its domain.
    pub(crate) fn field<T>(&self, key: K, read: impl FnOnce(&'a str) -> Option<T>) -> Result<T, Error> {
        let raw = self.raw(key)?;
        read(raw).ok_or_else(|| {
            let problem = FieldProblem::OutOfDomain(Excerpt::of(raw));
            Error::new(self.offset_of(raw), Detail::Field(key.into(), problem))
        })
    }

    /// The raw text of this key's value.
    pub(crate) fn raw(&self, key: K) -> Result<&'a str, Error> {
        self.raw[key.index()].ok_or(Error::new(0, Detail::Field(key.into(), FieldProblem::Missing)))
    }

    /// Where a value, as [`Object::raw`] gave it, starts.
    pub(crate) fn offset_of(&self, raw: &str) -> u64 {
        offset_in(self.json, raw) as u64
    }
}

/// What is wrong with a text, and at which of its bytes.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) problem: JsonProblem,
}

pub(crate) const fn fault(offset: usize, problem: JsonProblem) -> Fault {
    Fault { offset, problem }
}

/// The raw text of the value of each of `N` known keys.
pub(crate) struct Members<'a, K, const N: usize> {
    pub(crate) raw: [Option<&'a str>; N],
    /// The first key that came twice, and its second value.
    pub(crate) duplicate: Option<(K, &'a str)>,
}

/// Reads the one object that `json` is, of which `key_of` knows the keys by their names, and `index` their places.
pub(crate) fn members<'a, K: Copy, const N: usize>(
    json: &'a [u8],
    key_of: impl Fn(&str) -> Option<K>,
    index: impl Fn(K) -> usize,
) -> Result<Members<'a, K, N>, Fault> {
    let text = str::from_utf8(json).map_err(|error| fault(error.valid_up_to(), JsonProblem::InvalidUtf8))?;
    let strings = check_nesting_first(text)?;
    let mut members = Members { raw: [None; N], duplicate: None };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let reading = Reading { members: &mut members, key_of, index };
    deserializer.deserialize_map(reading).map_err(|error| refusal(&error, text))?;
    deserializer.end().map_err(|error| fault(offset_of(&error, text), JsonProblem::TrailingCharacters))?;
    strings?;
    Ok(members)
}

/// Whether the text is one strict object, whatever its keys are. Whoever has been through all of it and found nothing nested
/// too deep says so, and then it is only read once more where there are escapes.
///
/// What serde_json notes of nested values on the heap is no more than the limit on nesting allows.
#[cfg(feature = "cluster")]
pub(crate) fn check_object(text: &str, nesting_is_known: bool) -> Result<(), Fault> {
    let has_escapes = || memchr::memchr(b'\\', text.as_bytes()).is_some();
    let strings = if nesting_is_known && !has_escapes() { Ok(()) } else { check_nesting_first(text)? };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.deserialize_map(serde::de::IgnoredAny).map_err(|error| refusal(&error, text))?;
    deserializer.end().map_err(|error| fault(offset_of(&error, text), JsonProblem::TrailingCharacters))?;
    strings
}

struct Reading<'m, 'a, K, F, I, const N: usize> {
    members: &'m mut Members<'a, K, N>,
    key_of: F,
    index: I,
}

impl<'a, K: Copy, F: Fn(&str) -> Option<K>, I: Fn(K) -> usize, const N: usize> Visitor<'a>
    for Reading<'_, 'a, K, F, I, N>
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(AnyKey(&self.key_of))? {
            let raw = map.next_value::<&'a RawValue>()?.get();
            let Some(key) = key else { continue };
            match &mut self.members.raw[(self.index)(key)] {
                slot @ None => *slot = Some(raw),
                Some(_) => _ = self.members.duplicate.get_or_insert((key, raw)),
            }
        }
        Ok(())
    }
}

/// Reads a key: a known one, or any other.
pub(crate) struct AnyKey<'f, F>(pub(crate) &'f F);

impl<'a, K, F: Fn(&str) -> Option<K>> DeserializeSeed<'a> for AnyKey<'_, F> {
    type Value = Option<K>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<K, F: Fn(&str) -> Option<K>> Visitor<'_> for AnyKey<'_, F> {
    type Value = Option<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok((self.0)(name))
    }
}

/// Fails for what is nested too deep, before serde_json takes note of each bracket that is open. What it says of strings
/// holds if the text turns out to be JSON.
fn check_nesting_first(text: &str) -> Result<Result<(), Fault>, Fault> {
    match check_strings_and_nesting(text) {
        Err(fault) if fault.problem == JsonProblem::TooDeep => Err(fault),
        strings => Ok(strings),
    }
}

/// What serde_json lets pass inside values that nobody asked for: lone surrogates and any depth. For valid JSON it
/// says whether there are any; of other text it may say anything.
fn check_strings_and_nesting(text: &str) -> Result<(), Fault> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = check_string(bytes, at + 1)?,
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_NESTING {
                    return Err(fault(at, JsonProblem::TooDeep));
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// Checks the escapes of a string whose opening quote stands before `start`; returns where its closing quote stands.
fn check_string(bytes: &[u8], start: usize) -> Result<usize, Fault> {
    let mut at = start;
    while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += found;
        if bytes.get(at) == Some(&b'"') {
            break;
        }
        at += match surrogate_escape(bytes, at) {
            None => 2,
            Some(Half::High) if surrogate_escape(bytes, at + 6) == Some(Half::Low) => 12,
            Some(_) => return Err(fault(at, JsonProblem::LoneSurrogate)),
        };
    }
    Ok(at)
}

#[derive(PartialEq)]
enum Half {
    High,
    Low,
}

/// Which half of a surrogate pair the escape at `at` names, if any.
fn surrogate_escape(bytes: &[u8], at: usize) -> Option<Half> {
    match bytes.get(at..)? {
        [b'\\', b'u', b'd' | b'D', third, _, _, ..] => match third.to_ascii_lowercase() {
            b'8' | b'9' | b'a' | b'b' => Some(Half::High),
            b'c'..=b'f' => Some(Half::Low),
            _ => None,
        },
        _ => None,
    }
}

/// Where `part`, a piece of `text`, starts in it.
pub(crate) fn offset_in(text: &[u8], part: &str) -> usize {
    part.as_ptr().addr() - text.as_ptr().addr()
}

/// Where serde_json stopped. It counts lines from 1 and, in bytes, columns from 1; column 0 is the line feed before.
pub(crate) fn offset_of(error: &serde_json::Error, text: &str) -> usize {
    let line_start = match error.line().checked_sub(2) {
        None => 0,
        Some(newline) => memchr::memchr_iter(b'\n', text.as_bytes()).nth(newline).map_or(text.len(), |at| at + 1),
    };
    let past_end = usize::from(!error.is_eof());
    (line_start + error.column()).saturating_sub(past_end).min(text.len())
}

/// What is wrong with text of which serde_json could not read an object.
fn refusal(error: &serde_json::Error, text: &str) -> Fault {
    let offset = offset_of(error, text);
    if text.starts_with('\u{feff}') {
        return fault(0, JsonProblem::ByteOrderMark);
    }
    match error.classify() {
        Category::Eof => fault(offset, JsonProblem::UnexpectedEnd),
        // Another value than an object; where it ends is of no interest.
        Category::Data => fault(text.len() - text.trim_start().len(), JsonProblem::NotAnObject),
        // In a key, half of a surrogate pair is a syntax error to serde_json; in a value it is not.
        Category::Io | Category::Syntax => match check_strings_and_nesting(text) {
            Err(fault) if fault.problem == JsonProblem::LoneSurrogate && fault.offset < offset => fault,
            _ => fault(offset, JsonProblem::Syntax),
        },
    }
}
