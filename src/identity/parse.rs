//! The choice between the two roads.

use super::{IdentityView, canonical, general};
use crate::error::Error;

impl<'a> IdentityView<'a> {
    /// Parses the JSON text of one identity (specification, section 1; contract, section 2).
    ///
    /// It is one object in strict RFC 8259 and UTF-8 without a byte order mark. Keys come in any order, white space and
    /// escapes are free, and unknown keys are ignored, even given twice. Integers are within int64, without fraction or
    /// exponent. [`IdentityField::domain`](crate::IdentityField::domain) says what each of the ten may hold.
    ///
    /// Cost: canonical form takes one pass and allocates nothing. Any other form goes through serde_json, whose scratch
    /// memory is at most in proportion to `json`. PERF.md has figures for both.
    ///
    /// # Errors
    /// Offsets count from the start of `json`.
    /// * [`Reason::IdentityJson`](crate::Reason::IdentityJson): not UTF-8, not one JSON object, one of the ten fields
    ///   twice, a lone surrogate, or nested deeper than [`MAX_NESTING`](crate::MAX_NESTING).
    /// * [`Reason::IdentityField`](crate::Reason::IdentityField): a field is missing or out of its domain; the error
    ///   names the first such field in the order of the specification.
    pub fn parse(json: &'a [u8]) -> Result<Self, Error> {
        match canonical::parse(json) {
            Some(view) => Ok(view),
            None => general::parse(json),
        }
    }

    /// As [`IdentityView::parse`], always on the general road.
    ///
    /// The result is the same, slower; it exists so that the two roads can be compared by tests, fuzzers and benches.
    ///
    /// # Errors
    /// As [`IdentityView::parse`].
    #[doc(hidden)]
    pub fn parse_general(json: &'a [u8]) -> Result<Self, Error> {
        general::parse(json)
    }
}
