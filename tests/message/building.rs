//! Messages from values, and what can be asked of them.

use membrane_codec::{
    CompatFields, Compatibility, Consistency, FragmentMessage, MessageField, MessageParser, TenantId, sha256,
};

use crate::bodies::{body, body_with, message};
use crate::samples;

#[test]
fn the_written_form() {
    let identity = samples::identity_of(b"kv").canonical_json();
    let hash = sha256(b"kv");
    let compat = samples::identity_of(b"kv").fingerprint_compat();
    assert_eq!(
        body(),
        format!(
            "{{\"schema_version\":5,\"tenant_id\":\"acme\",\"identity\":{identity},\"payload_ref\":\"{hash}\",\
             \"payload_size\":8388608,\"ttl\":3600.0,\"reuse_score\":0.87,\"version_id\":3,\"consistency\":\"strong\",\
             \"hlc\":1735600000123456789,\"fingerprint_compat\":\"{compat}\"}}"
        )
    );
}

#[test]
fn what_is_not_set() {
    let built = FragmentMessage::builder(samples::identity_of(b"kv")).build().expect("nothing to refuse");
    assert_eq!(built.tenant_id, TenantId::public());
    assert_eq!(built.payload_ref, Some(sha256(b"kv").into()));
    assert_eq!((built.payload_size, built.hlc, built.version_id.get()), (0, 0, 1));
    assert_eq!((built.ttl.to_string(), built.reuse_score.to_string()), ("0".into(), "0".into()));
    assert_eq!(built.consistency_level(), Some(Consistency::Strong));
    assert_eq!(built.fingerprint_compat, Some(samples::identity_of(b"kv").fingerprint_compat().into()));
}

#[test]
fn the_first_value_out_of_its_domain_is_named() {
    let builder = || FragmentMessage::builder(samples::identity_of(b"kv"));
    for (refused, field) in [
        (builder().tenant_id("a b"), MessageField::TenantId),
        (builder().ttl(f64::NAN), MessageField::Ttl),
        (builder().ttl(-1.0), MessageField::Ttl),
        (builder().ttl(f64::INFINITY), MessageField::Ttl),
        (builder().reuse_score(1.5), MessageField::ReuseScore),
        (builder().reuse_score(f64::NAN), MessageField::ReuseScore),
        (builder().version_id(0), MessageField::VersionId),
        (builder().version_id(0).ttl(-1.0).version_id(1), MessageField::VersionId),
    ] {
        assert_eq!(refused.build().expect_err("out of its domain").field(), field);
    }
    assert_eq!(
        builder().reuse_score(2.0).build().expect_err("out of its domain").to_string(),
        "reuse_score: expected a number from 0 to 1"
    );
}

#[test]
fn tenants() {
    for legal in ["a", "public", "tenant-with-dashes", "\u{e9}", "a.b", "a'b", &"\u{6a21}".repeat(128)] {
        assert_eq!(legal.parse::<TenantId>().expect("legal").as_str(), legal);
    }
    let long = "t".repeat(129);
    for illegal in [
        "",
        &long,
        "a b",
        "a\u{a0}b",
        "a\u{2028}",
        "a:b",
        "a/b",
        "a\\b",
        "a\"b",
        "a\n",
        "\r",
        "\0",
        "\u{7f}",
        "\u{85}",
        "\u{1c}",
    ] {
        assert!(illegal.parse::<TenantId>().is_err(), "{illegal:?}");
        let quoted = serde_json::to_string(illegal).expect("JSON");
        let error = FragmentMessage::from_json(body_with("tenant_id", &quoted).as_bytes()).expect_err("illegal");
        assert_eq!(error.field(), Some(MessageField::TenantId.into()), "{illegal:?}");
    }
}

#[test]
fn consistency_is_any_string_and_three_have_a_name() {
    for (text, level) in [
        ("strong", Some(Consistency::Strong)),
        ("quorum", Some(Consistency::Quorum)),
        ("eventual", Some(Consistency::Eventual)),
        ("STRONG", None),
        ("", None),
    ] {
        let body = body_with("consistency", &format!("\"{text}\""));
        let mut parser = MessageParser::new();
        let parsed = parser.parse(body.as_bytes()).expect("any string");
        assert_eq!(parsed.consistency_level(), level);
        assert!(parsed.consistency() == text);
    }
    let escaped = body_with("consistency", "\"\\u0073trong\"");
    let parsed = FragmentMessage::from_json(escaped.as_bytes()).expect("valid");
    assert_eq!(parsed.consistency_level(), Some(Consistency::Strong));
}

#[test]
fn an_engine_asks_whether_it_can_use_a_fragment() {
    let message = message();
    let identity = samples::identity_of(b"kv");
    let plain = CompatFields::from_identity(&identity.as_view());
    assert_eq!(plain.fingerprint(), identity.fingerprint_compat());
    assert_eq!(message.compatibility(plain.fingerprint()), Compatibility::Same);
    for other in [
        CompatFields { model_layout_version: 1, ..plain },
        CompatFields { tokenizer_layout_version: 1, ..plain },
        CompatFields { config_hash: "0".into(), ..plain },
        CompatFields { model_id: "llama".into(), ..plain },
    ] {
        assert_eq!(message.compatibility(other.fingerprint()), Compatibility::Different);
    }
    let upper = body_with("fingerprint_compat", &format!("\"{}\"", plain.fingerprint().to_string().to_uppercase()));
    let parsed = FragmentMessage::from_json(upper.as_bytes()).expect("either case");
    assert_eq!(parsed.compatibility(plain.fingerprint()), Compatibility::Same);
    let unstated =
        FragmentMessage::from_json(body_with("fingerprint_compat", "\"\"").as_bytes()).expect("may be empty");
    assert_eq!(unstated.compatibility(plain.fingerprint()), Compatibility::Unstated);
}

#[test]
fn the_full_fingerprint_hashes_the_eight_fields_in_canonical_form() {
    let fields = CompatFields {
        model_id: "m\u{e9}".into(),
        model_revision: "r".into(),
        model_layout_version: 2,
        tokenizer_name: "t".into(),
        tokenizer_revision: "".into(),
        tokenizer_layout_version: u64::MAX,
        dtype: membrane_codec::Dtype::Nf4,
        config_hash: "c\"".into(),
    };
    let canonical = r#"{"config_hash":"c\"","dtype":"nf4","model_id":"m\u00e9","model_layout_version":2,"model_revision":"r","tokenizer_layout_version":18446744073709551615,"tokenizer_name":"t","tokenizer_revision":""}"#;
    assert_eq!(fields.fingerprint(), sha256(canonical.as_bytes()));
}
