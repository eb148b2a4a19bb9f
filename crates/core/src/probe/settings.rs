//! The recordings that an experiment may ask for.

use crate::params::{Code, Kind, Names, ParamType, Rule};
use serde_json::Value;
use shallows_units::Span;

/// When a trace gets a row.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub enum TraceWhen {
    /// Never.
    Off,
    /// Whenever the value changes.
    Change,
    /// At every multiple of an interval.
    Every(Span),
}

impl ParamType for TraceWhen {
    fn kind() -> Kind {
        Kind::Text
    }
    fn parse(value: &Value) -> Result<Self, Rule> {
        match value.as_str() {
            Some("off") => Ok(TraceWhen::Off),
            Some("change") => Ok(TraceWhen::Change),
            Some(text) => match Span::parse(text) {
                Ok(span) if span > Span::ZERO => Ok(TraceWhen::Every(span)),
                Ok(_) => Err(Code::OutOfRange.rule("must be \"off\", \"change\" or an interval > 0")),
                Err(error) => {
                    let rule = Rule::from(error);
                    let text = format!("must be \"off\", \"change\" or an interval: {}", rule.text);
                    Err(rule.code.rule(text).hint(rule.hint))
                }
            },
            None => Err(Code::WrongType.rule("must be \"off\", \"change\" or an interval such as \"100us\"")),
        }
    }
    fn show(&self) -> Value {
        match self {
            TraceWhen::Off => "off".into(),
            TraceWhen::Change => "change".into(),
            TraceWhen::Every(span) => span.show(),
        }
    }
    fn stand_in() -> Self {
        TraceWhen::Off
    }
}

crate::params! {
    /// The choice of recordings. No choice here changes the behaviour of the network.
    pub struct ProbeSettings {
        /// Time-weighted queue lengths and waiting times of every switch port.
        queues: bool = true, "", "the queue is what this laboratory is about";
        /// Time-weighted queue lengths and waiting times of the hosts' own ports.
        nic_queues: bool = false, "", "hosts queue without limit; rarely of interest";
        /// Queue length left behind by each departure.
        at_dequeue: bool = false, "", "the measure of document 003's figures";
        /// Waiting times and one-way delays of data packets by class.
        waits: bool = true, "", "the delay that short flows suffer";
        /// Queue length over time: "off", "change" or an interval.
        queue_trace: TraceWhen = "off", "", "rows cost memory: ask for what is drawn";
        /// Packets, bytes, marks and drops of each class at each traced port: "off" or an interval.
        port_trace: TraceWhen = "off", "", "rows cost memory: ask for what is drawn";
        /// Ports that the two traces above cover: a pattern covers ports of switches only, a full name any.
        ports: Names = "*->*", "", "switch ports, where the queues are";
        /// Congestion window, ssthresh, RTT, alpha and pacing rate of each flow over time: "off", "change" (of window or rate) or an interval.
        flow_trace: TraceWhen = "off", "", "rows cost memory: ask for what is drawn";
        /// Classes whose flows `flow_trace` covers.
        classes: Names = "*", "", "all";
        /// Ports whose packets are recorded one by one as they leave (`run --pcap` writes them for Wireshark).
        packets: Names = [], "", "rows cost memory: ask for what is looked at";
        /// All that `./shallows audit` reads: the packets of every port, those that ports lost, and each change of a window or rate (`flow_trace`).
        audit: bool = false, "", "rows cost memory: ask for it where a run is to be audited";
        /// The table `shares`: for each recorded port (`queues`, `nic_queues`) and each connection its packets, bytes and waits there. A
        /// run's summary then names the ports for which ranks of a collective waited.
        shares: bool = false, "", "rows cost memory: ask for it where the cause of a wait is looked for";
        /// Most rows that one trace may hold; a run that needs more ends with an error.
        trace_rows: u64 = 20000000, "[1, ]", "about 1 GB: memory stays bounded";
    }
}

impl ProbeSettings {
    /// When flows are traced. An audit reads each change of a window or rate.
    pub fn windows(&self) -> TraceWhen {
        if self.audit { TraceWhen::Change } else { self.flow_trace }
    }
}
