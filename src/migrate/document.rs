//! Text that holds envelopes: JSON values one after another, each an envelope or an array of them, in one line or many.

use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::envelope::{EnvelopeMigration, EnvelopeMigrator, EnvelopeVersion};
use crate::error::{Detail, Document, Error, JsonProblem};
use crate::json::{offset_in, offset_of};

/// How many envelopes of each kind there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnvelopeCounts {
    /// Envelopes of schema 2 that are converted, or would be.
    pub v2: u64,
    /// Of schema 3.
    pub v3: u64,
    /// Of schema 4.
    pub v4: u64,
    /// Of schema 5: left as they are, and not looked at further.
    pub current: u64,
    /// What is refused, and left as it is.
    pub refused: u64,
    /// JSON that is no envelope: left as it is.
    pub other: u64,
}

impl EnvelopeCounts {
    /// How many are converted, or would be.
    pub const fn old(&self) -> u64 {
        self.v2 + self.v3 + self.v4
    }

    pub(super) fn add(&mut self, other: Self) {
        let Self { v2, v3, v4, current, refused, other: others } = other;
        self.v2 += v2;
        self.v3 += v3;
        self.v4 += v4;
        self.current += current;
        self.refused += refused;
        self.other += others;
    }

    fn count(&mut self, from: EnvelopeVersion) {
        match from {
            EnvelopeVersion::V2 => self.v2 += 1,
            EnvelopeVersion::V3 => self.v3 += 1,
            EnvelopeVersion::V4 => self.v4 += 1,
        }
    }
}

/// After so many bytes it is asked whether to go on, at the end of a value.
const ASK_AFTER: usize = 64 * 1024;

/// What a text becomes.
#[derive(Debug)]
pub(super) struct Migrated {
    /// The new text, unless it stays.
    pub(super) text: Option<String>,
    pub(super) counts: EnvelopeCounts,
}

/// Converts every envelope in a text that is JSON throughout; `refused` is told of those that stay, and at which byte they
/// start. `None` when `goes_on`, which is asked between values, said no.
///
/// # Errors
/// When it is not JSON throughout. Nothing was told then.
pub(super) fn migrate_document(
    migrator: &mut EnvelopeMigrator,
    document: &[u8],
    mut refused: impl FnMut(usize, Error),
    goes_on: impl Fn() -> bool,
) -> Result<Option<Migrated>, Error> {
    let text = str::from_utf8(document).map_err(|error| not_json(error.valid_up_to(), JsonProblem::InvalidUtf8))?;
    // All of it before anything is told: then the second pass, which meets the same text, comes to its end. Nothing is kept
    // of the values, of which there may be one for every other byte.
    let mut asking = Asking { goes_on: &goes_on, asked_at: 0 };
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        let value = value.map_err(|error| refusal(&error, text))?;
        if !asking.goes_on_after(offset_in(document, value.get())) {
            return Ok(None);
        }
    }
    let mut asking = Asking { goes_on: &goes_on, asked_at: 0 };
    let mut counts = EnvelopeCounts::default();
    let mut result = String::new();
    // How much of the text is in the result.
    let mut done = 0;
    let converted = |value: &str| {
        let start = offset_in(document, value);
        match migrator.migrate(value.as_bytes()) {
            Ok(EnvelopeMigration::Other) => counts.other += 1,
            Ok(EnvelopeMigration::Current) => counts.current += 1,
            Ok(EnvelopeMigration::Converted { from, json }) => {
                counts.count(from);
                result.push_str(&text[done..start]);
                result.push_str(&json);
                done = start + value.len();
            }
            Err(error) => {
                counts.refused += 1;
                refused(start, error);
            }
        }
        asking.goes_on_after(start + value.len())
    };
    if !for_each_value(text, converted).map_err(|error| refusal(&error, text))? {
        return Ok(None);
    }
    if counts.old() == 0 {
        return Ok(Some(Migrated { text: None, counts }));
    }
    result.push_str(&text[done..]);
    Ok(Some(Migrated { text: Some(result), counts }))
}

/// Asks whether to go on, now and then.
struct Asking<'a> {
    goes_on: &'a dyn Fn() -> bool,
    asked_at: usize,
}

impl Asking<'_> {
    /// Whether to go on behind this byte.
    fn goes_on_after(&mut self, at: usize) -> bool {
        if at - self.asked_at < ASK_AFTER {
            return true;
        }
        self.asked_at = at;
        (self.goes_on)()
    }
}

/// Gives each value in a text, those in arrays one by one, as long as `take` wants more; whether it wanted all.
fn for_each_value(text: &str, mut take: impl FnMut(&str) -> bool) -> Result<bool, serde_json::Error> {
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        let value = value?.get();
        if value.starts_with('[') {
            let mut goes_on = true;
            let elements = Elements { take: &mut take, goes_on: &mut goes_on };
            let taken = serde_json::Deserializer::from_str(value).deserialize_seq(elements);
            if !goes_on {
                return Ok(false);
            }
            taken?;
        } else if !take(value) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Gives each element of an array, until no more is wanted; then the rest is not read, which is an error to the parser.
struct Elements<'f, F> {
    take: &'f mut F,
    goes_on: &'f mut bool,
}

impl<'a, F: FnMut(&str) -> bool> Visitor<'a> for Elements<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut elements: A) -> Result<(), A::Error> {
        while *self.goes_on
            && let Some(element) = elements.next_element::<&'a RawValue>()?
        {
            *self.goes_on = (self.take)(element.get());
        }
        Ok(())
    }
}

/// What is wrong with a text that is not JSON throughout.
fn refusal(error: &serde_json::Error, text: &str) -> Error {
    if text.starts_with('\u{FEFF}') {
        return not_json(0, JsonProblem::ByteOrderMark);
    }
    let problem = if error.is_eof() { JsonProblem::UnexpectedEnd } else { JsonProblem::Syntax };
    not_json(offset_of(error, text), problem)
}

fn not_json(offset: usize, problem: JsonProblem) -> Error {
    Error::new(offset as u64, Detail::Json(Document::Message, problem))
}

/// Whether a line is one JSON object by itself.
pub(super) fn is_object(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    text.starts_with(b"{") && serde_json::from_slice::<&RawValue>(text).is_ok()
}
