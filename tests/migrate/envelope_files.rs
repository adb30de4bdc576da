//! Files of envelopes: what is no old envelope stays byte for byte, and so do files without any.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use membrane_codec::migrate::{
    EnvelopeCounts, EnvelopeFate, EnvelopeFileMigrator, EnvelopeFileReport, EnvelopeObserver, MigrationSummary, Refusal,
};
use membrane_codec::scrub::FoundFile;
use membrane_codec::{JsonProblem, TenantId};

use crate::envelope::{v2, v5_of_v2};
use crate::support::{directory, names_in, read, write};

#[derive(Default)]
struct Log {
    refused: Mutex<Vec<(u64, &'static str)>>,
    files: Mutex<Vec<(PathBuf, &'static str, EnvelopeCounts)>>,
    stops: bool,
}

impl EnvelopeObserver for Log {
    fn refused(&self, _: &FoundFile<'_>, line: u64, why: &Refusal) {
        self.refused.lock().expect("nobody panicked").push((line, why.as_str()));
    }

    fn file(&self, report: &EnvelopeFileReport<'_>) {
        let fate = match report.fate() {
            EnvelopeFate::Unchanged => "unchanged",
            EnvelopeFate::Convertible => "convertible",
            EnvelopeFate::Converted => "converted",
            EnvelopeFate::Failed(_) => "failed",
            EnvelopeFate::Vanished => "vanished",
            other => panic!("another fate: {other:?}"),
        };
        self.files.lock().expect("nobody panicked").push((report.path(), fate, report.counts()));
    }

    fn stops(&self) -> bool {
        self.stops
    }
}

fn migrator() -> EnvelopeFileMigrator {
    EnvelopeFileMigrator::new("acme".parse::<TenantId>().expect("a tenant"))
}

fn run(migrator: &EnvelopeFileMigrator, path: &Path) -> (MigrationSummary, Log) {
    let log = Log::default();
    let summary = migrator.run([path.to_owned()], &log);
    (summary, log)
}

/// Converts one file, which may be read in pieces of `cap`; its new text, and what was refused in which line.
fn convert_within(text: &[u8], cap: u64) -> (Vec<u8>, Vec<(u64, &'static str)>) {
    let directory = directory();
    let path = write(directory.path(), "a.json", text);
    let migrator = migrator().max_document_len(cap);
    let (_, would) = run(&migrator, &path);
    assert_eq!(read(&path), text);
    let (_, did) = run(&migrator.clone().write(true), &path);
    let refused = did.refused.into_inner().expect("nobody panicked");
    assert_eq!(would.refused.into_inner().expect("nobody panicked"), refused);
    let (would, did) = (would.files.into_inner().expect("one"), did.files.into_inner().expect("one"));
    assert_eq!(would[0].2, did[0].2);
    assert!(matches!((would[0].1, did[0].1), ("convertible", "converted") | ("unchanged", "unchanged")));
    assert_eq!(names_in(directory.path()), ["a.json"]);
    let after = read(&path);
    // Twice is once.
    let (_, again) = run(&migrator.write(true), &path);
    assert_eq!(again.files.into_inner().expect("one")[0].1, "unchanged");
    assert_eq!(read(&path), after);
    (after, refused)
}

fn convert(text: &str) -> (String, Vec<(u64, &'static str)>) {
    let (after, refused) = convert_within(text.as_bytes(), 1 << 20);
    (String::from_utf8(after).expect("text"), refused)
}

#[test]
fn lines() {
    let (old, new) = (v2(), v5_of_v2("acme"));
    let other = r#"{"a":1,  "b":[ 2.50 ]}"#;
    for end in ["\n", "\r\n"] {
        let text = |envelope: &str, broken: &str| {
            [envelope, other, "", envelope, " \t", broken, &new, r#"{"schema_version":1}"#, envelope].join(end)
        };
        assert_eq!(convert(&text(&old, "null")), (text(&new, "null"), vec![(8, "message_version")]));
        assert_eq!(
            convert(&text(&old, "{\"schema_version\":2,\"iden")),
            (text(&new, "{\"schema_version\":2,\"iden"), vec![(6, "message_json"), (8, "message_version")])
        );
    }
    assert_eq!(convert(&format!("{old}\n")), (format!("{new}\n"), vec![]));
    assert_eq!(convert(&format!("{old} {old}\n[{old},1,{old}]")), (format!("{new} {new}\n[{new},1,{new}]"), vec![]));
    // The first line is the torn one.
    assert_eq!(convert(&format!("torn\"}}\n{old}\n")), (format!("torn\"}}\n{new}\n"), vec![(1, "message_json")]));
}

#[test]
fn one_document_over_many_lines() {
    let value: serde_json::Value = serde_json::from_str(&v2()).expect("JSON");
    let (one, refused) = convert(&format!("{value:#}\n"));
    assert!(refused.is_empty() && one.starts_with("{\n") && one.ends_with("}\n"), "{one}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&one).expect("JSON")["tenant_id"], "acme");
    let (old, new) = (v2(), v5_of_v2("acme"));
    let array = |envelope: &str| format!("[\n  {envelope},\n  {{\"schema_version\":4}},\n  7,\n  {envelope}\n]");
    assert_eq!(convert(&array(&old)), (array(&new), vec![(3, "message_field")]));
    // Inside other JSON nothing is an envelope.
    let inside = format!("{{\"fragments\": [{old}]}}");
    assert_eq!(convert(&inside), (inside.clone(), vec![]));
    assert_eq!(convert(&format!("[[{old}]]")).0, format!("[[{old}]]"));
}

#[test]
fn what_is_not_json() {
    for text in ["", "\n", "   "] {
        assert_eq!(convert(text), (text.into(), vec![]));
    }
    let torn = format!("[\n{},\n{}", v2(), &v2()[..40]);
    assert_eq!(convert(&torn), (torn.clone(), vec![(3, "message_json")]));
    let (after, refused) = convert_within(b"\xef\xbb\xbf{}", 100);
    assert_eq!((after, refused), (b"\xef\xbb\xbf{}".to_vec(), vec![(1, "message_json")]));
    // Comments and damage before the first line that is an object.
    let text = |envelope: &str| format!("# one\n# two\n\n{{torn\n# three\n{envelope}\n");
    assert_eq!(
        convert(&text(&v2())),
        (text(&v5_of_v2("acme")), [1, 2, 4, 5].map(|line| (line, "message_json")).to_vec())
    );
    let problem = |text: &str| match migrate_one(text) {
        Refusal::Invalid(error) => (error.json_problem(), error.offset()),
        why => panic!("another: {why}"),
    };
    assert_eq!(problem("\u{FEFF}{}"), (Some(JsonProblem::ByteOrderMark), 0));
    assert_eq!(problem("{}\u{FEFF}"), (Some(JsonProblem::Syntax), 2));
    // In lines, what is not UTF-8 is a line's own matter.
    let text = |envelope: String| [envelope.as_bytes(), b"\n\xff\n", envelope.as_bytes()].concat();
    assert_eq!(convert_within(&text(v2()), 1 << 20), (text(v5_of_v2("acme")), vec![(2, "message_json")]));
}

/// Why the one thing that is refused in a text is.
fn migrate_one(text: &str) -> Refusal {
    struct Why(Mutex<Option<Refusal>>);
    impl EnvelopeObserver for Why {
        fn refused(&self, _: &FoundFile<'_>, _: u64, why: &Refusal) {
            assert_eq!(self.0.lock().expect("nobody panicked").replace(*why), None);
        }

        fn file(&self, _: &EnvelopeFileReport<'_>) {}
    }
    let directory = directory();
    let why = Why(Mutex::default());
    migrator().run([write(directory.path(), "a.json", text.as_bytes())], &why);
    why.0.into_inner().expect("nobody panicked").expect("it is refused")
}

/// The line that is told and the offset belong together, wherever the text stops being JSON.
#[test]
fn offsets_count_in_the_line_that_is_told() {
    struct Told(Mutex<Vec<(u64, u64)>>);
    impl EnvelopeObserver for Told {
        fn refused(&self, _: &FoundFile<'_>, line: u64, why: &Refusal) {
            let Refusal::Invalid(error) = why else { panic!("another: {why}") };
            self.0.lock().expect("nobody panicked").push((line, error.offset()));
        }

        fn file(&self, _: &EnvelopeFileReport<'_>) {}
    }
    let cases: [(&[u8], (u64, u64)); 6] = [
        (b"[\n1,\n  2,, 3\n]", (3, 4)),
        (b"[\n1,\n2", (3, 1)),
        (b"!", (1, 0)),
        (b"[\n\xff]", (2, 0)),
        // In lines.
        (b"{}\n 1 !\n{}", (2, 3)),
        // Envelopes count from their own first byte, which here is behind the bracket.
        (b"[\n  {\"schema_version\":1}]", (2, 18)),
    ];
    for (text, expected) in cases {
        let directory = directory();
        let path = write(directory.path(), "a.json", text);
        let told = Told(Mutex::default());
        migrator().run([path], &told);
        assert_eq!(told.0.into_inner().expect("nobody panicked"), [expected], "{}", text.escape_ascii());
    }
}

#[test]
fn memory_is_bounded() {
    let (old, new) = (v2(), v5_of_v2("acme"));
    let long = format!("{{\"x\":\"{}\"}}", "y".repeat(200_000));
    let text = |envelope: &str| format!("{envelope}\n{long}\n{envelope}\n{long}");
    let cap = old.len() as u64 + 1;
    let expected = (text(&new).into_bytes(), vec![(2, "too_long"), (4, "too_long")]);
    assert_eq!(convert_within(text(&old).as_bytes(), cap), expected);
    // A line of exactly so many bytes, at the end of the file and not.
    let text = |envelope: &str| format!("{envelope}\n{envelope}");
    assert_eq!(convert_within(text(&old).as_bytes(), old.len() as u64 + 1), (text(&new).into_bytes(), vec![]));
    assert_eq!(convert_within(text(&old).as_bytes(), old.len() as u64), (text(&new).into_bytes(), vec![]));
    let refused = vec![(1, "too_long"), (2, "too_long")];
    assert_eq!(convert_within(text(&old).as_bytes(), old.len() as u64 - 1), (text(&old).into_bytes(), refused));
    // The first one alone is too long, by much or by a byte; the third is the first one that tells how the file is laid out.
    for (first, len) in [(long.clone(), old.len()), (old.clone() + " ", old.len()), ("x".repeat(20_000), 10_000)] {
        let text = |envelope: &str| format!("{first}\n\n{envelope}\n{envelope}\n").into_bytes();
        assert_eq!(convert_within(&text(&old), len as u64), (text(&new), vec![(1, "too_long")]));
    }
    // No length is too much to allow.
    assert_eq!(convert_within(text(&old).as_bytes(), u64::MAX), (text(&new).into_bytes(), vec![]));
    // A document over many lines; no line tells otherwise within the bound.
    let document = format!("[\n{}{{}}\n]", "1,\n".repeat(1000));
    assert_eq!(convert_within(document.as_bytes(), 1000), (document.clone().into_bytes(), vec![(1, "too_long")]));
    let document = format!("[\n1,\n{long}]");
    assert_eq!(convert_within(document.as_bytes(), 1000), (document.clone().into_bytes(), vec![(1, "too_long")]));
}

/// Values that are no envelopes cost nothing but their text.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_number_of_values() {
    let peak = || {
        let status = fs::read_to_string("/proc/self/status").expect("it is there");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is told");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
    };
    // In a process of its own: other tests take memory too.
    const NAME: &str = "MIGRATE_VALUES_FILE";
    if let Ok(path) = std::env::var(NAME) {
        let before = peak();
        run(&migrator().threads(1), Path::new(&path));
        println!("\ngrew by {} KiB", peak() - before);
        return;
    }
    let directory = directory();
    for text in ["1 ".repeat(2 << 20), format!("[{}1]", "1,".repeat(2 << 20))] {
        let path = write(directory.path(), "a.json", text.as_bytes());
        let mut command = std::process::Command::new(std::env::current_exe().expect("this one"));
        command.args(["--exact", "envelope_files::memory_does_not_grow_with_the_number_of_values", "--nocapture"]);
        let output = command.env(NAME, path).output().expect("it starts");
        let told = String::from_utf8(output.stdout).expect("text");
        let grown = told.lines().find_map(|line| line.strip_prefix("grew by ")?.strip_suffix(" KiB"));
        let grown: u64 = grown.unwrap_or_else(|| panic!("{told}")).parse().expect("a number");
        // The text has 4 MiB; the places of its values would have 32.
        assert!(grown < 20_000, "{grown}");
    }
}

/// Each refusal names its line, however many there are.
#[test]
fn many_refusals_in_one_document() {
    let lines = 20_000;
    let text = "[\n".to_owned() + &"{\"schema_version\":1},\n".repeat(lines) + "1]";
    let (after, refused) = convert(&text);
    assert!(after == text);
    assert!(refused.into_iter().eq((0..lines as u64).map(|line| (line + 2, "message_version"))));
}

/// Bytes that nobody reads are not charged.
#[test]
fn a_rate_is_kept_for_what_is_read() {
    let directory = directory();
    // Nothing of it is read beyond its first two lines.
    let path = write(directory.path(), "a.json", b"[\n1,\n");
    fs::File::options().write(true).open(&path).and_then(|file| file.set_len(1 << 40)).expect("room for a hole");
    let (sender, receiver) = std::sync::mpsc::channel();
    // All of it would take 12 days.
    let migrator = migrator().max_document_len(1000).limit_rate(std::num::NonZeroU64::new(1_000_000));
    std::thread::spawn(move || {
        let (_, log) = run(&migrator, &path);
        let _ = sender.send(log.refused.into_inner().expect("nobody panicked"));
    });
    let refused = receiver.recv_timeout(std::time::Duration::from_secs(30)).expect("it ends soon");
    assert_eq!(refused, [(1, "too_long")]);
}

#[test]
fn files_and_directories() {
    let directory = directory();
    let (old, new) = (v2(), v5_of_v2("acme"));
    for name in ["a.json", "b/c.jsonl", "b/d.ndjson", "e.txt", ".f.json.tmp", "b/.1-0.migrate.tmp"] {
        write(directory.path(), name, old.as_bytes());
    }
    let current = write(directory.path(), "current.json", new.as_bytes());
    let before = fs::metadata(&current).expect("it is there");
    let a = directory.path().join("a.json");
    fs::set_permissions(&a, fs::Permissions::from_mode(0o440)).expect("it is ours");
    let old_times = fs::metadata(&a).expect("it is there");

    let (summary, log) = run(&migrator().write(true), directory.path());
    let passed = (summary.passed_over.other_files, summary.passed_over.temporary_files, summary.leftovers_removed);
    assert_eq!((passed, summary.stopped), ((1, 1, 1), false));
    let mut files = log.files.into_inner().expect("nobody panicked");
    files.sort_by(|one, other| one.0.cmp(&other.0));
    let fates: Vec<_> = files
        .iter()
        .map(|(path, fate, counts)| (path.file_name().expect("a name").to_string_lossy(), *fate, counts.v2))
        .collect();
    let expected = [
        ("a.json", "converted", 1),
        ("c.jsonl", "converted", 1),
        ("d.ndjson", "converted", 1),
        ("current.json", "unchanged", 0),
    ];
    assert_eq!(fates, expected.map(|(name, fate, count)| (name.into(), fate, count)));
    for name in ["a.json", "b/c.jsonl", "b/d.ndjson"] {
        assert_eq!(read(&directory.path().join(name)), new.as_bytes(), "{name}");
    }
    for name in ["e.txt", ".f.json.tmp"] {
        assert_eq!(read(&directory.path().join(name)), old.as_bytes(), "{name}");
    }
    let kept = |of: &fs::Metadata| (of.mode(), of.mtime(), of.mtime_nsec());
    let new_times = fs::metadata(&a).expect("it is there");
    assert_eq!(kept(&new_times), kept(&old_times));
    let after = fs::metadata(&current).expect("it is there");
    assert_eq!((after.ino(), after.ctime(), after.ctime_nsec()), (before.ino(), before.ctime(), before.ctime_nsec()));
}

/// Wants no more once something was refused.
#[derive(Default)]
struct StopsAtRefusal {
    refused: Mutex<Vec<u64>>,
    files: Mutex<usize>,
}

impl EnvelopeObserver for StopsAtRefusal {
    fn refused(&self, _: &FoundFile<'_>, line: u64, _: &Refusal) {
        self.refused.lock().expect("nobody panicked").push(line);
    }

    fn file(&self, _: &EnvelopeFileReport<'_>) {
        *self.files.lock().expect("nobody panicked") += 1;
    }

    fn stops(&self) -> bool {
        !self.refused.lock().expect("nobody panicked").is_empty()
    }
}

#[test]
fn a_stop_inside_a_document() {
    let (schema_1, old) = ("{\"schema_version\":1}", v2());
    // More than is passed over before anybody asks.
    let others = format!("{old},\n").repeat(70_000 / old.len() + 1);
    let array = format!("[{schema_1},\n{others}{schema_1}]");
    for text in [array.clone(), array[1..array.len() - 1].replace("},\n", "}\n")] {
        let directory = directory();
        let path = write(directory.path(), "a.json", text.as_bytes());
        let log = StopsAtRefusal::default();
        let summary = migrator().write(true).run([path.clone()], &log);
        assert!(summary.stopped);
        // The one at the end was not come to.
        assert_eq!(log.refused.into_inner().expect("nobody panicked"), [1]);
        assert_eq!(log.files.into_inner().expect("nobody panicked"), 0);
        assert_eq!(read(&path), text.as_bytes());
        assert_eq!(names_in(directory.path()), ["a.json"]);
    }
}

#[test]
fn a_file_that_is_named_twice_is_looked_at_once() {
    let directory = directory();
    let path = write(directory.path(), "a.json", v2().as_bytes());
    for (write, fate) in [(false, "convertible"), (true, "converted"), (true, "unchanged")] {
        let log = Log::default();
        migrator().write(write).run([path.clone(), directory.path().to_owned(), path.clone()], &log);
        let fates: Vec<_> = log.files.into_inner().expect("nobody panicked").iter().map(|file| file.1).collect();
        assert_eq!(fates, [fate]);
    }
}

#[test]
fn a_stop_and_a_missing_file() {
    let directory = directory();
    let text = format!("{}\n", v2()).repeat(100);
    let path = write(directory.path(), "a.jsonl", text.as_bytes());
    let log = Log { stops: true, ..Log::default() };
    assert!(migrator().write(true).run([path.clone()], &log).stopped);
    assert_eq!((read(&path), names_in(directory.path())), (text.into_bytes(), vec!["a.jsonl".to_owned()]));
    let (_, log) = run(&migrator(), &directory.path().join("missing"));
    assert_eq!(log.files.into_inner().expect("nobody panicked")[0].1, "failed");
}

/// Migrates a file, to which `more` is appended once when its observer is told of something; what was told, and its bytes.
fn migrated_while_appended_to(text: &str, when: When) -> (&'static str, String) {
    struct Append(PathBuf, When, std::sync::Once, Log);
    impl Append {
        fn at(&self, now: When) {
            if now == self.1 {
                self.2.call_once(|| {
                    let mut file = fs::File::options().append(true).open(&self.0).expect("it is there");
                    std::io::Write::write_all(&mut file, b"\nmore").expect("room");
                });
            }
        }
    }
    impl EnvelopeObserver for Append {
        fn refused(&self, file: &FoundFile<'_>, line: u64, why: &Refusal) {
            self.at(When::Refused);
            self.3.refused(file, line, why);
        }
        fn file(&self, report: &EnvelopeFileReport<'_>) {
            self.3.file(report);
        }
        fn advanced(&self, _: u64) {
            self.at(When::Advanced);
        }
    }
    let directory = directory();
    let path = write(directory.path(), "a.jsonl", text.as_bytes());
    let append = Append(path.clone(), when, std::sync::Once::new(), Log::default());
    migrator().write(true).run([path.clone()], &append);
    assert_eq!(names_in(directory.path()), ["a.jsonl"]);
    let fate = append.3.files.into_inner().expect("nobody panicked")[0].1;
    (fate, String::from_utf8(read(&path)).expect("text"))
}

#[derive(Clone, Copy, PartialEq)]
enum When {
    Refused,
    Advanced,
}

/// A file that is written to while it is read stays as its writer left it, whether it is known by then that it changes.
#[test]
fn a_file_that_grows_meanwhile() {
    let old = v2();
    for (text, when) in [
        (old.clone(), When::Advanced),
        // The document is read and converted, but nothing is written yet.
        (format!("{{\"schema_version\":1}}\n{old}"), When::Refused),
        // As lines, of which the first one stays.
        (format!("broken\n{old}"), When::Refused),
        (format!("broken\n{old}\n{old}"), When::Advanced),
    ] {
        assert_eq!(migrated_while_appended_to(&text, when), ("failed", format!("{text}\nmore")));
    }
}
