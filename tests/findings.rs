//! What a verifier finds beyond the contract, each finding to the letter.

mod samples;

use membrane_codec::{Finding, PayloadHash, Verifier, canonicalize, sha256};

#[test]
fn each_expectation_that_does_not_hold_is_one_finding_in_order() {
    let identity = samples::identity_of(b"named");
    let frame = canonicalize(&identity, b"stored").expect("a small frame");
    let (named, stored, other) = (sha256(b"named"), sha256(b"stored"), sha256(b"other"));
    let verifier = Verifier::new().check_payload_hash(true).expect_key(other).expect_fingerprint(other);
    let (verified, findings) = verifier.verify(&frame).expect("sound by the contract");
    assert_eq!(verified.payload_digest(), stored);
    let computed = identity.fingerprint();
    assert_eq!(
        findings.into_iter().collect::<Vec<_>>(),
        [
            Finding::PayloadHash { named: named.into(), computed: stored },
            Finding::Key { expected: other, named: named.into() },
            Finding::Fingerprint { expected: other, computed },
        ]
    );
    let texts: Vec<_> = findings.iter().map(|finding| finding.to_string()).collect();
    assert_eq!(
        texts,
        [
            format!("payload_hash_mismatch: the identity names {named}, the payload has {stored}"),
            format!("key_mismatch: stored under {other}, the identity names {named}"),
            format!("fingerprint_mismatch: expected {other}, the identity has {computed}"),
        ]
    );
}

#[test]
fn what_holds_and_what_was_not_asked_for_is_no_finding() {
    let mut identity = samples::identity_of(b"named");
    // The same hash in other letters is the same hash.
    identity.payload_hash = sha256(b"named").to_string().to_uppercase().parse::<PayloadHash>().expect("a hash");
    let frame = canonicalize(&identity, b"named").expect("a small frame");
    let verifier = Verifier::new()
        .check_payload_hash(true)
        .expect_key(sha256(b"named"))
        .expect_fingerprint(identity.fingerprint());
    assert!(verifier.verify(&frame).expect("sound").1.is_empty());
    let other = canonicalize(&identity, b"stored").expect("a small frame");
    assert!(Verifier::new().verify(&other).expect("sound by the contract").1.is_empty());
}
