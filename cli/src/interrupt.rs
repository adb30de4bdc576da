//! Signals that end the program take its temporary file along.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The temporary file that exists now. One at a time: each command writes one file.
static TEMPORARY: Mutex<Option<PathBuf>> = Mutex::new(None);

/// From here on, a signal that ends the program first removes the file at `path`.
pub(crate) fn remove_when_interrupted(path: PathBuf) -> std::io::Result<()> {
    let installed = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).replace(path).is_some();
    if installed { Ok(()) } else { install() }
}

#[cfg(unix)]
fn install() -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            if let Some(path) = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).take() {
                // Once it is renamed there is nothing here, and that is well.
                let _ = std::fs::remove_file(path);
            }
            // Ends the program as the signal would have.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

#[cfg(not(unix))]
fn install() -> std::io::Result<()> {
    Ok(())
}
