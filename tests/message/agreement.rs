//! That all the ways to read a body agree, with each other and with the naive reader. For tests and fuzzers.

use membrane_codec::{Error, FragmentMessage, HeadRange, InclusiveRange, MessageParser, MessageView};

use crate::naive;

/// Checks everything about `body`; gives the message if it is one. Panics when something disagrees.
#[allow(unreachable_pub, reason = "public to the fuzz targets")]
pub fn check_message(body: &[u8]) -> Option<FragmentMessage> {
    let general = MessageParser::parse_general(body);
    let mut parser = MessageParser::new();
    // Twice through the same parser: its memory is that of the last body.
    for _ in 0..2 {
        assert_eq!(parser.parse(body), general);
        if let Some(view) = parser.parse_through_tape(body) {
            assert_eq!(Ok(view), general, "through simd-json");
        }
    }
    if let Some(view) = MessageParser::parse_plain(body) {
        assert_eq!(Ok(view), general, "on the plain road");
    }
    let owned = FragmentMessage::from_json(body);
    assert_eq!(owned.as_ref().map(FragmentMessage::as_view), general.as_ref().map(|view| *view), "owned");
    check_against_naive(&general, body);

    let message = owned.ok()?;
    let json = message.to_json();
    assert!(json.is_ascii());
    let again = FragmentMessage::from_json(json.as_bytes()).expect("what is written is a message");
    assert_eq!(again, message);
    // Down to the text of each number.
    assert_eq!(again.to_json(), json);
    Some(message)
}

fn check_against_naive(verdict: &Result<MessageView<'_>, Error>, body: &[u8]) {
    match (verdict, naive::message::message(body)) {
        (Ok(view), Ok(naive)) => assert_eq!(plain(view), naive),
        (Err(error), Err(reason)) => {
            assert_eq!(error.reason().as_str(), reason, "{error}");
            assert!(error.offset() <= body.len() as u64, "{error}, in a body of {} bytes", body.len());
        }
        (Ok(_), Err(reason)) => panic!("accepted, should be {reason}"),
        (Err(error), Ok(_)) => panic!("refused, should be accepted: {error}"),
    }
}

/// The eleven fields in the naive reader's plain types.
fn plain(view: &MessageView<'_>) -> naive::message::Message {
    let identity = view.identity();
    let pair = |range: InclusiveRange| (range.start() as i64, range.end() as i64);
    naive::message::Message {
        tenant_id: view.tenant_id().into(),
        identity: naive::Identity {
            payload_hash: identity.payload_hash().to_string(),
            model_id: identity.model_id().into(),
            model_revision: identity.model_revision().into(),
            tokenizer_name: identity.tokenizer_name().into(),
            tokenizer_revision: identity.tokenizer_revision().into(),
            layer_range: pair(identity.layer_range()),
            head_range: match identity.head_range() {
                HeadRange::All => (-1, -1),
                HeadRange::Inclusive(range) => pair(range),
            },
            token_span: pair(identity.token_span()),
            dtype: identity.dtype().to_string(),
            shape: identity.shape().dims().map(|dim| dim as i64).collect(),
        },
        payload_ref: view.payload_ref().map(|hash| hash.to_string()),
        payload_size: view.payload_size(),
        ttl: view.ttl().as_secs_f64(),
        reuse_score: view.reuse_score().as_f64(),
        version_id: view.version_id().get(),
        consistency: view.consistency().into(),
        hlc: view.hlc(),
        fingerprint_compat: view.fingerprint_compat().map(|hash| hash.to_string()).unwrap_or_default(),
    }
}
