//! Measurement: the recorders, and the tables made from them. Knows no algorithm.

pub mod columns;
pub mod histogram;
pub mod inner;
pub mod queue;
pub mod settings;
pub mod traces;
pub mod waits;

pub use columns::{Column, ColumnData, TableBuilder, TableData};
pub use settings::{ProbeSettings, TraceWhen};
