//! The general road: any strict JSON, through serde_json. JSON problems go before field problems, as rows 7 and 8 of the
//! contract's table do.

use super::{Dtype, HeadRange, IdentityView, InclusiveRange, PayloadHash, ShapeView, Text};
use crate::error::{Document, Error};
use crate::format::IdentityField;
use crate::json::{Key, Object};

pub(super) fn parse(json: &[u8]) -> Result<IdentityView<'_>, Error> {
    let object = Object::<_, { IdentityField::ALL.len() }>::parse(json)?;
    // In the order of the specification: the first field at fault is the one that is named.
    Ok(IdentityView {
        payload_hash: object.field(IdentityField::PayloadHash, payload_hash)?,
        model_id: object.field(IdentityField::ModelId, Text::from_json)?,
        model_revision: object.field(IdentityField::ModelRevision, Text::from_json)?,
        tokenizer_name: object.field(IdentityField::TokenizerName, Text::from_json)?,
        tokenizer_revision: object.field(IdentityField::TokenizerRevision, Text::from_json)?,
        layer_range: object.field(IdentityField::LayerRange, range)?,
        head_range: object.field(IdentityField::HeadRange, head_range)?,
        token_span: object.field(IdentityField::TokenSpan, range)?,
        dtype: object.field(IdentityField::Dtype, dtype)?,
        shape: object.field(IdentityField::Shape, shape)?,
        canonical: None,
    })
}

impl Key for IdentityField {
    const DOCUMENT: Document = Document::Identity;

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.as_str() == name)
    }

    fn index(self) -> usize {
        self as usize
    }
}

// Each of these takes the raw text of a value that is valid JSON without lone surrogates.

fn payload_hash(raw: &str) -> Option<PayloadHash> {
    PayloadHash::from_text(Text::from_json(raw)?.to_cow().as_bytes())
}

fn dtype(raw: &str) -> Option<Dtype> {
    Dtype::from_name(&Text::from_json(raw)?.to_cow())
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
