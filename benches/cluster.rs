//! Tombstones and reference counts, with one thread and with two, beside concurrent maps that others would take, and what
//! memory allows.

#![allow(missing_docs, reason = "criterion_group! makes undocumented items")]

use std::collections::{HashMap, HashSet};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use membrane_codec::Digest;
use membrane_codec::refcount::RefCount;
use membrane_codec::tombstone::{Clock, Gossip, SystemClock, TombstoneTable, Until};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const TOMBSTONES: usize = 1_000_000;
/// Look-ups of one measurement: few enough that many are taken, and spread over the table.
const LOOKUPS: usize = 100_000;
const THREADS: [usize; 2] = [1, 2];

fn hashes(seed: u64, len: usize) -> Vec<Digest> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..len).map(|_| Digest::from_bytes(random.random())).collect()
}

/// The hashes of the table in another order than the one in which they were recorded.
fn shuffled(hashes: &[Digest]) -> Vec<Digest> {
    let mut shuffled = hashes.to_vec();
    shuffled.shuffle(&mut ChaCha8Rng::seed_from_u64(2));
    shuffled
}

fn in_an_hour() -> Until {
    Until::from_unix_time(SystemClock.now() + Duration::from_secs(3600))
}

/// How long all threads together need when each does its part of the work. They start at once.
fn in_threads(threads: usize, work: impl Fn(usize) + Sync) -> Duration {
    if threads == 1 {
        let start = Instant::now();
        work(0);
        return start.elapsed();
    }
    let barrier = Barrier::new(threads + 1);
    thread::scope(|scope| {
        for thread in 0..threads {
            let (barrier, work) = (&barrier, &work);
            scope.spawn(move || {
                barrier.wait();
                work(thread);
                barrier.wait();
            });
        }
        barrier.wait();
        let start = Instant::now();
        barrier.wait();
        start.elapsed()
    })
}

/// Asks `LOOKUPS` times, in portions that differ from one measurement to the next, split among the threads.
fn lookups<T: Sync>(
    criterion: &mut Criterion,
    group: &str,
    name: Option<&str>,
    asked: &[T],
    look: impl Fn(&T) -> bool + Sync,
) {
    let mut group = criterion.benchmark_group(group);
    group.throughput(Throughput::Elements(LOOKUPS as u64));
    for threads in THREADS {
        let id = name.map_or_else(|| BenchmarkId::from_parameter(threads), |name| BenchmarkId::new(name, threads));
        let mut portions = asked.chunks_exact(LOOKUPS).cycle();
        group.bench_function(id, |bencher| {
            bencher.iter_custom(|iterations| {
                let measure = |portion: &[T]| {
                    in_threads(threads, |thread| {
                        let part = &portion[thread * LOOKUPS / threads..(thread + 1) * LOOKUPS / threads];
                        black_box(part.iter().filter(|item| look(item)).count());
                    })
                };
                (0..iterations).map(|_| portions.next().map_or(Duration::ZERO, measure)).sum()
            });
        });
    }
    group.finish();
}

/// Every tombstone is there and active, or not there at all. Peers know a hash by its name, as the wire has it.
fn tombstones_check(criterion: &mut Criterion) {
    let group = "tombstones_check";
    let (present, absent) = (hashes(1, TOMBSTONES), hashes(3, TOMBSTONES));
    let asked = shuffled(&present);
    let until = in_an_hour();
    {
        let table = TombstoneTable::new();
        present.iter().for_each(|hash| _ = table.record(*hash, Some(until), "node-1"));
        assert!(asked.iter().all(|hash| table.is_active(hash)) && !absent.iter().any(|hash| table.is_active(hash)));
        lookups(criterion, group, None, &asked, |hash| table.is_active(hash));
        lookups(criterion, group, Some("absent"), &absent, |hash| table.is_active(hash));
    }
    {
        // What memory allows: entries of the same length at known places, and nothing to find or to compare.
        let array: Vec<[u64; 5]> = (0..TOMBSTONES as u64).map(|number| [number; 5]).collect();
        let look = |hash: &Digest| {
            let [a, b, c, d, e, f, g, h, ..] = *hash.as_bytes();
            let entry = &array[u64::from_le_bytes([a, b, c, d, e, f, g, h]) as usize % TOMBSTONES];
            entry[0] == entry[4]
        };
        lookups(criterion, group, Some("array"), &asked, look);
        // And when each access has to wait for the one before.
        let last = AtomicU64::new(0);
        lookups(criterion, group, Some("array_one_by_one"), &asked, |hash| {
            let [a, b, c, d, e, f, g, h, ..] = *hash.as_bytes();
            let place = u64::from_le_bytes([a, b, c, d, e, f, g, h]) ^ last.load(Ordering::Relaxed);
            let entry = &array[place as usize % TOMBSTONES];
            last.store(entry[0] ^ entry[4], Ordering::Relaxed);
            true
        });
    }
    let names: Vec<String> = present.iter().map(Digest::to_string).collect();
    let asked: Vec<String> = asked.iter().map(Digest::to_string).collect();
    let until = until.as_unix_seconds();
    let is_active = |until: &f64| SystemClock.now().as_secs_f64() < *until;
    {
        let map = dashmap::DashMap::<String, f64>::new();
        names.iter().for_each(|name| _ = map.insert(name.clone(), until));
        lookups(criterion, group, Some("dashmap"), &asked, |name| map.get(name).is_some_and(|until| is_active(&until)));
    }
    {
        let map = papaya::HashMap::<String, f64>::new();
        names.iter().for_each(|name| _ = map.pin().insert(name.clone(), until));
        lookups(criterion, group, Some("papaya"), &asked, |name| map.pin().get(name).is_some_and(is_active));
    }
    {
        let map = RwLock::new(names.into_iter().map(|name| (name, until)).collect::<HashMap<_, _>>());
        lookups(criterion, group, Some("rwlock_hashmap"), &asked, |name| {
            map.read().is_ok_and(|map| map.get(name).is_some_and(is_active))
        });
    }
}

/// A table that is filled from nothing, each thread with its part.
fn tombstones_record(criterion: &mut Criterion) {
    const RECORDS: usize = 200_000;
    let hashes = hashes(1, RECORDS);
    let names: Vec<String> = hashes.iter().map(Digest::to_string).collect();
    let until = in_an_hour();
    let part = |thread: usize, threads: usize| thread * RECORDS / threads..(thread + 1) * RECORDS / threads;
    let mut group = criterion.benchmark_group("tombstones_record");
    group.throughput(Throughput::Elements(RECORDS as u64)).sample_size(20);
    for threads in THREADS {
        group.bench_function(BenchmarkId::from_parameter(threads), |bencher| {
            bencher.iter_custom(|iterations| {
                let measure = |_| {
                    let table = TombstoneTable::new();
                    in_threads(threads, |thread| {
                        hashes[part(thread, threads)]
                            .iter()
                            .for_each(|hash| _ = table.record(*hash, Some(until), "node-1"));
                    })
                };
                (0..iterations).map(measure).sum()
            });
        });
        group.bench_function(BenchmarkId::new("dashmap", threads), |bencher| {
            bencher.iter_custom(|iterations| {
                let measure = |_| {
                    let map = dashmap::DashMap::<String, f64>::new();
                    in_threads(threads, |thread| {
                        names[part(thread, threads)]
                            .iter()
                            .for_each(|name| _ = map.insert(name.clone(), until.as_unix_seconds()));
                    })
                };
                (0..iterations).map(measure).sum()
            });
        });
    }
    group.finish();
}

/// What a node does between two rounds of gossip: takes over what it knows already, tells what it has, and sweeps.
fn tombstones_gossip(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tombstones_gossip");
    let until = in_an_hour();
    let gossip: Gossip = hashes(1, Gossip::MAX_LEN).into_iter().map(|hash| (hash, until)).collect();
    let body = gossip.to_json();
    let table = TombstoneTable::new();
    table.merge(&gossip);
    group.throughput(Throughput::Elements(Gossip::MAX_LEN as u64)).sample_size(20);
    group.bench_function("read", |bencher| bencher.iter(|| Gossip::from_json(black_box(&body)).map(|read| read.len())));
    group.bench_function("merge_known", |bencher| bencher.iter(|| table.merge(black_box(&gossip))));
    group.bench_function("active", |bencher| bencher.iter(|| table.active()));
    group.bench_function("sweep", |bencher| bencher.iter(|| table.sweep()));
    group.finish();
}

/// Each thread acquires and releases; the hashes are shared, the holders are not.
fn refcount(criterion: &mut Criterion) {
    const PAIRS: usize = 100_000;
    let hashes = hashes(1, PAIRS);
    let mut group = criterion.benchmark_group("refcount");
    group.throughput(Throughput::Elements(PAIRS as u64)).sample_size(20);
    for threads in THREADS {
        let part = |thread: usize| &hashes[thread * PAIRS / threads..(thread + 1) * PAIRS / threads];
        let held = RefCount::<Digest, usize>::new();
        group.bench_function(BenchmarkId::new("acquire_release", threads), |bencher| {
            bencher.iter_custom(|iterations| {
                let measure = |_| {
                    in_threads(threads, |thread| {
                        for hash in part(thread) {
                            held.acquire(*hash, thread);
                            black_box(held.release(hash, &thread));
                        }
                    })
                };
                (0..iterations).map(measure).sum()
            });
        });
        let map = dashmap::DashMap::<Digest, HashSet<usize>>::new();
        group.bench_function(BenchmarkId::new("dashmap", threads), |bencher| {
            bencher.iter_custom(|iterations| {
                let measure = |_| {
                    in_threads(threads, |thread| {
                        for hash in part(thread) {
                            map.entry(*hash).or_default().insert(thread);
                            let is_last = |_: &Digest, holders: &mut HashSet<usize>| {
                                holders.remove(&thread);
                                holders.is_empty()
                            };
                            black_box(map.remove_if_mut(hash, is_last));
                        }
                    })
                };
                (0..iterations).map(measure).sum()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, tombstones_check, tombstones_record, tombstones_gossip, refcount);
criterion_main!(benches);
