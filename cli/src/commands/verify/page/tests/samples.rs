//! Pages to look at, and to open with `.ci/check-page`.

use serde_json::{Value, json};

use super::*;

/// Writes them, and the JSON Lines that belong to them, into the directory `PAGE_SAMPLES`.
#[test]
#[ignore = "writes files; needs PAGE_SAMPLES"]
fn samples() {
    let directory = std::path::PathBuf::from(std::env::var_os("PAGE_SAMPLES").expect("PAGE_SAMPLES is set"));
    for (name, mut record) in [
        ("well", well()),
        ("empty", record(vec![tally(Status::Ok, 0, 0)])),
        ("damage", damaged(40)),
        ("large", damaged(10_000)),
    ] {
        record.summary = summary(&record);
        let mut file = std::fs::File::create(directory.join(name).with_extension("html")).expect("it can be made");
        write(&record, &mut file).expect("it can be written");
        std::fs::write(directory.join(name).with_extension("jsonl"), lines(&record)).expect("it can be written");
    }
}

/// What `verify --json` would print of the failures, and its summary.
fn lines(record: &Record) -> String {
    let frames = record.failures.iter().map(|failure| {
        let Failure { path, status, reasons, detail, .. } = failure;
        match status {
            Status::Finding => json!({"path": path, "status": "ok", "detail": detail, "findings": reasons}),
            Status::IoError => json!({"path": path, "status": status, "detail": detail}),
            _ => json!({"path": path, "status": status, "reason": reasons[0], "detail": detail}),
        }
    });
    frames.chain([json!({"summary": record.summary})]).map(|line| format!("{line}\n")).collect()
}

fn summary(record: &Record) -> Value {
    let frames = |status| record.tally(status).frames;
    let mut summary = json!({
        "frames": record.frames(), "ok": frames(Status::Ok), "schema_error": frames(Status::SchemaError),
        "corrupt_payload": frames(Status::CorruptPayload), "io_error": frames(Status::IoError), "bytes": record.bytes(),
    });
    if record.findings_asked_for() {
        summary["findings"] = frames(Status::Finding).into();
    }
    summary
}

fn well() -> Record {
    let rates: Vec<_> = (1..=120).map(|at| interval(at as f64 * 0.5, (300 + at * 7 % 40) << 20, 25, 0)).collect();
    let none = [Status::SchemaError, Status::CorruptPayload, Status::IoError].map(|status| tally(status, 0, 0));
    let ok = tally(Status::Ok, 3_000, rates.iter().map(|interval| interval.bytes).sum());
    let notes = vec!["passed over: 3 temporary files".into()];
    Record { seconds: 60.0, rates, notes, ..record([&[ok][..], &none].concat()) }
}

/// A run of all kinds of failures, hostile names first.
fn damaged(number: usize) -> Record {
    let mut failures: Vec<_> = HOSTILE.iter().map(|name| (*name).to_owned()).collect();
    failures.extend((failures.len()..number).map(|at| {
        let key = sha256(&at.to_le_bytes()).to_string();
        format!("/var/lib/membrane/store/{}/{}/{key}.blob", &key[..2], &key[2..4])
    }));
    let failures: Vec<_> = failures
        .iter()
        .enumerate()
        .map(|(at, path)| match at % 8 {
            0 => failure(path, Status::IoError, &[], "Permission denied (os error 13)"),
            1 => failure(
                path,
                Status::Finding,
                &["key_mismatch", "payload_hash_mismatch"],
                "key_mismatch: the key is 53b442e8fea5afe1713c4c3e659e3e2438b12c49dbb4970180aa667208f06b67, payload_hash is \
                 98f2cb1f8ee5eae3f2b8ed0fa9ba9b1d2d9a5fca3f60e3ba1d4bbae4b05c7a9e; payload_hash_mismatch: of other bytes",
            ),
            2 => failure(
                path,
                Status::SchemaError,
                &["identity_field"],
                "identity_field at byte 120: dtype: found \"int7\", expected a dtype",
            ),
            3 => failure(
                path,
                Status::SchemaError,
                &["bad_magic"],
                "bad_magic at byte 0: found magic 47475546, expected c0de0105",
            ),
            4 | 5 => failure(
                path,
                Status::CorruptPayload,
                &["truncated"],
                "truncated at byte 496: found 496 bytes, expected a frame of 696 bytes",
            ),
            _ => failure(
                path,
                Status::CorruptPayload,
                &["trailer_mismatch"],
                "trailer_mismatch at byte 688: found trailer 53b442e8fea5afe1, expected 1713c4c3e659e3e2",
            ),
        })
        .collect();
    let with = |status| failures.iter().filter(|failure| failure.status == status).count() as u64;
    let of = |code| failures.iter().filter(|failure| failure.reasons.contains(&code)).count() as u64;
    let finding = |code, advice| Reason { code, status: Status::Finding, frames: of(code), advice };
    let reason = |reason: membrane_codec::Reason| Reason::of(reason, of(reason.as_str()));
    let rates: Vec<_> = (1..=240_u32)
        .map(|at| {
            let wave = (f64::from(at) / 9.0).sin() * 0.12 + (f64::from(at * at % 37) / 37.0) * 0.08 + 0.8;
            let failed = if at % 23 == 0 || at / 20 == 7 { u64::from(at % 5) + 1 } else { 0 };
            interval(f64::from(at) * 5.0, (4e9 * wave) as u64, 5_144, failed)
        })
        .collect();
    let mut verdicts = vec![
        tally(Status::SchemaError, with(Status::SchemaError), 524 * with(Status::SchemaError)),
        tally(Status::CorruptPayload, with(Status::CorruptPayload), 640_000 * with(Status::CorruptPayload)),
        tally(Status::IoError, with(Status::IoError), 0),
    ];
    let sum = |number: fn(&Interval) -> u64| rates.iter().map(number).sum::<u64>();
    let failed = |number: fn(&Tally) -> u64| verdicts.iter().map(number).sum::<u64>();
    let frames = sum(|interval| interval.frames) - failed(|tally| tally.frames);
    let ok = tally(Status::Ok, frames, sum(|interval| interval.bytes) - failed(|tally| tally.bytes));
    verdicts.extend([ok, tally(Status::Finding, with(Status::Finding), 700_000 * with(Status::Finding))]);
    Record {
        seconds: 1_200.0,
        asked: "/var/lib/membrane/store /mnt/replica --check-key --check-hash".into(),
        interrupted: true,
        reasons: vec![
            reason(membrane_codec::Reason::BadMagic),
            reason(membrane_codec::Reason::IdentityField),
            reason(membrane_codec::Reason::Truncated),
            reason(membrane_codec::Reason::TrailerMismatch),
            finding(
                "payload_hash_mismatch",
                "The identity names another payload: ask the producer, restore the frame.",
            ),
            finding("key_mismatch", "The frame lies under another frame's key: move it or restore the right one."),
        ],
        rates,
        failures,
        failures_left_out: 0,
        notes: vec!["passed over: 3 temporary files, 1 symbolic link".into()],
        ..record(verdicts)
    }
}
