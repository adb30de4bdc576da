//! Whole pages of made-up runs.

mod samples;

use serde_json::{Value, json};

use super::*;

/// What a store's worst enemy would call a frame.
const HOSTILE: [&str; 6] = [
    "</script><img src=x onerror=alert(1)>.blob",
    "\"'><svg onload=alert(1)>&lt;{{record}}.blob",
    "<!--<script>\u{2028}\u{2029}.blob",
    "evil\u{202e}bolb.emarf\u{2066}\u{200b}\u{feff}.frame",
    "bell\u{7}\u{1b}[31m\r\n\t\0\u{7f}\u{9b}.blob",
    "not utf-8 \u{fffd}\u{fffd}/naïve-模型-\u{1f600}.blob",
];

fn tally(status: Status, frames: u64, bytes: u64) -> Tally {
    Tally { status, frames, bytes }
}

fn interval(seconds: f64, bytes: u64, frames: u64, failures: u64) -> Interval {
    Interval { seconds, bytes, frames, failures }
}

fn failure(path: &str, status: Status, reasons: &[&'static str], detail: &str) -> Failure {
    Failure { path: path.into(), path_bytes: None, status, reasons: reasons.to_vec(), detail: detail.into() }
}

/// A run that found nothing to blame.
fn record(verdicts: Vec<Tally>) -> Record {
    Record {
        started: "2025-11-30T05:04:12Z".into(),
        seconds: 12.5,
        asked: "/var/lib/membrane --check-hash".into(),
        interrupted: false,
        verdicts,
        missing: 0,
        not_judged: 0,
        not_quarantined: 0,
        verified_before: 0,
        summary: Value::Null,
        reasons: Vec::new(),
        rates: Vec::new(),
        failures: Vec::new(),
        failures_left_out: 0,
        notes: Vec::new(),
    }
}

/// A run over a store of hostile names.
fn hostile() -> Record {
    let failures = HOSTILE.map(|name| {
        failure(name, Status::CorruptPayload, &["truncated"], &format!("truncated at byte 4: found \"{name}\""))
    });
    let truncated = Reason::of(membrane_codec::Reason::Truncated, HOSTILE.len() as u64);
    Record {
        asked: HOSTILE.join(" "),
        reasons: vec![truncated],
        failures: failures.into(),
        notes: HOSTILE.map(String::from).into(),
        ..record(vec![tally(Status::Ok, 1, 9), tally(Status::CorruptPayload, HOSTILE.len() as u64, 24)])
    }
}

impl Reason {
    fn of(reason: membrane_codec::Reason, frames: u64) -> Self {
        let status = match reason.class() {
            membrane_codec::ErrorClass::Schema => Status::SchemaError,
            membrane_codec::ErrorClass::CorruptPayload => Status::CorruptPayload,
        };
        Self { code: reason.as_str(), status, frames, advice: reason.advice() }
    }
}

fn page(record: &Record) -> String {
    let mut page = Vec::new();
    write(record, &mut page).expect("memory takes it");
    String::from_utf8(page).expect("text")
}

/// The one piece between two marks.
fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    let (_, after) = page.split_once(start).unwrap_or_else(|| panic!("no {start}"));
    after.split_once(end).unwrap_or_else(|| panic!("no {end} after {start}")).0
}

fn embedded(page: &str) -> Value {
    serde_json::from_str(between(page, r#"<script type="application/json" id="record">"#, "</script>")).expect("JSON")
}

fn title(record: &Record) -> String {
    between(&page(record), "<h1>", "</h1>").into()
}

fn sentences(record: &Record) -> String {
    between(&page(record), r#"<ul class="sentences"><li>"#, "</li></ul>").replace("</li><li>", " ")
}

#[test]
fn hostile_names_are_text_and_nothing_else() {
    let page = page(&hostile());
    // The page's own: its first line, the record and the script, each once.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(page.starts_with(FIRST_BYTES));
    assert_eq!(page.matches("<!--").count(), 1);
    // And a name that is a place in the template is not filled.
    assert_eq!(page.matches(r#"id="record""#).count(), 1);
    for markup in ["<img", "onerror=alert(1)>", "<svg onload"] {
        assert!(!page.contains(markup), "{markup}");
    }
    let unseen = |character: char| character.is_control() && character != '\n';
    assert_eq!(page.chars().find(|character| unseen(*character)), None);
    for moved in ['\u{200b}', '\u{2028}', '\u{2029}', '\u{202e}', '\u{2066}', '\u{feff}'] {
        assert!(!page.contains(moved), "{moved:?}");
    }
    let paths: Vec<_> = page.split(r#"<code class="path">"#).skip(1).map(|row| between(row, "", "</code>")).collect();
    assert_eq!(
        paths,
        [
            "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;.blob",
            "&quot;\\&quot;&#39;&gt;&lt;svg onload=alert(1)&gt;&amp;lt;{{record}}.blob&quot;",
            "&quot;&lt;!--&lt;script&gt;\\u{2028}\\u{2029}.blob&quot;",
            "&quot;evil\\u{202e}bolb.emarf\\u{2066}\\u{200b}\\u{feff}.frame&quot;",
            "&quot;bell\\u{7}\\u{1b}[31m\\r\\n\\t\\0\\u{7f}\\u{9b}.blob&quot;",
            "not utf-8 \u{fffd}\u{fffd}/naïve-模型-\u{1f600}.blob",
        ]
    );
}

#[test]
fn the_embedded_record_is_the_record() {
    let record = Record {
        missing: 0,
        not_quarantined: 0,
        verified_before: 0,
        summary: json!({"frames": 7, "ok": 1, "passed_over": {"other_files": 3}}),
        rates: vec![interval(12.5, 33, 7, 6)],
        failures_left_out: u64::MAX,
        ..hostile()
    };
    assert_eq!(embedded(&page(&record)), serde_json::to_value(&record).expect("it serializes"));
    let paths: Vec<_> = record.failures.iter().map(|failure| &*failure.path).collect();
    assert_eq!(paths, HOSTILE);
}

#[test]
fn only_the_page_s_own_style_and_script_run() {
    let page = page(&hostile());
    let policy = between(&page, r#"http-equiv="Content-Security-Policy" content=""#, "\"");
    let style = source_hash(between(&page, "<style>", "</style>"));
    let script = source_hash(between(&page, "<script>", "</script>"));
    assert_eq!(
        policy,
        format!("default-src 'none'; style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'")
    );
    // Which would be refused.
    assert!(!page.contains(" style="));
}

#[test]
fn hashes_are_as_browsers_want_them() {
    // The example of the standard, Content Security Policy Level 3.
    let script = "doSomething();";
    assert_eq!(source_hash(script), "sha256-RFWPLDbv2BY+rCkDzsE+0fr8ylGr2R2faWMhq4lfEQc=");
    assert_eq!(source_hash("a\r\nb"), source_hash("a\nb"));
    let groups = [&b""[..], b"f", b"fo", b"foo", b"foob"].map(base64);
    assert_eq!(groups, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
}

#[test]
fn an_empty_run_is_not_all_well() {
    let record = record(vec![tally(Status::Ok, 0, 0)]);
    let page = page(&record);
    assert_eq!(title(&record), "No frames found");
    assert_eq!(sentences(&record), "Nothing was checked.");
    assert!(page.contains(r#"data-mood="open""#));
    assert!(page.contains(r#"data-total="frames" data-value="0">0<"#));
    assert!(page.contains(r#"<rect class="nothing""#));
    assert!(page.contains("Nothing failed."));
    assert!(page.contains("The run was too short to say."));
    assert!(!page.contains(r#"id="list""#));
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn one_sound_frame_in_no_time() {
    let record = Record {
        seconds: 0.0,
        rates: vec![interval(0.0, 664, 1, 0)],
        ..record(vec![tally(Status::Ok, 1, 664), tally(Status::IoError, 0, 0)])
    };
    let page = page(&record);
    assert_eq!(title(&record), "All well");
    assert_eq!(sentences(&record), "The one frame is sound: every check held.");
    assert!(page.contains(r#"data-mood="well""#));
    assert!(page.contains(r#"data-verdict="ok" data-unit="bytes" data-value="664">664 B<"#));
    assert!(page.contains(r#"data-total="rate" data-value="0">0 B/s<"#));
    assert!(page.contains("The run was too short to say."));
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn one_interval_makes_a_chart() {
    let record = Record { rates: vec![interval(12.5, 1 << 30, 40, 2)], ..record(vec![tally(Status::Ok, 40, 1 << 30)]) };
    let page = page(&record);
    assert!(page.contains(r#"d="M0.0 180.8H1000.0""#), "{}", between(&page, r#"<path class="line""#, ">"));
    assert!(page.contains(
        r#"<tr data-seconds="12.5" data-rate="85899345.92" data-bytes="1073741824" data-frames="40" data-failures="2">"#
    ));
    assert!(page.contains(r#"<line class="failing" x1="50.000%""#));
    assert!(page.contains(">5 s<") && page.contains(">10 s<") && page.contains(">100 MiB/s<"));
}

#[test]
fn the_title_says_each_kind_of_trouble() {
    let ok = tally(Status::Ok, 1_234, 5);
    let of = |others: &[Tally], interrupted| {
        let record = Record { interrupted, ..record([&[ok], others].concat()) };
        (title(&record), sentences(&record))
    };
    let said = |title: &str, sentences: &str| (title.to_owned(), sentences.to_owned());
    assert_eq!(of(&[], false), said("All well", "All 1,234 frames are sound: every check held."));
    assert_eq!(of(&[tally(Status::SchemaError, 1, 1)], false), said("Damage found", "1 of 1,235 frames is damaged."));
    assert_eq!(
        of(&[tally(Status::Finding, 2, 2)], false),
        said("Mismatches found", "2 of 1,234 frames are sound, but not what name or identity promises.")
    );
    assert_eq!(
        of(&[tally(Status::IoError, 1, 0)], false),
        said(
            "Unreadable paths found",
            "All 1,234 frames that were read are sound: every check held. 1 path could not be read."
        )
    );
    assert_eq!(
        of(&[], true),
        said(
            "Interrupted before the end",
            "All 1,234 frames that were read are sound: every check held. What the run did not reach is not in this report."
        )
    );
    let all = [Status::Finding, Status::CorruptPayload, Status::IoError].map(|status| tally(status, 3, 3));
    assert_eq!(of(&all, true).0, "Damage, mismatches and unreadable paths found; interrupted before the end");
}

#[test]
fn what_is_left_out_is_said() {
    let record = Record { failures_left_out: 2_345, ..hostile() };
    assert!(
        page(&record).contains(r#"id="left-out" data-value="2345">The list ends after 6 failures. 2,345 more are not"#)
    );
    assert!(!page(&hostile()).contains("left-out\" data-value"));
}

#[test]
fn a_full_disk_is_an_error() {
    let mut small = [0; 100];
    assert_eq!(write(&hostile(), &mut &mut small[..]).expect_err("too small").kind(), io::ErrorKind::WriteZero);
}

#[test]
fn the_mean_rate_is_that_of_the_chart_and_never_above_its_highest() {
    // What was read for verdicts is more than the samples hold, and the run was shorter than they say.
    let rates = vec![interval(1.0, 300, 1, 0), interval(3.0, 200, 1, 0)];
    let record = Record { seconds: 2.0, rates, ..record(vec![tally(Status::Ok, 2, 1_000)]) };
    let page = page(&record);
    assert!(page.contains(r#"data-total="rate" data-value="166.66666666666666">166 B/s<"#));
    assert!(page.contains(r#"data-rate="mean" data-value="166.66666666666666""#));
    assert!(page.contains(r#"data-rate="highest" data-value="300""#));
}

#[test]
fn keys_that_were_not_judged_are_neither_missing_nor_well() {
    let record = Record { not_judged: 1, ..record(vec![tally(Status::Ok, 1, 664), tally(Status::IoError, 1, 0)]) };
    assert_eq!(title(&record), "Unreadable paths found");
    let said = "1 key of the manifest has no file in what was looked at; whether it is missing is not known.";
    assert!(sentences(&record).contains(said), "{}", sentences(&record));
}
