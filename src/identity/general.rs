//! The general road: any strict JSON, through serde_json.
//!
//! serde_json checks the grammar and gives the raw text of each value, [`json`] looks for lone surrogates and deep nesting.
//! What else the contract asks is checked here: no field twice, and the domains of the ten fields.
//! JSON problems go before field problems, as rows 7 and 8 of the contract's table do.

use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Dtype, HeadRange, IdentityView, InclusiveRange, PayloadHash, ShapeView, Text};
use crate::error::{Detail, Error, Excerpt, FieldProblem, JsonProblem};
use crate::format::IdentityField;
use crate::json;

pub(super) fn parse(json: &[u8]) -> Result<IdentityView<'_>, Error> {
    let text = json::text(json)?;
    let mut values = Values::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.deserialize_map(&mut values).map_err(|error| json::refusal(&error, text))?;
    deserializer.end().map_err(|error| json::trailing(&error, text))?;
    json::check_strings_and_nesting(text)?;
    if let Some((field, raw)) = values.duplicate {
        return Err(json::error(json::offset_in(text, raw), JsonProblem::DuplicateField(field)));
    }
    values.into_view(text)
}

/// The raw text of the value of each of the ten fields.
#[derive(Default)]
struct Values<'a> {
    raw: [Option<&'a str>; IdentityField::ALL.len()],
    /// The first field that came twice, and its second value.
    duplicate: Option<(IdentityField, &'a str)>,
}

impl<'a> Visitor<'a> for &mut Values<'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            let raw = map.next_value::<&'a RawValue>()?.get();
            let Some(field) = key else { continue };
            match &mut self.raw[field as usize] {
                slot @ None => *slot = Some(raw),
                Some(_) => _ = self.duplicate.get_or_insert((field, raw)),
            }
        }
        Ok(())
    }
}

/// Reads a key: one of the ten, or any other.
struct Key;

impl<'a> DeserializeSeed<'a> for Key {
    type Value = Option<IdentityField>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Option<IdentityField>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(IdentityField::from_key(key))
    }
}

impl<'a> Values<'a> {
    fn into_view(self, text: &'a str) -> Result<IdentityView<'a>, Error> {
        let read = Reader { raw: self.raw, text };
        // In the order of the specification: the first field at fault is the one that is named.
        Ok(IdentityView {
            payload_hash: read.field(IdentityField::PayloadHash, payload_hash)?,
            model_id: read.field(IdentityField::ModelId, string)?,
            model_revision: read.field(IdentityField::ModelRevision, string)?,
            tokenizer_name: read.field(IdentityField::TokenizerName, string)?,
            tokenizer_revision: read.field(IdentityField::TokenizerRevision, string)?,
            layer_range: read.field(IdentityField::LayerRange, range)?,
            head_range: read.field(IdentityField::HeadRange, head_range)?,
            token_span: read.field(IdentityField::TokenSpan, range)?,
            dtype: read.field(IdentityField::Dtype, dtype)?,
            shape: read.field(IdentityField::Shape, shape)?,
            canonical: None,
        })
    }
}

struct Reader<'a> {
    raw: [Option<&'a str>; IdentityField::ALL.len()],
    text: &'a str,
}

impl<'a> Reader<'a> {
    fn field<T>(&self, field: IdentityField, read: impl FnOnce(&'a str) -> Option<T>) -> Result<T, Error> {
        let Some(raw) = self.raw[field as usize] else {
            return Err(Error::new(0, Detail::Field(field, FieldProblem::Missing)));
        };
        read(raw).ok_or_else(|| {
            let problem = FieldProblem::OutOfDomain(Excerpt::of(raw));
            Error::new(json::offset_in(self.text, raw) as u64, Detail::Field(field, problem))
        })
    }
}

// Each of these takes the raw text of a value that is valid JSON without lone surrogates.

fn string(raw: &str) -> Option<Text<'_>> {
    Some(Text::from_checked_json(raw.strip_prefix('"')?.strip_suffix('"')?))
}

fn payload_hash(raw: &str) -> Option<PayloadHash> {
    PayloadHash::from_text(string(raw)?.to_cow().as_bytes())
}

fn dtype(raw: &str) -> Option<Dtype> {
    Dtype::from_name(&string(raw)?.to_cow())
}

/// What stands between the brackets. A comma inside a string or a nested array splits an element in two that are no
/// integers, which is as far from legal as the whole was.
fn elements(raw: &str) -> Option<&str> {
    raw.strip_prefix('[')?.strip_suffix(']')
}

/// A JSON integer in int64: no fraction, no exponent. `-0` is 0.
fn integer(element: &str) -> Option<i64> {
    element.trim().parse().ok()
}

fn two_integers(raw: &str) -> Option<(i64, i64)> {
    let (start, end) = elements(raw)?.split_once(',')?;
    Some((integer(start)?, integer(end)?))
}

fn range(raw: &str) -> Option<InclusiveRange> {
    let (start, end) = two_integers(raw)?;
    InclusiveRange::new(start.try_into().ok()?, end.try_into().ok()?).ok()
}

fn head_range(raw: &str) -> Option<HeadRange> {
    let (start, end) = two_integers(raw)?;
    HeadRange::from_bounds(start, end)
}

fn shape(raw: &str) -> Option<ShapeView<'_>> {
    let elements = elements(raw)?;
    let legal = elements.split(',').all(|dim| integer(dim).is_some_and(|dim| dim >= 0));
    legal.then(|| ShapeView::from_checked_json(elements))
}
