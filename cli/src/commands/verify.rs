//! `membrane-codec verify`

use std::io;
use std::path::{Path, PathBuf};

use membrane_codec::{FrameReader, FrameStream, ReadError, Verifier};

use crate::args::VerifyArgs;
use crate::input::{Counting, Input, is_stdin};
use crate::key::key_of;
use crate::outcome::{Failure, Outcome};
use crate::progress::Progress;
use crate::report::{Claims, Finding, Report, Reporter, Verdict};
use crate::walk::{self, PassedOver, WalkError};

pub(crate) fn run(args: &VerifyArgs) -> Result<Outcome, Failure> {
    match args.paths.iter().filter(|path| is_stdin(path)).count() {
        0 => {}
        1 if args.check_key => return Err(Failure::Trouble("--check-key: standard input lies under no key".into())),
        1 => {}
        _ => return Err(Failure::Trouble("standard input can be given once".into())),
    }
    let mut run = Run {
        reader: args.limits.reader(),
        check_hash: args.check_hash,
        check_key: args.check_key,
        reporter: Reporter::new(args),
        progress: Progress::new(),
    };
    let mut passed_over = PassedOver::default();
    for path in &args.paths {
        if !is_stdin(path) && path.is_dir() {
            for found in walk::frames(path, args.all, &mut passed_over) {
                match found {
                    Ok(path) => run.check(path)?,
                    Err(WalkError { path, error }) => run.report(Report::unreadable(path, error))?,
                }
            }
        } else {
            run.check(path.clone())?;
        }
    }
    run.progress.finish();
    run.reporter.finish(&passed_over).map_err(Failure::stdout)
}

struct Run {
    reader: FrameReader,
    check_hash: bool,
    check_key: bool,
    reporter: Reporter,
    progress: Progress,
}

impl Run {
    fn check(&mut self, path: PathBuf) -> Result<(), Failure> {
        let report = self.verify(path);
        self.report(report)
    }

    fn report(&mut self, report: Report) -> Result<(), Failure> {
        let Self { reporter, progress, .. } = self;
        if reporter.prints(&report) {
            progress.pause(|| reporter.take(&report)).map_err(Failure::stdout)?;
        } else {
            reporter.take(&report).map_err(Failure::stdout)?;
        }
        progress.advance(reporter.totals());
        Ok(())
    }

    fn verify(&self, path: PathBuf) -> Report {
        let input = match Input::open(&path) {
            Ok(input) => input,
            Err(error) => return Report::unreadable(path, error),
        };
        let reader = input.reader(self.reader);
        let mut input = Counting::new(input);
        let mut claims = None;
        let result = reader.open_structure(&mut input).and_then(|stream| self.judge(&path, stream, &mut claims));
        let verdict = match result {
            Ok(findings) => Verdict::Sound { findings },
            Err(ReadError::Frame(error)) => Verdict::Damaged(error),
            Err(ReadError::Source(error)) => Verdict::Unreadable(error.to_string()),
            Err(other) => Verdict::Unreadable(other.to_string()),
        };
        Report { path, verdict, claims, bytes: input.bytes() }
    }

    /// Checks identity and payload, and what was asked for beyond the contract.
    fn judge(
        &self,
        path: &Path,
        stream: FrameStream<impl io::Read>,
        claims: &mut Option<Claims>,
    ) -> Result<Vec<Finding>, ReadError> {
        let identity = stream.identity()?;
        *claims = Some(Claims {
            payload_len: stream.payload_len(),
            payload_hash: identity.payload_hash(),
            fingerprint: identity.fingerprint(),
        });
        let mut verifier = Verifier::new().check_payload_hash(self.check_hash);
        let mut findings = Vec::new();
        if self.check_key {
            match key_of(path) {
                Some(key) => verifier = verifier.expect_key(key),
                None => findings.push(Finding::not_named_by_key()),
            }
        }
        let (_, found) = stream.verify_with(&verifier)?;
        findings.extend(found.iter().map(Finding::from));
        Ok(findings)
    }
}
