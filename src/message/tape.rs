//! The second road: any valid body, through simd-json's tape.
//!
//! Anything that is not valid, or that simd-json and the contract might see differently, is `None`: the general road then
//! decides. So this file accepts or steps aside, and never refuses.

use core::fmt;
use core::num::NonZeroU64;

use simd_json::{Buffers, INPUT_PADDING, Node, StaticNode, Tape};

use super::{CompatFingerprint, MessageView, Number, ReuseScore, Ttl};
use crate::format::{IdentityField, MAX_NESTING, MessageField};
use crate::identity::{Dtype, HeadRange, IdentityView, InclusiveRange, PayloadHash, ShapeView, Text};
use crate::json::Key;
use crate::tenant::is_tenant;

/// What one parsing needs and the next can use again.
pub(super) struct TapeMemory {
    /// A copy of the body, in which escapes are undone, and the padding that simd-json asks for.
    text: Vec<u8>,
    buffers: Buffers,
    /// Empty between two parsings.
    tape: Tape<'static>,
    dims: Vec<u64>,
}

impl Default for TapeMemory {
    fn default() -> Self {
        Self {
            text: Vec::new(),
            buffers: Buffers::with_max_depth(0, MAX_NESTING),
            tape: Tape(Vec::new()),
            dims: Vec::new(),
        }
    }
}

impl fmt::Debug for TapeMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TapeMemory").finish_non_exhaustive()
    }
}

/// Of longer bodies the tape, which can have thirty times their length, would be kept for ever.
const MAX_LEN: usize = 64 << 10;

impl TapeMemory {
    pub(super) fn parse(&mut self, body: &[u8]) -> Option<MessageView<'_>> {
        if body.len() > MAX_LEN || may_name_surrogates(body) {
            return None;
        }
        let Self { text, buffers, tape, dims } = self;
        text.clear();
        text.extend_from_slice(body);
        text.resize(body.len() + INPUT_PADDING, 0);
        let mut filled = core::mem::replace(tape, Tape(Vec::new())).reset();
        let view = match simd_json::fill_tape_padded(text, body.len(), buffers, &mut filled) {
            Ok(()) => message(&filled.0, dims),
            Err(_) => None,
        };
        *tape = filled.reset();
        view
    }
}

/// Whether an escape may name half of a surrogate pair. If so, whether both halves are there is for the general road to say.
fn may_name_surrogates(body: &[u8]) -> bool {
    memchr::memchr_iter(b'\\', body).any(|at| matches!(body.get(at + 1..at + 3), Some([b'u', b'd' | b'D'])))
}

fn message<'a>(nodes: &[Node<'a>], dims: &'a mut Vec<u64>) -> Option<MessageView<'a>> {
    let [
        schema_version,
        tenant_id,
        identity,
        payload_ref,
        payload_size,
        ttl,
        reuse_score,
        version_id,
        consistency,
        hlc,
        fingerprint_compat,
    ] = members::<MessageField, _>(nodes)?;
    if integer(schema_version)? != 5 {
        return None;
    }
    Some(MessageView {
        tenant_id: Some(string(tenant_id)?).filter(|&text| is_tenant(text))?,
        identity: self::identity(identity, dims)?,
        payload_ref: match payload_ref.first()? {
            Node::Static(StaticNode::Null) => None,
            _ => Some(hash(payload_ref)?),
        },
        payload_size: integer(payload_size)?,
        ttl: Ttl::from_number(number(ttl)?),
        reuse_score: ReuseScore::from_number(number(reuse_score)?)?,
        version_id: NonZeroU64::new(integer(version_id)?)?,
        consistency: string(consistency)?,
        hlc: integer(hlc)?,
        fingerprint_compat: match fingerprint_compat.first()? {
            Node::String("") => None,
            Node::String(text) => Some(CompatFingerprint::from_text(text.as_bytes())?),
            _ => return None,
        },
    })
}

fn identity<'a>(nodes: &[Node<'a>], dims: &'a mut Vec<u64>) -> Option<IdentityView<'a>> {
    let [
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
    ] = members::<IdentityField, _>(nodes)?;
    dims.clear();
    for dim in elements(shape)? {
        dims.push(signed(dim)?.try_into().ok()?);
    }
    Some(IdentityView {
        payload_hash: hash(payload_hash)?,
        model_id: string(model_id)?,
        model_revision: string(model_revision)?,
        tokenizer_name: string(tokenizer_name)?,
        tokenizer_revision: string(tokenizer_revision)?,
        layer_range: range(layer_range)?,
        head_range: two(head_range).and_then(|(start, end)| HeadRange::from_bounds(start, end))?,
        token_span: range(token_span)?,
        dtype: match dtype.first()? {
            Node::String(name) => Dtype::from_name(name)?,
            _ => return None,
        },
        shape: ShapeView::from_checked_dims(Some(&**dims).filter(|dims| !dims.is_empty())?),
        canonical: None,
    })
}

/// Of each known key, the nodes from its value on. `None` if one is missing or comes twice.
fn members<'t, 'a, K: Key, const N: usize>(nodes: &'t [Node<'a>]) -> Option<[&'t [Node<'a>]; N]> {
    let (&Node::Object { len, .. }, mut rest) = nodes.split_first()? else { return None };
    let mut values = [None; N];
    for _ in 0..len {
        let (&Node::String(name), value) = rest.split_first()? else { return None };
        if let Some(key) = K::from_name(name)
            && values[key.index()].replace(value).is_some()
        {
            return None;
        }
        rest = value.get(span(value)?..)?;
    }
    let mut all = [nodes; N];
    for (slot, value) in all.iter_mut().zip(values) {
        *slot = value?;
    }
    Some(all)
}

/// How many nodes the first value has.
fn span(nodes: &[Node<'_>]) -> Option<usize> {
    match nodes.first()? {
        Node::Object { count, .. } | Node::Array { count, .. } => count.checked_add(1),
        Node::String(_) | Node::Static(_) => Some(1),
    }
}

/// The nodes of an array of numbers. Of any other array, nodes that are none.
fn elements<'t, 'a>(nodes: &'t [Node<'a>]) -> Option<&'t [Node<'a>]> {
    match *nodes.first()? {
        Node::Array { count, .. } => nodes.get(1..count.checked_add(1)?),
        _ => None,
    }
}

fn two(nodes: &[Node<'_>]) -> Option<(i64, i64)> {
    match elements(nodes)? {
        [start, end] => Some((signed(start)?, signed(end)?)),
        _ => None,
    }
}

fn range(nodes: &[Node<'_>]) -> Option<InclusiveRange> {
    let (start, end) = two(nodes)?;
    InclusiveRange::new(start.try_into().ok()?, end.try_into().ok()?).ok()
}

fn string<'a>(nodes: &[Node<'a>]) -> Option<Text<'a>> {
    match *nodes.first()? {
        Node::String(text) => Some(Text::from(text)),
        _ => None,
    }
}

fn hash(nodes: &[Node<'_>]) -> Option<PayloadHash> {
    match *nodes.first()? {
        Node::String(text) => PayloadHash::from_text(text.as_bytes()),
        _ => None,
    }
}

fn signed(node: &Node<'_>) -> Option<i64> {
    match *node {
        Node::Static(StaticNode::I64(value)) => Some(value),
        Node::Static(StaticNode::U64(value)) => value.try_into().ok(),
        _ => None,
    }
}

fn integer(nodes: &[Node<'_>]) -> Option<u64> {
    match *nodes.first()? {
        Node::Static(StaticNode::U64(value)) => Some(value),
        Node::Static(StaticNode::I64(value)) => value.try_into().ok(),
        _ => None,
    }
}

fn number(nodes: &[Node<'_>]) -> Option<Number> {
    match *nodes.first()? {
        Node::Static(StaticNode::F64(value)) => Number::from_f64(value),
        _ => integer(nodes).map(Number::Integer),
    }
}
