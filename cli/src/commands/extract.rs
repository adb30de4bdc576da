//! `membrane-codec extract`

use membrane_codec::ReadError;

use crate::args::ExtractArgs;
use crate::input::Input;
use crate::outcome::{Failure, Outcome};
use crate::output::Output;

pub(crate) fn run(args: &ExtractArgs) -> Result<Outcome, Failure> {
    let input = Input::open(&args.path).map_err(|error| Failure::trouble(&args.path, error))?;
    let reader = input.reader(args.limits.reader());
    let stream = reader.open(input).map_err(|error| Failure::read(&args.path, error))?;
    let output = Output::create(args.output.as_deref(), &[&args.path])?;
    let target = output.name();
    // The output comes back only when the trailer held; otherwise it is gone, and nothing shows.
    let (output, _) = stream.copy_payload(output).map_err(|error| match error {
        ReadError::Sink(error) => Failure::Trouble(format!("{target}: {error}")),
        error => Failure::read(&args.path, error),
    })?;
    output.commit()?;
    Ok(Outcome::AllWell)
}
