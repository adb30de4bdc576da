//! Proves on raw bytes as the text of an envelope: it is left, refused, or becomes a valid message of v5 that differs from
//! it in the version and in what was filled in behind that.

#![no_main]

use libfuzzer_sys::fuzz_target;
use membrane_codec::migrate::{EnvelopeMigration, EnvelopeMigrator, EnvelopeVersion};
use membrane_codec::{MessageParser, TenantId};
use serde_json::Value;

fuzz_target!(|text: &[u8]| {
    let mut migrator = EnvelopeMigrator::new(TenantId::public());
    match migrator.migrate(text) {
        Ok(EnvelopeMigration::Converted { from, json }) => {
            let old = str::from_utf8(text).expect("it was read");
            membrane_codec_fuzz::check_message(json.as_bytes());
            MessageParser::parse_general(json.as_bytes()).expect("a message of v5");
            check_differences(old, &json, from);
            assert_eq!(migrator.migrate(json.as_bytes()), Ok(EnvelopeMigration::Current));
        }
        Ok(EnvelopeMigration::Current) => {}
        // What is a message of v5 is known for one.
        Ok(_) => assert!(MessageParser::parse_general(text).is_err()),
        Err(error) => {
            assert!(MessageParser::parse_general(text).is_err(), "{error}");
            assert!(error.offset() <= text.len() as u64, "{error}");
        }
    }
});

/// Up to the version nothing differs, nor behind what was filled in; and no key is lost.
fn check_differences(old: &str, new: &str, from: EnvelopeVersion) {
    let same = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
    assert_eq!(&old[same..=same], &from.as_str()[1..]);
    assert_eq!(&new[same..=same], "5");
    let rest = &old[same + 1..];
    assert!(new.len() >= old.len() && new.ends_with(rest));
    let filled = &new[same + 1..new.len() - rest.len()];
    // As JSON, without the comma that sets it apart from the version.
    let filled = filled.trim_start().strip_prefix(',').map_or("{}".into(), |filled| format!("{{{filled}}}"));
    let filled: Value = serde_json::from_str(&filled).expect("members of an object");
    let keys = filled.as_object().expect("an object").keys();
    for key in keys {
        assert!(["tenant_id", "consistency", "hlc", "fingerprint_compat"].contains(&key.as_str()), "{key}");
    }
}
