//! The page's figures as lists and tables. What a program may want to read stands in `data-` attributes, exactly.

use std::io::{self, Write};
use std::path::Path;

use indicatif::{HumanBytes, HumanCount};

use super::escape::{Html, legible};
use super::figures::{counted, duration, percent, rate};
use super::{Failure, Reason, Record, Status};
use crate::display::printable;

const UNREADABLE_ADVICE: &str =
    "Nothing is known of what could not be read: mend access or the disk, by the details below, and verify again.";

pub(super) fn totals(record: &Record, to: &mut impl Write) -> io::Result<()> {
    let (frames, bytes, failed) = (record.frames(), record.bytes(), record.failed());
    let mean = record.mean_rate();
    writeln!(to, r#"<dl class="totals">"#)?;
    for (name, key, exact, shown) in [
        ("Frames", "frames", frames.to_string(), HumanCount(frames).to_string()),
        ("Failures", "failures", failed.to_string(), HumanCount(failed).to_string()),
        ("Read", "bytes", bytes.to_string(), HumanBytes(bytes).to_string()),
        ("Time", "seconds", record.seconds.to_string(), duration(record.seconds)),
        ("Mean rate", "rate", mean.to_string(), rate(mean)),
    ] {
        writeln!(to, r#"<div><dt>{name}</dt><dd data-total="{key}" data-value="{exact}">{shown}</dd></div>"#)?;
    }
    writeln!(to, "</dl>")
}

pub(super) fn run(record: &Record, to: &mut impl Write) -> io::Result<()> {
    let started = legible(&record.started);
    writeln!(to, r#"<dl class="run">"#)?;
    writeln!(to, r#"<div><dt>Asked</dt><dd><code id="asked">{}</code></dd></div>"#, Html(legible(&record.asked)))?;
    writeln!(to, r#"<div><dt>Started</dt><dd><time id="started">{}</time></dd></div>"#, Html(started))?;
    if record.interrupted {
        writeln!(to, "<div><dt>Ended</dt><dd>by a signal, before all was read</dd></div>")?;
    }
    for note in &record.notes {
        writeln!(to, r#"<div><dt>Note</dt><dd class="note">{}</dd></div>"#, Html(legible(note)))?;
    }
    writeln!(to, "</dl>")
}

pub(super) fn reasons(record: &Record, to: &mut impl Write) -> io::Result<()> {
    let failed = record.failed();
    if failed == 0 {
        return writeln!(to, r#"<p class="none">Nothing failed.</p>"#);
    }
    let unreadable = Reason {
        code: "",
        status: Status::IoError,
        frames: record.tally(Status::IoError).frames,
        advice: UNREADABLE_ADVICE,
    };
    writeln!(
        to,
        r#"<table class="reasons"><thead><tr><th scope="col">Reason</th><th scope="col" class="number">Frames</th><th scope="col">What to do</th></tr></thead><tbody>"#
    )?;
    for reason in record.reasons.iter().chain([&unreadable]).filter(|reason| reason.frames > 0) {
        let Reason { code, status, frames, advice } = reason;
        let status = status.as_str();
        write!(to, r#"<tr data-reason="{code}" data-status="{status}"><th scope="row">"#)?;
        if !code.is_empty() {
            write!(to, "<code>{code}</code>")?;
        }
        write!(to, r#"<span class="status">{status}</span></th>"#)?;
        write!(
            to,
            r#"<td class="number"><span data-frames="{frames}">{}</span><svg class="meter" aria-hidden="true" focusable="false"><rect class="{status}" width="{:.2}%" height="100%"/></svg></td>"#,
            HumanCount(*frames),
            percent(*frames, failed).clamp(0.5, 100.0)
        )?;
        writeln!(to, "<td>{}</td></tr>", Html(advice))?;
    }
    writeln!(to, "</tbody></table>")
}

/// Their section, if there is anything to list.
pub(super) fn failures(record: &Record, to: &mut impl Write) -> io::Result<()> {
    let listed = record.failures.len();
    if listed == 0 && record.failures_left_out == 0 {
        return Ok(());
    }
    writeln!(to, r#"<section aria-labelledby="h-failures"><h2 id="h-failures">Failures</h2>"#)?;
    if record.failures_left_out > 0 {
        writeln!(
            to,
            r#"<p class="left-out" id="left-out" data-value="{}">The list ends after {}. {} not on this page; <code>verify --json</code> prints every one.</p>"#,
            record.failures_left_out,
            counted(listed as u64, "failure"),
            match record.failures_left_out {
                1 => "One more is".into(),
                more => format!("{} more are", HumanCount(more)),
            }
        )?;
    }
    // Of no use without the script, which shows it.
    writeln!(
        to,
        concat!(
            r#"<div class="search" role="search" id="search" hidden><label for="filter">Search</label>"#,
            r#"<input type="search" id="filter" placeholder="path, reason or detail" autocomplete="off" autocapitalize="off" spellcheck="false" aria-keyshortcuts="/" aria-controls="list"> "#,
            r#"<output id="shown" for="filter" data-shown="{0}" data-of="{0}">{1} of {1}</output></div>"#
        ),
        listed,
        HumanCount(listed as u64)
    )?;
    writeln!(to, r#"<ol class="failures" id="list">"#)?;
    record.failures.iter().try_for_each(|failure| item(failure, to))?;
    writeln!(to, "</ol>\n<p class=\"none\" id=\"no-match\" hidden>No failure matches.</p></section>")
}

fn item(failure: &Failure, to: &mut impl Write) -> io::Result<()> {
    let status = failure.status.as_str();
    write!(to, r#"<li data-status="{status}" data-reasons="{}"><p>"#, failure.reasons.join(" "))?;
    for reason in &failure.reasons {
        write!(to, "<code>{reason}</code> ")?;
    }
    let path = printable(Path::new(&failure.path));
    let detail = legible(&failure.detail);
    write!(to, r#"<span class="status">{status}</span></p><div><code class="path">{}</code>"#, Html(path))?;
    if let Some(bytes) = &failure.path_bytes {
        write!(to, r#" <span class="bytes">not UTF-8; in hexadecimal <code>{bytes}</code></span>"#)?;
    }
    writeln!(to, r#"<p class="detail">{}</p></div></li>"#, Html(detail))
}
