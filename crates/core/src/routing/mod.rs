//! The network as data: its graph, the tables by which switches forward, and the names that select its parts.

pub mod choice;
pub mod fastest;
pub mod fixed;
pub mod graph;
pub mod ideal;
pub mod longest;
mod search;
pub mod select;
pub mod table;
