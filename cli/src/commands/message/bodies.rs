//! The bodies in a file: the whole of it, or each of its lines.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use serde::de::IgnoredAny;

/// Longer ones are not judged: that much is held in memory.
pub(super) const MAX_BODY_LEN: u64 = 64 << 20;

/// One body, as far as it can be had.
pub(super) enum Body<'a> {
    Whole(&'a [u8]),
    TooLong,
}

/// A file is one document unless it has several lines and one of them is an object by itself, or it is too long for one
/// message. Blank lines are nobody's.
pub(super) struct Bodies<R> {
    /// Until it was handed out.
    document: Option<Vec<u8>>,
    lines: BufReader<Chain<Cursor<Vec<u8>>, R>>,
    line: Vec<u8>,
    line_number: u64,
}

impl<R: Read> Bodies<R> {
    pub(super) fn of(mut source: R) -> io::Result<Self> {
        let mut start = Vec::new();
        (&mut source).take(MAX_BODY_LEN + 1).read_to_end(&mut start)?;
        let is_document = start.len() as u64 <= MAX_BODY_LEN && !is_lines(&start);
        let (document, start) = if is_document { (Some(start), Vec::new()) } else { (None, start) };
        let lines = BufReader::new(Cursor::new(start).chain(source));
        Ok(Self { document, lines, line: Vec::new(), line_number: 0 })
    }

    /// The next body, and its line where it is one of many.
    pub(super) fn next(&mut self) -> io::Result<Option<(Option<u64>, Body<'_>)>> {
        if let Some(document) = self.document.take() {
            self.line = document;
            return Ok(Some((None, Body::Whole(&self.line))));
        }
        loop {
            self.line.clear();
            self.line_number += 1;
            if (&mut self.lines).take(MAX_BODY_LEN + 1).read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            let line = Some(self.line_number);
            if self.line.len() as u64 > MAX_BODY_LEN && !self.line.ends_with(b"\n") {
                self.lines.skip_until(b'\n')?;
                return Ok(Some((line, Body::TooLong)));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some((line, Body::Whole(&self.line))));
            }
        }
    }
}

/// Whether this is not one JSON value but several lines, one of which is an object by itself.
fn is_lines(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let (Some(first), Some(second)) = (lines.next(), lines.next()) else { return false };
    let is_object = |line: &[u8]| line.trim_ascii_start().starts_with(b"{") && is_json(line);
    !is_json(text) && [first, second].into_iter().chain(lines).any(is_object)
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
}
