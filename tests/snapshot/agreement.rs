//! That a snapshot's reader and writer agree, with each other and with the naive reader. For tests and fuzzers.

use membrane_codec::snapshot::{Replicas, Snapshot, UnknownKeys};

use crate::naive::snapshot as oracle;
use crate::naive::{self, Value};

/// Checks everything about `json`; gives the snapshot if it is one. Panics when something disagrees.
#[allow(unreachable_pub, reason = "public to the fuzz targets")]
pub fn check_snapshot(json: &[u8]) -> Option<Snapshot> {
    match (Snapshot::from_json(json), oracle::snapshot(json)) {
        (Ok(snapshot), Ok(said)) => {
            assert_says(&snapshot, &said);
            let again = snapshot.to_json();
            assert_eq!(oracle::snapshot(&again), Ok(said), "{}", String::from_utf8_lossy(&again));
            let again = Snapshot::from_json(again).expect("the oracle says so");
            assert_eq!(again, snapshot);
            Some(snapshot)
        }
        (Err(error), Err(reason)) => {
            assert_eq!(error.reason().as_str(), reason, "{error}");
            assert!(error.offset() <= json.len() as u64, "{error}, in {} bytes", json.len());
            assert!(error.to_string().starts_with(reason));
            None
        }
        (Ok(_), Err(reason)) => panic!("accepted, should be {reason}: {}", String::from_utf8_lossy(json)),
        (Err(error), Ok(_)) => panic!("refused, should be accepted: {error}: {}", String::from_utf8_lossy(json)),
    }
}

fn assert_says(snapshot: &Snapshot, oracle: &oracle::Snapshot) {
    assert_eq!(snapshot.cluster_epoch, oracle.cluster_epoch);
    assert_eq!(snapshot.captured_at.as_unix_seconds(), oracle.captured_at);
    assert_eq!(snapshot.membership.len(), oracle.membership.len());
    for (member, oracle) in snapshot.membership.iter().zip(&oracle.membership) {
        let said = oracle::Member {
            node_id: member.node_id.to_string(),
            host: member.host.clone(),
            port: member.port.get().into(),
            cluster_epoch: member.cluster_epoch,
            healthy: member.healthy,
            suspect: member.suspect,
            missed_heartbeats: member.missed_heartbeats,
            unknown: values(member.unknown()),
        };
        assert_eq!(said, *oracle);
    }
    let primaries: Vec<_> = snapshot.shards.primaries().map(|(hash, node)| (hash.into(), node.into())).collect();
    assert_eq!(primaries, oracle.primary_map);
    for (hash, node) in &oracle.primary_map {
        assert_eq!(snapshot.shards.primary(hash).expect("it is there"), node.as_str());
    }
    let strings = |nodes: Replicas<'_>| nodes.map(String::from).collect::<Vec<_>>();
    let replicas: Vec<_> = snapshot.shards.all_replicas().map(|(hash, nodes)| (hash.into(), strings(nodes))).collect();
    assert_eq!(replicas, oracle.replica_map);
    for (hash, nodes) in &oracle.replica_map {
        assert_eq!(strings(snapshot.shards.replicas(hash).expect("it is there")), *nodes);
    }
    assert_eq!(snapshot.shards.primary_len(), oracle.primary_map.len());
    assert_eq!(snapshot.shards.replica_len(), oracle.replica_map.len());
    assert_eq!(snapshot.server.request_count, oracle.request_count);
    assert_eq!(snapshot.server.error_count, oracle.error_count);
    let unknown = [snapshot.unknown(), snapshot.shards.unknown(), snapshot.server.unknown()].map(values);
    assert_eq!(unknown, oracle.unknown);
}

fn values(unknown: &UnknownKeys) -> Vec<(String, Value)> {
    let value = |json: &str| naive::json(json.as_bytes()).expect("what is kept is JSON");
    unknown.iter().map(|(key, json)| (key.into(), value(json))).collect()
}
