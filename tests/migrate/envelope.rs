//! One envelope in memory.

use membrane_codec::migrate::{EnvelopeMigration, EnvelopeMigrator, EnvelopeVersion};
use membrane_codec::{CompatFields, Error, IdentityView, MessageParser, Reason, TenantId};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::samples::identities;
use crate::support::vectors;

pub(crate) const IDENTITY: &str = concat!(
    r#"{"payload_hash":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","model_id":"m","#,
    r#""model_revision":"","tokenizer_name":"m","tokenizer_revision":"","layer_range":[0,0],"head_range":[-1,-1],"#,
    r#""token_span":[0,0],"dtype":"nf4","shape":[1]}"#
);
const REST: &str = r#""payload_ref":null,"payload_size":0,"ttl":60.0,"reuse_score":0.5,"version_id":1"#;

/// The fingerprint_compat of [`IDENTITY`].
pub(crate) fn compat() -> String {
    let identity = IdentityView::parse(IDENTITY.as_bytes()).expect("an identity");
    CompatFields::from_identity(&identity).fingerprint().to_string()
}

pub(crate) fn v2() -> String {
    format!(r#"{{"schema_version":2,"identity":{IDENTITY},{REST}}}"#)
}

/// What [`v2`] becomes.
pub(crate) fn v5_of_v2(tenant: &str) -> String {
    let filled =
        format!(r#""tenant_id":"{tenant}","consistency":"strong","hlc":0,"fingerprint_compat":"{}""#, compat());
    format!(r#"{{"schema_version":5,{filled},"identity":{IDENTITY},{REST}}}"#)
}

fn migrate(json: &str) -> Result<EnvelopeMigration, Error> {
    let tenant: TenantId = "acme".parse().expect("a tenant");
    let migration = EnvelopeMigrator::new(tenant).migrate(json.as_bytes());
    if let Ok(EnvelopeMigration::Converted { json, .. }) = &migration {
        MessageParser::new().parse(json.as_bytes()).expect("it is valid");
        let again = EnvelopeMigrator::new(TenantId::public()).migrate(json.as_bytes());
        assert_eq!(again, Ok(EnvelopeMigration::Current));
    }
    migration
}

fn converted(json: &str) -> String {
    match migrate(json).expect("it can be converted") {
        EnvelopeMigration::Converted { json, .. } => json,
        other => panic!("{other:?}"),
    }
}

fn reason(json: &str) -> Reason {
    migrate(json).expect_err("it cannot be converted").reason()
}

#[test]
fn published_cases() {
    let cases: Vec<_> = vectors().into_iter().filter(|case| case.get("before").is_some()).collect();
    assert_eq!(cases.len(), 17);
    for case in cases {
        let tenant = case["tenant"].as_str().expect("a tenant").parse().expect("a legal one");
        let before = case["before"].to_string();
        let after = match EnvelopeMigrator::new(tenant).migrate(before.as_bytes()) {
            Ok(EnvelopeMigration::Converted { json, .. }) => serde_json::from_str(&json).expect("JSON"),
            _ => case["before"].clone(),
        };
        assert_eq!(after, case["after"], "{}", case["name"]);
    }
}

#[test]
fn nothing_but_version_and_what_is_missing() {
    assert_eq!(converted(&v2()), v5_of_v2("acme"));
    let v4 = format!(
        r#"  {{ "x" : [ 1e2 , 2.50 ], {REST}, "identity" :{IDENTITY}, "hlc": 18446744073709551615, "consistency":"a\u0062",
        "schema_version" : 4 , "fingerprint_compat": "" ,"y":"\ud83d\ude00"}} "#
    );
    let expected = v4.replace("\"schema_version\" : 4", "\"schema_version\" : 5 , \"tenant_id\" : \"acme\"");
    assert_eq!(converted(&v4), expected);
}

#[test]
fn the_manner_of_the_text() {
    let pretty =
        |json: &str| serde_json::to_string_pretty(&serde_json::from_str::<Value>(json).expect("JSON")).expect("JSON");
    let lines = converted(&pretty(&v2()));
    for filled in ["\n  \"tenant_id\": \"acme\",\n", "\n  \"consistency\": \"strong\",\n", "\n  \"hlc\": 0,\n"] {
        assert!(lines.contains(filled), "{lines}");
    }
    // The version comes last, or its key has escapes.
    let last = format!("{{\"identity\":{IDENTITY},{REST} ,\n\t\"schema_v\\u0065rsion\"\t:3\n}}");
    let filled = [("tenant_id", "\"acme\""), ("consistency", "\"strong\""), ("hlc", "0")];
    let filled: String = filled.map(|(key, value)| format!(" ,\n\t\"{key}\"\t:{value}")).concat();
    let expected = format!(
        "{{\"identity\":{IDENTITY},{REST} ,\n\t\"schema_v\\u0065rsion\"\t:5{filled} ,\n\t\"fingerprint_compat\"\t:\"{}\"\n}}",
        compat()
    );
    assert_eq!(converted(&last), expected);
}

#[test]
fn what_is_there_stays_or_all_stays() {
    let with = |field: &str| v2().replace("\"schema_version\":2,", &format!("\"schema_version\":2,{field},"));
    let own = |key: &str, value: &str| {
        let message: Value = serde_json::from_str(&converted(&with(&format!("\"{key}\":{value}")))).expect("JSON");
        message[key].clone()
    };
    assert_eq!(own("tenant_id", "\"globex\""), json!("globex"));
    assert_eq!(own("consistency", "\"whatever\""), json!("whatever"));
    assert_eq!(own("hlc", "7"), json!(7));
    let other = "0".repeat(64);
    assert_eq!(own("fingerprint_compat", &format!("\"{other}\"")), json!(other));
    for invalid in [
        r#""tenant_id":"a b""#,
        r#""tenant_id":null"#,
        r#""consistency":1"#,
        r#""hlc":-1"#,
        r#""hlc":1.0"#,
        r#""fingerprint_compat":"x""#,
    ] {
        assert_eq!(reason(&with(invalid)), Reason::MessageField, "{invalid}");
    }
    for missing in [r#""payload_ref":null,"#, r#""ttl":60.0,"#, r#","version_id":1"#] {
        assert_eq!(reason(&v2().replace(missing, "")), Reason::MessageField, "{missing}");
    }
}

#[test]
fn refused() {
    assert_eq!(reason(r#"{"schema_version":1,"content_hash":"a"}"#), Reason::MessageVersion);
    assert_eq!(reason(r#"{"schema_version":4}"#), Reason::MessageField);
    assert_eq!(reason(&v2().replace("\"nf4\"", "\"nf5\"")), Reason::IdentityField);
    assert_eq!(reason(&v2().replace(IDENTITY, "[]")), Reason::IdentityJson);
    assert_eq!(reason(&v2().replace("\"ttl\"", "\"ttl\":1,\"ttl\"")), Reason::MessageJson);
    assert_eq!(
        reason(&v2().replace("{\"schema_version\":2", "{\"schema_version\":5,\"schema_version\":2")),
        Reason::MessageJson
    );
    assert_eq!(reason(&v2().replace("\"m\"", "\"\\ud800\"")), Reason::MessageJson);
    assert_eq!(reason(&v2()[1..]), Reason::MessageJson);
    assert_eq!(reason(&format!("{} x", v2())), Reason::MessageJson);
    let deep = format!("\"x\":{}{},\"ttl\"", "[".repeat(200), "]".repeat(200));
    assert_eq!(reason(&v2().replace("\"ttl\"", &deep)), Reason::MessageJson);
    assert_eq!(
        EnvelopeMigrator::new(TenantId::public()).migrate(b"\xff").map_err(|error| error.reason()),
        Err(Reason::MessageJson)
    );
}

#[test]
fn offsets_count_in_the_text_that_was_given() {
    let at = |json: &str, part: &str| {
        let offset = migrate(json).expect_err("it cannot be converted").offset() as usize;
        assert!(json[offset..].starts_with(part), "{:?}", &json[offset..]);
    };
    at(&v2().replace("60.0", "-60.0"), "-60.0");
    at(
        &v2()
            .replace("{\"schema_version\":2", "{\"version_id\":0,\"schema_version\":2")
            .replace(",\"version_id\":1", ""),
        "0,",
    );
    at(&v2().replace("\"nf4\"", "\"nf5\""), "\"nf5\"");
    at(r#"{"schema_version":1}"#, "1}");
}

#[test]
fn others() {
    for json in [
        "{}",
        "[]",
        "1",
        "null",
        r#""schema_version""#,
        r#"{"a":{"schema_version":2}}"#,
        r#"{"schema_version":6}"#,
        r#"{"schema_version":"2"}"#,
        r#"{"schema_version":2.0}"#,
        r#"{"schema_version":null}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"a":"\ud800"}"#,
    ] {
        assert_eq!(migrate(json), Ok(EnvelopeMigration::Other), "{json}");
    }
    for json in [
        r#"{"schema_version":5}"#,
        r#" { "schema_version" : 5 , "hlc" : "x" } "#,
        r#"{"schema_version":5,"schema_version":5}"#,
    ] {
        assert_eq!(migrate(json), Ok(EnvelopeMigration::Current), "{json}");
    }
}

proptest! {
    /// Any identity, in any order of keys, however it is set.
    #[test]
    fn every_other_key_stays(
        identity in identities(),
        (version, from) in select(vec![(2, EnvelopeVersion::V2), (3, EnvelopeVersion::V3), (4, EnvelopeVersion::V4)]),
        has in proptest::array::uniform4(any::<bool>()),
        order in Just((0..12).collect::<Vec<usize>>()).prop_shuffle(),
        is_pretty in any::<bool>(), extra in "[ -~]{0,12}",
    ) {
        let identity_json = identity.canonical_json();
        let compat = CompatFields::from_identity(&identity.as_view()).fingerprint().to_string();
        let fields = [
            ("schema_version", json!(version), true),
            ("identity", serde_json::from_str(&identity_json).expect("JSON"), true),
            ("payload_ref", json!(null), true),
            ("payload_size", json!(u64::MAX), true),
            ("ttl", json!(0.1), true),
            ("reuse_score", json!(1), true),
            ("version_id", json!(3), true),
            ("tenant_id", json!("globex"), has[0]),
            ("consistency", json!("quorum"), has[1]),
            ("hlc", json!(u64::MAX), has[2]),
            ("fingerprint_compat", json!("ab".repeat(32)), has[3]),
            ("x", json!({ extra.as_str(): [1.5, extra.as_str()] }), true),
        ];
        let write = |value: &Value| if is_pretty { format!("{value:#}") } else { value.to_string() };
        let members = order.iter().map(|at| &fields[*at]).filter(|(.., is_there)| *is_there);
        let between = if is_pretty { ",\n  " } else { "," };
        let colon = if is_pretty { ": " } else { ":" };
        let members: Vec<_> = members.map(|(key, value, _)| format!("\"{key}\"{colon}{}", write(value))).collect();
        let old = format!("{{{}}}", members.join(between));
        let Ok(EnvelopeMigration::Converted { from: found, json }) = migrate(&old) else { panic!("{old}") };
        prop_assert_eq!(found, from);
        // What was there is there as it was, before and behind what was filled in.
        let place = old.find("\"schema_version\"").expect("it is there") + "\"schema_version\"".len() + colon.len();
        prop_assert_eq!(&json[..=place], [&old[..place], "5"].concat());
        prop_assert!(json.ends_with(&old[place + 1..]));
        let new: Value = serde_json::from_str(&json).expect("JSON");
        let filled = [json!("acme"), json!("strong"), json!(0), json!(compat)];
        let expected = |at: usize| if has[at] { fields[7 + at].1.clone() } else { filled[at].clone() };
        for (at, (key, ..)) in fields[7..11].iter().enumerate() {
            prop_assert_eq!(&new[*key], &expected(at), "{}", key);
        }
        prop_assert_eq!(new.as_object().map(|object| object.len()), Some(12));
    }

    /// Whatever is done to a text, it is refused, left, or becomes a valid message that differs where it may.
    #[test]
    fn damaged_text(at in any::<proptest::sample::Index>(), to in "[ -~]{0,3}", len in 0_usize..4) {
        let mut text = v2();
        let at = at.index(text.len());
        text.replace_range(at..(at + len).min(text.len()), &to);
        if let Ok(EnvelopeMigration::Converted { json, .. }) = migrate(&text) {
            prop_assert!(json.len() > text.len());
        }
    }
}
