//! That the bodies of tombstones, deletes and gossip are what the naive reader reads, that what is written is read again,
//! and that gossip can be merged in any order. For tests and fuzzers.

use std::collections::BTreeMap;
use std::time::Duration;

use membrane_codec::Digest;
use membrane_codec::tombstone::{
    Clock, DeleteRequest, Gossip, TombstoneError, TombstoneRequest, TombstoneTable, Until,
};

use crate::naive;

/// Checks everything about `body`, as each of the three; gives the gossip if it is one. Panics when something disagrees.
#[allow(unreachable_pub, reason = "public to the fuzz targets")]
pub fn check_tombstone_bodies(body: &[u8]) -> Option<Gossip> {
    let tombstone = TombstoneRequest::from_json(body);
    let plain =
        |request: &TombstoneRequest| (request.content_hash.to_string(), bits(request.until), request.node_id.clone());
    let naive = naive::tombstone::tombstone(body).map(|(hash, until, node)| (hash, plain_bits(until), node));
    check(&tombstone, naive, plain, body);
    if let Ok(request) = tombstone {
        assert_eq!(TombstoneRequest::from_json(request.to_json()), Ok(request));
    }

    let delete = DeleteRequest::from_json(body);
    let plain = |request: &DeleteRequest| {
        (request.content_hash.to_string(), request.node_id.clone(), request.tombstone_until.map(bits))
    };
    let naive = naive::tombstone::delete(body).map(|(hash, node, until)| (hash, node, until.map(plain_bits)));
    check(&delete, naive, plain, body);
    if let Ok(request) = delete {
        assert_eq!(DeleteRequest::from_json(request.to_json()), Ok(request));
    }

    let gossip = Gossip::from_json(body);
    let plain = |gossip: &Gossip| {
        let entries: Vec<_> = gossip.iter().map(|(hash, until)| (hash.to_string(), bits(until))).collect();
        (entries, gossip.refused())
    };
    let naive = naive::tombstone::gossip(body).map(|(entries, refused)| {
        (entries.into_iter().map(|(hash, until)| (hash, plain_bits(until))).collect(), refused)
    });
    check(&gossip, naive, plain, body);
    let gossip = gossip.ok()?;
    assert_eq!(gossip.first_refusal().is_some(), gossip.refused() > 0);
    let written: Gossip = gossip.iter().collect();
    assert_eq!(Gossip::from_json(written.to_json()), Ok(written));
    check_laws(&gossip);
    Some(gossip)
}

fn bits(until: Until) -> u64 {
    until.as_unix_seconds().to_bits()
}

/// 0 and -0 are one deadline.
fn plain_bits(until: f64) -> u64 {
    (until + 0.0).to_bits()
}

fn check<T: std::fmt::Debug, P: PartialEq + std::fmt::Debug>(
    verdict: &Result<T, TombstoneError>,
    naive: Result<P, &'static str>,
    plain: impl Fn(&T) -> P,
    body: &[u8],
) {
    match (verdict, naive) {
        (Ok(read), Ok(naive)) => assert_eq!(plain(read), naive),
        (Err(error), Err(reason)) => {
            assert_eq!(error.reason().as_str(), reason, "{error}");
            assert!(error.offset() <= body.len() as u64, "{error}, in a body of {} bytes", body.len());
        }
        (Ok(read), Err(reason)) => panic!("accepted, should be {reason}: {read:?}"),
        (Err(error), Ok(naive)) => panic!("refused, should be accepted: {error}, {naive:?}"),
    }
}

struct Standing;

impl Clock for Standing {
    fn now(&self) -> Duration {
        Duration::from_secs(1000)
    }
}

/// Merged whole, in two parts in either order, twice, or entry by entry from the end: always the latest of each hash.
fn check_laws(gossip: &Gossip) {
    let entries: Vec<_> = gossip.iter().collect();
    let (start, end) = entries.split_at(entries.len() / 2);
    let [start, end] = [start, end].map(|part| part.iter().copied().collect::<Gossip>());
    let reversed: Vec<Gossip> = entries.iter().rev().map(|entry| Gossip::from_iter([*entry])).collect();
    let mut latest = BTreeMap::<Digest, Until>::new();
    for (hash, until) in entries.iter().filter(|(_, until)| until.as_unix_seconds() > 1000.0) {
        latest.entry(*hash).and_modify(|held| *held = (*held).max(*until)).or_insert(*until);
    }
    let orders: [Vec<&Gossip>; 4] =
        [vec![gossip], vec![&end, &start], vec![&start, &end, gossip, &start], reversed.iter().collect()];
    for order in orders {
        let table = TombstoneTable::with_clock(Standing);
        order.into_iter().for_each(|gossip| _ = table.merge(gossip));
        assert_eq!(table.active().iter().collect::<BTreeMap<_, _>>(), latest);
        assert!(entries.iter().all(|(hash, _)| table.active_until(hash) == latest.get(hash).copied()));
    }
}
