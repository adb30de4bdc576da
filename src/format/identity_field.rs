//! The names of the ten fields and the domain of each.

use core::fmt;

/// One of the ten identity fields (specification, section 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdentityField {
    /// `payload_hash`
    PayloadHash,
    /// `model_id`
    ModelId,
    /// `model_revision`
    ModelRevision,
    /// `tokenizer_name`
    TokenizerName,
    /// `tokenizer_revision`
    TokenizerRevision,
    /// `layer_range`
    LayerRange,
    /// `head_range`
    HeadRange,
    /// `token_span`
    TokenSpan,
    /// `dtype`
    Dtype,
    /// `shape`
    Shape,
}

impl IdentityField {
    /// All ten, in the order of the specification. When several are at fault, an error names the first in this order.
    pub const ALL: [Self; 10] = [
        Self::PayloadHash,
        Self::ModelId,
        Self::ModelRevision,
        Self::TokenizerName,
        Self::TokenizerRevision,
        Self::LayerRange,
        Self::HeadRange,
        Self::TokenSpan,
        Self::Dtype,
        Self::Shape,
    ];

    /// The field's key in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PayloadHash => "payload_hash",
            Self::ModelId => "model_id",
            Self::ModelRevision => "model_revision",
            Self::TokenizerName => "tokenizer_name",
            Self::TokenizerRevision => "tokenizer_revision",
            Self::LayerRange => "layer_range",
            Self::HeadRange => "head_range",
            Self::TokenSpan => "token_span",
            Self::Dtype => "dtype",
            Self::Shape => "shape",
        }
    }

    /// What the field may hold, in words (contract, section 2).
    pub const fn domain(self) -> &'static str {
        match self {
            Self::PayloadHash => "64 hexadecimal characters",
            Self::ModelId | Self::ModelRevision | Self::TokenizerName | Self::TokenizerRevision => "a string",
            Self::LayerRange | Self::TokenSpan => "[start, end] with 0 <= start <= end < 2^63",
            Self::HeadRange => "[start, end] with 0 <= start <= end < 2^63, or [-1, -1] for all heads",
            Self::Dtype => "one of float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 fp8_e4m3 fp8_e5m2 nf4",
            Self::Shape => "one or more integers from 0 to 2^63-1",
        }
    }
}

impl fmt::Display for IdentityField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
