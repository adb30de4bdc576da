//! What `salvage` tells: a line for each thing that was found and a summary for people, or JSON Lines for programs.

use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::time::Instant;

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use indicatif::HumanBytes;
use membrane_codec::{Refusal, StoredFrame};
use serde::Serialize;

use crate::display::{BAD, GOOD, count, painted};
use crate::json;
use crate::outcome::Outcome;

/// So many places that are no frames are printed for each gap; a hostile one can have millions.
const PLACES_PRINTED: u64 = 10;

/// One thing that was found.
pub(super) enum Event {
    Frame { offset: u64, frame: Box<StoredFrame>, fate: Fate },
    Refused { offset: u64, why: Refusal },
    Gap { range: Range<u64>, zeros: bool },
    Unreadable { range: Range<u64>, detail: String },
}

/// What became of a frame.
pub(super) enum Fate {
    Saved(String),
    AlreadyThere(String),
    /// Nothing was to be saved.
    Found,
    Failed(String),
}

impl Fate {
    fn status(&self) -> &'static str {
        match self {
            Self::Saved(_) => "saved",
            Self::AlreadyThere(_) => "already_there",
            Self::Found => "found",
            Self::Failed(_) => "failed",
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Saved(name) | Self::AlreadyThere(name) => Some(name),
            Self::Found | Self::Failed(_) => None,
        }
    }
}

impl Event {
    fn outcome(&self) -> Outcome {
        match self {
            // An intact frame may lie where nobody looked.
            Self::Frame { fate: Fate::Failed(_), .. }
            | Self::Unreadable { .. }
            | Self::Refused { why: Refusal::TooDeep, .. } => Outcome::Unreadable,
            // Its verdict depends on what could not be read, which is told as well.
            Self::Refused { .. } | Self::Gap { zeros: false, .. } => Outcome::Damage,
            Self::Frame { .. } | Self::Gap { zeros: true, .. } => Outcome::AllWell,
        }
    }
}

#[derive(Default, Serialize)]
struct Totals {
    bytes: u64,
    frames: u64,
    saved: u64,
    already_there: u64,
    failed: u64,
    refused: u64,
    too_deep: u64,
    frame_bytes: u64,
    zero_bytes: u64,
    other_bytes: u64,
    unreadable_bytes: u64,
}

impl Totals {
    fn add(&mut self, event: &Event) {
        let (bytes, of_their_kind) = match event {
            Event::Frame { frame, fate, .. } => {
                self.frames += 1;
                match fate {
                    Fate::Saved(_) => self.saved += 1,
                    Fate::AlreadyThere(_) => self.already_there += 1,
                    Fate::Failed(_) => self.failed += 1,
                    Fate::Found => {}
                }
                (frame.frame_len(), &mut self.frame_bytes)
            }
            Event::Refused { why, .. } => {
                *(if *why == Refusal::TooDeep { &mut self.too_deep } else { &mut self.refused }) += 1;
                return;
            }
            Event::Gap { range, zeros: true } => (len(range), &mut self.zero_bytes),
            Event::Gap { range, zeros: false } => (len(range), &mut self.other_bytes),
            Event::Unreadable { range, .. } => (len(range), &mut self.unreadable_bytes),
        };
        *of_their_kind += bytes;
        self.bytes += bytes;
    }
}

fn len(range: &Range<u64>) -> u64 {
    range.end - range.start
}

/// Prints events as they come and the summary at the end.
pub(super) struct Reporter {
    out: BufWriter<AutoStream<io::Stdout>>,
    json: bool,
    quiet: bool,
    started: Instant,
    totals: Totals,
    /// Places in the gap that is being searched.
    places: u64,
    outcome: Outcome,
}

impl Reporter {
    /// `quiet` prints what is neither an intact frame nor zeros, and nothing else.
    pub(super) fn new(json: bool, quiet: bool) -> Self {
        let color = if json { ColorChoice::Never } else { ColorChoice::Auto };
        Self {
            out: BufWriter::new(AutoStream::new(io::stdout(), color)),
            json,
            quiet,
            started: Instant::now(),
            totals: Totals::default(),
            places: 0,
            outcome: Outcome::AllWell,
        }
    }

    pub(super) fn take(&mut self, event: &Event) -> io::Result<()> {
        self.totals.add(event);
        self.outcome = self.outcome.max(event.outcome());
        if self.json {
            self.print_json(&Line::from(event))?
        } else if !self.quiet || event.outcome() > Outcome::AllWell {
            self.print_text(event)?
        }
        // Of places that are no frames there can be millions; all else is worth knowing at once.
        if matches!(event, Event::Refused { .. }) { Ok(()) } else { self.out.flush() }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    pub(super) fn finish(mut self) -> io::Result<Outcome> {
        if self.json {
            let summary = std::mem::take(&mut self.totals);
            self.print_json(&SummaryLine { summary })?;
        } else if !self.quiet {
            self.print_summary()?;
        }
        self.out.flush()?;
        Ok(self.outcome)
    }

    fn print_json(&mut self, line: &impl Serialize) -> io::Result<()> {
        self.out.write_all(json::line(line)?.as_bytes())
    }

    fn print_text(&mut self, event: &Event) -> io::Result<()> {
        let Self { out, places, totals, .. } = self;
        match event {
            Event::Frame { offset, frame, fate } => {
                let style = if matches!(fate, Fate::Failed(_)) { BAD } else { GOOD };
                let status = painted(fate.status(), style);
                let key = frame.identity().payload_hash.digest();
                let name = fate.name().map_or_else(|| key.to_string(), Into::into);
                writeln!(out, "{status}  byte {offset}, {}: {name}", count(frame.frame_len(), "byte"))?;
                if let Fate::Failed(detail) = fate {
                    writeln!(out, "    {detail}")?;
                }
            }
            Event::Refused { offset, why } => {
                *places += 1;
                if *places <= PLACES_PRINTED {
                    let status = if *why == Refusal::TooDeep { "not checked" } else { "no frame" };
                    writeln!(out, "{}  byte {offset}: {why}", painted(status, BAD))?;
                }
            }
            Event::Gap { range, zeros } => {
                if *places > PLACES_PRINTED {
                    let more = count(*places - PLACES_PRINTED, "more place");
                    let status = if totals.too_deep > 0 { "not all checked" } else { "no frame" };
                    writeln!(out, "{}  {more}; --json tells all", painted(status, BAD))?;
                }
                *places = 0;
                let status = if *zeros { painted("zeros", Style::new()) } else { painted("gap", BAD) };
                writeln!(out, "{status}  byte {}, {}", range.start, count(len(range), "byte"))?;
            }
            Event::Unreadable { range, detail } => {
                let status = painted("unreadable", BAD);
                writeln!(out, "{status}  byte {}, {}\n    {detail}", range.start, count(len(range), "byte"))?;
            }
        }
        Ok(())
    }

    fn print_summary(&mut self) -> io::Result<()> {
        let Self { out, totals, started, .. } = self;
        if totals.bytes > 0 {
            writeln!(out)?;
        }
        let seconds = started.elapsed().as_secs_f64();
        let rate = HumanBytes((totals.bytes as f64 / seconds.max(1e-9)) as u64);
        writeln!(out, "{}, {} in {seconds:.2} s ({rate}/s)", count(totals.frames, "frame"), HumanBytes(totals.bytes))?;
        for (number, what, style) in [
            (totals.saved, "saved", GOOD),
            (totals.already_there, "already there", GOOD),
            (totals.failed, "failed: changed or unreadable when it was to be saved", BAD),
            (totals.refused, "with a magic, but no intact frame", BAD),
        ] {
            if number > 0 {
                writeln!(out, "{number:>9}  {style}{what}{style:#}")?;
            }
        }
        for (bytes, what) in [
            (totals.other_bytes, "belong to no intact frame"),
            (totals.zero_bytes, "between frames are zero"),
            (totals.unreadable_bytes, "could not be read"),
        ] {
            if bytes > 0 {
                writeln!(out, "\n{} {what}", count(bytes, "byte"))?;
            }
        }
        if totals.too_deep > 0 {
            let places = count(totals.too_deep, "place");
            writeln!(out, "\n{places} not checked, inside too many damaged frames: a larger --max-depth checks more")?;
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct SummaryLine {
    summary: Totals,
}

/// One event in JSON.
#[derive(Default, Serialize)]
struct Line<'a> {
    event: &'static str,
    offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    len: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_len: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_hash: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zeros: Option<bool>,
}

impl<'a> From<&'a Event> for Line<'a> {
    fn from(event: &'a Event) -> Self {
        let empty = Self::default();
        match event {
            Event::Frame { offset, frame, fate } => Self {
                event: "frame",
                offset: *offset,
                len: Some(frame.frame_len()),
                status: Some(fate.status()),
                name: fate.name(),
                detail: if let Fate::Failed(detail) = fate { Some(detail.clone()) } else { None },
                payload_len: Some(frame.payload_len()),
                payload_hash: Some(frame.identity().payload_hash.as_str()),
                payload_sha256: Some(frame.payload_digest().to_string()),
                fingerprint: Some(frame.identity().fingerprint().to_string()),
                ..empty
            },
            Event::Refused { offset, why } => Self {
                event: "refused",
                offset: *offset,
                reason: Some(why.as_str()),
                detail: Some(why.to_string()),
                ..empty
            },
            Event::Gap { range, zeros } => {
                Self { event: "gap", offset: range.start, len: Some(len(range)), zeros: Some(*zeros), ..empty }
            }
            Event::Unreadable { range, detail } => Self {
                event: "unreadable",
                offset: range.start,
                len: Some(len(range)),
                detail: Some(detail.clone()),
                ..empty
            },
        }
    }
}
