//! `membrane-codec canonicalize`

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use membrane_codec::{EncodeError, FrameWriter, Verifier};

use crate::args::CanonicalizeArgs;
use crate::input::{Input, is_stdin, read_identity};
use crate::outcome::{Failure, Outcome, say};
use crate::output::Output;

/// Pieces in which the payload is copied, in bytes.
const COPY_BUFFER_LEN: usize = 128 * 1024;

pub(crate) fn run(args: &CanonicalizeArgs) -> Result<Outcome, Failure> {
    if is_stdin(&args.identity) && is_stdin(&args.payload) {
        return Err(Failure::Trouble("--identity and --payload cannot both be standard input".into()));
    }
    let cap = args.limits.max_identity_len;
    let identity = read_identity(&args.identity, cap)?;
    let json_len = identity.canonical_json().len();
    if json_len as u64 > u64::from(cap) {
        let problem =
            format!("{json_len} bytes in canonical form; readers refuse more than {cap} (--max-identity-len)");
        return Err(Failure::damage(&args.identity, problem));
    }
    let (mut payload, payload_len) = open_payload(&args.payload)?;

    let output = Output::create(args.output.as_deref(), &[&args.identity, &args.payload])?;
    let target = output.name();
    let not_written = |error: io::Error| match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(EncodeError::PayloadTooLong { .. } | EncodeError::PayloadTooShort { .. }) => {
            Failure::trouble(&args.payload, format!("changed while it was read: {error}"))
        }
        _ => Failure::Trouble(format!("{target}: {error}")),
    };
    let mut writer = FrameWriter::new(output, &identity, payload_len).map_err(not_written)?;
    let mut buffer = vec![0; COPY_BUFFER_LEN];
    loop {
        match payload.read(&mut buffer) {
            Ok(0) => break,
            Ok(got) => writer.write_all(&buffer[..got]).map_err(not_written)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::trouble(&args.payload, error)),
        }
    }
    let (output, digest) = writer.finish().map_err(not_written)?;

    let findings = Verifier::new().check_payload_hash(true).findings(&identity.as_view(), digest);
    if let (true, Some(finding)) = (args.check_hash, findings.iter().next()) {
        return Err(Failure::damage(&args.identity, finding));
    }
    output.commit()?;
    findings.iter().for_each(|finding| say(format_args!("note: {finding}")));
    Ok(Outcome::AllWell)
}

/// The payload and its length. A frame says the length first, so what cannot say its own is kept aside until it ends.
fn open_payload(path: &Path) -> Result<(Box<dyn Read>, u64), Failure> {
    let mut input = Input::open(path).map_err(|error| Failure::trouble(path, error))?;
    if let Some(len) = input.len() {
        return Ok((Box::new(input), len));
    }
    let no_room = |error| Failure::Trouble(format!("temporary file for the payload: {error}"));
    let mut aside: File = tempfile::tempfile().map_err(no_room)?;
    let len = io::copy(&mut input, &mut aside).map_err(|error| Failure::trouble(path, error))?;
    aside.rewind().map_err(no_room)?;
    Ok((Box::new(aside), len))
}
