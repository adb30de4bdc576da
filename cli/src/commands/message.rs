//! `membrane-codec message`: checks fragment messages, one document or one per line.

mod bodies;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use membrane_codec::{Compatibility, Digest, Error, MessageParser, Reason};
use serde::Serialize;

use self::bodies::{Bodies, Body};
use crate::args::MessageArgs;
use crate::display::{BAD, GOOD, count, painted, printable};
use crate::input::Input;
use crate::outcome::{Failure, Outcome};

/// The status of a line that is too long to be judged.
const TOO_LONG: &str = "too_long";
/// What `--compat` asks about.
const OTHER_ENGINE: &str = "fingerprint_compat_mismatch";
const NO_ENGINE: &str = "fingerprint_compat_unstated";

pub(crate) fn run(args: &MessageArgs) -> Result<Outcome, Failure> {
    let input = Input::open(&args.path).map_err(|error| Failure::trouble(&args.path, error))?;
    let mut bodies = Bodies::of(input).map_err(|error| Failure::trouble(&args.path, error))?;
    let mut parser = MessageParser::new();
    let mut stdout = BufWriter::new(anstream::stdout().lock());
    let mut totals = Totals::default();
    while let Some((line, body)) = bodies.next().map_err(|error| Failure::trouble(&args.path, error))? {
        let verdict = Verdict::of(body, &mut parser, args.compat.as_ref().map(|engine| engine.digest()));
        totals.count(&verdict);
        let printed = if args.json {
            print_json(&mut stdout, line, &verdict)
        } else if verdict.reason().is_some() {
            let place = line.map(|line| format!(":{line}")).unwrap_or_default();
            let status = painted(verdict.status(), BAD);
            writeln!(stdout, "{status}  {}{place}\n    {}", printable(&args.path), verdict.detail().unwrap_or_default())
        } else {
            Ok(())
        };
        printed.map_err(Failure::stdout)?;
    }
    if !args.json {
        totals.print(&mut stdout).map_err(Failure::stdout)?;
    }
    stdout.flush().map_err(Failure::stdout)?;
    Ok(totals.outcome)
}

enum Verdict {
    Valid,
    Invalid(Error),
    TooLong,
    /// Valid, but not for the engine that was asked about.
    Finding(&'static str),
}

impl Verdict {
    fn of(body: Body<'_>, parser: &mut MessageParser, engine: Option<Digest>) -> Self {
        let Body::Whole(json) = body else { return Self::TooLong };
        match parser.parse(json) {
            Err(error) => Self::Invalid(error),
            Ok(message) => match engine.map(|engine| message.compatibility(engine)) {
                None | Some(Compatibility::Same) => Self::Valid,
                Some(Compatibility::Different) => Self::Finding(OTHER_ENGINE),
                Some(Compatibility::Unstated) => Self::Finding(NO_ENGINE),
            },
        }
    }

    fn status(&self) -> &'static str {
        match self {
            Self::Valid | Self::Finding(_) => "ok",
            Self::Invalid(error) => error.class().as_str(),
            Self::TooLong => "io_error",
        }
    }

    fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Valid => None,
            Self::Invalid(error) => Some(error.reason().as_str()),
            Self::TooLong => Some(TOO_LONG),
            Self::Finding(finding) => Some(finding),
        }
    }

    fn detail(&self) -> Option<String> {
        match self {
            Self::Valid => None,
            Self::Invalid(error) => Some(error.to_string()),
            Self::TooLong => Some(format!("{TOO_LONG}: more than {} bytes", bodies::MAX_BODY_LEN)),
            Self::Finding(finding) => Some((*finding).to_owned()),
        }
    }
}

#[derive(Serialize)]
struct JsonLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<&'a str>,
}

fn print_json(out: &mut impl Write, line: Option<u64>, verdict: &Verdict) -> io::Result<()> {
    let (reason, detail, findings) = match verdict {
        Verdict::Finding(finding) => (None, None, vec![*finding]),
        _ => (verdict.reason(), verdict.detail(), Vec::new()),
    };
    serde_json::to_writer(&mut *out, &JsonLine { line, status: verdict.status(), reason, detail, findings })?;
    writeln!(out)
}

struct Totals {
    messages: u64,
    ok: u64,
    reasons: BTreeMap<&'static str, u64>,
    outcome: Outcome,
}

impl Default for Totals {
    fn default() -> Self {
        Self { messages: 0, ok: 0, reasons: BTreeMap::new(), outcome: Outcome::AllWell }
    }
}

impl Totals {
    fn count(&mut self, verdict: &Verdict) {
        self.messages += 1;
        self.ok += u64::from(verdict.status() == "ok");
        if let Some(reason) = verdict.reason() {
            *self.reasons.entry(reason).or_default() += 1;
        }
        self.outcome = self.outcome.max(match verdict {
            Verdict::Valid => Outcome::AllWell,
            Verdict::Invalid(_) | Verdict::Finding(_) => Outcome::Damage,
            Verdict::TooLong => Outcome::Unreadable,
        });
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        if self.ok < self.messages || !self.reasons.is_empty() {
            writeln!(out)?;
        }
        writeln!(out, "{}", count(self.messages, "message"))?;
        writeln!(out, "{:>9}  {GOOD}ok{GOOD:#}", self.ok)?;
        for (reason, number) in &self.reasons {
            writeln!(out, "\n{number:>9}  {BAD}{reason}{BAD:#}\n           {}", advice(reason))?;
        }
        Ok(())
    }
}

fn advice(code: &str) -> &'static str {
    match code {
        TOO_LONG => "No message is that long: check that the file holds messages, one per line.",
        OTHER_ENGINE => "Computed by an engine that this one cannot follow: do not use the fragment here.",
        NO_ENGINE => "The sender did not say for which engines: compare the identity's own, see fingerprint --compat.",
        code => Reason::ALL.iter().find(|reason| reason.as_str() == code).map_or("", |reason| reason.advice()),
    }
}
