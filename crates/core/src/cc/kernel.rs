//! A congestion control of the Linux kernel, by the kernel's name for it.
//!
//! Source: the kernel itself (`net/ipv4/tcp_NAME.c`), which `--backend linux` runs.
//! Left out: all of it. Nothing here simulates it, and the simulator refuses it before anything runs.

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo};
use crate::params::{Code, Kind, ParamType, Rule};
use serde_json::Value;
use shallows_units::Bytes;

/// The controls of the kernel that `linux build` makes, which another kernel may add to.
const KNOWN: &[&str] = &[
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// The most letters of a name (`TCP_CA_NAME_MAX`, less the end).
const MOST: usize = 15;

/// A control's name in the kernel, which alone knows whether it has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd)]
pub struct Name(String);

impl ParamType for Name {
    fn kind() -> Kind {
        Kind::Word(KNOWN)
    }
    fn parse(value: &Value) -> Result<Self, Rule> {
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
        match value.as_str() {
            Some(word) if (1..=MOST).contains(&word.len()) && word.chars().all(letter) => {
                Ok(Name(word.into()))
            }
            _ => {
                Err(Code::WrongForm
                    .rule(format!("must be a name of at most {MOST} letters, digits, _, - and .")))
            }
        }
    }
    fn show(&self) -> Value {
        self.0.as_str().into()
    }
    fn stand_in() -> Self {
        Name("reno".into())
    }
}

crate::params! {
    /// Any of the Linux kernel's congestion controls by its name, with `--backend linux` alone. The simulator has
    /// none of them and refuses this before anything runs.
    pub struct Settings {
        /// Its name in the kernel.
        name: Name = required, "", "the kernel that runs, which is asked for its controls";
    }
}

impl CcSettings for Settings {}

/// There is none: nothing in the simulator has this type.
#[derive(Debug, Clone)]
pub enum Control {}

impl Control {
    /// Nothing of it is the simulator's.
    pub const ECN: EcnUse = EcnUse::Off;

    /// Never called.
    pub fn start(_settings: &Settings, _flow: &FlowInfo<'_>, _cx: &Cx<'_>) -> Self {
        unreachable!("a run is built of components that the simulator has")
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, _ack: &Ack, _cx: &Cx<'_>) {
        match *self {}
    }
    fn on_congestion(&mut self, _why: Congestion, _flight: u64, _cx: &Cx<'_>) {
        match *self {}
    }
    fn cwnd(&self) -> Bytes {
        match *self {}
    }
}
