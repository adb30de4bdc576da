//! Fragment identity (specification, section 1; contract, section 2): the ten fields that tell one fragment from
//! every other.
//!
//! [`IdentityView`] borrows from the JSON it was parsed from and never allocates for JSON in canonical form;
//! [`PayloadIdentity`] owns its fields. Every field has a type that can only hold a legal value, so an identity that
//! exists is valid.
//!
//! Two roads read the JSON and give the same answer on every input. The fast one takes exactly the canonical form (keys
//! sorted, no white space, ASCII), which nearly every frame carries, in one pass. The general one takes all other strict
//! JSON through serde_json. PERF.md gives the cost of both.

mod canonical;
mod compat;
pub(crate) mod cursor;
mod dtype;
mod fingerprint;
mod general;
mod owned;
mod parse;
mod payload_hash;
mod range;
mod shape;
mod text;
mod view;
mod write;

pub use self::compat::CompatFields;
pub use self::dtype::Dtype;
pub use self::owned::PayloadIdentity;
pub use self::payload_hash::PayloadHash;
pub use self::range::{HeadRange, InclusiveRange};
pub use self::shape::{Dims, Shape, ShapeView};
pub use self::text::{Chars, Text};
pub use self::view::IdentityView;
#[cfg(feature = "message")]
pub(crate) use self::write::string as write_string;

/// A value that is outside its field's domain (contract, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainError {
    expected: &'static str,
}

impl DomainError {
    pub(crate) const fn new(expected: &'static str) -> Self {
        Self { expected }
    }
}

impl core::fmt::Display for DomainError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "expected {}", self.expected)
    }
}

impl core::error::Error for DomainError {}
