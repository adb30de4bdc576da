//! `membrane-codec message`: checks fragment messages, one document or one per line.

mod bodies;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use membrane_codec::{Compatibility, Digest, MessageParser, Reason};
use serde::Serialize;

use self::bodies::{Bodies, Body};
use crate::args::MessageArgs;
use crate::display::{BAD, GOOD, count, painted, printable};
use crate::input::{Input, is_stdin};
use crate::json;
use crate::outcome::{Failure, Outcome};

pub(crate) fn run(args: &MessageArgs) -> Result<Outcome, Failure> {
    let input = Input::open(&args.path).map_err(|error| Failure::trouble(&args.path, error))?;
    let mut bodies = Bodies::of(input).map_err(|error| Failure::trouble(&args.path, error))?;
    let mut parser = MessageParser::new();
    let mut stdout = BufWriter::new(anstream::stdout().lock());
    let mut totals = Totals::new();
    while let Some((line, body)) = bodies.next().map_err(|error| Failure::trouble(&args.path, error))? {
        let verdict = Verdict::of(body, &mut parser, args.compat.as_ref().map(|engine| engine.digest()));
        totals.count(&verdict);
        let printed = match verdict.problem {
            _ if args.json => {
                let line = json_line(line, &verdict).map_err(io::Error::from).map_err(Failure::stdout)?;
                stdout.write_all(line.as_bytes())
            }
            Some(problem) => {
                let place = line.map(|line| format!(":{line}")).unwrap_or_default();
                let detail = verdict.detail.as_deref().unwrap_or(problem.as_str());
                let status = painted(verdict.status, BAD);
                writeln!(stdout, "{status}  {}{place}\n    {detail}", printable(&args.path))
            }
            None => Ok(()),
        };
        // Whoever sends lines one by one may wait for what is said of each.
        printed.and_then(|()| if is_stdin(&args.path) { stdout.flush() } else { Ok(()) }).map_err(Failure::stdout)?;
    }
    if !args.json {
        totals.print(&mut stdout).map_err(Failure::stdout)?;
    }
    stdout.flush().map_err(Failure::stdout)?;
    Ok(totals.outcome)
}

/// What was found of one body, for the counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Problem {
    Invalid(Reason),
    TooLong,
    /// Valid, but not for the engine that was asked about.
    OtherEngine,
    UnstatedEngine,
}

impl Problem {
    fn as_str(self) -> &'static str {
        match self {
            Self::Invalid(reason) => reason.as_str(),
            Self::TooLong => "too_long",
            Self::OtherEngine => "fingerprint_compat_mismatch",
            Self::UnstatedEngine => "fingerprint_compat_unstated",
        }
    }

    const fn is_finding(self) -> bool {
        matches!(self, Self::OtherEngine | Self::UnstatedEngine)
    }

    fn outcome(self) -> Outcome {
        match self {
            Self::TooLong => Outcome::Unreadable,
            _ => Outcome::Damage,
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Invalid(reason) => reason.advice(),
            Self::TooLong => "No message is that long: check that the file holds messages, one per line.",
            Self::OtherEngine => "Computed by an engine that this one cannot follow: do not use the fragment here.",
            Self::UnstatedEngine => {
                "The sender did not say for which engines: compare the identity's own, see fingerprint --compat."
            }
        }
    }
}

/// The verdict on one body.
struct Verdict {
    status: &'static str,
    problem: Option<Problem>,
    detail: Option<String>,
}

impl Verdict {
    fn of(body: Body<'_>, parser: &mut MessageParser, engine: Option<Digest>) -> Self {
        let Body::Whole(json) = body else {
            let detail = format!("{}: more than {} bytes", Problem::TooLong.as_str(), bodies::MAX_BODY_LEN);
            return Self { status: "io_error", problem: Some(Problem::TooLong), detail: Some(detail) };
        };
        let message = match parser.parse(json) {
            Ok(message) => message,
            Err(error) => {
                let problem = Problem::Invalid(error.reason());
                return Self {
                    status: error.class().as_str(),
                    problem: Some(problem),
                    detail: Some(error.to_string()),
                };
            }
        };
        let problem = match engine.map(|engine| message.compatibility(engine)) {
            None | Some(Compatibility::Same) => None,
            Some(Compatibility::Different) => Some(Problem::OtherEngine),
            Some(Compatibility::Unstated) => Some(Problem::UnstatedEngine),
        };
        Self { status: "ok", problem, detail: None }
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
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<&'a str>,
}

fn json_line(line: Option<u64>, verdict: &Verdict) -> serde_json::Result<String> {
    let (findings, reasons): (Vec<_>, Vec<_>) = verdict.problem.into_iter().partition(|problem| problem.is_finding());
    json::line(&JsonLine {
        line,
        status: verdict.status,
        reason: reasons.first().map(|reason| reason.as_str()),
        detail: verdict.detail.as_deref(),
        findings: findings.iter().map(|finding| finding.as_str()).collect(),
    })
}

struct Totals {
    messages: u64,
    ok: u64,
    problems: BTreeMap<Problem, u64>,
    outcome: Outcome,
}

impl Totals {
    fn new() -> Self {
        Self { messages: 0, ok: 0, problems: BTreeMap::new(), outcome: Outcome::AllWell }
    }

    fn count(&mut self, verdict: &Verdict) {
        self.messages += 1;
        self.ok += u64::from(verdict.status == "ok");
        if let Some(problem) = verdict.problem {
            *self.problems.entry(problem).or_default() += 1;
            self.outcome = self.outcome.max(problem.outcome());
        }
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        if !self.problems.is_empty() {
            writeln!(out)?;
        }
        writeln!(out, "{}", count(self.messages, "message"))?;
        writeln!(out, "{:>9}  {GOOD}ok{GOOD:#}", self.ok)?;
        for (problem, number) in &self.problems {
            writeln!(out, "\n{number:>9}  {BAD}{}{BAD:#}\n           {}", problem.as_str(), problem.advice())?;
        }
        Ok(())
    }
}
