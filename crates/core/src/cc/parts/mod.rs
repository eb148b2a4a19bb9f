//! Parts that several algorithms share: the window and its rules, slow start, rates, requests.

pub mod arithmetic;
pub mod hystart;
pub mod own_rate;
pub mod path;
pub mod rate_paced;
pub mod requests;
pub mod window;
