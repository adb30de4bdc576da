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

/// A file is one document unless it has several lines and one of them is an object by itself. Blank lines are nobody's.
///
/// Whose first line is an object is known for lines as soon as there is a second one; of anything else all must come first,
/// as much as is judged.
pub(super) struct Bodies<R> {
    kind: Kind,
    lines: BufReader<Chain<Cursor<Vec<u8>>, BufReader<R>>>,
    /// What was handed out last.
    body: Vec<u8>,
    line_number: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Document,
    TooLongDocument,
    Lines,
    Done,
}

impl<R: Read> Bodies<R> {
    pub(super) fn of(source: R) -> io::Result<Self> {
        let mut source = BufReader::new(source);
        let mut start = Vec::new();
        let kind = kind_of(&mut source, &mut start)?;
        let (body, start) = if kind == Kind::Document { (start, Vec::new()) } else { (Vec::new(), start) };
        Ok(Self { kind, lines: BufReader::new(Cursor::new(start).chain(source)), body, line_number: 0 })
    }

    /// The next body, and its line where it is one of many.
    pub(super) fn next(&mut self) -> io::Result<Option<(Option<u64>, Body<'_>)>> {
        match self.kind {
            Kind::Done => Ok(None),
            Kind::Document => {
                self.kind = Kind::Done;
                Ok(Some((None, Body::Whole(&self.body))))
            }
            Kind::TooLongDocument => {
                self.kind = Kind::Done;
                Ok(Some((None, Body::TooLong)))
            }
            Kind::Lines => self.next_line(),
        }
    }

    fn next_line(&mut self) -> io::Result<Option<(Option<u64>, Body<'_>)>> {
        loop {
            self.body.clear();
            self.line_number += 1;
            if (&mut self.lines).take(MAX_BODY_LEN + 1).read_until(b'\n', &mut self.body)? == 0 {
                return Ok(None);
            }
            let line = Some(self.line_number);
            if self.body.len() as u64 > MAX_BODY_LEN && !self.body.ends_with(b"\n") {
                self.lines.skip_until(b'\n')?;
                return Ok(Some((line, Body::TooLong)));
            }
            if !is_blank(&self.body) {
                return Ok(Some((line, Body::Whole(&self.body))));
            }
        }
    }
}

/// Reads as much into `start` as it takes to know.
fn kind_of(source: &mut impl BufRead, start: &mut Vec<u8>) -> io::Result<Kind> {
    let mut limited = source.take(MAX_BODY_LEN + 1);
    let mut first_is_object = false;
    loop {
        let from = start.len();
        let is_end = limited.read_until(b'\n', start)? == 0;
        let line = &start[from..];
        if first_is_object && !is_blank(line) {
            return Ok(Kind::Lines);
        }
        if is_end {
            break;
        }
        if !is_blank(line) {
            first_is_object = is_object(line);
            if !first_is_object {
                limited.read_to_end(start)?;
                break;
            }
        }
    }
    let is_cut = start.len() as u64 > MAX_BODY_LEN;
    Ok(match is_lines(start) || (is_cut && !start.contains(&b'\n')) {
        true => Kind::Lines,
        false if is_cut => Kind::TooLongDocument,
        false => Kind::Document,
    })
}

/// Whether this is not one JSON value but several lines, one of which is an object by itself.
fn is_lines(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n').filter(|line| !is_blank(line));
    let (Some(first), Some(second)) = (lines.next(), lines.next()) else { return false };
    !is_json(text) && [first, second].into_iter().chain(lines).any(is_object)
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

fn is_object(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"{") && is_json(line)
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
}
