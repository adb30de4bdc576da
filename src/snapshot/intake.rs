//! How the text of a snapshot comes into memory: never more than a limit, and not at all where its start shows that it is
//! none.

use std::io::{self, Read};

use super::Snapshot;

/// As much is read before the rest is asked for.
const START_LEN: u64 = 4096;

impl Snapshot {
    /// The longest text that is read when nobody says otherwise: 4 GiB, some 25 million shards.
    pub const DEFAULT_MAX_LEN: u64 = 4 << 30;

    /// Reads the text of a snapshot from a source, for [`from_json`](Self::from_json).
    ///
    /// Where the first 4 KiB show that it is none, since it does not start with a brace, that is all that is read: a file of
    /// zeros costs no more. `from_json` then refuses it for what is wrong in that start.
    ///
    /// `len` is the length that the source says it has, if it does: the text then is not moved while it is read.
    ///
    /// # Errors
    /// Of the source; [`FileTooLarge`](io::ErrorKind::FileTooLarge) when the text is longer than `max_len` bytes, of which
    /// one more is read.
    pub fn read_json(source: impl Read, len: Option<u64>, max_len: u64) -> io::Result<Vec<u8>> {
        let mut source = source.take(max_len.saturating_add(1));
        let mut json = Vec::new();
        source.by_ref().take(START_LEN).read_to_end(&mut json)?;
        let first = json.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        if first.is_some_and(|first| *first != b'{') {
            json.truncate(whole_characters(&json));
        } else {
            // And a byte in which to see the end.
            let whole = len.unwrap_or(0).min(max_len).saturating_add(1);
            let rest = usize::try_from(whole).unwrap_or(usize::MAX).saturating_sub(json.len());
            json.try_reserve_exact(rest).map_err(|_| io::ErrorKind::OutOfMemory)?;
            source.read_to_end(&mut json)?;
        }
        if json.len() as u64 > max_len {
            let problem =
                format!("longer than {max_len} bytes: raise the limit, or move it aside if it is no snapshot");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
        }
        Ok(json)
    }
}

/// The length without a character that was cut.
fn whole_characters(text: &[u8]) -> usize {
    match std::str::from_utf8(text) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => text.len(),
    }
}
