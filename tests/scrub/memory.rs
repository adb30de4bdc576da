//! Memory does not follow the number of files, their size, or what they claim.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use membrane_codec::Reason;
use membrane_codec::scrub::Scrubber;

use crate::samples;
use crate::support::{GIVEN_PATH, Verdict, child, directory, given_path, scrub_one, write};

/// A file of this length that holds this at its beginning, and nothing of which is on a disk.
fn sparse(directory: &Path, start: &[u8], len: u64) -> std::path::PathBuf {
    let path = write(directory, "sparse.blob", start);
    OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(len)).expect("room");
    path
}

/// The start of a frame that claims this payload_len.
fn start_of(payload_len: u64) -> Vec<u8> {
    let mut frame = samples::frame_of(b"");
    let payload_len_at = frame.len() - 16;
    frame.truncate(payload_len_at);
    frame.extend(payload_len.to_le_bytes());
    frame
}

#[test]
fn a_frame_that_claims_more_than_its_file_has_is_refused_at_once() {
    let directory = directory();
    let len = 64 << 30;
    let start = start_of(u64::MAX);
    let path = sparse(directory.path(), &start, len);
    for direct in [false, true] {
        let told = scrub_one(&Scrubber::new().direct(direct), &path);
        match told.verdict {
            Verdict::Damaged(error) => {
                assert_eq!((error.reason(), error.offset()), (Reason::Truncated, len));
                let frame_len = start.len() as u128 + u128::from(u64::MAX) + 8;
                let expected =
                    format!("truncated at byte {len}: found {len} bytes, expected a frame of {frame_len} bytes");
                assert_eq!(error.to_string(), expected);
            }
            other => panic!("{other:?}"),
        }
        assert!(told.bytes_read <= 256 * 1024, "{}", told.bytes_read);
        assert_eq!(told.claims.expect("its identity can be read").1, u64::MAX);
    }
}

#[test]
fn what_follows_a_frame_is_not_read_to_its_end() {
    let directory = directory();
    let frame = samples::frame_of(b"payload");
    let told = scrub_one(&Scrubber::new(), sparse(directory.path(), &frame, 64 << 30));
    match told.verdict {
        Verdict::Damaged(error) => {
            let len = frame.len();
            let expected =
                format!("trailing_bytes at byte {len}: found 68719476736 bytes, expected a frame of {len} bytes");
            assert_eq!(error.to_string(), expected);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(told.bytes_read, 256 * 1024);
}

#[test]
#[ignore = "a process that other tests start"]
#[cfg(target_os = "linux")]
fn scrub_and_print_memory() {
    use crate::support::scrub;

    let threads = std::env::var("SCRUB_THREADS").expect("started by another test").parse().expect("a number");
    let before = peak();
    let (_, told) = scrub(&Scrubber::new().threads(threads), given_path());
    let sound = told.iter().filter(|told| crate::support::is_sound(told)).count();
    println!("\ntold {sound} {}", peak() - before);
}

/// The largest memory of this process so far, in KiB.
#[cfg(target_os = "linux")]
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is told");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// How many files were sound, and how many KiB a process needed for that.
#[cfg(target_os = "linux")]
fn sound_and_memory(path: &Path, threads: usize) -> (usize, u64) {
    let mut child = child("memory::scrub_and_print_memory");
    let output = child.env(GIVEN_PATH, path).env("SCRUB_THREADS", threads.to_string()).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let told = text.lines().find_map(|line| line.strip_prefix("told ")).expect("it tells");
    let (sound, memory) = told.split_once(' ').expect("two numbers");
    (sound.parse().expect("a number"), memory.parse().expect("a number"))
}

#[test]
#[cfg(target_os = "linux")]
fn a_frame_of_three_gibibytes_passes_through_a_buffer() {
    let directory = directory();
    let payload_len = 3 << 30;
    let start = start_of(payload_len);
    let path = sparse(directory.path(), &start, start.len() as u64 + payload_len + 8);
    // The start of the SHA-256 of that many zeros.
    let trailer = [0x30, 0x5b, 0x66, 0xa5, 0x9d, 0x15, 0xb2, 0x52];
    let file: File = OpenOptions::new().write(true).open(&path).expect("it is there");
    file.write_all_at(&trailer, start.len() as u64 + payload_len).expect("room");
    let (sound, memory) = sound_and_memory(&path, 1);
    assert_eq!(sound, 1);
    assert!(memory < 12 * 1024, "{memory} KiB");
}

#[test]
#[cfg(target_os = "linux")]
fn a_thread_needs_its_buffers_and_little_more() {
    let directory = directory();
    let frame = samples::frame_of(&[7; 300_000]);
    for number in 0..200 {
        write(directory.path(), &format!("{number}.blob"), &frame);
    }
    for threads in [1, 4] {
        let (sound, memory) = sound_and_memory(directory.path(), threads);
        assert_eq!(sound, 200);
        assert!(memory < 8 * 1024 * threads as u64 + 4096, "{memory} KiB in {threads} threads");
    }
}
