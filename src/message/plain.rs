//! The plain road: a body of printable ASCII without escapes, keys in any order, none unknown, in one pass.
//!
//! Anything else, valid or not, is `None`: the other roads then decide what it is. So this file accepts or steps aside, and
//! never refuses.

use core::num::NonZeroU64;

use super::{CompatFingerprint, MessageView, Number, ReuseScore, Ttl};
use crate::format::{IdentityField, MessageField};
use crate::identity::cursor::{self, Cursor};
use crate::identity::{HeadRange, IdentityView, InclusiveRange, PayloadHash, ShapeView, Text};
use crate::json::Key;
use crate::tenant::is_tenant;

pub(super) fn parse(body: &[u8]) -> Option<MessageView<'_>> {
    if !cursor::is_plain(body) {
        return None;
    }
    let mut cursor = Cursor { rest: core::str::from_utf8(body).ok()?, plain: true };
    cursor.spaces();
    let view = message(&mut cursor)?;
    cursor.spaces();
    cursor.rest.is_empty().then_some(view)
}

fn message<'a>(cursor: &mut Cursor<'a>) -> Option<MessageView<'a>> {
    let mut tenant_id = None;
    let mut identity = None;
    let mut payload_ref = None;
    let mut payload_size = None;
    let mut ttl = None;
    let mut reuse_score = None;
    let mut version_id = None;
    let mut consistency = None;
    let mut hlc = None;
    let mut fingerprint_compat = None;
    object(cursor, &MessageField::ALL, |cursor, field| {
        match field {
            MessageField::SchemaVersion => cursor.literal("5")?,
            MessageField::TenantId => tenant_id = Some(string(cursor).filter(|&text| is_tenant(text))?),
            MessageField::Identity => identity = Some(self::identity(cursor)?),
            MessageField::PayloadRef => {
                payload_ref = Some(match cursor.literal("null") {
                    Some(()) => None,
                    None => Some(hash(cursor)?),
                });
            }
            MessageField::PayloadSize => payload_size = Some(cursor.integer()?),
            MessageField::Ttl => ttl = Some(Ttl::from_number(number(cursor)?)),
            MessageField::ReuseScore => reuse_score = Some(ReuseScore::from_number(number(cursor)?)?),
            MessageField::VersionId => version_id = Some(NonZeroU64::new(cursor.integer()?)?),
            MessageField::Consistency => consistency = Some(string(cursor)?),
            MessageField::Hlc => hlc = Some(cursor.integer()?),
            MessageField::FingerprintCompat => {
                fingerprint_compat = Some(match cursor.literal("\"\"") {
                    Some(()) => None,
                    None => Some(CompatFingerprint::from_characters(hash(cursor)?)),
                });
            }
        }
        Some(())
    })?;
    Some(MessageView {
        tenant_id: tenant_id?,
        identity: identity?,
        payload_ref: payload_ref?,
        payload_size: payload_size?,
        ttl: ttl?,
        reuse_score: reuse_score?,
        version_id: version_id?,
        consistency: consistency?,
        hlc: hlc?,
        fingerprint_compat: fingerprint_compat?,
    })
}

fn identity<'a>(cursor: &mut Cursor<'a>) -> Option<IdentityView<'a>> {
    let mut payload_hash = None;
    let mut model_id = None;
    let mut model_revision = None;
    let mut tokenizer_name = None;
    let mut tokenizer_revision = None;
    let mut layer_range = None;
    let mut head_range = None;
    let mut token_span = None;
    let mut dtype = None;
    let mut shape = None;
    object(cursor, &IdentityField::ALL, |cursor, field| {
        match field {
            IdentityField::PayloadHash => payload_hash = Some(hash(cursor)?),
            IdentityField::ModelId => model_id = Some(string(cursor)?),
            IdentityField::ModelRevision => model_revision = Some(string(cursor)?),
            IdentityField::TokenizerName => tokenizer_name = Some(string(cursor)?),
            IdentityField::TokenizerRevision => tokenizer_revision = Some(string(cursor)?),
            IdentityField::LayerRange => layer_range = Some(range(cursor)?),
            IdentityField::HeadRange => head_range = Some(self::head_range(cursor)?),
            IdentityField::TokenSpan => token_span = Some(range(cursor)?),
            IdentityField::Dtype => {
                cursor.literal("\"")?;
                dtype = Some(cursor.dtype()?);
                cursor.literal("\"")?;
            }
            IdentityField::Shape => shape = Some(self::shape(cursor)?),
        }
        Some(())
    })?;
    Some(IdentityView {
        payload_hash: payload_hash?,
        model_id: model_id?,
        model_revision: model_revision?,
        tokenizer_name: tokenizer_name?,
        tokenizer_revision: tokenizer_revision?,
        layer_range: layer_range?,
        head_range: head_range?,
        token_span: token_span?,
        dtype: dtype?,
        shape: shape?,
        canonical: None,
    })
}

/// An object that has `keys` and no others, each once. `value` takes the value of each.
#[inline(always)]
fn object<'a, K: Key>(
    cursor: &mut Cursor<'a>,
    keys: &[K],
    mut value: impl FnMut(&mut Cursor<'a>, K) -> Option<()>,
) -> Option<()> {
    let mut missing = (1_u32 << keys.len()) - 1;
    let mut opening = "{";
    // Most come in the order of the specification, so that the next is known before it is read.
    for expected in keys {
        cursor.literal(opening)?;
        cursor.spaces();
        let key = key(cursor, *expected)?;
        cursor.spaces();
        cursor.literal(":")?;
        cursor.spaces();
        value(cursor, key)?;
        cursor.spaces();
        missing &= !(1 << key.index());
        opening = ",";
    }
    cursor.literal("}")?;
    // As many keys came as there are, so none came twice if none is missing.
    (missing == 0).then_some(())
}

#[inline(always)]
fn key<K: Key>(cursor: &mut Cursor<'_>, expected: K) -> Option<K> {
    cursor.literal("\"")?;
    let name = expected.into().as_str();
    let key = if cursor.literal(name).is_some() {
        expected
    } else {
        K::from_name(cursor.take(memchr::memchr(b'"', cursor.rest.as_bytes())?)?)?
    };
    // A longer key may begin with the expected one: then no quote follows.
    cursor.literal("\"")?;
    Some(key)
}

#[inline(always)]
fn string<'a>(cursor: &mut Cursor<'a>) -> Option<Text<'a>> {
    cursor.literal("\"")?;
    let text = cursor.string()?;
    cursor.literal("\"")?;
    Some(text)
}

#[inline(always)]
fn hash(cursor: &mut Cursor<'_>) -> Option<PayloadHash> {
    cursor.literal("\"")?;
    let hash = cursor.payload_hash()?;
    cursor.literal("\"")?;
    Some(hash)
}

#[inline(always)]
fn head_range(cursor: &mut Cursor<'_>) -> Option<HeadRange> {
    match cursor.literal("[-1, -1]").or_else(|| cursor.literal("[-1,-1]")) {
        Some(()) => Some(HeadRange::All),
        None => range(cursor).map(HeadRange::Inclusive),
    }
}

#[inline(always)]
fn range(cursor: &mut Cursor<'_>) -> Option<InclusiveRange> {
    cursor.literal("[")?;
    let start = element(cursor)?;
    cursor.literal(",")?;
    let end = element(cursor)?;
    cursor.literal("]")?;
    InclusiveRange::new(start, end).ok()
}

#[inline(always)]
fn shape<'a>(cursor: &mut Cursor<'a>) -> Option<ShapeView<'a>> {
    cursor.literal("[")?;
    let start = cursor.rest;
    element(cursor)?;
    while cursor.literal(",").is_some() {
        element(cursor)?;
    }
    let elements = start.get(..start.len() - cursor.rest.len())?;
    cursor.literal("]")?;
    Some(ShapeView::from_checked_json(elements))
}

#[inline(always)]
fn element(cursor: &mut Cursor<'_>) -> Option<u64> {
    cursor.spaces();
    let value = cursor.integer()?;
    cursor.spaces();
    Some(value)
}

/// A JSON number without a sign.
#[inline(always)]
fn number(cursor: &mut Cursor<'_>) -> Option<Number> {
    let digits_from = |at: usize| cursor.rest.bytes().skip(at).take_while(u8::is_ascii_digit).count();
    let whole = digits_from(0);
    let mut len = whole;
    if cursor.rest.as_bytes().get(len) == Some(&b'.') {
        let fraction = digits_from(len + 1);
        if fraction == 0 {
            return None;
        }
        len += 1 + fraction;
    }
    if whole == 0 || (whole > 1 && cursor.rest.starts_with('0')) {
        return None;
    }
    // An exponent is left for the comma that should follow to stumble over.
    Number::from_json(cursor.take(len)?)
}
