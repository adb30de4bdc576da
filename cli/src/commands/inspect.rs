//! `membrane-codec inspect`: everything a frame says, and which checks hold. Shows as much as can be read of a damaged
//! one.

mod text;

use std::io::{self, Read, Write};
use std::path::Path;

use membrane_codec::scrub::key_of;
use membrane_codec::{
    Digest, Error, Findings, FrameHeader, HEADER_LEN, IdentityView, PayloadIdentity, ReadError, Verifier,
};
use serde::Serialize;

use crate::args::InspectArgs;
use crate::display::{hex, path_bytes, printable};
use crate::input::Input;
use crate::json;
use crate::outcome::{Failure, Outcome};

pub(crate) fn run(args: &InspectArgs) -> Result<Outcome, Failure> {
    let anatomy = Anatomy::read(args)?;
    let mut stdout = io::stdout().lock();
    let printed = if args.json {
        json::line(&anatomy).map_err(io::Error::from).and_then(|line| stdout.write_all(line.as_bytes()))
    } else {
        text::print(&anatomy, &mut stdout, &printable(&args.path))
    };
    printed.and_then(|()| stdout.flush()).map_err(Failure::stdout)?;
    Ok(if anatomy.status == "ok" { Outcome::AllWell } else { Outcome::Damage })
}

/// What could be read of a frame; later parts are absent when earlier ones are broken.
#[derive(Serialize)]
struct Anatomy {
    path: String,
    /// The path in hexadecimal, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    /// What `verify` says of this frame.
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    header: Option<Header>,
    identity: Option<PayloadIdentity>,
    canonical: Option<bool>,
    fingerprint: Option<String>,
    payload_offset: Option<u64>,
    payload_len: Option<u64>,
    payload_sha256: Option<String>,
    trailer: Option<String>,
    checks: Vec<Check>,
}

#[derive(Serialize)]
struct Header {
    magic: String,
    schema: u16,
    reserved: u32,
    identity_len: u32,
}

/// One check and how it went.
#[derive(Serialize)]
struct Check {
    name: &'static str,
    /// `ok`, `failed`, `differs` (worth knowing and no failure) or `not_checked`.
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl Check {
    fn ok(name: &'static str) -> Self {
        Self { name, result: "ok", detail: None }
    }

    fn failed(name: &'static str, detail: impl ToString) -> Self {
        Self { name, result: "failed", detail: Some(detail.to_string()) }
    }

    fn differs(name: &'static str, detail: impl ToString) -> Self {
        Self { name, result: "differs", detail: Some(detail.to_string()) }
    }

    fn not_checked(name: &'static str, why: &str) -> Self {
        Self { name, result: "not_checked", detail: Some(why.to_owned()) }
    }
}

impl Anatomy {
    fn read(args: &InspectArgs) -> Result<Self, Failure> {
        let trouble = |error: io::Error| Failure::trouble(&args.path, error);
        let mut input = Input::open(&args.path).map_err(trouble)?;
        let mut anatomy = Self::empty(&args.path);

        // The header is shown even where it is wrong, and then handed to the reader again.
        let mut start = Vec::new();
        (&mut input).take(HEADER_LEN as u64).read_to_end(&mut start).map_err(trouble)?;
        anatomy.header = start.first_chunk().map(|bytes| Header::from(FrameHeader::from_bytes(*bytes)));

        let reader = input.reader(args.limits.reader());
        let stream = match reader.open_structure(start.as_slice().chain(input)) {
            Ok(stream) => stream,
            Err(ReadError::Frame(error)) => {
                anatomy.judge(Some(error));
                anatomy.checks.push(Check::failed("header", error));
                anatomy.checks.extend(
                    ["identity", "length", "trailer", "payload_hash", "key"]
                        .map(|name| Check::not_checked(name, "the header does not hold")),
                );
                return Ok(anatomy);
            }
            Err(other) => return Err(Failure::read(&args.path, other)),
        };
        anatomy.checks.push(Check::ok("header"));
        anatomy.payload_offset = Some(stream.payload_offset());
        anatomy.payload_len = Some(stream.payload_len());

        let identity = stream.identity().map(|view| anatomy.show_identity(&view)).err();
        anatomy.check("identity", identity);

        let verdict = match stream.verify() {
            Ok(digest) => Ok(digest),
            Err(ReadError::Frame(error)) => Err(error),
            Err(other) => return Err(Failure::read(&args.path, other)),
        };
        anatomy.show_payload(&args.path, verdict);
        anatomy.judge(identity.or(verdict.err()));
        Ok(anatomy)
    }

    fn empty(path: &Path) -> Self {
        Self {
            path: path.to_string_lossy().into_owned(),
            path_bytes: path_bytes(path),
            status: "ok",
            reason: None,
            detail: None,
            header: None,
            identity: None,
            canonical: None,
            fingerprint: None,
            payload_offset: None,
            payload_len: None,
            payload_sha256: None,
            trailer: None,
            checks: Vec::new(),
        }
    }

    /// Takes the first check of the contract's order that failed as the verdict.
    fn judge(&mut self, error: Option<Error>) {
        if let Some(error) = error {
            self.status = error.class().as_str();
            self.reason = Some(error.reason().as_str());
            self.detail = Some(error.to_string());
        }
    }

    fn check(&mut self, name: &'static str, error: Option<Error>) {
        self.checks.push(match error {
            None => Check::ok(name),
            Some(error) => Check::failed(name, error),
        });
    }

    fn show_identity(&mut self, identity: &IdentityView<'_>) {
        self.canonical = Some(identity.is_canonical());
        self.fingerprint = Some(identity.fingerprint().to_string());
        self.identity = Some(identity.to_identity());
    }

    fn show_payload(&mut self, path: &Path, verdict: Result<Digest, Error>) {
        match verdict {
            Ok(digest) => {
                self.payload_sha256 = Some(digest.to_string());
                self.trailer = Some(hex(&digest.trailer()));
                self.checks.extend([Check::ok("length"), Check::ok("trailer")]);
                self.show_findings(path, digest);
            }
            Err(error) => {
                self.checks.extend(match error.trailers() {
                    Some(trailers) => {
                        self.trailer = Some(hex(&trailers.stored));
                        [Check::ok("length"), Check::failed("trailer", error)]
                    }
                    None => [Check::failed("length", error), Check::not_checked("trailer", "the length does not hold")],
                });
                self.checks
                    .extend(["payload_hash", "key"].map(|name| Check::not_checked(name, "the payload does not hold")));
            }
        }
    }

    /// What disagrees without being damage: shown, and no failure.
    fn show_findings(&mut self, path: &Path, digest: Digest) {
        let Some(identity) = &self.identity else {
            let unknown = |name| Check::not_checked(name, "the identity does not hold");
            self.checks.extend(["payload_hash", "key"].map(unknown));
            return;
        };
        let as_check = |name, findings: Findings| match findings.iter().next() {
            None => Check::ok(name),
            Some(finding) => Check::differs(name, finding),
        };
        let verifier = Verifier::new().check_payload_hash(true);
        let payload_hash = as_check("payload_hash", verifier.findings(&identity.as_view(), digest));
        let key = match key_of(path) {
            Some(key) => as_check("key", Verifier::new().expect_key(key).findings(&identity.as_view(), digest)),
            None => Check::not_checked("key", "the file is not named by a key"),
        };
        self.checks.extend([payload_hash, key]);
    }
}

impl From<FrameHeader> for Header {
    fn from(header: FrameHeader) -> Self {
        Self {
            magic: hex(&header.magic()),
            schema: header.schema(),
            reserved: header.reserved(),
            identity_len: header.identity_len(),
        }
    }
}
