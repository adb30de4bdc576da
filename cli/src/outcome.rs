//! How a run ends: exit statuses and the last words on standard error.

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use membrane_codec::ReadError;

use crate::display::printable;

/// What a run that came to its end found. Ordered: the worst of several wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    AllWell,
    Damage,
    Unreadable,
}

/// Why a run could not come to its end.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was given is damaged or fails a check: status 1.
    Damage(String),
    /// Wrong use, or something could not be read or written: status 2.
    Trouble(String),
    /// Nobody reads standard output any more: status 2, and nothing left to say.
    OutputClosed,
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damage(message) | Self::Trouble(message) => f.write_str(message),
            Self::OutputClosed => f.write_str("nobody reads standard output"),
        }
    }
}

impl Failure {
    pub(crate) fn damage(path: &Path, problem: impl Display) -> Self {
        Self::Damage(format!("{}: {problem}", printable(path)))
    }

    pub(crate) fn trouble(path: &Path, problem: impl Display) -> Self {
        Self::Trouble(format!("{}: {problem}", printable(path)))
    }

    /// For errors from writing results to standard output.
    pub(crate) fn stdout(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Trouble(format!("cannot write to standard output: {error}")),
        }
    }

    /// For errors from reading the frame at `path`.
    pub(crate) fn read(path: &Path, error: ReadError) -> Self {
        match error {
            ReadError::Frame(error) => Self::damage(path, format!("{error}\n  {}", error.reason().advice())),
            other => Self::trouble(path, other),
        }
    }
}

pub(crate) fn exit(result: Result<Outcome, Failure>) -> ExitCode {
    let (status, message) = match result {
        Ok(Outcome::AllWell) => (0, None),
        Ok(Outcome::Damage) => (1, None),
        Ok(Outcome::Unreadable) => (2, None),
        Err(Failure::Damage(message)) => (1, Some(message)),
        Err(Failure::Trouble(message)) => (2, Some(message)),
        Err(Failure::OutputClosed) => (2, None),
    };
    if let Some(message) = message {
        say(message);
    }
    ExitCode::from(status)
}

/// A line on standard error. Should that be closed, the exit status still tells.
pub(crate) fn say(message: impl Display) {
    let _ = writeln!(io::stderr(), "membrane-codec: {message}");
}
