//! `membrane-codec canonicalize`

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use membrane_codec::{FrameWriter, Verifier};

use crate::args::CanonicalizeArgs;
use crate::input::{Input, read_identity};
use crate::outcome::{Failure, Outcome};
use crate::output::Output;

/// Pieces in which the payload is copied, in bytes.
const COPY_BUFFER_LEN: usize = 128 * 1024;

pub(crate) fn run(args: &CanonicalizeArgs) -> Result<Outcome, Failure> {
    if args.identity == Path::new("-") && args.payload == Path::new("-") {
        return Err(Failure::Trouble("--identity and --payload cannot both be standard input".into()));
    }
    let identity = read_identity(&args.identity)?;
    let (payload, payload_len) = open_payload(&args.payload).map_err(|error| Failure::trouble(&args.payload, error))?;
    let mut payload = BufReader::with_capacity(COPY_BUFFER_LEN, payload);

    let output = Output::create(args.output.as_deref())?;
    let cannot_write = |error: io::Error| Failure::Trouble(format!("cannot write the frame: {error}"));
    let mut writer = FrameWriter::new(output, &identity, payload_len).map_err(cannot_write)?;
    io::copy(&mut payload, &mut writer).map_err(cannot_write)?;
    let (output, digest) = writer.finish().map_err(cannot_write)?;

    let findings = Verifier::new().check_payload_hash(true).findings(&identity.as_view(), digest);
    for finding in findings.iter() {
        if args.check_hash {
            return Err(Failure::damage(&args.identity, finding));
        }
        eprintln!("membrane-codec: note: {finding}");
    }
    output.commit()?;
    Ok(Outcome::AllWell)
}

/// The payload and its length. A frame says the length first, so what cannot say its own is kept aside until it ends.
fn open_payload(path: &Path) -> io::Result<(Box<dyn Read>, u64)> {
    let mut input = Input::open(path)?;
    if let Some(len) = input.len() {
        return Ok((Box::new(input), len));
    }
    let mut aside: File = tempfile::tempfile()?;
    let len = io::copy(&mut input, &mut aside)?;
    aside.rewind()?;
    Ok((Box::new(aside), len))
}
