//! Bodies for the tests: one plain sample, strategies that draw any legal one, and ways to damage them.

use membrane_codec::{CompatFingerprint, FragmentMessage, PayloadHash, ReuseScore, TenantId, Ttl, sha256};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::samples;

pub(crate) fn message() -> FragmentMessage {
    FragmentMessage::builder(samples::identity_of(b"kv"))
        .tenant_id("acme")
        .payload_size(8_388_608)
        .ttl(3600.0)
        .reuse_score(0.87)
        .version_id(3)
        .hlc(1_735_600_000_123_456_789)
        .build()
        .expect("legal values")
}

pub(crate) fn body() -> String {
    message().to_json()
}

/// The sample with the value of one key replaced by other JSON text.
pub(crate) fn body_with(key: &str, value: &str) -> String {
    replaced(&body(), key, value)
}

/// `json` with the value of one key, a string without escapes or a number, replaced.
pub(crate) fn replaced(json: &str, key: &str, value: &str) -> String {
    let name = format!("\"{key}\":");
    let start = json.find(&name).expect("the key") + name.len();
    let len = match json[start..].strip_prefix('"') {
        Some(text) => text.find('"').expect("its end") + 2,
        None => json[start..].find([',', '}']).expect("its end"),
    };
    format!("{}{value}{}", &json[..start], &json[start + len..])
}

/// As Python's `json.dumps` writes it by default: a space after each colon and comma outside of strings.
pub(crate) fn spaced(json: &str) -> String {
    let mut inside = false;
    let mut escaped = false;
    let mut out = String::new();
    for character in json.chars() {
        out.push(character);
        match character {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            ':' | ',' if !inside => out.push(' '),
            _ => {}
        }
    }
    out
}

fn tenants() -> impl Strategy<Value = TenantId> {
    let legal = "[^\\p{White_Space}\\p{Cc}:/\\\\\"]{1,128}";
    prop_oneof![Just("public".to_owned()), proptest::string::string_regex(legal).expect("a pattern"),]
        .prop_map(|tenant| tenant.parse().expect("legal by the pattern"))
}

fn hashes() -> impl Strategy<Value = PayloadHash> {
    any::<(u64, bool)>().prop_map(|(seed, upper)| {
        let hex = sha256(&seed.to_le_bytes()).to_string();
        if upper { hex.to_uppercase() } else { hex }.parse().expect("hexadecimal")
    })
}

fn ttls() -> impl Strategy<Value = Ttl> {
    prop_oneof![
        any::<u64>().prop_map(Ttl::from),
        (0..100_000_u64).prop_map(Ttl::from),
        any::<f64>().prop_filter_map("finite", |value| Ttl::new(value.abs()).ok()),
        select(vec![0.0, -0.0, 3600.0, 0.1, 1e16, 1e-7, f64::MAX, f64::MIN_POSITIVE, 5e-324])
            .prop_map(|value| Ttl::new(value).expect("legal")),
    ]
}

fn scores() -> impl Strategy<Value = ReuseScore> {
    prop_oneof![(0.0..=1.0_f64).boxed(), select(vec![0.0, 1.0, 0.87]).boxed()]
        .prop_map(|score| ReuseScore::new(score).expect("legal"))
}

/// Any message.
pub(crate) fn messages() -> impl Strategy<Value = FragmentMessage> {
    let names = prop_oneof![Just("strong".to_owned()), any::<String>()];
    (
        (tenants(), samples::identities(), option::of(hashes()), any::<u64>()),
        (ttls(), scores(), 1..=u64::MAX, names, any::<u64>(), option::of(hashes())),
    )
        .prop_map(
            |(
                (tenant_id, identity, payload_ref, payload_size),
                (ttl, reuse_score, version, consistency, hlc, compat),
            )| {
                FragmentMessage {
                    tenant_id,
                    identity,
                    payload_ref,
                    payload_size,
                    ttl,
                    reuse_score,
                    version_id: version.try_into().expect("from 1"),
                    consistency,
                    hlc,
                    fingerprint_compat: compat
                        .map(|hash| hash.as_str().parse::<CompatFingerprint>().expect("hexadecimal")),
                }
            },
        )
}
