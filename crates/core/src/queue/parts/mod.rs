//! Parts of several disciplines: limits and measures, held packets, controllers, two queues, the FIFO, a line in front, lanes by priority.

pub mod classify;
pub mod departure_rate;
pub mod dual;
pub mod fifo;
pub mod fronted;
pub mod gauge;
pub mod held;
pub mod lanes;
pub mod pi;
pub mod slope;
pub mod sparse;
