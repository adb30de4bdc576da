//! Text for people: paths and strings that cannot harm a terminal.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anstyle::{AnsiColor, Style};

use crate::input::is_stdin;

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();

/// A status in a column of its own.
pub(crate) fn painted(status: &str, style: Style) -> String {
    format!("{style}{status:<15}{style:#}")
}

/// A path on one line, as it is where that is safe. File names in a store can be anybody's: one that holds quotes,
/// backslashes or what would not show is quoted and escaped, and what is not UTF-8 is replaced.
pub(crate) fn printable(path: &Path) -> String {
    if is_stdin(path) {
        return "standard input".into();
    }
    let text = path.to_string_lossy();
    let quoted = quoted(&text);
    if quoted.len() == text.len() + 2 { text.into_owned() } else { quoted }
}

/// The text in quotes, with everything escaped that would end them, not show, or move what shows.
pub(crate) fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// A name on one line, as it is where that is one word and safe, else quoted.
pub(crate) fn word(text: &str) -> String {
    let quoted = quoted(text);
    let is_plain = quoted.len() == text.len() + 2 && !text.is_empty() && !text.contains(' ');
    if is_plain { text.into() } else { quoted }
}

/// Bytes in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The path's bytes in hexadecimal, when it is not UTF-8 and JSON cannot hold it as text.
pub(crate) fn path_bytes(path: &Path) -> Option<String> {
    path.to_str().is_none().then(|| hex(path.as_os_str().as_encoded_bytes()))
}

/// The end of the year 9999, after which RFC 3339 has no times.
const LAST_OF_RFC_3339: Duration = Duration::from_secs(253_402_300_800);

/// By RFC 3339 and in UTC, to the second; in seconds since 1970 what that cannot write. A clock that was never set, or that
/// broke, can say anything.
pub(crate) fn time(time: SystemTime) -> String {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) if since < LAST_OF_RFC_3339 => humantime::format_rfc3339_seconds(time).to_string(),
        Ok(since) => format!("{} s after 1970", since.as_secs()),
        Err(before) => format!("{} s before 1970", before.duration().as_secs()),
    }
}

/// `1 frame`, `2 frames`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_can_be_told() {
        let last = UNIX_EPOCH + LAST_OF_RFC_3339 - Duration::from_nanos(1);
        for (time_to_tell, expected) in [
            (UNIX_EPOCH, "1970-01-01T00:00:00Z"),
            (UNIX_EPOCH + Duration::from_millis(1_800_000_000_999), "2027-01-15T08:00:00Z"),
            (last, "9999-12-31T23:59:59Z"),
            (last + Duration::from_nanos(1), "253402300800 s after 1970"),
            (UNIX_EPOCH - Duration::from_secs(90), "90 s before 1970"),
        ] {
            assert_eq!(time(time_to_tell), expected);
        }
    }
}
