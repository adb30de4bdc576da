//! Proves on raw bytes as a snapshot: verdict and contents are the naive reader's, every look-up finds what was read, and
//! what is written from it is the same snapshot, unknown keys to the last digit. The text of a list of edits, read from
//! behind a zero byte, is applied as well, and changes what it says and nothing else.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use membrane_codec_fuzz::check_snapshot;

fuzz_target!(|bytes: &[u8]| {
    // No JSON holds a zero byte.
    let (json, edits) = bytes.split_at(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    let Some(mut snapshot) = check_snapshot(json) else { return };
    let primaries = snapshot.shards.primaries().map(|(hash, node)| (String::from(hash), String::from(node)));
    let mut expected: BTreeMap<_, _> = primaries.collect();
    for edit in String::from_utf8_lossy(edits).split('\0').skip(1) {
        match edit.split_once('=') {
            Some((hash, node)) => {
                snapshot.shards.set_primary(hash, node);
                expected.insert(hash.to_owned(), node.to_owned());
            }
            None => assert_eq!(snapshot.shards.remove_primary(edit), expected.remove(edit).is_some()),
        }
    }
    let again = check_snapshot(&snapshot.to_json()).expect("what is written is a snapshot");
    assert_eq!(again, snapshot);
    let primaries = again.shards.primaries().map(|(hash, node)| (String::from(hash), String::from(node)));
    assert_eq!(primaries.collect::<BTreeMap<_, _>>(), expected);
});
