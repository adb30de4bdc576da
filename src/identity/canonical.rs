//! The fast road: reads exactly the canonical form, in one pass along its known layout.
//!
//! Anything else, valid or not, is `None`: the general road then decides what it is. So this file accepts or steps
//! aside, and never refuses.

use super::IdentityView;
use super::cursor::{Cursor, is_plain};

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
