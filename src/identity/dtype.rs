//! The element types of the format.

use alloc::borrow::Cow;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use super::DomainError;
use crate::format::IdentityField;

/// The element type of a fragment's tensor: one of the twelve names of the contract, section 2.
///
/// ```
/// use membrane_codec::Dtype;
///
/// assert_eq!("fp8_e4m3".parse(), Ok(Dtype::Fp8E4m3));
/// assert_eq!(Dtype::Fp8E4m3.to_string(), "fp8_e4m3");
/// assert!("Float16".parse::<Dtype>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "Cow<'_, str>")]
#[non_exhaustive]
pub enum Dtype {
    /// `float16`
    Float16,
    /// `bfloat16`
    Bfloat16,
    /// `float32`
    Float32,
    /// `float64`
    Float64,
    /// `int8`
    Int8,
    /// `int16`
    Int16,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `uint8`
    Uint8,
    /// `fp8_e4m3`
    Fp8E4m3,
    /// `fp8_e5m2`
    Fp8E5m2,
    /// `nf4`
    Nf4,
}

impl Dtype {
    /// Every element type, in the order of the contract.
    pub const ALL: &'static [Self] = &[
        Self::Float16,
        Self::Bfloat16,
        Self::Float32,
        Self::Float64,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Uint8,
        Self::Fp8E4m3,
        Self::Fp8E5m2,
        Self::Nf4,
    ];

    /// The name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Float16 => "float16",
            Self::Bfloat16 => "bfloat16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint8 => "uint8",
            Self::Fp8E4m3 => "fp8_e4m3",
            Self::Fp8E5m2 => "fp8_e5m2",
            Self::Nf4 => "nf4",
        }
    }

    /// The element type of this name; `None` for any other text.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "float16" => Self::Float16,
            "bfloat16" => Self::Bfloat16,
            "float32" => Self::Float32,
            "float64" => Self::Float64,
            "int8" => Self::Int8,
            "int16" => Self::Int16,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "uint8" => Self::Uint8,
            "fp8_e4m3" => Self::Fp8E4m3,
            "fp8_e5m2" => Self::Fp8E5m2,
            "nf4" => Self::Nf4,
            _ => return None,
        })
    }
}

impl From<Dtype> for &'static str {
    fn from(dtype: Dtype) -> Self {
        dtype.as_str()
    }
}

impl TryFrom<Cow<'_, str>> for Dtype {
    type Error = DomainError;

    /// As [`Dtype::from_str`].
    fn try_from(name: Cow<'_, str>) -> Result<Self, DomainError> {
        name.parse()
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Dtype {
    type Err = DomainError;

    /// Parses the JSON name, exactly.
    ///
    /// # Errors
    /// [`DomainError`] for any other text.
    fn from_str(name: &str) -> Result<Self, DomainError> {
        Self::from_name(name).ok_or(DomainError::new(IdentityField::Dtype.domain()))
    }
}
