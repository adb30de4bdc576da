//! `migrate envelopes`: old messages become v5, and nothing else changes.

mod support;

use std::fs;

use serde_json::{Value, json};
use support::{directory, json_lines, names_in, run, vectors};

/// The published cases: name, what the text is before, as JSON after, and for whom.
fn cases() -> Vec<(String, String, Value, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let cases = vectors("migrations.json").into_iter().filter(|case| case.get("before").is_some());
    cases
        .map(|case| (text(&case["name"]), case["before"].to_string(), case["after"].clone(), text(&case["tenant"])))
        .collect()
}

#[test]
fn published_cases() {
    let directory = directory();
    let cases = cases();
    assert_eq!(cases.len(), 17);
    for (name, before, after, tenant) in &cases {
        for layout in [
            before.clone(),
            format!("{before}\n"),
            format!("{:#}\n", serde_json::from_str::<Value>(before).expect("JSON")),
        ] {
            let path = directory.path().join("a.json");
            fs::write(&path, &layout).expect("it can be written");
            let dry = run(&["migrate", "envelopes", "a.json", "--tenant", tenant], directory.path());
            assert_eq!(fs::read_to_string(&path).expect("text"), layout);
            let wet = run(&["migrate", "envelopes", "a.json", "--tenant", tenant, "--write"], directory.path());
            let expected = if matches!(name.as_str(), "v1" | "v4_no_identity") { Some(1) } else { Some(0) };
            assert_eq!((dry.status, wet.status), (expected, expected), "{name}");
            let text = fs::read_to_string(&path).expect("text");
            assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), *after, "{name}");
            // Untouched means untouched, and what is appended stands with the version.
            assert_eq!(text == layout, serde_json::from_str::<Value>(before).expect("JSON") == *after, "{name}");
        }
    }
    assert_eq!(names_in(directory.path()), ["a.json"]);
}

#[test]
fn lines_for_programs() {
    let directory = directory();
    let lines: Vec<_> = cases().into_iter().map(|(_, before, ..)| before).collect();
    let text = lines.join("\n") + "\nnot JSON\n";
    fs::write(directory.path().join("all.jsonl"), &text).expect("it can be written");
    let result = run(&["migrate", "envelopes", ".", "--json", "--write"], directory.path());
    assert_eq!((result.status, result.stderr.as_str()), (Some(1), ""));
    let (told, summary) = json_lines(&result.stdout);
    let refused: Vec<_> = told.iter().filter(|line| line["status"] == "refused").collect();
    let number = |name: &str| cases().iter().position(|case| case.0 == name).expect("a case") + 1;
    let mut expected =
        [(number("v1"), "message_version"), (number("v4_no_identity"), "message_field"), (18, "message_json")];
    expected.sort_unstable();
    let found: Vec<_> = refused.iter().map(|line| (line["line"].clone(), line["reason"].clone())).collect();
    assert_eq!(found, expected.map(|(line, reason)| (json!(line), json!(reason))));
    let file = told.iter().find(|line| line["status"] == "converted").expect("one file");
    let counts = ["v2", "v3", "v4", "current", "refused", "other"].map(|key| file[key].clone());
    assert_eq!(counts, [4, 4, 4, 1, 3, 2].map(|number| json!(number)));
    let counts = ["files", "bytes", "convertible", "converted", "current", "refused", "other", "io_error"];
    assert_eq!(counts.map(|key| summary[key].clone()), [1, text.len(), 0, 12, 1, 3, 2, 0].map(|number| json!(number)));
    // Line for line.
    let after = fs::read_to_string(directory.path().join("all.jsonl")).expect("text");
    for (((name, before, after, tenant), line), old) in cases().into_iter().zip(after.lines()).zip(&lines) {
        let is_converted = serde_json::from_str::<Value>(&before).expect("JSON") != after;
        assert_eq!(line == old, !is_converted, "{name}");
        if is_converted && tenant == "public" {
            assert_eq!(serde_json::from_str::<Value>(line).expect("JSON"), after, "{name}");
        }
    }
    assert!(after.ends_with("\nnot JSON\n"));
}

#[test]
fn for_people() {
    let directory = directory();
    let old = cases().into_iter().find(|case| case.0 == "v2_public").expect("a case").1;
    fs::write(directory.path().join("a.jsonl"), format!("{old}\n{{\"schema_version\":1}}\n{old}\n")).expect("room");
    let without_time = |text: &str| {
        let (before, rest) = text.split_once(" in ").expect("the time");
        format!("{before}{}", &rest[rest.find('\n').expect("a line")..])
    };
    let refused = "\
refused          a.jsonl, line 2
    message_version at byte 18: schema_version: found 1, expected the integer 5

1 file, ";
    let table = "        1  refused

        1  message_version
           Schema 1 cannot be converted: have the fragment stored again.
";
    let dry = run(&["migrate", "envelopes", "a.jsonl"], directory.path());
    let text = without_time(&dry.stdout);
    assert!(text.starts_with(refused), "{text}");
    let ending = "\nNothing was written; --write converts 2 envelopes in 1 file.\n";
    assert!(text.ends_with(&format!("        2  envelopes of schema 2, to convert\n{table}{ending}")), "{text}");
    let wet = run(&["migrate", "envelopes", "a.jsonl", "--write"], directory.path());
    let text = without_time(&wet.stdout);
    assert!(text.ends_with(&format!("        2  envelopes of schema 2, converted\n{table}")), "{text}");
    assert_eq!((dry.status, wet.status), (Some(1), Some(1)));
    // What the library checks of messages, it finds.
    let written = fs::read_to_string(directory.path().join("a.jsonl")).expect("text");
    let first = written.lines().next().expect("a line");
    membrane_codec::MessageParser::new().parse(first.as_bytes()).expect("a message of v5");
}

#[test]
fn hard_links_are_told_of() {
    let directory = directory();
    let old = cases().into_iter().find(|case| case.0 == "v2_public").expect("a case").1;
    fs::write(directory.path().join("a.json"), &old).expect("room");
    fs::hard_link(directory.path().join("a.json"), directory.path().join("backup")).expect("room");
    let result = run(&["migrate", "envelopes", "a.json", "--write", "--json"], directory.path());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!((&lines[0]["links"], &summary["links_parted"]), (&json!(2), &json!(1)));
    assert_eq!(fs::read_to_string(directory.path().join("backup")).expect("it is there"), old);
}

/// What could not be replaced while too many files were open is tried again, and nothing is told twice.
#[cfg(unix)]
#[test]
fn few_open_files() {
    let old = cases().into_iter().find(|case| case.0 == "v2_public").expect("a case").1;
    for limit in ["16", "18", "20"] {
        let directory = directory();
        for number in 0..40 {
            let text = format!("{{\"schema_version\":1}}\n{old}\nnot JSON\n{old}\n");
            fs::write(directory.path().join(format!("{number}.jsonl")), text).expect("room");
        }
        let mut command = support::program_within(limit);
        command.args(["migrate", "envelopes", ".", "--write", "--json", "-j", "8"]).current_dir(directory.path());
        let result: support::Run = command.output().expect("it starts").into();
        let (told, summary) = json_lines(&result.stdout);
        let failed: Vec<_> = told.iter().filter(|line| line["status"] == "io_error").collect();
        assert!(failed.is_empty(), "{limit}: {failed:?}");
        let counts = ["files", "converted", "refused"].map(|key| summary[key].clone());
        assert_eq!((counts, result.status), ([40, 80, 80].map(|number| json!(number)), Some(1)), "{limit}");
        assert_eq!(names_in(directory.path()).len(), 40);
    }
}

#[test]
fn wrong_use() {
    let directory = directory();
    fs::write(directory.path().join("a.json"), "{}").expect("room");
    for tenant in ["", "a b", "a/b", "a:b", &"x".repeat(129)] {
        let result = run(&["migrate", "envelopes", "a.json", "--tenant", tenant], directory.path());
        assert_eq!(result.status, Some(2), "{tenant}");
    }
    for arguments in
        [&["migrate", "envelopes"][..], &["migrate", "envelopes", "-"], &["migrate", "envelopes", "missing"]]
    {
        assert_eq!(run(arguments, directory.path()).status, Some(2), "{arguments:?}");
    }
    assert_eq!(run(&["migrate", "envelopes", ".", "--tenant", &"x".repeat(128)], directory.path()).status, Some(0));
    let result = run(&["migrate", "envelopes", "a.json", "--max-len", "1"], directory.path());
    assert!(result.stdout.contains("    too_long: a line or document of more than 1 bytes\n"), "{}", result.stdout);
}
