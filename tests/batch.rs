//! Batches of frames: each verdict is the one that the frame gets alone, in its place, whoever works on it.

mod samples;

use allocation_counter::measure;
use bytes::Bytes;
use membrane_codec::{
    BatchVerifier, Digest, ErrorClass, Finding, Kernel, Reason, Verdict, canonicalize, parse_canonical, sha256,
    sha256_many, verify_batch,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// What each frame gets alone.
fn alone<B: AsRef<[u8]>>(frames: &[B]) -> Vec<Verdict<'_>> {
    frames
        .iter()
        .map(|frame| match parse_canonical(frame.as_ref()) {
            Ok(frame) => Verdict::Sound(frame),
            Err(error) => Verdict::Damaged(error),
        })
        .collect()
}

#[test]
fn every_published_case_in_one_batch() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/vectors/frames.json");
    let cases: Vec<serde_json::Value> =
        serde_json::from_str(&std::fs::read_to_string(path).expect("the vectors are there")).expect("JSON");
    let frames: Vec<Vec<u8>> = cases
        .iter()
        .map(|case| base16ct::mixed::decode_vec(case["frame_hex"].as_str().expect("a frame")).expect("hexadecimal"))
        .collect();
    for batch in [verify_batch(&frames), BatchVerifier::new().verify_in_this_thread(&frames)] {
        for (case, verdict) in cases.iter().zip(&batch.verdicts) {
            let (status, reason) = match verdict {
                Verdict::Sound(_) => ("ok", None),
                Verdict::Damaged(error) => (error.class().as_str(), Some(error.reason().as_str())),
                other => panic!("{other:?}"),
            };
            assert_eq!(status, case["status"], "{}", case["name"]);
            assert_eq!(reason, case.get("reason").and_then(|reason| reason.as_str()), "{}", case["name"]);
        }
        let stated = |status: &str| cases.iter().filter(|case| case["status"] == status).count() as u64;
        assert_eq!(batch.report.sound(), stated("ok"));
        assert_eq!(batch.report.damaged_in(ErrorClass::Schema), stated("schema_error"));
        assert_eq!(batch.report.damaged_in(ErrorClass::CorruptPayload), stated("corrupt_payload"));
        assert_eq!(batch.report.damaged_by(Reason::OldVersion), 2);
        assert_eq!(batch.report.damaged(), 368);
        assert_eq!(batch.report.bytes(), frames.iter().map(|frame| frame.len() as u64).sum::<u64>());
        assert!(!batch.report.all_well());
    }
}

#[test]
fn no_frames_and_many() {
    let none: [Bytes; 0] = [];
    assert!(verify_batch(&none).verdicts.is_empty());
    assert!(verify_batch(&none).report.all_well());
    let frames: Vec<Bytes> = (0..10_000_u32).map(|at| samples::frame_of(&at.to_le_bytes()).into()).collect();
    let batch = verify_batch(&frames);
    assert_eq!(batch.report.sound(), 10_000);
    assert!(batch.report.all_well());
    for (at, verdict) in (0_u32..).zip(&batch.verdicts) {
        assert_eq!(verdict.sound().map(|frame| frame.payload()), Some(&at.to_le_bytes()[..]));
    }
}

#[test]
fn findings_name_their_frames() {
    let frames = [
        samples::frame_of(b"one"),
        canonicalize(&samples::identity_of(b"two"), b"another").expect("a small frame"),
        b"junk".to_vec(),
        samples::frame_of(b"three"),
    ];
    let keys = [sha256(b"one"), sha256(b"two"), sha256(b"junk"), sha256(b"elsewhere")];
    let verifier = BatchVerifier::new().check_payload_hash(true).expect_keys(&keys);
    for batch in
        [verifier.verify(&frames), verifier.verify_in_this_thread(&frames), verifier.clone().threads(2).verify(&frames)]
    {
        assert_eq!(batch.verdicts, alone(&frames));
        assert_eq!(
            batch.report.findings(),
            [
                (1, Finding::PayloadHash { named: sha256(b"two").into(), computed: sha256(b"another") }),
                (3, Finding::Key { expected: sha256(b"elsewhere"), named: sha256(b"three").into() }),
            ]
        );
        assert_eq!((batch.report.sound(), batch.report.damaged()), (3, 1));
    }
    assert!(verify_batch(&frames).report.findings().is_empty(), "nothing that was not asked for");
}

#[test]
#[should_panic = "one key for each frame"]
fn keys_for_other_frames_are_a_mistake() {
    let keys: [Digest; 0] = [];
    BatchVerifier::new().expect_keys(&keys).verify(&[samples::frame_of(b"one")]);
}

#[test]
fn stopping_at_the_first_failure() {
    let sound = samples::frame_of(b"payload");
    let end = sound.len() - 1;
    let damaged = |at: usize| {
        let mut frame = sound.clone();
        frame[at] ^= 1;
        frame
    };
    let stop = BatchVerifier::new().stop_at_first_failure(true);
    // The second frame fails when it is read, and the third is never started.
    let frames = [sound.clone(), damaged(0), sound.clone()];
    let batch = stop.verify_in_this_thread(&frames);
    assert_eq!(batch.verdicts[1].error().map(|error| error.reason()), Some(Reason::BadMagic));
    assert_eq!((batch.verdicts[0].sound().is_some(), batch.verdicts[2]), (true, Verdict::Skipped));
    assert_eq!((batch.report.sound(), batch.report.damaged(), batch.report.skipped()), (1, 1, 1));
    assert!(!batch.report.all_well());

    // A trailer only shows by hashing: whoever was hashed by then has a verdict, and no verdict is wrong.
    let mut frames = vec![sound.clone(); 100];
    frames[0] = damaged(end);
    for batch in [stop.verify(&frames), stop.verify_in_this_thread(&frames)] {
        assert_eq!(batch.verdicts[0].error().map(|error| error.reason()), Some(Reason::TrailerMismatch));
        assert!(batch.report.skipped() > 50, "{} skipped", batch.report.skipped());
        assert_eq!(batch.report.sound() + batch.report.damaged() + batch.report.skipped(), 100);
        for (verdict, alone) in batch.verdicts.iter().zip(alone(&frames)) {
            assert!(*verdict == Verdict::Skipped || *verdict == alone);
        }
    }
    // So does a finding.
    frames[0] = canonicalize(&samples::identity_of(b"another"), b"payload").expect("a small frame");
    let batch = stop.clone().check_payload_hash(true).verify_in_this_thread(&frames);
    assert_eq!(batch.report.findings().len(), 1);
    assert!(batch.report.skipped() > 50);
    assert!(BatchVerifier::new().check_payload_hash(true).verify(&frames).report.skipped() == 0);
}

#[test]
fn more_threads_than_frames_and_threads_within_threads() {
    let frames: Vec<_> = (0..5_u8).map(|number| samples::frame_of(&vec![number; 3000 * usize::from(number)])).collect();
    let expected = alone(&frames);
    for threads in [0, 1, 2, 3, 64, usize::MAX] {
        assert_eq!(BatchVerifier::new().threads(threads).verify(&frames).verdicts, expected, "{threads} threads");
    }
    let outer = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
    let inner = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
    let (here, there) =
        outer.install(|| rayon::join(|| verify_batch(&frames), || BatchVerifier::new().pool(&inner).verify(&frames)));
    assert_eq!((here.verdicts, there.verdicts), (expected.clone(), expected));
}

#[test]
fn the_report_lists_reasons_in_the_order_of_the_checks() {
    let sound = samples::frame_of(b"payload");
    let frames =
        [sound[..sound.len() - 1].to_vec(), b"GGUF".to_vec(), sound.clone(), sound[..100].to_vec(), b"GGUF".to_vec()];
    let report = verify_batch(&frames).report;
    let damage: Vec<_> = report.damage().collect();
    assert_eq!(damage, [(Reason::BadMagic, 2), (Reason::IdentityLength, 1), (Reason::Truncated, 1)]);
}

#[test]
fn lanes_allocate_nothing_per_message() {
    // Of different lengths, so that they must be put in order.
    let messages: Vec<_> = (0..2000).map(|number| vec![7; number * 7 % 500]).collect();
    let few = measure(|| drop(sha256_many(&messages[..20])));
    let many = measure(|| drop(sha256_many(&messages)));
    assert_eq!(many.count_total, few.count_total);
    assert!(many.bytes_max <= 2000 * 48, "{} bytes for 2000 digests", many.bytes_max);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_batch_is_its_frames(
        frames in vec((samples::identities(), samples::payloads(), any::<Index>(), any::<u8>(), 0..3_u8), 0..40),
        threads in 1..4_usize,
    ) {
        let frames: Vec<Bytes> = frames
            .into_iter()
            .map(|(identity, payload, at, byte, fate)| {
                let mut frame = canonicalize(&identity, &payload).expect("a small frame");
                let at = at.index(frame.len());
                match fate {
                    0 => frame[at] = byte,
                    1 => frame.truncate(at),
                    _ => {}
                }
                frame.into()
            })
            .collect();
        let expected = alone(&frames);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        prop_assert_eq!(&BatchVerifier::new().pool(&pool).verify(&frames).verdicts, &expected);
        prop_assert_eq!(&BatchVerifier::new().threads(threads).verify(&frames).verdicts, &expected);
        for kernel in Kernel::available() {
            prop_assert_eq!(&BatchVerifier::new().kernel(kernel).verify_in_this_thread(&frames).verdicts, &expected);
        }
    }
}
