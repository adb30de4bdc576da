//! The choice between the three roads.

use super::{MessageView, general, plain, tape::TapeMemory};
use crate::error::Error;

/// Parses bodies of messages, one after another, and keeps the memory that one needed for the next: once warm it allocates
/// nothing for a valid body, and some bytes for one that is not. Bodies that name surrogate pairs by escapes are the
/// exception: serde_json reads them, which may allocate for a key or a hash with escapes.
///
/// What it keeps is at most 2 MiB, and some KiB where bodies are as short as they should be. Not shared between threads:
/// take one for each, or a pool.
#[derive(Debug, Default)]
pub struct MessageParser {
    memory: TapeMemory,
}

impl MessageParser {
    /// A parser without memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses one body: one strict JSON object in UTF-8, as [`IdentityView::parse`](crate::IdentityView::parse) takes it,
    /// with all eleven fields. Keys come in any order; unknown ones are ignored, whatever they hold, even given twice.
    /// [`MessageField::domain`](crate::MessageField::domain) says what each may hold (contract, section 3).
    ///
    /// The view borrows from the body and from this parser.
    ///
    /// Cost: one pass for a body of printable ASCII without escapes and unknown keys. Other valid bodies of up to 64 KiB are
    /// copied and go through simd-json; longer ones and those that are not valid go through serde_json. PERF.md has the figures.
    ///
    /// # Errors
    /// Offsets count from the start of `body`. What is wrong with the JSON goes first, then the first field at fault in the
    /// order of the specification.
    /// * [`Reason::MessageJson`](crate::Reason::MessageJson): not UTF-8, not one JSON object, one of the eleven fields
    ///   twice, a lone surrogate, or nested deeper than [`MAX_NESTING`](crate::MAX_NESTING).
    /// * [`Reason::MessageVersion`](crate::Reason::MessageVersion): `schema_version` is there and not the integer 5.
    /// * [`Reason::MessageField`](crate::Reason::MessageField): a field is missing or out of its domain.
    /// * [`Reason::IdentityJson`](crate::Reason::IdentityJson): the identity is no object, or has one of its fields twice.
    /// * [`Reason::IdentityField`](crate::Reason::IdentityField): a field of the identity is missing or out of its domain.
    pub fn parse<'a>(&'a mut self, body: &'a [u8]) -> Result<MessageView<'a>, Error> {
        match plain::parse(body) {
            Some(view) => Ok(view),
            None => match self.memory.parse(body) {
                Some(view) => Ok(view),
                None => general::parse(body),
            },
        }
    }

    /// As [`MessageParser::parse`], on the road of simd-json alone; `None` when that leaves the verdict to serde_json.
    ///
    /// For tests, fuzzers and benches that compare the roads.
    #[doc(hidden)]
    pub fn parse_through_tape<'a>(&'a mut self, body: &[u8]) -> Option<MessageView<'a>> {
        self.memory.parse(body)
    }

    /// As [`MessageParser::parse`], on the plain road alone; `None` when that leaves the verdict to the others.
    #[doc(hidden)]
    pub fn parse_plain(body: &[u8]) -> Option<MessageView<'_>> {
        plain::parse(body)
    }

    /// As [`MessageParser::parse`], always on the general road.
    ///
    /// # Errors
    /// As [`MessageParser::parse`].
    #[doc(hidden)]
    pub fn parse_general(body: &[u8]) -> Result<MessageView<'_>, Error> {
        general::parse(body)
    }
}
