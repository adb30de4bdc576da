//! `verify --manifest`: what a store should hold, and what it does.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use membrane_codec::{canonicalize, sha256};
use serde_json::{Value, json};
use support::{directory, identity_of, json_lines, paths_with, program, run, small_payloads, write_store};
use tempfile::TempDir;

const VERIFY: [&str; 5] = ["verify", "store", "--json", "--manifest", "manifest"];

/// A store of four frames, their keys and the fingerprints of their identities.
fn store() -> (TempDir, Vec<String>, [String; 4], [String; 4]) {
    let directory = directory();
    let payloads: Vec<_> = small_payloads(4).collect();
    let keys: Vec<_> = payloads.iter().map(|payload| sha256(payload).to_string()).collect();
    let fingerprints: Vec<_> = payloads.iter().map(|payload| identity_of(payload).fingerprint().to_string()).collect();
    let paths = write_store(directory.path(), payloads);
    (directory, paths, keys.try_into().expect("four"), fingerprints.try_into().expect("four"))
}

fn write(directory: &TempDir, name: &str, text: impl AsRef<[u8]>) {
    fs::write(directory.path().join(name), text).expect("it can be written");
}

/// The exit status, findings by path, missing keys and the summary.
type Judgement = (Option<i32>, Vec<(String, Value)>, BTreeSet<String>, Value);

fn judge(more: &[&str], directory: &Path) -> Judgement {
    let result = run(&[&VERIFY[..], more].concat(), directory);
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!(result.stderr, "");
    let findings = lines.iter().filter_map(|line| {
        let path = line["path"].as_str()?.to_owned();
        Some((path, line.get("findings")?.clone()))
    });
    let missing = lines.iter().filter_map(|line| line["missing"].as_str().map(str::to_owned));
    (result.status, findings.collect(), missing.collect(), summary)
}

#[test]
fn everything_as_it_should_be_in_every_way_to_write_it() {
    let (directory, _, keys, fingerprints) = store();
    let [a, b, c, d] = &keys;
    let [fa, fb, fc, fd] = &fingerprints;
    for text in [
        format!("{a}\n{b}\n{c}\n{d}\n"),
        format!("{a} {fa}\n{b}\t{fb}\n  {c}   {fc}  \n{d} {fd}"),
        format!("# a comment\r\n{a} {fa}\r\n\r\n{b}\r\n{c}\r\n{d}\r\n"),
        format!("{}\n{}\n{c}\n{} {}\n", a.to_uppercase(), b.to_uppercase(), d.to_uppercase(), fd.to_uppercase()),
        format!("{a}\n{a}\n{b} {fb}\n{b} {fb}\n{c}\n{d}\n{a}"),
        format!(
            "{{\"key\": \"{a}\", \"fingerprint\": \"{fa}\"}}\n{{\"payload_hash\": \"{b}\"}}\n{c}\n\
             {{\"other\": 1, \"key\": \"{d}\", \"fingerprint\": null}}\n"
        ),
    ] {
        write(&directory, "manifest", &text);
        let (status, findings, missing, summary) = judge(&[], directory.path());
        assert_eq!((status, findings, missing), (Some(0), vec![], BTreeSet::new()), "{text}");
        assert_eq!((&summary["ok"], &summary["missing"], &summary["findings"]), (&json!(4), &json!(0), &json!(0)));
    }
}

#[test]
fn what_verify_prints_is_a_manifest_that_forgets_nothing() {
    let (directory, paths, keys, fingerprints) = store();
    // A frame that is damaged when the manifest is made is expected, with whatever identity.
    support::damage(&directory.path().join(&paths[3]));
    let printed = run(&["verify", "store", "--json"], directory.path());
    assert_eq!(printed.status, Some(1));
    write(&directory, "manifest", &printed.stdout);
    write_store(directory.path(), small_payloads(4).skip(3));
    let (status, findings, missing, _) = judge(&["--check-hash", "--check-key"], directory.path());
    assert_eq!((status, findings, missing), (Some(0), vec![], BTreeSet::new()));
    fs::remove_file(directory.path().join(&paths[3])).expect("it is ours");
    let (status, findings, missing, _) = judge(&[], directory.path());
    assert_eq!((status, findings, missing), (Some(1), vec![], [keys[3].clone()].into()));

    // And a key that is missing when it is made stays missing, night after night, with its fingerprint.
    write_store(directory.path(), small_payloads(4).skip(3));
    write(&directory, "manifest", run(&["verify", "store", "--json"], directory.path()).stdout);
    fs::remove_file(directory.path().join(&paths[0])).expect("it is ours");
    let line = format!("{{\"missing\":\"{}\",\"fingerprint\":\"{}\"}}\n", keys[0], fingerprints[0]);
    for _ in 0..3 {
        let printed = run(&VERIFY, directory.path());
        assert_eq!((printed.status, printed.stdout.contains(&line)), (Some(1), true), "{}", printed.stdout);
        write(&directory, "manifest", &printed.stdout);
    }
}

#[test]
fn what_a_run_printed_that_vouches_for_less_than_a_store_is_refused() {
    let (directory, paths, keys, fingerprints) = store();
    let [a, b, c, d] = &keys;
    let refused = |manifest: &str, problem: &str| {
        write(&directory, "manifest", manifest);
        let result = run(&VERIFY, directory.path());
        assert_eq!((result.status, result.stdout.as_str()), (Some(2), ""), "{problem}");
        let advice = "; give a run over the whole store without findings, or KEY FINGERPRINT lines\n";
        assert_eq!(result.stderr, format!("membrane-codec: manifest: {problem}{advice}"));
    };
    let verify = |more: &[&str]| run(&[&["verify", "--json"], more].concat(), directory.path()).stdout;
    let whole = verify(&["store"]);

    // Runs that did not see everything.
    let lines = |printed: &str| printed.lines().count();
    let part = verify(&["store", "--sample", "0%", "--seed", "1"]);
    refused(&part, "line 1 ends a run that did not see the whole store (4 not selected)");
    verify(&["store", "--state", "state.db"]);
    let part = verify(&["store", "--state", "state.db", "--max-age", "1d"]);
    refused(&part, "line 1 ends a run that did not see the whole store (4 verified before)");
    let summary = r#"{"summary":{"frames":0,"ok":0,"interrupted":true,"missing":0,"not_judged":2}}"#;
    refused(summary, "line 1 ends a run that did not see the whole store (interrupted, 2 not judged)");
    let summary = r#"{"summary":{"frames":0,"io_error":1}}"#;
    refused(summary, "line 1 ends a run that did not see the whole store (1 not readable)");
    let unreadable = verify(&["store/none.blob"]);
    refused(&unreadable, "line 1 is of something that could not be read");
    let without_summary = whole.lines().take(4).collect::<Vec<_>>().join("\n");
    refused(&without_summary, "ends with lines of a run without its summary, so more may be missing");
    let again = format!("{whole}{without_summary}");
    refused(&again, "ends with lines of a run without its summary, so more may be missing");
    let missing = format!("{{\"missing\":\"{a}\"}}\n");
    refused(&missing, "ends with lines of a run without its summary, so more may be missing");
    let cut: String = whole.lines().skip(1).map(|line| format!("{line}\n")).collect();
    let problem =
        "line 4 ends a run of 4 frames and 0 missing keys, but 3 frames and 0 missing keys are listed before it";
    refused(&cut, problem);
    assert_eq!(lines(&whole), 5);
    // All of it, once or twice.
    write(&directory, "manifest", whole.repeat(2));
    assert_eq!(judge(&[], directory.path()).0, Some(0));

    // A frame that is not what was expected does not become what is expected.
    let mut swapped = identity_of(b"payload 1");
    swapped.model_id = "another model".into();
    write(&directory, &paths[1], canonicalize(&swapped, b"payload 1").expect("a frame"));
    let good: String = [(a, 0), (b, 1), (c, 2)].map(|(key, at)| format!("{key} {}\n", fingerprints[at])).concat();
    write(&directory, "manifest", &good);
    let printed = verify(&["--manifest", "manifest", &paths[1]]);
    refused(&printed, "line 1 is of a frame that is not as it should be (\"fingerprint_mismatch\")");
    write(&directory, "manifest", &good);
    let printed = verify(&["--manifest", "manifest", &paths[3]]);
    refused(&printed, "line 1 is of a frame that is not as it should be (\"not_in_manifest\")");
    fs::copy(directory.path().join(&paths[0]), directory.path().join(&paths[3])).expect("it can be copied");
    let printed = verify(&["--check-key", &paths[3]]);
    refused(&printed, "line 1 is of a frame that is not as it should be (\"key_mismatch\")");
    refused(&verify(&[&paths[3]]), "line 1 is of a frame that lies under another's key");
    write(&directory, "notes.blob", "no frame");
    refused(&verify(&["notes.blob"]), "line 1 is of a damaged frame whose name is no key");
    // Where a damaged copy lies beside a sound one, that says what is expected.
    fs::create_dir(directory.path().join("copy")).expect("it is ours");
    write(&directory, &format!("copy/{d}.blob"), "no frame");
    write_store(directory.path(), small_payloads(4));
    write(&directory, "manifest", verify(&["store", "copy"]));
    let (status, findings, missing, summary) = judge(&[], directory.path());
    assert_eq!((status, findings, missing, &summary["ok"]), (Some(0), vec![], BTreeSet::new(), &json!(4)));
}

#[test]
fn missing_extra_and_swapped() {
    let (directory, paths, keys, fingerprints) = store();
    let lines: Vec<_> =
        keys.iter().zip(&fingerprints).map(|(key, fingerprint)| format!("{key} {fingerprint}")).collect();
    write(&directory, "manifest", lines[..3].join("\n"));
    fs::remove_file(directory.path().join(&paths[0])).expect("it is ours");
    // Sound, with the payload that its key names, but of another layer: only the fingerprint tells.
    let payload: Vec<_> = small_payloads(2).last().expect("two");
    let mut identity = identity_of(&payload);
    identity.model_id = "another model".into();
    let swapped = canonicalize(&identity, &payload).expect("a frame");
    write(&directory, &paths[1], swapped);
    write(&directory, "store/notes.blob", support::frame_of(b"no key"));
    assert_eq!(run(&["verify", "store", "--check-hash"], directory.path()).status, Some(0));

    let (status, mut findings, missing, summary) = judge(&["--check-hash"], directory.path());
    let mut expected = vec![
        (paths[1].clone(), json!(["fingerprint_mismatch"])),
        (paths[3].clone(), json!(["not_in_manifest"])),
        ("store/notes.blob".to_owned(), json!(["not_in_manifest"])),
    ];
    findings.sort_by_key(|(path, _)| path.clone());
    expected.sort_by_key(|(path, _)| path.clone());
    assert_eq!((status, findings), (Some(1), expected));
    assert_eq!(missing, [keys[0].clone()].into());
    assert_eq!((&summary["ok"], &summary["findings"], &summary["missing"]), (&json!(4), &json!(3), &json!(1)));

    let text = run(&["verify", "store", "--manifest", "manifest"], directory.path());
    assert!(text.stdout.contains(&format!("\nmissing          {}\n", keys[0])), "{}", text.stdout);
    assert!(
        text.stdout.contains("\n        3  with findings, among the ok ones\n        1  missing\n"),
        "{}",
        text.stdout
    );
    let mismatch =
        format!("fingerprint_mismatch: expected {}, the identity has {}\n", fingerprints[1], identity.fingerprint());
    assert!(text.stdout.contains(&mismatch), "{}", text.stdout);
}

#[test]
fn a_frame_under_anothers_key_is_there_but_not_what_was_expected() {
    let (directory, paths, keys, fingerprints) = store();
    let lines: Vec<_> =
        keys.iter().zip(&fingerprints).map(|(key, fingerprint)| format!("{key} {fingerprint}")).collect();
    write(&directory, "manifest", lines.join("\n"));
    fs::copy(directory.path().join(&paths[0]), directory.path().join(&paths[2])).expect("it can be copied");
    let (status, findings, missing, _) = judge(&[], directory.path());
    assert_eq!(findings, [(paths[2].clone(), json!(["fingerprint_mismatch"]))]);
    assert_eq!((status, missing), (Some(1), BTreeSet::new()));
    // A damaged or unreadable file is not missing either.
    support::damage(&directory.path().join(&paths[1]));
    let (status, _, missing, summary) = judge(&[], directory.path());
    assert_eq!((status, missing, &summary["corrupt_payload"]), (Some(1), BTreeSet::new(), &json!(1)));
}

#[test]
fn manifests_that_cannot_be_read_are_refused_before_any_work() {
    let (directory, _, keys, fingerprints) = store();
    let [a, b, ..] = &keys;
    let cases: [(&[u8], &str); 10] = [
        (format!("{a}\n{b} {}\n{b} {}\n", fingerprints[0], fingerprints[1]).as_bytes(), "differ"),
        (format!("{a}\n{b}\n{b} {}\n", fingerprints[1]).as_bytes(), "differ"),
        (format!("{a}\n\n# comment\nkey\n").as_bytes(), "line 4 has \"key\": "),
        (format!("{a} {b} {b}\n").as_bytes(), "line 1 has more than KEY and FINGERPRINT"),
        (format!("{a}\n{b} {}\n", &b[1..]).as_bytes(), "line 2 has "),
        (format!("{a}\r\n{{\"key\": \"{b}\"\r\n").as_bytes(), "line 2 is not JSON: "),
        (format!("{{\"fingerprint\": \"{b}\"}}\n").as_bytes(), "line 1 has neither key nor payload_hash"),
        (format!("{a}\n{}\u{1b}[2J{b}\n", "ä".repeat(1000)).as_bytes(), "line 2 has \"ää"),
        (b"\n\xff\xfe\n", "line 2 is not UTF-8"),
        (&[b"0".repeat((1 << 20) + 1), b"\n".to_vec()].concat(), "line 1 is longer than any line of a manifest\n"),
    ]
    .map(|(text, problem)| (text.to_vec().leak() as &[u8], problem));
    for (text, problem) in cases {
        write(&directory, "manifest", text);
        let result = run(&["verify", "store", "--manifest", "manifest"], directory.path());
        assert_eq!((result.status, result.stdout.as_str()), (Some(2), ""), "{problem}");
        let expected = match problem {
            "differ" => format!("membrane-codec: manifest: key {b} is listed with different fingerprints\n"),
            problem => format!("membrane-codec: manifest: {problem}"),
        };
        assert!(result.stderr.starts_with(&expected), "{}", result.stderr);
        assert!(result.stderr.len() < 400, "{}", result.stderr);
    }
    let result = run(&["verify", "store", "--manifest", "none"], directory.path());
    assert_eq!(result.stderr, "membrane-codec: none: No such file or directory (os error 2)\n");
    assert_eq!(result.status, Some(2));
    let result: support::Run = program()
        .args(["verify", "-", "--manifest", "manifest"])
        .current_dir(directory.path())
        .output()
        .expect("it starts")
        .into();
    assert_eq!(result.stderr, "membrane-codec: --manifest: standard input lies under no key\n");
}

#[test]
fn of_a_portion_only_that_part_can_be_missing() {
    let directory = directory();
    let payloads: Vec<_> = small_payloads(300).collect();
    let keys: BTreeSet<_> = payloads.iter().map(|payload| sha256(payload).to_string()).collect();
    write(&directory, "manifest", keys.iter().map(|key| format!("{key}\n")).collect::<String>());
    let there = write_store(directory.path(), payloads.into_iter().step_by(3));
    let key_of = |path: &String| Path::new(path).file_stem().and_then(|stem| stem.to_str()).expect("a key").to_owned();
    let there: BTreeSet<_> = there.iter().map(key_of).collect();
    let all_missing: BTreeSet<_> = keys.difference(&there).cloned().collect();
    let (_, _, missing, _) = judge(&[], directory.path());
    assert_eq!(missing, all_missing);
    let (mut together, mut frames) = (BTreeSet::new(), 0);
    for part in ["1/3", "2/3", "3/3"] {
        let (_, _, missing, summary) = judge(&["--subset", part], directory.path());
        frames += summary["frames"].as_u64().expect("a number");
        assert!(missing.is_disjoint(&together));
        together.extend(missing);
    }
    assert_eq!((together, frames), (all_missing.clone(), 100));
    // A sample of keys: those in it that are there are read, those that are not are missing.
    let result = run(&[&VERIFY[..], &["--sample", "40%", "--seed", "7"]].concat(), directory.path());
    let (lines, summary) = json_lines(&result.stdout);
    let missing: BTreeSet<_> = lines.iter().filter_map(|line| line["missing"].as_str()).map(str::to_owned).collect();
    assert!(missing.is_subset(&all_missing));
    let sampled = paths_with(&lines, "ok").len() + missing.len();
    assert!((80..160).contains(&sampled), "{sampled}");
    assert_eq!(summary["missing"], missing.len());
    // What is too old to be read again is there all the same.
    let (_, _, missing, summary) = judge(&["--newer-than", "1m"], directory.path());
    assert_eq!((missing, &summary["frames"]), (all_missing, &json!(0)));
}

#[test]
fn of_what_was_not_looked_for_nothing_is_missing() {
    let directory = directory();
    let payloads: Vec<_> = small_payloads(50).collect();
    let manifest: String = payloads.iter().map(|payload| format!("{}\n", sha256(payload))).collect();
    write(&directory, "manifest", manifest);
    let paths = write_store(directory.path(), payloads);
    #[cfg(unix)]
    {
        let running = support::Running::start(&[&VERIFY[..], &["--limit-rate", "100"]].concat(), directory.path());
        std::thread::sleep(std::time::Duration::from_millis(500));
        running.signal(rustix::process::Signal::INT);
        let result = running.wait();
        let (lines, summary) = json_lines(&result.stdout);
        assert_eq!((result.status, &summary["interrupted"], &summary["missing"]), (Some(2), &json!(true), &json!(0)));
        assert!(lines.iter().all(|line| line.get("missing").is_none()));
    }
    // A list that ends in the middle is none to judge by.
    write(&directory, "list", format!("{}\n{}\n{}", paths[0], "x".repeat(70_000), paths[1]));
    let result = run(&["verify", "--json", "--files-from", "list", "--manifest", "manifest"], directory.path());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, lines.len(), &summary["missing"]), (Some(2), 1, &json!(0)));
    assert_eq!(result.stderr, "membrane-codec: list: holds a line longer than any path; is -0 missing?\n");
}

#[test]
fn a_manifest_may_come_through_standard_input() {
    let (directory, _, keys, _) = store();
    let mut command = program();
    command.args(["verify", "store", "--json", "--manifest", "-"]).current_dir(directory.path());
    let missing = "0".repeat(64);
    command.write_stdin(format!("{}\n{missing}\n", keys.join("\n")));
    let result: support::Run = command.output().expect("it starts").into();
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((result.status, &summary["ok"], &summary["missing"]), (Some(1), &json!(4), &json!(1)));
    assert!(lines.iter().any(|line| line["missing"] == missing));
}

#[test]
#[cfg(unix)]
fn of_what_a_directory_may_hide_nothing_is_missing() {
    let (directory, _, keys, _) = store();
    let missing = "0".repeat(64);
    write(&directory, "manifest", format!("{}\n{missing}\n", keys.join("\n")));
    let hidden = directory.path().join("store").join(&keys[0][..2]);
    let in_hidden = keys.iter().filter(|key| key[..2] == keys[0][..2]).count();
    let verify = |more: &[&str], closed: &Path| {
        let arguments = [&["verify", "store", "--manifest", "manifest"], more].concat();
        support::run_as_ordinary_user(&arguments, directory.path(), closed)
    };
    let result = verify(&["--json"], &hidden);
    let (lines, summary) = json_lines(&result.stdout);
    assert!(lines.iter().all(|line| line.get("missing").is_none()), "{}", result.stdout);
    assert_eq!(
        (result.status, &summary["missing"], &summary["not_judged"]),
        (Some(2), &json!(0), &json!(1 + in_hidden))
    );
    let result = verify(&[], &hidden);
    let line = format!(
        "\n{:>9}  not judged: no file of these keys was found, but not everything was looked at\n",
        1 + in_hidden
    );
    assert!(result.stdout.contains(&line), "{}", result.stdout);
    // A file that cannot be read is there, and hides no other.
    let file = hidden.join(format!("{}.blob", keys[0]));
    let result = verify(&["--json"], &file);
    let (lines, summary) = json_lines(&result.stdout);
    let told: Vec<_> = lines.iter().filter_map(|line| line["missing"].as_str()).collect();
    assert_eq!((result.status, told, &summary["io_error"]), (Some(2), vec![&*missing], &json!(1)));
    assert_eq!((&summary["missing"], summary.get("not_judged")), (&json!(1), None));
}

#[test]
#[cfg(unix)]
fn pages_and_metrics_tell_of_keys_that_were_not_judged() {
    let (directory, _, keys, _) = store();
    write(&directory, "manifest", keys.join("\n"));
    // A pipe that was asked for is not read.
    let pipe = directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let arguments = ["verify", "pipe", "--manifest", "manifest", "--report", "report.html", "--metrics", "scrub.prom"];
    assert_eq!(run(&arguments, directory.path()).status, Some(2));
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).expect("it is there");
    assert!(read("scrub.prom").contains("\nmembrane_scrub_not_judged_keys 4\n"));
    let page = read("report.html");
    assert!(
        page.contains(
            "4 keys of the manifest have no file in what was looked at; whether they are missing is not known."
        )
    );
    assert!(page.contains("\"not_judged\":4") && page.contains("data-mood=\"open\""));
}
