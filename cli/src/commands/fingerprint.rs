//! `membrane-codec fingerprint`

use std::io::{self, Write};

use crate::args::FingerprintArgs;
use crate::input::read_identity;
use crate::outcome::{Failure, Outcome};

pub(crate) fn run(args: &FingerprintArgs) -> Result<Outcome, Failure> {
    let identity = read_identity(&args.path, args.limits.max_identity_len)?;
    let mut lines = format!("{}\n", identity.fingerprint());
    if args.compat {
        lines += &format!("{}\n", identity.fingerprint_compat());
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(lines.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::stdout)?;
    Ok(Outcome::AllWell)
}
