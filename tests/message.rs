//! The wire message: the vectors, the agreement of the three roads, writing, building, errors, allocations.

mod naive;
mod samples;

#[path = "message/agreement.rs"]
mod agreement;
#[path = "message/allocations.rs"]
mod allocations;
#[path = "message/bodies.rs"]
mod bodies;
#[path = "message/building.rs"]
mod building;
#[path = "message/errors.rs"]
mod errors;
#[path = "message/numbers.rs"]
mod numbers;
#[path = "message/roads.rs"]
mod roads;
#[path = "message/vectors.rs"]
mod vectors;
