//! Signals that end the program take its temporary file along, and let a long run tell what it has.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// The temporary file that exists now, or existed last. One at a time: each command writes one file after another.
static TEMPORARY: Mutex<Option<PathBuf>> = Mutex::new(None);

/// The first signal only asks to stop.
static ASKS_FIRST: AtomicBool = AtomicBool::new(false);
static STOP: AtomicBool = AtomicBool::new(false);

/// From now on the first signal that would end the program asks it to stop instead; the second ends it.
pub(crate) fn ask_first() {
    ASKS_FIRST.store(true, Ordering::Relaxed);
    install_once();
}

/// Whether a signal asked to stop.
pub(crate) fn stop_is_asked() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Creates a temporary file which a signal that ends the program removes first. Between its creation and its being known
/// here, such a signal waits.
pub(crate) fn create_temporary<T>(create: impl FnOnce() -> io::Result<(T, PathBuf)>) -> io::Result<T> {
    install_once();
    let mut temporary = lock();
    let (file, path) = create()?;
    *temporary = Some(path);
    Ok(file)
}

fn install_once() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(install);
}

fn lock() -> MutexGuard<'static, Option<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where this fails, files are written all the same; a signal then leaves a temporary one behind.
#[cfg(unix)]
fn install() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU};

    let ends_the_program = |signal: &i32| !is_ignored(*signal);
    let signals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU].into_iter().filter(ends_the_program);
    let Ok(mut signals) = signal_hook::iterator::Signals::new(signals) else { return };
    let _ = std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let only_asks = matches!(signal, SIGHUP | SIGINT | SIGTERM) && ASKS_FIRST.load(Ordering::Relaxed);
            if only_asks && !STOP.swap(true, Ordering::Relaxed) {
                continue;
            }
            // Held until the end, so that nothing new is created meanwhile.
            let mut temporary = lock();
            if let Some(path) = temporary.take() {
                // Once it is renamed there is nothing here, and that is well.
                let _ = std::fs::remove_file(path);
            }
            // Ends the program as the signal would have.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
}

/// Whether the program was started with this signal ignored, as `nohup` and the background jobs of scripts are: then it
/// stays so.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        // Where nobody can say, the one that is commonly ignored counts as ignored.
        return signal == signal_hook::consts::SIGHUP;
    };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ignored >> (signal - 1) & 1 == 1
}

#[cfg(not(unix))]
fn install() {}

/// Has a write beyond the limit on the size of files fail, so that it is told as any other failure and nothing half-written
/// stays. Without this, a signal ends the program.
pub(crate) fn let_large_writes_fail() {
    #[cfg(unix)]
    {
        let unheard = std::sync::Arc::default();
        // Should this fail, the signal does what it always did.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, unheard);
    }
}
