//! What a [`TensorPayload`] must say to be believed.

use std::fmt;

use super::messages::TensorPayload;
use super::{WireError, WireReason};
use crate::identity::{Dtype, Shape};

impl TensorPayload {
    /// Checks that dtype is an element type of the contract, that shape has one or more dimensions of 0 or more, and that
    /// data is as long as they say: exactly, or for `nf4` (two elements in a byte, rounded up) at least, since producers
    /// append the blocks' scales.
    ///
    /// # Errors
    /// [`WireReason::TensorField`], naming the field; [`WireReason::TensorLength`].
    ///
    /// ```
    /// use membrane_codec::proto::{TensorPayload, WireReason};
    ///
    /// let data = vec![0; 24].into();
    /// let mut tensor = TensorPayload { data, shape: vec![2, 6], dtype: "float16".into(), ..TensorPayload::default() };
    /// tensor.validate()?;
    ///
    /// tensor.data.truncate(23);
    /// assert_eq!(tensor.validate().unwrap_err().reason(), WireReason::TensorLength);
    /// # Ok::<(), membrane_codec::proto::WireError>(())
    /// ```
    pub fn validate(&self) -> Result<(), WireError> {
        let expected = "an element type of the contract";
        let dtype = Dtype::from_name(&self.dtype)
            .ok_or_else(|| WireError::text(WireReason::TensorField, "dtype", &self.dtype, expected))?;
        let shape = self.checked_shape()?;

        let needed = elements_of(shape.dims()).and_then(|elements| bytes_of(dtype, elements));
        let have = self.data.len() as u64;
        let fits = needed.is_some_and(|needed| have == needed || dtype == Dtype::Nf4 && have > needed);
        if fits {
            return Ok(());
        }
        let at_least = if dtype == Dtype::Nf4 { "at least " } else { "" };
        let needed = needed.map_or_else(|| "2^64 or more".into(), |needed| needed.to_string());
        let expected = format!("{at_least}{needed} for its shape of {dtype}");
        Err(WireError::new(WireReason::TensorLength, format!("{have} bytes"), expected))
    }

    fn checked_shape(&self) -> Result<Shape, WireError> {
        let dims: Result<Vec<u64>, _> = self.shape.iter().map(|&dim| u64::try_from(dim)).collect();
        dims.ok().and_then(|dims| Shape::try_from(dims).ok()).ok_or_else(|| {
            let found = match self.shape.iter().find(|dim| **dim < 0) {
                Some(negative) => negative.to_string(),
                None => "no dimension".into(),
            };
            WireError::new(WireReason::TensorField, found, "one or more dimensions of 0 or more").of_field("shape")
        })
    }
}

/// How many elements a tensor of these dimensions has; `None` beyond 2^64-1.
fn elements_of(dims: &[u64]) -> Option<u64> {
    // First, since the others may overflow before it comes.
    if dims.contains(&0) {
        return Some(0);
    }
    dims.iter().try_fold(1_u64, |product, dim| product.checked_mul(*dim))
}

/// How many bytes so many elements take; `None` beyond 2^64-1.
fn bytes_of(dtype: Dtype, elements: u64) -> Option<u64> {
    let bytes_each = match dtype {
        Dtype::Nf4 => return Some(elements.div_ceil(2)),
        Dtype::Int8 | Dtype::Uint8 | Dtype::Fp8E4m3 | Dtype::Fp8E5m2 => 1,
        Dtype::Float16 | Dtype::Bfloat16 | Dtype::Int16 => 2,
        Dtype::Float32 | Dtype::Int32 => 4,
        Dtype::Float64 | Dtype::Int64 => 8,
    };
    elements.checked_mul(bytes_each)
}

impl fmt::Debug for TensorPayload {
    /// The length of the data instead of the data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorPayload")
            .field("data_len", &self.data.len())
            .field("schema_fingerprint", &self.schema_fingerprint)
            .field("shape", &self.shape)
            .field("dtype", &self.dtype)
            .finish()
    }
}
