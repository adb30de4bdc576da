//! Tombstones: the table, its laws, gossip that converges, the bodies of requests, and the thread that sweeps.

mod naive;

#[path = "tombstones/agreement.rs"]
mod agreement;
#[path = "tombstones/bodies.rs"]
mod bodies;
#[path = "tombstones/clock.rs"]
mod clock;
#[path = "tombstones/convergence.rs"]
mod convergence;
#[path = "tombstones/laws.rs"]
mod laws;
#[path = "tombstones/many_threads.rs"]
mod many_threads;
#[path = "tombstones/sweeper.rs"]
mod sweeper;
#[path = "tombstones/table.rs"]
mod table;
