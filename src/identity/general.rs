//! The general road: any strict JSON, through serde_json.
//!
//! [`json`] gives the raw text of each value of one strict object. What else the contract asks is checked here: no field
//! twice, and the domains of the ten fields.
//! JSON problems go before field problems, as rows 7 and 8 of the contract's table do.

use super::{Dtype, HeadRange, IdentityView, InclusiveRange, PayloadHash, ShapeView, Text};
use crate::error::{Detail, Error, Excerpt, FieldProblem, JsonProblem};
use crate::format::IdentityField;
use crate::json::{self, Fields};

pub(super) fn parse(json: &[u8]) -> Result<IdentityView<'_>, Error> {
    let text = json::text(json)?;
    let Fields { raw, duplicate } = json::fields(text, |key| Some(IdentityField::from_key(key)? as usize))?;
    if let Some((index, raw)) = duplicate {
        let problem = JsonProblem::DuplicateField(IdentityField::ALL[index]);
        return Err(json::error(json::offset_in(text, raw), problem));
    }
    Reader { raw, text }.view()
}

struct Reader<'a> {
    raw: [Option<&'a str>; IdentityField::ALL.len()],
    text: &'a str,
}

impl<'a> Reader<'a> {
    fn view(&self) -> Result<IdentityView<'a>, Error> {
        // In the order of the specification: the first field at fault is the one that is named.
        Ok(IdentityView {
            payload_hash: self.field(IdentityField::PayloadHash, payload_hash)?,
            model_id: self.field(IdentityField::ModelId, string)?,
            model_revision: self.field(IdentityField::ModelRevision, string)?,
            tokenizer_name: self.field(IdentityField::TokenizerName, string)?,
            tokenizer_revision: self.field(IdentityField::TokenizerRevision, string)?,
            layer_range: self.field(IdentityField::LayerRange, range)?,
            head_range: self.field(IdentityField::HeadRange, head_range)?,
            token_span: self.field(IdentityField::TokenSpan, range)?,
            dtype: self.field(IdentityField::Dtype, dtype)?,
            shape: self.field(IdentityField::Shape, shape)?,
            canonical: None,
        })
    }

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
