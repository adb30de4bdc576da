//! `message`: documents and lines, verdicts in words and in JSON.

mod support;

use std::fs;
use std::path::Path;

use membrane_codec::FragmentMessage;
use serde_json::{Value, json};
use support::{Run, directory, identity_of, program, run, vectors};

fn body() -> String {
    FragmentMessage::builder(identity_of(b"kv")).build().expect("legal").to_json()
}

fn written(directory: &Path, text: impl AsRef<[u8]>) -> Run {
    fs::write(directory.join("bodies"), text).expect("it can be written");
    run(&["message", "bodies"], directory)
}

fn json_of(directory: &Path, text: impl AsRef<[u8]>) -> (Option<i32>, Vec<Value>) {
    fs::write(directory.join("bodies"), text).expect("it can be written");
    let result = run(&["message", "--json", "bodies"], directory);
    let lines = result.stdout.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    (result.status, lines)
}

#[test]
fn the_published_cases() {
    let directory = directory();
    let cases = vectors("messages.json");
    for case in &cases {
        let name = case["name"].as_str().expect("a name");
        let (status, lines) = json_of(directory.path(), case["message"].as_str().expect("text"));
        let [line] = &lines[..] else { panic!("{name}: {lines:?}") };
        assert_eq!(line["status"], case["status"], "{name}");
        assert_eq!(line.get("reason"), case.get("reason"), "{name}");
        assert_eq!(line.get("line"), None, "{name}");
        assert_eq!(status, Some(i32::from(case["status"] != "ok")), "{name}");
        if let Some(reason) = case["reason"].as_str() {
            assert!(line["detail"].as_str().expect("words").starts_with(&format!("{reason} at byte ")), "{name}");
        }
    }
    // Together, one per line: as JSON allows it, without line feeds.
    let flat: Vec<_> = cases
        .iter()
        .filter(|case| !case["message"].as_str().is_some_and(|text| text.contains('\n') || text.is_empty()))
        .collect();
    let text: Vec<_> = flat.iter().map(|case| case["message"].as_str().expect("text")).collect();
    let (status, lines) = json_of(directory.path(), text.join("\r\n"));
    assert_eq!(status, Some(1));
    assert_eq!(lines.len(), flat.len());
    for (number, (case, line)) in flat.iter().zip(lines).enumerate() {
        assert_eq!(line["line"], number + 1);
        assert_eq!((&line["status"], line.get("reason")), (&case["status"], case.get("reason")));
    }
}

#[test]
fn in_words() {
    let directory = directory();
    let bad = body().replacen("\"hlc\":0", "\"hlc\":-1", 1);
    let at = bad.find("-1,\"fingerprint").expect("the value");
    let result = written(directory.path(), format!("{}\n\n{bad}\n", body()));
    assert_eq!(result.status, Some(1));
    assert_eq!(
        result.stdout,
        format!(
            "schema_error     bodies:3
    message_field at byte {at}: hlc: found -1, expected an integer from 0 to 2^64-1

2 messages
        1  ok

        1  message_field
           The sender breaks the field's domain: mend it; the fields of v5 are all required.
"
        )
    );
    assert_eq!(written(directory.path(), body()).stdout, "1 message\n        1  ok\n");
}

#[test]
fn documents_and_lines() {
    let directory = directory();
    let ok = json!({"status": "ok"});
    let pretty = serde_json::to_string_pretty(&serde_json::from_str::<Value>(&body()).expect("JSON")).expect("JSON");
    let whole = |text: &str| json_of(directory.path(), text);
    assert_eq!(whole(&pretty), (Some(0), vec![ok.clone()]));
    assert_eq!(whole(&format!("\n\n{}\n\n", body())), (Some(0), vec![ok.clone()]));
    // A document that was cut is one document, however many lines it has.
    let (status, lines) = whole(&pretty[..pretty.len() - 2]);
    assert_eq!((status, lines.len(), &lines[0]["reason"]), (Some(1), 1, &json!("message_json")));
    // Lines stay lines although the first was cut.
    let (status, lines) = whole(&format!("{{\"cut\n{}\n", body()));
    assert_eq!((status, lines.len()), (Some(1), 2));
    assert_eq!((&lines[0]["line"], &lines[0]["reason"]), (&json!(1), &json!("message_json")));
    assert_eq!(lines[1], json!({"line": 2, "status": "ok"}));
    // No line feed at the end, and bytes that are not text.
    let (status, lines) = json_of(directory.path(), [body().as_bytes(), b"\n\xff\xfe\n", body().as_bytes()].concat());
    let verdicts: Vec<_> = lines.iter().map(|line| line["status"].as_str().expect("text")).collect();
    assert_eq!((status, verdicts), (Some(1), vec!["ok", "schema_error", "ok"]));
}

#[test]
fn standard_input_and_what_is_not_there() {
    let result: Run = program().args(["message", "-"]).write_stdin(body()).output().expect("it starts").into();
    assert_eq!((result.status, result.stdout.as_str()), (Some(0), "1 message\n        1  ok\n"));
    let directory = directory();
    let result = run(&["message", "nothing"], directory.path());
    assert_eq!(result.status, Some(2));
    assert!(result.stderr.starts_with("membrane-codec: nothing: "), "{}", result.stderr);
}

#[test]
fn for_an_engine() {
    let directory = directory();
    let own = identity_of(b"kv").fingerprint_compat().to_string();
    let unstated = body().replacen(&format!("\"{own}\""), "\"\"", 1);
    fs::write(directory.path().join("bodies"), format!("{}\n{unstated}\n", body())).expect("it can be written");
    let asked = |engine: &str| {
        let result = run(&["message", "--json", "--compat", engine, "bodies"], directory.path());
        (result.status, result.stdout)
    };
    assert_eq!(
        asked(&own.to_uppercase()),
        (Some(1), "{\"line\":1,\"status\":\"ok\"}\n{\"line\":2,\"status\":\"ok\",\"findings\":[\"fingerprint_compat_unstated\"]}\n".into())
    );
    let (status, lines) = asked(&own.replace(|digit: char| digit != '0', "0"));
    assert_eq!(status, Some(1));
    assert!(lines.contains("{\"line\":1,\"status\":\"ok\",\"findings\":[\"fingerprint_compat_mismatch\"]}"), "{lines}");
    assert_eq!(asked("abc").0, Some(2));
}

#[test]
fn a_line_of_any_length_costs_no_more_memory() {
    let directory = directory();
    let long = fs::File::create(directory.path().join("bodies")).expect("it can be created");
    // One line of 1 GiB, of zero bytes.
    long.set_len(1 << 30).expect("sparse");
    let mut command = assert_cmd::Command::new("sh");
    command.args(["-c", "ulimit -v 400000 && exec \"$@\"", "sh", support::PROGRAM, "message", "--json", "bodies"]);
    let result: Run = command.current_dir(directory.path()).output().expect("it starts").into();
    assert_eq!(
        (result.status, result.stdout.as_str()),
        (
            Some(2),
            "{\"line\":1,\"status\":\"io_error\",\"reason\":\"too_long\",\"detail\":\"too_long: more than 67108864 bytes\"}\n"
        )
    );
}

#[test]
fn a_document_that_is_too_long_is_one() {
    let directory = directory();
    let text = ["{\n".to_owned(), format!("{}\n", " ".repeat(1023)).repeat(65 << 10), "}\n".to_owned()].concat();
    let (status, lines) = json_of(directory.path(), text);
    let detail = "too_long: more than 67108864 bytes";
    assert_eq!((status, lines), (Some(2), vec![json!({"status": "io_error", "reason": "too_long", "detail": detail})]));
}

#[test]
fn lines_are_judged_as_they_come() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    let mut command = Command::new(support::PROGRAM);
    command.args(["message", "--json", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut said = || {
        let mut line = String::new();
        stdout.read_line(&mut line).expect("text");
        line
    };
    writeln!(stdin, "{}\n{{}}", body()).expect("it reads");
    assert_eq!(said(), "{\"line\":1,\"status\":\"ok\"}\n");
    assert!(said().starts_with("{\"line\":2,\"status\":\"schema_error\",\"reason\":\"message_field\""));
    writeln!(stdin, "{}", body()).expect("it reads");
    assert_eq!(said(), "{\"line\":3,\"status\":\"ok\"}\n");
    drop(stdin);
    assert_eq!(said(), "");
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
}
