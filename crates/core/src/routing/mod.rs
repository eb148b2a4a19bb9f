//! The network as data: its graph, who reaches whom on which paths, and the names that select its parts.

pub mod ecmp;
pub mod graph;
pub mod paths;
pub mod routes;
pub mod select;
