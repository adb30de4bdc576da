//! Nodes that gossip over a network which loses, duplicates, delays and reorders, with clocks that disagree, come to the same
//! tombstones, and nothing that was deleted returns to a node that knows it while the tombstone lives.
//!
//! A run is drawn from its seed alone. `CONVERGENCE_RUNS=10000` makes more of them, `CONVERGENCE_SEED=17` replays one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::convert::Infallible;
use std::time::Duration;

use membrane_codec::Digest;
use membrane_codec::refcount::{FragmentTable, NotStored};
use membrane_codec::tombstone::{Clock, DeleteRequest, Gossip, TombstoneTable, Until};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::clock::{ManualClock, hash, until};

#[test]
fn all_nodes_converge_and_nothing_returns() {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let seeds = match number("CONVERGENCE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("CONVERGENCE_RUNS").unwrap_or(60),
    };
    println!("seeds {seeds:?}; CONVERGENCE_SEED replays one, CONVERGENCE_RUNS makes more");
    let mut total = Counts::default();
    let runs = seeds.end - seeds.start;
    for seed in seeds {
        let counts = std::panic::catch_unwind(|| Cluster::new(seed).run()).unwrap_or_else(|panic| {
            eprintln!("seed {seed} failed: CONVERGENCE_SEED={seed} replays it");
            std::panic::resume_unwind(panic)
        });
        total.add(counts);
    }
    println!("{runs} runs: {total:?}");
    if runs >= 60 {
        // The runs are about something.
        let Counts { stored, refused, deleted, erased, lost, duplicated, learned, extended, swept } = total;
        for count in [stored, refused, deleted, erased, lost, duplicated, learned, extended, swept] {
            assert!(count > runs, "{total:?}");
        }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    stored: u64,
    refused: u64,
    deleted: u64,
    /// By gossip.
    erased: u64,
    lost: u64,
    duplicated: u64,
    learned: u64,
    extended: u64,
    swept: u64,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.stored += other.stored;
        self.refused += other.refused;
        self.deleted += other.deleted;
        self.erased += other.erased;
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.learned += other.learned;
        self.extended += other.extended;
        self.swept += other.swept;
    }
}

/// How long things happen, in milliseconds of true time; then the network is mended.
const END: u64 = 120_000;
const START: u64 = 1_000_000_000;
const HASHES: u64 = 8;

enum Event {
    /// A node picks something to do.
    Act(usize),
    /// A node gossips to another.
    Gossip(usize),
    Arrival {
        to: usize,
        message: Message,
    },
}

#[derive(Clone)]
enum Message {
    Store(Digest),
    Delete(String),
    Gossip(String),
}

struct Node {
    fragments: FragmentTable<(), ManualClock>,
    clock: ManualClock,
    /// Milliseconds that this node's clock is ahead.
    ahead: i64,
    /// The latest deadline that this node was ever told for each hash, and believed.
    told: BTreeMap<Digest, Until>,
}

struct Cluster {
    random: ChaCha8Rng,
    nodes: Vec<Node>,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, Event>,
    now: u64,
    loss: f64,
    duplication: f64,
    /// The latest deadline that anybody gave each hash.
    recorded: BTreeMap<Digest, Until>,
    counts: Counts,
}

impl Cluster {
    fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let nodes = (0..random.random_range(2..7)).map(|_| {
            let clock = ManualClock::default();
            let fragments = FragmentTable::with_tombstones(TombstoneTable::with_clock(clock.clone()));
            Node { fragments, clock, ahead: random.random_range(-5000..5000), told: BTreeMap::new() }
        });
        let nodes = nodes.collect();
        let (loss, duplication) = (random.random_range(0.0..0.7), random.random_range(0.0..0.5));
        let (queue, events) = (BinaryHeap::new(), BTreeMap::new());
        let (recorded, counts) = (BTreeMap::new(), Counts::default());
        Self { random, nodes, queue, events, now: START, loss, duplication, recorded, counts }
    }

    fn run(mut self) -> Counts {
        for node in 0..self.nodes.len() {
            self.after(1, Event::Act(node));
            self.after(1, Event::Gossip(node));
        }
        while let Some(Reverse((time, number))) = self.queue.pop() {
            self.now = time;
            for node in &self.nodes {
                node.clock.set_millis(time.saturating_add_signed(node.ahead));
            }
            match self.events.remove(&number).expect("each event once") {
                Event::Act(node) if time < START + END => {
                    self.act(node);
                    let pause = self.random.random_range(1..2000);
                    self.after(pause, Event::Act(node));
                }
                Event::Gossip(node) if time < START + END => {
                    self.gossip(node);
                    let pause = self.random.random_range(1..4000);
                    self.after(pause, Event::Gossip(node));
                }
                Event::Act(_) | Event::Gossip(_) => {}
                Event::Arrival { to, message } => self.arrive(to, message),
            }
        }
        self.settle();
        self.counts
    }

    fn after(&mut self, millis: u64, event: Event) {
        let number = self.events.last_key_value().map_or(0, |(last, _)| last + 1);
        self.queue.push(Reverse((self.now + millis, number)));
        self.events.insert(number, event);
    }

    /// Sends a message through the network: it may be lost, come twice, late, and after one that was sent later.
    fn send(&mut self, to: usize, message: Message) {
        if self.random.random_bool(self.loss) {
            self.counts.lost += 1;
            return;
        }
        if self.random.random_bool(self.duplication) {
            self.counts.duplicated += 1;
            let late = self.random.random_range(1..30_000);
            self.after(late, Event::Arrival { to, message: message.clone() });
        }
        let late = self.random.random_range(1..3000);
        self.after(late, Event::Arrival { to, message });
    }

    fn act(&mut self, node: usize) {
        let content_hash = hash(self.random.random_range(0..HASHES));
        match self.random.random_range(0..10) {
            // A client stores, and the node replicates; some of that is long under way.
            0..6 => {
                self.store(node, content_hash);
                (0..self.nodes.len()).for_each(|peer| self.send(peer, Message::Store(content_hash)));
            }
            6..8 => {
                // The default, or a deadline of one's own, sometimes one that is over when it is given.
                let lifetime = self.random.random_range(-1000..90_000);
                let given = self.random.random_bool(0.5).then(|| {
                    let deadline = self.now.saturating_add_signed(self.nodes[node].ahead + lifetime);
                    until(deadline as f64 / 1000.0)
                });
                let counts = self.delete(node, content_hash, given, node);
                // The wire carries the value explicitly.
                let request = DeleteRequest { content_hash, node_id: node.to_string(), tombstone_until: Some(counts) };
                (0..self.nodes.len()).for_each(|peer| self.send(peer, Message::Delete(request.to_json())));
            }
            _ => self.sweep(node),
        }
    }

    fn gossip(&mut self, node: usize) {
        let peer = self.random.random_range(0..self.nodes.len());
        let body = self.nodes[node].fragments.tombstones().active().to_json();
        self.send(peer, Message::Gossip(body));
    }

    fn arrive(&mut self, to: usize, message: Message) {
        match message {
            Message::Store(content_hash) => self.store(to, content_hash),
            Message::Delete(body) => {
                let request = DeleteRequest::from_json(body).expect("a peer's body");
                let from = request.node_id.parse().expect("a number");
                self.delete(to, request.content_hash, request.tombstone_until, from);
            }
            Message::Gossip(body) => self.merge(to, &Gossip::from_json(body).expect("a peer's body")),
        }
    }

    fn store(&mut self, at: usize, content_hash: Digest) {
        let node = &self.nodes[at];
        let now = node.clock.now().as_secs_f64();
        let told = node.told.get(&content_hash).filter(|until| now < until.as_unix_seconds());
        match node.fragments.store(content_hash, (), || Ok::<(), Infallible>(())) {
            Ok(_) => {
                assert_eq!(told, None, "node {at} took a store that its tombstone forbids, at {now}");
                self.counts.stored += 1;
            }
            Err(NotStored::Tombstone(until)) => {
                assert_eq!(told, Some(&until), "node {at} refused a store, at {now}");
                self.counts.refused += 1;
            }
            Err(NotStored::Write(never)) => match never {},
        }
    }

    fn delete(&mut self, at: usize, content_hash: Digest, given: Option<Until>, from: usize) -> Until {
        let node = &mut self.nodes[at];
        let given = given.unwrap_or_else(|| Until::from_unix_time(node.clock.now() + Duration::from_secs(60)));
        let erase = || Ok::<(), Infallible>(());
        let Ok(_) = node.fragments.delete(content_hash, &(), Some(given), &from.to_string(), erase);
        assert!(!node.fragments.holds(&content_hash));
        for told in [&mut node.told, &mut self.recorded] {
            told.entry(content_hash).and_modify(|told| *told = given.max(*told)).or_insert(given);
        }
        self.counts.deleted += 1;
        given
    }

    /// Takes over a peer's tombstones, and lets go of what they say is deleted.
    fn merge(&mut self, at: usize, gossip: &Gossip) {
        let node = &mut self.nodes[at];
        let now = node.clock.now().as_secs_f64();
        let merged = node.fragments.merge(gossip, |_| Ok::<(), Infallible>(()));
        self.counts.learned += merged.tombstones.learned as u64;
        self.counts.extended += merged.tombstones.extended as u64;
        self.counts.erased += merged.erased.len() as u64;
        for (content_hash, until) in gossip.iter().filter(|(_, until)| now < until.as_unix_seconds()) {
            assert!(!node.fragments.holds(&content_hash), "node {at} holds what gossip says is deleted");
            node.told.entry(content_hash).and_modify(|told| *told = until.max(*told)).or_insert(until);
        }
    }

    fn sweep(&mut self, at: usize) {
        let node = &self.nodes[at];
        let now = node.clock.now().as_secs_f64();
        for dropped in node.fragments.tombstones().sweep() {
            assert!(now >= dropped.until.as_unix_seconds());
            self.counts.swept += 1;
        }
    }

    /// The network is mended, and each node hears of each other; then all must agree.
    fn settle(&mut self) {
        for _ in 0..2 {
            for from in 0..self.nodes.len() {
                let gossip = self.nodes[from].fragments.tombstones().active();
                (0..self.nodes.len()).for_each(|to| self.merge(to, &gossip));
            }
        }
        // What lives by every clock. A clock that is ahead may have swept the rest, one that is behind still has it.
        let latest = self.nodes.iter().map(|node| node.clock.now()).max().expect("there are nodes").as_secs_f64();
        let lives = |(_, until): &(Digest, Until)| latest < until.as_unix_seconds();
        let expected: BTreeMap<_, _> =
            self.recorded.iter().map(|(hash, until)| (*hash, *until)).filter(lives).collect();
        for (at, node) in self.nodes.iter().enumerate() {
            let active: BTreeMap<_, _> = node.fragments.tombstones().active().iter().filter(lives).collect();
            assert_eq!(active, expected, "node {at}");
            for content_hash in active.keys() {
                assert!(!node.fragments.holds(content_hash), "node {at} still holds what was deleted");
            }
        }
    }
}
