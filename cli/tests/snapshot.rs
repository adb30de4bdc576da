//! `snapshot show` and `snapshot verify`: what is told of snapshots, sound and damaged, and of what lies beside them.

#![cfg(unix)]

mod support;

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use support::{directory, fixtures, json_lines, program, run, run_as_ordinary_user, set_mode, vectors};

fn shown(arguments: &[&str]) -> (Option<i32>, Value) {
    let result = run(&[&["snapshot", "show", "--json"], arguments].concat(), &fixtures());
    (result.status, serde_json::from_str(&result.stdout).expect("one JSON object"))
}

#[test]
fn every_published_case_through_show() {
    let directory = directory();
    let path = directory.path().join("n.json");
    let mut counts = [0, 0];
    for case in vectors("snapshots.json") {
        let (name, text) = (case["name"].as_str().expect("a name"), case["text"].as_str().expect("text"));
        fs::write(&path, text).expect("room");
        let (status, shown) = shown(&[path.to_str().expect("text")]);
        assert_eq!(shown["status"], case["status"], "{name}");
        let is_ok = case["status"] == "ok";
        assert_eq!(status, Some(if is_ok { 0 } else { 1 }), "{name}");
        counts[usize::from(is_ok)] += 1;
        if is_ok {
            let said: Value = serde_json::from_str(text).expect("JSON");
            assert_eq!(shown["cluster_epoch"], said["cluster_epoch"], "{name}");
            assert_eq!(shown["captured_at"], said["captured_at"], "{name}");
            let len = |value: &Value| value.as_object().map_or(0, serde_json::Map::len);
            assert_eq!(shown["shards"]["primary_map"], len(&said["shards"]["primary_map"]), "{name}");
            assert_eq!(shown["shards"]["replica_map"], len(&said["shards"]["replica_map"]), "{name}");
            let members = said["membership"].as_array().map_or(0, Vec::len);
            assert_eq!(shown["membership"].as_array().expect("a list").len(), members, "{name}");
        } else {
            let reason = shown["reason"].as_str().expect("a reason");
            let detail = shown["detail"].as_str().expect("words");
            assert!(detail.starts_with(&format!("{reason} at byte {}: ", shown["offset"])), "{name}: {detail}");
        }
        // In words, too.
        let result = run(&["snapshot", "show", "n.json"], directory.path());
        assert_eq!(result.status, status, "{name}");
        let (printed, silent) = if is_ok { (result.stdout, result.stderr) } else { (result.stderr, result.stdout) };
        assert!(!printed.is_empty() && silent.is_empty(), "{name}: {printed}");
    }
    assert_eq!(counts, [30, 4]);
}

#[test]
fn a_sound_snapshot_in_words() {
    let result = run(&["snapshot", "show", "snapshots/node-1.json"], &fixtures());
    assert_eq!((result.status, result.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        result.stdout,
        "snapshots/node-1.json

snapshot
  cluster_epoch       17
  captured_at         1735600000.123 (2024-12-30T23:06:40Z)
  request_count       123
  error_count         4
  primary_map         3 hashes
  replica_map         2 hashes

nodes
  node    address        epoch  state      missed  primaries  replicas
  node-1  10.0.0.1:8080  17     healthy    0       2          1
  node-2  10.0.0.2:8080  17     suspect    2       1          1
  node-3  -              -      no member  -       0          1

unknown keys
  server.uptime
"
    );
}

#[test]
fn a_sound_snapshot_in_json() {
    let (status, shown) = shown(&["snapshots/node-1.json"]);
    assert_eq!(status, Some(0));
    let member = |number: u32, suspect: bool, missed: u32| {
        json!({"node_id": format!("node-{number}"), "host": format!("10.0.0.{number}"), "port": 8080, "cluster_epoch": 17,
               "healthy": true, "suspect": suspect, "missed_heartbeats": missed})
    };
    let node = |number: u32, is_member: bool, primaries: u32, replicas: u32| json!({"node_id": format!("node-{number}"), "is_member": is_member, "primaries": primaries, "replicas": replicas});
    assert_eq!(
        shown,
        json!({"path": "snapshots/node-1.json", "status": "ok", "cluster_epoch": 17, "captured_at": 1735600000.123,
               "membership": [member(1, false, 0), member(2, true, 2)], "shards": {"primary_map": 3, "replica_map": 2},
               "server": {"request_count": 123, "error_count": 4},
               "nodes": [node(1, true, 2, 1), node(2, true, 1, 1), node(3, false, 0, 1)], "unknown": ["server.uptime"]})
    );
}

#[test]
fn a_damaged_snapshot() {
    let result = run(&["snapshot", "show", "snapshots/node-2.json"], &fixtures());
    assert_eq!((result.status, result.stdout.as_str()), (Some(1), ""));
    assert_eq!(
        result.stderr,
        "membrane-codec: snapshots/node-2.json: snapshot_json at byte 300: found the end of the text, expected the rest of \
         the object\n  The file was cut, damaged or edited: move it aside, the node then starts without a snapshot.\n"
    );
    let (status, shown) = shown(&["snapshots/node-2.json"]);
    assert_eq!((status, &shown["reason"], &shown["offset"]), (Some(1), &json!("snapshot_json"), &json!(300)));
    assert_eq!(shown.get("field"), None);
}

#[test]
fn what_could_harm_a_terminal_or_a_table() {
    let text = r#"{"schema_version": 5, "cluster_epoch": 0, "captured_at": 1e308, "membership":
        [{"node_id": "a b", "host": "\u001b[2J", "port": 1, "healthy": false, "suspect": true, "x\n": 1}],
        "shards": {"primary_map": {"h": "\u202e"}, "replica_map": {"h": ["", "a b"]}}}"#;
    let output = program().args(["snapshot", "show", "-"]).write_stdin(text).output().expect("it starts");
    let printed = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        printed,
        "standard input

snapshot
  cluster_epoch       0
  captured_at         1e308
  request_count       0
  error_count         0
  primary_map         1 hash
  replica_map         1 hash

nodes
  node        address        epoch  state               missed  primaries  replicas
  \"a b\"       \"\\u{1b}[2J\":1  0      unhealthy, suspect  0       0          1
  \"\"          -              -      no member           -       0          1
  \"\\u{202e}\"  -              -      no member           -       1          0

unknown keys
  \"membership[0].x\\n\"
"
    );
}

/// A cell of any length is cut, and so neither breaks the table nor pads all other rows to its length.
#[test]
fn a_cell_that_is_longer_than_any_name() {
    let directory = directory();
    let members: Vec<Value> = (0..1000)
        .map(|number| {
            let host = if number == 7 { "h".repeat(70_000) } else { "10.0.0.1".into() };
            json!({"node_id": format!("node-{number}"), "host": host, "port": 8080})
        })
        .collect();
    let snapshot = json!({"schema_version": 5, "cluster_epoch": 1, "captured_at": 0, "membership": members});
    fs::write(directory.path().join("n.json"), snapshot.to_string()).expect("room");
    let result = run(&["snapshot", "show", "n.json"], directory.path());
    assert_eq!((result.status, result.stderr.as_str()), (Some(0), ""));
    let rows: Vec<_> = result.stdout.lines().filter(|line| line.starts_with("  node-")).collect();
    assert_eq!(rows.len(), 1000);
    let cut = format!("  node-7    {}\u{2026}  0      healthy  0       0          0", "h".repeat(252));
    assert_eq!(rows[7], cut);
    assert!(result.stdout.len() < 400_000, "{}", result.stdout.len());
}

/// `-` is a name like others, and standard input only where a path is asked for.
#[test]
fn a_node_named_dash() {
    let directory = directory();
    let state = directory.path().join("state");
    fs::create_dir(&state).expect("it is ours");
    fs::write(state.join("-.json"), r#"{"schema_version": 5, "cluster_epoch": 1, "captured_at": 0}"#).expect("room");
    fs::write(state.join(".-.tmp"), "").expect("room");
    let result = run(&["snapshot", "verify", "state"], directory.path());
    assert_eq!(result.status, Some(0));
    assert!(result.stdout.contains("the next one of - clears it away\n"), "{}", result.stdout);
    assert!(result.stdout.contains("\nnewest: -, captured 1970-01-01T00:00:00Z\n"), "{}", result.stdout);
}

#[test]
fn snapshots_that_others_may_write_to() {
    let directory = directory();
    let state = directory.path().join("state");
    fs::create_dir(&state).expect("it is ours");
    set_mode(&state, 0o700);
    for (name, mode) in [("a.json", 0o602), ("b.json", 0o620), ("c.json", 0o644), ("notes.txt", 0o666)] {
        fs::write(state.join(name), r#"{"schema_version": 5, "cluster_epoch": 1, "captured_at": 0}"#).expect("room");
        set_mode(&state.join(name), mode);
    }
    symlink("c.json", state.join("link.json")).expect("it is ours");
    let warning = "others than its owner may write to it, and so change what it says: chmod go-w";
    let result = run(&["snapshot", "verify", "--json", "state"], directory.path());
    let (lines, _) = json_lines(&result.stdout);
    let warnings: Vec<_> = lines.iter().map(|line| line.get("warning").and_then(Value::as_str)).collect();
    assert_eq!(warnings, [Some(warning), Some(warning), None, None, None]);
    let words = run(&["snapshot", "verify", "state"], directory.path());
    assert_eq!(words.stdout.matches(&format!("    warning        {warning}\n")).count(), 2, "{}", words.stdout);
}

#[test]
fn what_cannot_be_shown() {
    let directory = directory();
    fs::write(directory.path().join("n.json"), "{}").expect("room");
    for (path, problem) in [
        ("none", "No such file or directory (os error 2)"),
        (".", "is a directory, expected a file"),
        ("/dev/null", "is not a regular file; to read a pipe or a device, give it on standard input as -"),
    ] {
        let result = run(&["snapshot", "show", path], directory.path());
        assert_eq!((result.status, result.stdout.as_str()), (Some(2), ""));
        assert_eq!(result.stderr, format!("membrane-codec: {path}: {problem}\n"));
        let result = run(&["snapshot", "show", "--json", path], directory.path());
        let line: Value = serde_json::from_str(&result.stdout).expect("one JSON object");
        assert_eq!((result.status, result.stderr.as_str()), (Some(2), ""));
        assert_eq!(line, json!({"path": path, "status": "io_error", "reason": "io", "detail": problem}));
    }
    assert_eq!(run(&["snapshot"], directory.path()).status, Some(2));
    assert_eq!(run(&["snapshot", "show"], directory.path()).status, Some(2));
    assert_eq!(run(&["snapshot", "verify"], directory.path()).status, Some(2));
}

#[test]
fn a_state_directory_in_words() {
    let result = run(&["snapshot", "verify", "snapshots"], &fixtures());
    assert_eq!((result.status, result.stderr.as_str()), (Some(1), ""));
    // Where this was checked out, a group may be allowed to write.
    let (told, _) = result.stdout.split_once("\nwarning").unwrap_or((&result.stdout, ""));
    assert_eq!(
        told,
        "ok               snapshots/node-1.json
    epoch 17, captured 2024-12-30T23:06:40Z: 2 members, 3 shards
schema_error     snapshots/node-2.json
    snapshot_json at byte 300: found the end of the text, expected the rest of the object

2 snapshots
        1  ok
        1  schema_error

newest: node-1, captured 2024-12-30T23:06:40Z
"
    );
}

#[test]
fn everything_in_a_state_directory_in_json() {
    let directory = directory();
    let state = directory.path().join("state");
    fs::create_dir(&state).expect("it is ours");
    set_mode(&state, 0o777);
    let sound = fs::read(fixtures().join("snapshots/node-1.json")).expect("it is there");
    fs::write(state.join("node-1.json"), &sound).expect("room");
    let newer = String::from_utf8(sound.clone()).expect("text").replace("1735600000.123", "1735600001");
    fs::write(state.join("node-9.json"), newer).expect("room");
    fs::write(state.join("bad.json"), "{\"schema_version\": 6}").expect("room");
    symlink("node-1.json", state.join("link.json")).expect("it is ours");
    fs::create_dir(state.join("directory.json")).expect("it is ours");
    fs::write(state.join(".node-1.tmp"), &sound[..100]).expect("room");
    fs::write(state.join("notes.txt"), "").expect("room");

    let result = run(&["snapshot", "verify", "--json", "state"], directory.path());
    assert_eq!((result.status, result.stderr.as_str()), (Some(2), ""));
    let (lines, summary) = json_lines(&result.stdout);
    let ok = |path: &str, captured_at: Value| {
        json!({"path": path, "status": "ok", "cluster_epoch": 17, "captured_at": captured_at, "members": 2, "primaries": 3,
               "replicas": 2})
    };
    let io_error = |path: &str, reason: &str, detail: &str| json!({"path": path, "status": "io_error", "reason": reason, "detail": detail});
    let expected = [
        json!({"path": "state/.node-1.tmp", "status": "temporary", "detail":
               "of a checkpoint that goes on, or of one that a crash ended: the next one of node-1 clears it away"}),
        json!({"path": "state/bad.json", "status": "schema_error", "reason": "snapshot_version", "offset": 19,
               "field": "schema_version",
               "detail": "snapshot_version at byte 19: schema_version: found 6, expected the integer 5"}),
        io_error("state/directory.json", "not_a_file", "is not a regular file: move it out of the state directory"),
        io_error(
            "state/link.json",
            "symbolic_link",
            "is a symbolic link, which is neither followed nor replaced: remove it, or put the file itself there",
        ),
        ok("state/node-1.json", json!(1735600000.123)),
        ok("state/node-9.json", json!(1735600001.0)),
        json!({"path": "state/notes.txt", "status": "foreign"}),
    ];
    assert_eq!(lines, expected);
    assert_eq!(
        summary,
        json!({"snapshots": 5, "ok": 2, "schema_error": 1, "io_error": 2, "temporary": 1, "foreign": 1, "newest": "node-9",
               "warnings": ["everybody may write to it, and so plant or remove snapshots: chmod go-w"]})
    );

    let words = run(&["snapshot", "verify", "state"], directory.path());
    assert_eq!(words.status, Some(2));
    let end = "
5 snapshots
        2  ok
        1  schema_error
        2  io_error
        1  temporary
        1  foreign, which no node reads

newest: node-9, captured 2024-12-30T23:06:41Z

warning          state
    everybody may write to it, and so plant or remove snapshots: chmod go-w
";
    assert!(words.stdout.ends_with(end), "{}", words.stdout);
    assert!(state.join(".node-1.tmp").exists(), "nothing is changed");
}

#[test]
fn directories_without_snapshots_and_none_at_all() {
    let directory = directory();
    fs::create_dir(directory.path().join("state")).expect("it is ours");
    let result = run(&["snapshot", "verify", "state"], directory.path());
    assert_eq!((result.status, result.stdout.as_str()), (Some(0), "0 snapshots\n"));
    fs::write(directory.path().join("file"), "").expect("room");
    for (path, problem) in
        [("none", "No such file or directory (os error 2)"), ("file", "Not a directory (os error 20)")]
    {
        let result = run(&["snapshot", "verify", path], directory.path());
        let message = format!("membrane-codec: {path}: the state directory cannot be opened: {problem}\n");
        assert_eq!((result.status, result.stdout.as_str(), result.stderr), (Some(2), "", message));
        let result = run(&["snapshot", "verify", "--json", path], directory.path());
        assert_eq!((result.status, result.stderr.as_str()), (Some(2), ""));
        let (lines, summary) = json_lines(&result.stdout);
        let detail = format!("the state directory cannot be opened: {problem}");
        assert_eq!(lines, [json!({"path": path, "status": "io_error", "reason": "io", "detail": detail})]);
        assert_eq!(
            summary,
            json!({"snapshots": 0, "ok": 0, "schema_error": 0, "io_error": 0, "temporary": 0, "foreign": 0, "newest": null,
                   "warnings": []})
        );
    }
}

#[test]
fn a_snapshot_that_may_not_be_read() {
    let directory = directory();
    let state = directory.path().join("state");
    fs::create_dir(&state).expect("it is ours");
    let sound = fs::read(fixtures().join("snapshots/node-1.json")).expect("it is there");
    fs::write(state.join("a.json"), &sound).expect("room");
    fs::write(state.join("b.json"), &sound).expect("room");
    let arguments = ["snapshot", "verify", "--json", "state"];
    let result = run_as_ordinary_user(&arguments, directory.path(), &state.join("a.json"));
    assert_eq!(result.status, Some(2));
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!(
        lines[0],
        json!({"path": "state/a.json", "status": "io_error", "reason": "io",
               "detail": "cannot be read: Permission denied (os error 13)"})
    );
    assert_eq!((&lines[1]["status"], &summary["ok"], &summary["io_error"]), (&json!("ok"), &json!(1), &json!(1)));
}
