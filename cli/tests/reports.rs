//! What `verify` leaves behind and shows meanwhile: the page, the metrics, progress, and silence.

#![cfg(unix)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use support::{
    SmallDisk, damage, directory, fixtures, json_lines, names_in, run, set_mode, small_payloads, write_store,
};

/// The JSON inside a page.
fn record(page: &Path) -> Value {
    let text = fs::read_to_string(page).expect("a page");
    let start = text.split_once(r#"<script type="application/json" id="record">"#).expect("a record").1;
    serde_json::from_str(start.split_once("</script>").expect("its end").0).expect("JSON")
}

/// All samples of a file in Prometheus's text format, by name and labels as they are written. Strict: everything is
/// described and typed before it is given, once, and all of a metric stands together.
fn metrics(text: &str) -> BTreeMap<String, f64> {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
    };
    assert!(text.ends_with('\n') && !text.contains('\r'));
    let (mut samples, mut described, mut typed) = (BTreeMap::new(), Vec::new(), None);
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect("words");
            assert!(is_name(name) && !words.is_empty() && !described.contains(&name), "{line}");
            described.push(name);
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            assert_eq!(kind.split_once(' '), described.last().map(|name| (*name, "gauge")), "{line}");
            typed = described.last().copied();
        } else {
            let (place, number) = line.rsplit_once(' ').expect("a number");
            let name = place.split('{').next().expect("a name");
            assert_eq!(Some(name), typed, "{line}");
            if let Some(labels) = place[name.len()..].strip_prefix('{') {
                let (label, value) =
                    labels.strip_suffix("\"}").and_then(|pair| pair.split_once("=\"")).expect("a label");
                assert!(is_name(label) && is_name(value), "{line}");
            }
            let number: f64 = number.parse().expect("a number");
            assert!(number.is_finite() && samples.insert(place.to_owned(), number).is_none(), "{line}");
        }
    }
    samples
}

/// Fixtures and a store with everything that can be wrong.
fn troubled_store() -> tempfile::TempDir {
    let directory = directory();
    let paths = write_store(directory.path(), small_payloads(30));
    paths[..5].iter().for_each(|path| damage(&directory.path().join(path)));
    fs::copy(directory.path().join(&paths[10]), directory.path().join(&paths[11])).expect("it can be copied");
    fs::write(directory.path().join("store/notes.txt"), "no frame").expect("it can be written");
    let keys = small_payloads(31).map(|payload| format!("{}\n", membrane_codec::sha256(&payload)));
    fs::write(directory.path().join("manifest"), keys.collect::<String>()).expect("it can be written");
    directory
}

#[test]
fn the_page_and_the_metrics_hold_the_numbers_of_the_json() {
    let directory = troubled_store();
    fs::create_dir(directory.path().join("damaged")).expect("it is ours");
    for name in names_in(&fixtures().join("damaged")) {
        let to = directory.path().join("damaged").join(&name);
        fs::copy(fixtures().join("damaged").join(name), to).expect("it can be copied");
    }
    let result = run(
        &[
            "verify",
            "store",
            "none.blob",
            "damaged",
            "--json",
            "--check-key",
            "--check-hash",
            "--manifest",
            "manifest",
            "--quarantine",
            "aside",
            "--state",
            "state",
            "--report",
            "report.html",
            "--metrics",
            "scrub.prom",
        ],
        directory.path(),
    );
    assert_eq!(result.status, Some(2));
    let (lines, summary) = json_lines(&result.stdout);
    let record = record(&directory.path().join("report.html"));
    assert_eq!(record["summary"], summary);

    let verdict = |status: &str| {
        let tally = record["verdicts"].as_array().expect("verdicts").iter().find(|tally| tally["status"] == status);
        tally.expect("one for each")["frames"].clone()
    };
    for status in ["ok", "schema_error", "corrupt_payload", "io_error"] {
        assert_eq!(verdict(status), summary[status], "{status}");
    }
    assert_eq!(verdict("finding"), summary["findings"]);
    let bytes = record["verdicts"].as_array().expect("verdicts").iter().filter(|tally| tally["status"] != "finding");
    assert_eq!(bytes.map(|tally| tally["bytes"].as_u64().expect("a number")).sum::<u64>(), summary["bytes"]);
    let rates = record["rates"].as_array().expect("rates");
    let sum = |what: &str| rates.iter().map(|rate| rate[what].as_u64().expect("a number")).sum::<u64>();
    assert_eq!(
        (sum("bytes"), sum("frames")),
        (summary["bytes"].as_u64().expect("a number"), summary["frames"].as_u64().expect("a number"))
    );

    // Each line that tells of a failure is in the list, with the same words; and how often each reason was given.
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    let failed: Vec<_> =
        lines.iter().filter(|line| line.get("path").is_some() && line.get("detail").is_some()).collect();
    let failures = record["failures"].as_array().expect("failures");
    let (missing, mut listed): (Vec<_>, Vec<_>) = failures.iter().partition(|failure| failure["status"] == "missing");
    assert_eq!(missing.len(), summary["missing"].as_u64().expect("a number") as usize);
    missing.iter().for_each(|_| *reasons.entry("missing".into()).or_default() += 1);
    listed.sort_by_key(|failure| failure["path"].as_str().map(str::to_owned));
    assert_eq!((listed.len(), &record["failures_left_out"]), (failed.len(), &json!(0)));
    for (failure, line) in listed.iter().zip(&failed) {
        assert_eq!((&failure["path"], &failure["detail"]), (&line["path"], &line["detail"]));
        let codes =
            line.get("findings").cloned().unwrap_or_else(|| json!(line.get("reason").into_iter().collect::<Vec<_>>()));
        assert_eq!(failure["reasons"], codes);
        for code in codes.as_array().expect("codes") {
            *reasons.entry(code.as_str().expect("text").to_owned()).or_default() += 1;
        }
    }
    let counted = record["reasons"].as_array().expect("reasons").iter();
    let counted: BTreeMap<_, _> = counted
        .map(|reason| (reason["code"].as_str().expect("text").to_owned(), reason["frames"].as_u64().expect("a number")))
        .collect();
    assert_eq!(counted, reasons);

    let metrics = metrics(&fs::read_to_string(directory.path().join("scrub.prom")).expect("it is there"));
    let mut expected: BTreeMap<String, f64> = BTreeMap::new();
    let number = |name: &str| summary[name].as_u64().expect("a number") as f64;
    for status in ["ok", "schema_error", "corrupt_payload", "io_error"] {
        expected.insert(format!("membrane_scrub_frames{{status=\"{status}\"}}"), number(status));
    }
    for reason in membrane_codec::Reason::OF_FRAMES {
        let count = reasons.get(reason.as_str()).copied().unwrap_or(0) as f64;
        expected.insert(format!("membrane_scrub_damaged_frames{{reason=\"{reason}\"}}"), count);
    }
    for code in ["payload_hash_mismatch", "key_mismatch", "fingerprint_mismatch", "not_in_manifest"] {
        let count = reasons.get(code).copied().unwrap_or(0) as f64;
        expected.insert(format!("membrane_scrub_findings{{code=\"{code}\"}}"), count);
    }
    for (metric, value) in [
        ("read_bytes", number("bytes")),
        ("missing_keys", number("missing")),
        ("not_judged_keys", 0.0),
        ("quarantined_files", number("quarantined")),
        ("verified_before_files", 0.0),
        ("vanished_files", 0.0),
        ("completed", 1.0),
    ] {
        expected.insert(format!("membrane_scrub_{metric}"), value);
    }
    let mut given = metrics.clone();
    let ended = given.remove("membrane_scrub_end_timestamp_seconds").expect("when it ended");
    let took = given.remove("membrane_scrub_duration_seconds").expect("how long it took");
    assert_eq!(given, expected);
    let now = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_secs_f64();
    assert!((now - 60.0..=now).contains(&ended) && (0.0..60.0).contains(&took));
}

#[test]
fn hostile_names_stay_text_in_the_page() {
    use std::os::unix::ffi::OsStrExt;

    let directory = directory();
    let names: [&[u8]; 5] = [
        b"<script>alert(1)<!--.blob",
        b"\"'&<>.blob",
        b"\x1b[2J\n.blob",
        b"\xff\xfe.blob",
        "\u{202e}bolb.blob".as_bytes(),
    ];
    fs::create_dir(directory.path().join("<")).expect("it is ours");
    fs::write(directory.path().join("</script>.blob"), b"").expect("it can be written");
    for name in names {
        fs::write(directory.path().join(std::ffi::OsStr::from_bytes(name)), b"").expect("it can be written");
    }
    let result = run(&["verify", ".", "--json", "--report", "report.html"], directory.path());
    let (lines, _) = json_lines(&result.stdout);
    let page = directory.path().join("report.html");
    let mut failures = record(&page)["failures"].as_array().expect("failures").clone();
    failures.sort_by_key(|failure| failure["path"].as_str().map(str::to_owned));
    let paths = |lines: &[Value]| {
        lines.iter().map(|line| (line["path"].clone(), line.get("path_bytes").cloned())).collect::<Vec<_>>()
    };
    assert_eq!((failures.len(), paths(&failures)), (6, paths(&lines)));
    let text = fs::read_to_string(&page).expect("text");
    assert!(!text.contains("<script>alert") && !text.contains('\u{1b}') && !text.contains('\u{202e}'));
    assert_eq!(text.matches("<script").count(), text.matches("</script>").count());
}

#[test]
fn what_cannot_be_written_is_known_before_any_work() {
    let directory = troubled_store();
    fs::create_dir(directory.path().join("folder")).expect("it is ours");
    fs::write(directory.path().join("state"), "").expect("it can be written");
    let before = names_in(directory.path());
    let frame = write_store(directory.path(), small_payloads(1)).remove(0);
    for (arguments, problem) in [
        (&["--report", "no/such/report.html"][..], "no/such: is no directory; create it first"),
        (&["--metrics", "manifest/scrub.prom"], "manifest: is no directory; create it first"),
        (&["--report", "folder"], "folder: exists and is not a regular file"),
        (&["--report", "."], ".: exists and is not a regular file"),
        (&["--metrics", "/dev/null"], "/dev/null: exists and is not a regular file"),
        (&["--report", "new", "--metrics", "new"], "new: is named twice; what it holds would be lost"),
        (&["--report", "manifest", "--manifest", "manifest"], "manifest: is named twice; what it holds would be lost"),
        (&["--metrics", "./state", "--state", "state"], "./state: is named twice; what it holds would be lost"),
        (&["--metrics", "other", "--state", "other"], "other: is named twice; what it holds would be lost"),
        (&[&frame, "--report", &frame], &format!("{frame}: is named twice; what it holds would be lost")),
    ] {
        let result = run(&[&["verify", "store"], arguments].concat(), directory.path());
        assert_eq!((result.status, result.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert_eq!(result.stderr, format!("membrane-codec: {problem}\n"), "{arguments:?}");
        assert_eq!(names_in(directory.path()), before, "{arguments:?}");
    }
    fs::write(directory.path().join("closed"), "").expect("it can be written");
    set_mode(&directory.path().join("folder"), 0o555);
    let arguments = ["verify", "store", "--report", "folder/report.html"];
    let result = support::run_as_ordinary_user(&arguments, directory.path(), &directory.path().join("closed"));
    assert_eq!((result.status, result.stdout.as_str()), (Some(2), ""));
    assert_eq!(result.stderr, "membrane-codec: folder/report.html: its directory: Permission denied (os error 13)\n");
}

/// A page of an earlier run, as far as this one looks at it.
const YESTERDAY: &str = "<!doctype html>\n<!-- membrane-codec verify -->\nthe page of yesterday";

#[test]
fn on_a_full_disk_they_appear_whole_or_not_at_all() {
    let Some(disk) = SmallDisk::mount(1 << 20) else { return };
    let directory = troubled_store();
    let at = |name: &str| disk.path().join(name).to_str().expect("text").to_owned();
    fs::write(at("old.html"), YESTERDAY).expect("it can be written");
    disk.fill_up_to(8192);
    let names = names_in(disk.path());
    for (report, others) in
        [("old.html", vec!["filler", "old.html", "scrub.prom"]), ("new.html", vec!["filler", "old.html", "scrub.prom"])]
    {
        let result = run(
            &["verify", "store", "--json", "--report", &at(report), "--metrics", &at("scrub.prom")],
            directory.path(),
        );
        assert_eq!(result.status, Some(2));
        assert_eq!(result.stderr, format!("membrane-codec: {}: No space left on device (os error 28)\n", at(report)));
        let (lines, summary) = json_lines(&result.stdout);
        assert_eq!((lines.len(), &summary["corrupt_payload"]), (30, &json!(5)), "the verdicts are told all the same");
        assert_eq!(fs::read_to_string(at("old.html")).expect("it stays"), YESTERDAY);
        // What has room is written, whatever became of the other.
        assert_eq!(
            metrics(&fs::read_to_string(at("scrub.prom")).expect("it is there"))["membrane_scrub_completed"],
            1.0
        );
        assert_eq!(names_in(disk.path()), others);
    }
    assert_eq!(names, ["filler", "old.html"]);
}

#[test]
fn quiet_prints_failures_and_nothing_else() {
    let directory = directory();
    let paths = write_store(directory.path(), small_payloads(3));
    let sound = run(&["verify", "store", "--quiet"], directory.path());
    assert_eq!((sound.status, sound.stdout.as_str(), sound.stderr.as_str()), (Some(0), "", ""));
    fs::write(directory.path().join(&paths[1]), b"").expect("it can be written");
    let result = run(&["verify", "store", "-q"], directory.path());
    let expected = format!(
        "corrupt_payload  {}\n    truncated at byte 0: found 0 bytes, expected a header of 14 bytes\n",
        paths[1]
    );
    assert_eq!((result.status, result.stdout, result.stderr.as_str()), (Some(1), expected, ""));
    fs::write(directory.path().join("manifest"), format!("{}\n", "0".repeat(64))).expect("it can be written");
    let result = run(&["verify", "none.blob", "-q", "--manifest", "manifest"], directory.path());
    let expected = format!(
        "io_error         none.blob\n    No such file or directory (os error 2)\nmissing          {}\n",
        "0".repeat(64)
    );
    assert_eq!((result.status, result.stdout, result.stderr.as_str()), (Some(2), expected, ""));
}

#[test]
fn progress_in_a_log_is_plain_lines() {
    let directory = directory();
    let paths = write_store(directory.path(), small_payloads(100));
    damage(&directory.path().join(&paths[0]));
    // A hundred frames of some 330 bytes.
    let arguments = ["verify", "store", "--json", "--progress-every", "1", "--limit-rate", "10K", "-j", "1"];
    let result = run(&arguments, directory.path());
    assert_eq!((result.status, json_lines(&result.stdout).0.len()), (Some(1), 100));
    let lines: Vec<_> = result.stderr.lines().collect();
    assert!((2..=4).contains(&lines.len()), "{}", result.stderr);
    assert!(!result.stderr.contains(['\r', '\u{1b}']), "{:?}", result.stderr);
    let mut before = 0;
    for line in lines {
        let line = line.strip_prefix("membrane-codec: ").expect("the program's name");
        let (frames, rest) = line.split_once(" of 100 frames, ").expect("how many of how many");
        let frames = frames.parse::<u32>().expect("a number");
        assert!(before < frames && frames < 100, "{line}");
        before = frames;
        assert!(rest.contains("KiB (") && rest.contains("KiB/s, ") && rest.contains(" left, "), "{line}");
        assert!(rest.ends_with("0 failures") || rest.ends_with("1 failure"), "{line}");
    }
    // Without asking, nothing is said where there is no terminal.
    assert_eq!(run(&["verify", "store", "--limit-rate", "100K"], directory.path()).stderr, "");
}

#[test]
fn progress_on_a_terminal_is_drawn_and_cleared() {
    if std::process::Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: no script(1) on this machine");
        return;
    }
    let directory = directory();
    let paths = write_store(directory.path(), small_payloads(60));
    fs::write(directory.path().join(&paths[0]), b"").expect("it can be written");
    // Every failure stands on lines of its own, however often progress was drawn.
    let on_terminal = |more: &str| {
        let command = format!("'{}' verify store --limit-rate 20K {more}", support::PROGRAM);
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).current_dir(directory.path()).stdin(std::process::Stdio::null());
        // What a terminal can do is asked of this, which no log of a build has.
        script.env("TERM", "xterm");
        let output = script.output().expect("it starts");
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stdout).expect("text")
    };
    let shown = on_terminal("");
    let (progress, after) = shown.rsplit_once("\u{1b}[2K").expect("lines are cleared");
    assert!(progress.contains(" of 60 frames, ") && progress.contains(" left, 1 failure"), "{progress:?}");
    assert!(!after.contains(" of 60 frames, "), "{after:?}");
    assert!(after.contains("60 frames, ") && after.contains(" KiB in "), "{after:?}");
    let failure = format!("{}\r\n    truncated at byte 0: found 0 bytes, expected a header of 14 bytes\r\n", paths[0]);
    assert!(shown.contains(&failure), "{shown:?}");
    let quiet = on_terminal("--quiet");
    assert!(!quiet.contains("frames, ") && quiet.ends_with(&failure), "{quiet:?}");
    assert!(!quiet.contains("\u{1b}[2K"), "{quiet:?}");
}
