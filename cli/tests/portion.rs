//! Which files `verify` takes: parts, samples, what is new, and lists.

#![cfg(unix)]

mod support;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use support::{age, directory, frame_of, json_lines, program, run};

/// Many names of one frame, which might be keys.
fn many_names(directory: &Path, count: u32) -> BTreeSet<String> {
    fs::write(directory.join("frame"), frame_of(b"")).expect("it can be written");
    let path = |number: u32| {
        let key = membrane_codec::sha256(&number.to_le_bytes()).to_string();
        let path = format!("store/{}/{key}.blob", &key[..1]);
        fs::create_dir_all(directory.join(&path).parent().expect("a directory")).expect("it is ours");
        fs::hard_link(directory.join("frame"), directory.join(&path)).expect("it is ours");
        path
    };
    (0..count).map(path).collect()
}

/// What a run took, and its summary.
fn taken(arguments: &[&str], directory: &Path) -> (BTreeSet<String>, Value) {
    let result = run(&[&["verify", "--json"], arguments].concat(), directory);
    let (lines, summary) = json_lines(&result.stdout);
    let paths: BTreeSet<_> = lines.iter().map(|line| line["path"].as_str().expect("a path").to_owned()).collect();
    assert_eq!(paths.len(), lines.len(), "no file twice");
    (paths, summary)
}

#[test]
fn parts_are_disjoint_complete_balanced_and_stable() {
    let directory = directory();
    let all = many_names(directory.path(), 20_000);
    let mut together = BTreeSet::new();
    for part in ["1/4", "2/4", "3/4", "4/4"] {
        let (taken, summary) = taken(&["store", "--subset", part], directory.path());
        assert!(taken.is_disjoint(&together), "{part}");
        assert!((4850..5150).contains(&taken.len()), "{part}: {}", taken.len());
        assert_eq!(summary["not_selected"], 20_000 - taken.len());
        together.extend(taken);
    }
    assert_eq!(together, all);

    // Whatever was added, moved or removed meanwhile.
    let (first, _) = taken(&["store", "--subset", "1/4"], directory.path());
    let kept: Vec<_> = first.iter().take(100).cloned().collect();
    fs::create_dir(directory.path().join("moved")).expect("it is ours");
    let moved: BTreeSet<_> = kept
        .iter()
        .map(|path| {
            let name = Path::new(path).file_name().and_then(OsStr::to_str).expect("text");
            fs::rename(directory.path().join(path), directory.path().join("moved").join(name)).expect("it is ours");
            format!("moved/{name}")
        })
        .collect();
    assert_eq!(taken(&["moved", "--subset", "1/4"], directory.path()).0, moved);
    let one: Vec<&str> = moved.iter().map(String::as_str).collect();
    assert_eq!(taken(&[&one[..], &["--subset", "1/4"]].concat(), directory.path()).0, moved, "by themselves as well");
    assert_eq!(taken(&[&one[..], &["--subset", "2/4"]].concat(), directory.path()).1["not_selected"], 100);
}

#[test]
fn samples() {
    let directory = directory();
    let all = many_names(directory.path(), 4000);
    let sample = |share: &str, seed: &str| taken(&["store", "--sample", share, "--seed", seed], directory.path());
    let (one, summary) = sample("10%", "1");
    assert!((320..480).contains(&one.len()), "{}", one.len());
    assert_eq!((&summary["seed"], &summary["not_selected"]), (&json!(1), &json!(4000 - one.len())));
    assert_eq!(sample("10%", "1").0, one);
    assert_ne!(sample("10%", "2").0, one);
    assert!(sample("20%", "1").0.is_superset(&one));
    assert_eq!(sample("100%", "3").0, all);
    assert_eq!(sample("0%", "3").0, BTreeSet::new());
    // Another one each time, which can be drawn again.
    let (drawn, summary) = taken(&["store", "--sample", "10%"], directory.path());
    let seed = summary["seed"].as_u64().expect("a number").to_string();
    assert_eq!(sample("10%", &seed).0, drawn);
    let text = run(&["verify", "store", "--sample", "10%", "--seed", "1"], directory.path());
    assert!(text.stdout.contains("\nseed of the sample: 1\n"), "{}", text.stdout);
}

#[test]
fn newer_files_by_date_time_and_age() {
    let directory = directory();
    let hour = Duration::from_secs(3600);
    for (name, hours) in [("new", 0), ("hours", 5), ("days", 100), ("years", 20_000)] {
        let path = directory.path().join(name).with_extension("blob");
        fs::write(&path, frame_of(name.as_bytes())).expect("it can be written");
        age(&path, hour * hours);
    }
    let exact = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let path = directory.path().join("exact.blob");
    fs::write(&path, frame_of(b"exact")).expect("it can be written");
    fs::OpenOptions::new().write(true).open(&path).and_then(|file| file.set_modified(exact)).expect("it is ours");
    let ago = |hours: u32| humantime::format_rfc3339_seconds(SystemTime::now() - hour * hours).to_string();
    let newer = |time: &str| {
        let (paths, summary) = taken(&[".", "--newer-than", time], directory.path());
        assert_eq!(summary.get("not_selected").and_then(Value::as_u64).unwrap_or(0), 5 - paths.len() as u64);
        paths.iter().map(|path| path[2..].trim_end_matches(".blob").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(newer("1h"), ["new"]);
    assert_eq!(newer("10h"), ["hours", "new"]);
    assert_eq!(newer("5days 1h"), ["days", "hours", "new"]);
    assert_eq!(newer(&ago(10)), ["hours", "new"]);
    assert_eq!(newer(ago(10).trim_end_matches('Z')), ["hours", "new"]);
    assert_eq!(newer(&ago(10).replace('T', " ")), ["hours", "new"]);
    assert_eq!(newer(&ago(200)[..10]), ["days", "hours", "new"]);
    assert_eq!(newer("1970-01-01"), ["days", "exact", "hours", "new", "years"]);
    // 2023-11-14T22:13:20Z: what was written then is not newer.
    assert!(!newer("2023-11-14T22:13:20Z").contains(&"exact".to_owned()));
    assert!(newer("2023-11-14T22:13:19Z").contains(&"exact".to_owned()));
    assert!(newer("2023-11-14").contains(&"exact".to_owned()));
    assert!(!newer("2023-11-15").contains(&"exact".to_owned()));
}

#[test]
fn lists_of_paths() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("folder/deeper")).expect("it is ours");
    for name in ["one.blob", "two", "folder/three.blob", "folder/deeper/four.frame", "folder/other", "line\nfeed.blob"]
    {
        fs::write(at(name), frame_of(name.as_bytes())).expect("it can be written");
    }
    let strange = directory.path().join(OsStr::from_bytes(b"\xff \xfe.blob"));
    fs::write(&strange, frame_of(b"strange")).expect("it can be written");

    // Lines, the last without its end, empty ones passed over; with paths on the command line, which come first.
    fs::write(at("list"), b"one.blob\n\ntwo\nfolder\n\xff \xfe.blob").expect("it can be written");
    let (paths, summary) = taken(&["--files-from", "list"], directory.path());
    let expected = ["folder/deeper/four.frame", "folder/three.blob", "one.blob", "two", "\u{fffd} \u{fffd}.blob"];
    assert_eq!((paths, &summary["ok"]), (expected.map(str::to_owned).into(), &json!(5)));
    assert_eq!(summary["passed_over"]["other_files"], 1);
    let (paths, _) = taken(&["line\nfeed.blob", "--files-from", "list"], directory.path());
    assert_eq!(paths.len(), 6);

    fs::write(at("nul"), b"line\nfeed.blob\0\0\xff \xfe.blob\0folder/deeper").expect("it can be written");
    let (paths, summary) = taken(&["-0", "--files-from", "nul"], directory.path());
    let expected = ["folder/deeper/four.frame", "line\nfeed.blob", "\u{fffd} \u{fffd}.blob"];
    assert_eq!((paths, &summary["ok"]), (expected.map(str::to_owned).into(), &json!(3)));

    // Through standard input, as find -print0 gives them.
    for (flag, list) in [(&["-0"][..], "nul"), (&[], "list")] {
        let mut command = program();
        command.args(["verify", "--json", "--files-from", "-"]).args(flag).current_dir(directory.path());
        let piped: support::Run =
            command.write_stdin(fs::read(at(list)).expect("it is there")).output().expect("it starts").into();
        let direct = run(&[&["verify", "--json", "--files-from", list], flag].concat(), directory.path());
        assert_eq!(json_lines(&piped.stdout), json_lines(&direct.stdout));
        assert_eq!((piped.status, piped.stderr.as_str()), (Some(0), ""));
    }

    // Parts are taken of a list too.
    let halves = ["1/2", "2/2"].map(|part| taken(&["--files-from", "list", "--subset", part], directory.path()).0);
    assert!(halves[0].is_disjoint(&halves[1]));
    assert_eq!(halves[0].union(&halves[1]).count(), 5);
}

#[test]
fn lists_that_cannot_be_read() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("one.blob"), frame_of(b"one")).expect("it can be written");
    let verify = |arguments: &[&str]| run(&[&["verify", "--json"], arguments].concat(), directory.path());
    let result = verify(&["one.blob", "--files-from", "none"]);
    assert_eq!((result.status, result.stdout.as_str()), (Some(2), ""));
    assert_eq!(result.stderr, "membrane-codec: none: No such file or directory (os error 2)\n");
    let result = verify(&["one.blob", "--files-from", "."]);
    assert_eq!((result.status, json_lines(&result.stdout).1["ok"].clone()), (Some(2), json!(1)));
    assert_eq!(result.stderr, "membrane-codec: .: Is a directory (os error 21)\n");

    // What stands before is verified, and the run is none that went well.
    let long = [b"one.blob\n".to_vec(), b"x".repeat(100_000), b"\none.blob\n".to_vec()].concat();
    fs::write(at("long"), long).expect("it can be written");
    let result = verify(&["--files-from", "long"]);
    let (lines, _) = json_lines(&result.stdout);
    assert_eq!((result.status, lines.len()), (Some(2), 1));
    assert_eq!(result.stderr, "membrane-codec: long: holds a line longer than any path; is -0 missing?\n");

    // A path that is not there, one that is none, and the empty list.
    fs::write(at("list"), b"gone.blob\none.blob\nno\0path.blob\n").expect("it can be written");
    let result = verify(&["--files-from", "list"]);
    let (lines, summary) = json_lines(&result.stdout);
    let paths: Vec<_> = lines.iter().map(|line| line["path"].as_str().expect("a path")).collect();
    assert_eq!((result.status, paths), (Some(2), vec!["gone.blob", "no?path.blob", "one.blob"]));
    assert_eq!((&summary["ok"], &summary["io_error"]), (&json!(1), &json!(2)));
    fs::write(at("empty"), b"").expect("it can be written");
    let result = verify(&["--files-from", "empty"]);
    assert_eq!((result.status, json_lines(&result.stdout).1["frames"].clone()), (Some(0), json!(0)));

    // A file that is called - is a file in a list, and standard input on the command line.
    fs::write(at("-"), frame_of(b"dash")).expect("it can be written");
    fs::write(at("list"), b"-\n").expect("it can be written");
    let result = verify(&["--files-from", "list"]);
    let (lines, summary) = json_lines(&result.stdout);
    // And told so that it is none of the other.
    assert_eq!((result.status, &summary["ok"], &lines[0]["path"]), (Some(0), &json!(1), &json!("./-")));
    fs::write(at("-"), b"no frame").expect("it can be written");
    let result = run(&["verify", "--files-from", "list", "-q"], directory.path());
    assert!(result.stdout.starts_with("schema_error     ./-\n"), "{}", result.stdout);
    for twice in [&["-", "--files-from", "-"][..], &["one.blob", "--files-from", "-", "--manifest", "-"], &["-", "-"]] {
        let result = verify(twice);
        let message = "membrane-codec: standard input can be given once, as PATH, list or manifest\n";
        assert_eq!((result.status, result.stderr.as_str()), (Some(2), message), "{twice:?}");
    }
    for option in ["--report", "--metrics", "--state", "--quarantine"] {
        let result = verify(&["one.blob", option, "-"]);
        assert_eq!(result.status, Some(2));
        assert!(result.stderr.contains("- names no file here; for a file of this name give ./-"), "{}", result.stderr);
    }
}

#[test]
fn portions_that_are_none() {
    let directory = directory();
    for (arguments, problem) in [
        (&["--subset", "0/3"][..], "a subset is written N/T, with 1 <= N <= T"),
        (&["--subset", "4/3"], "a subset is written N/T, with 1 <= N <= T"),
        (&["--subset", "3"], "a subset is written N/T, with 1 <= N <= T"),
        (&["--sample", "101%"], "expected a percentage between 0% and 100%"),
        (&["--sample", "NaN%"], "expected a percentage between 0% and 100%"),
        (&["--sample", "5"], "expected a percentage between 0% and 100%"),
        (&["--seed", "1"], "--sample <PERCENT>"),
        (&["--newer-than", "yesterday"], "expected a time such as 2026-11-30"),
        (&["--newer-than", "2026-13-01"], "expected a time such as 2026-11-30"),
        (&["--max-age", "1h"], "--state <FILE>"),
        (&["--limit-rate", "0"], "expected more than 0"),
        (&["--threads", "0"], "0 is not in 1..=1024"),
        (&["--threads", "1025"], "1025 is not in 1..=1024"),
        (&["-0"], "--files-from <FILE>"),
        (&["--concatenated", "--state", "x"], "cannot be used with"),
        (&["--quarantine", "x", "--all"], "cannot be used with"),
    ] {
        let result = run(&[&["verify", "."], arguments].concat(), directory.path());
        assert_eq!((result.status, result.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(result.stderr.contains(problem), "{arguments:?}: {}", result.stderr);
    }
}
