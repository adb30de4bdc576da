//! Strict JSON (contract, section 2), as far as serde_json is less strict than the contract: it lets lone surrogates and
//! any depth pass inside values that nobody asked for, and says where it stopped in lines and columns.

use core::str;

use serde_json::error::Category;

use crate::error::{Detail, Error, JsonProblem};
use crate::format::MAX_NESTING;

/// The bytes as text.
pub(crate) fn text(json: &[u8]) -> Result<&str, Error> {
    str::from_utf8(json).map_err(|problem| error(problem.valid_up_to(), JsonProblem::InvalidUtf8))
}

/// What serde_json lets pass inside values that nobody asked for: lone surrogates and any depth. For valid JSON it
/// says whether there are any; of other text it may say anything.
pub(crate) fn check_strings_and_nesting(text: &str) -> Result<(), Error> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = check_string(bytes, at + 1)?,
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_NESTING {
                    return Err(error(at, JsonProblem::TooDeep));
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// Checks the escapes of a string whose opening quote stands before `start`; returns where its closing quote stands.
fn check_string(bytes: &[u8], start: usize) -> Result<usize, Error> {
    let mut at = start;
    while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += found;
        if bytes.get(at) == Some(&b'"') {
            break;
        }
        at += match surrogate_escape(bytes, at) {
            None => 2,
            Some(Half::High) if surrogate_escape(bytes, at + 6) == Some(Half::Low) => 12,
            Some(_) => return Err(error(at, JsonProblem::LoneSurrogate)),
        };
    }
    Ok(at)
}

#[derive(PartialEq)]
enum Half {
    High,
    Low,
}

/// Which half of a surrogate pair the escape at `at` names, if any.
fn surrogate_escape(bytes: &[u8], at: usize) -> Option<Half> {
    match bytes.get(at..)? {
        [b'\\', b'u', b'd' | b'D', third, _, _, ..] => match third.to_ascii_lowercase() {
            b'8' | b'9' | b'a' | b'b' => Some(Half::High),
            b'c'..=b'f' => Some(Half::Low),
            _ => None,
        },
        _ => None,
    }
}

/// The error for a problem at this byte of the text.
pub(crate) fn error(offset: usize, problem: JsonProblem) -> Error {
    Error::new(offset as u64, Detail::Json(problem))
}

/// Where `part`, a piece of `text`, starts in it.
pub(crate) fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr().addr() - text.as_ptr().addr()
}

/// The error for text in which something follows the value that serde_json read.
pub(crate) fn trailing(stopped: &serde_json::Error, text: &str) -> Error {
    error(offset_of(stopped, text), JsonProblem::TrailingCharacters)
}

/// Where serde_json stopped. It counts lines from 1 and, in bytes, columns from 1; column 0 is the line feed before.
fn offset_of(error: &serde_json::Error, text: &str) -> usize {
    let line_start = match error.line().checked_sub(2) {
        None => 0,
        Some(newline) => memchr::memchr_iter(b'\n', text.as_bytes()).nth(newline).map_or(text.len(), |at| at + 1),
    };
    let past_end = usize::from(!error.is_eof());
    (line_start + error.column()).saturating_sub(past_end).min(text.len())
}

/// The error for text of which serde_json could not read an object.
pub(crate) fn refusal(stopped: &serde_json::Error, text: &str) -> Error {
    let offset = offset_of(stopped, text);
    match stopped.classify() {
        Category::Eof => error(offset, JsonProblem::UnexpectedEnd),
        // Another value than an object; where it ends is of no interest.
        Category::Data => error(text.len() - text.trim_start().len(), JsonProblem::NotAnObject),
        // In a key, half of a surrogate pair is a syntax error to serde_json; in a value it is not.
        Category::Io | Category::Syntax => match check_strings_and_nesting(text) {
            Err(lone) if lone.json_problem() == Some(JsonProblem::LoneSurrogate) && lone.offset() < offset as u64 => {
                lone
            }
            _ => error(offset, JsonProblem::Syntax),
        },
    }
}
