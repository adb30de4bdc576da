//! The `shape` field: the tensor's dimensions, owned or as they lie in the JSON.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::DomainError;
use crate::format::{IdentityField, MAX_INTEGER};

/// The dimensions of a fragment's tensor, by convention (batch, layers, heads, sequence, head_dim): one or more, each
/// from 0 to 2^63-1.
///
/// ```
/// use membrane_codec::Shape;
///
/// let shape = Shape::try_from(vec![1, 32, 8, 128, 64])?;
/// assert_eq!(shape.dims(), [1, 32, 8, 128, 64]);
/// assert!(Shape::try_from(vec![]).is_err());
/// # Ok::<(), membrane_codec::DomainError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>")]
pub struct Shape(Box<[u64]>);

impl Shape {
    /// The dimensions.
    pub fn dims(&self) -> &[u64] {
        &self.0
    }

    /// A view of the same dimensions.
    pub fn as_view(&self) -> ShapeView<'_> {
        ShapeView(Repr::Dims(&self.0))
    }
}

impl TryFrom<Vec<u64>> for Shape {
    type Error = DomainError;

    /// # Errors
    /// [`DomainError`] when there is no dimension or one is 2^63 or more.
    fn try_from(dims: Vec<u64>) -> Result<Self, DomainError> {
        if !dims.is_empty() && dims.iter().all(|&dim| dim <= MAX_INTEGER) {
            Ok(Self(dims.into()))
        } else {
            Err(DomainError::new(IdentityField::Shape.domain()))
        }
    }
}

impl<const N: usize> TryFrom<[u64; N]> for Shape {
    type Error = DomainError;

    /// # Errors
    /// [`DomainError`] when there is no dimension or one is 2^63 or more.
    fn try_from(dims: [u64; N]) -> Result<Self, DomainError> {
        Vec::from(dims).try_into()
    }
}

/// A borrowed [`Shape`]. Parsed from JSON it keeps the text and reads the numbers anew on each iteration, so that
/// holding any number of dimensions allocates nothing.
#[derive(Clone, Copy)]
pub struct ShapeView<'a>(Repr<'a>);

#[derive(Clone, Copy)]
enum Repr<'a> {
    /// What stands between the brackets of a JSON array, every element checked.
    Json(&'a str),
    Dims(&'a [u64]),
}

impl<'a> ShapeView<'a> {
    /// `elements` must be legal dimensions, separated by commas, with JSON white space between them or not.
    pub(crate) const fn from_checked_json(elements: &'a str) -> Self {
        Self(Repr::Json(elements))
    }

    /// `dims` must be legal dimensions.
    #[cfg(feature = "message")]
    pub(crate) const fn from_checked_dims(dims: &'a [u64]) -> Self {
        Self(Repr::Dims(dims))
    }

    /// The dimensions in order. At least one comes.
    pub fn dims(self) -> Dims<'a> {
        Dims(match self.0 {
            Repr::Json(elements) => DimsRepr::Json(elements.split(',')),
            Repr::Dims(dims) => DimsRepr::Dims(dims.iter()),
        })
    }

    /// An owned copy.
    pub fn to_shape(self) -> Shape {
        Shape(self.dims().collect())
    }
}

impl PartialEq for ShapeView<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.dims().eq(other.dims())
    }
}

impl Eq for ShapeView<'_> {}

impl fmt::Debug for ShapeView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.dims()).finish()
    }
}

/// The dimensions of a [`ShapeView`], in order.
#[derive(Clone, Debug)]
pub struct Dims<'a>(DimsRepr<'a>);

#[derive(Clone, Debug)]
enum DimsRepr<'a> {
    Json(core::str::Split<'a, char>),
    Dims(core::slice::Iter<'a, u64>),
}

impl Iterator for Dims<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match &mut self.0 {
            // As int64 first, since "-0" is legal.
            DimsRepr::Json(elements) => elements.next().map(|element| {
                let dim: i64 = element.trim().parse().expect("every element was checked when the view was made");
                dim.unsigned_abs()
            }),
            DimsRepr::Dims(dims) => dims.next().copied(),
        }
    }
}
