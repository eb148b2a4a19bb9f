//! The settings of Ultra Ethernet's transport, and the form in which both ends work with them.

use crate::cc::Algorithm;
use crate::params::{Code, Component, Faults, ParamType, Params};
use crate::transport::entropy::{Entropy, Values};
use crate::transport::ndp::settings::Untrimmed;
use crate::transport::roce::settings::controls;
use crate::transport::settings::{EcnMode, Opening, TransportSettings};
use serde_json::{Value, json};
use shallows_units::{Bytes, Span};
use std::collections::BTreeSet;

/// The name by which `transport.profile` chooses it.
pub const PROFILE: &str = "uec";

crate::choices! {
    /// The room in the window that a packet needs.
    pub enum Room {
        /// That of a full packet, whatever its size.
        Full = "full",
        /// Its own.
        Own = "own",
    }
}

crate::choices! {
    /// The timer of a packet that was lost before.
    pub enum Backoff {
        /// It doubles with each timeout, up to 8 s.
        Doubled = "doubled",
        /// It stays the same.
        None = "none",
    }
}

crate::choices! {
    /// The repair of packets that nobody reported.
    pub enum Recovery {
        /// Their timers find them.
        Timers = "timers",
        /// SLEEK: packets beyond a gap, and probes, find them sooner. Repairs need no room in the window.
        Sleek = "sleek",
    }
}

crate::params! {
    /// Ultra Ethernet's transport, in its mode of reliable delivery in any order. Packets carry entropy values, by which switches spread
    /// them over paths; `ecmp` must be a choice by flow. Lost packets are sent again one by one. Hosts' ports are trimming without
    /// limits: ten answers go for each packet of data while both wait.
    pub struct UecSettings {
        /// Payload of a full packet.
        mtu: Bytes = "4096B", "[1B, 9000B]", "UE 1.0.3: 1024, 2048, 4096 or 8192 as usual; uet-htsim: 4086 beside 64 of headers";
        /// Bytes of a packet's headers, and of answers. Windows count them.
        header: Bytes = "64B", "[1B, 200B]", "uet-htsim 40ccb05: 64";
        /// How the entropy value of each packet is chosen.
        entropy: Entropy = "mixed", "", "uet-htsim 40ccb05: its default";
        /// Entropy values that a connection has, a power of two.
        entropies: u64 = 64, "[1, 65536]", "UE 1.0.3 s.3.6.16: 64 to 256; uet-htsim: 64, and 128 in its tests";
        /// Values that a controller denies: no packet, answer or probe carries them. It needs entropy = "states".
        denied: Vec<u64> = [], "[0, 65535]", "notes on MRC 1.0: a controller denies values; UE 1.0.3 has none";
        /// Bytes after which an answer is due. Each packet counts 1 KiB at least.
        ack_bytes: Bytes = "16384B", "[1B, 1GB]", "UE 1.0.3 s.3.5: ACK_Gen_Trigger, 16 KiB";
        /// The room in the window that a packet needs.
        room: Room = "full", "", "UE 1.0.3 s.3.6.13.5: inflight + MTU <= cwnd; uet-htsim: own";
        /// A packet without an answer is sent again after this, counted from when it leaves the host's port.
        timeout: Span = "1ms", "(0s, 8s]", "UE 1.0.3 s.3.5 leaves it to the card; uet-htsim: 15 us and six full queues";
        /// Whether a packet's timer doubles with each of its timeouts.
        backoff: Backoff = "doubled", "", "UE 1.0.3 s.3.5: RTO_Init x 2^retries, 8 s at most; uet-htsim: none";
        /// Timeouts of a packet that a connection survives.
        retries: u64 = 5, "[0, 1000]", "UE 1.0.3 s.3.5: five as usual";
        /// The repair of packets that nobody reported, beside timers.
        recovery: Recovery = "timers", "", "UE 1.0.3 s.3.5: timers; uet-htsim 40ccb05: -sleek, for switches that do not trim";
        /// Whether receivers give credit (RCCC), beside the control or alone: "line-rate" has no window.
        receiver_credit: bool = false, "", "UE 1.0.3 s.3.6.14: optional; uet-htsim: -receiver_cc";
        /// Whether a probe measures the base round trip after a connection's first answer. It matters where cc.base_rtt is longer than the path's.
        start_probe: bool = false, "", "UE 1.0.3 s.3.6.13.7 sends one; here each control knows its path";
        /// Whether a card with several ports uses none whose link is down, and its answers tell the peer's card which ones these are.
        port_status: bool = false, "", "notes on MRC 1.0: a message tells peers of a dead plane; UE 1.0.3 has none";
        /// Whether ports of switches may drop packets that they could trim.
        untrimmed: Untrimmed = "refused", "", "UE 1.0.3 s.4.1: trimming may be absent; then write it, and trimming = false in cc";
    }
    facts {
        not_tcp: "Ultra Ethernet's transport",
    }
}

/// The settings in the form in which both ends work with them. Of a load over another transport they are the defaults, and unused.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Entropy values, and how they are chosen.
    pub entropy: Values,
    /// Bytes after which an answer is due.
    pub ack_bytes: u64,
    /// A packet needs room for a full one.
    pub full: bool,
    /// A packet without an answer is sent again after this.
    pub timeout: Span,
    /// That doubles.
    pub doubles: bool,
    /// Timeouts of a packet that a connection survives.
    pub retries: u64,
    /// Gaps and probes find losses.
    pub sleek: bool,
    /// Receivers give credit.
    pub credit: bool,
    /// A probe measures the base round trip.
    pub start_probe: bool,
    /// Cards do not use ports that are down at either end.
    pub port_status: bool,
}

/// The longest timer (UE 1.0.3 s.3.5).
const LONGEST: Span = Span::s(8);

impl Rules {
    /// The rules of a load with `settings`.
    pub fn new(settings: &UecSettings) -> Self {
        Rules {
            entropy: Values {
                rule: settings.entropy,
                count: settings.entropies as u32,
                denied: settings
                    .denied
                    .iter()
                    .map(|value| *value as u32)
                    .collect::<BTreeSet<_>>()
                    .into_iter()
                    .collect(),
            },
            ack_bytes: settings.ack_bytes.as_u64(),
            full: settings.room == Room::Full,
            timeout: settings.timeout,
            doubles: settings.backoff == Backoff::Doubled,
            retries: settings.retries,
            sleek: settings.recovery == Recovery::Sleek,
            credit: settings.receiver_credit,
            start_probe: settings.start_probe,
            port_status: settings.port_status,
        }
    }

    /// Whether packets of a connection have values of their own.
    pub fn chooses_paths(&self) -> bool {
        self.entropy.rule != Entropy::Single
    }

    /// The time that a packet which timed out so often waits for its answer.
    pub fn timer(&self, timeouts: u64) -> Span {
        if !self.doubles {
            return self.timeout;
        }
        (0..timeouts.min(64)).fold(self.timeout, |span, _| (span + span).min(LONGEST.max(self.timeout)))
    }
}

impl UecSettings {
    /// The settings of TCP that both transports share, for the parts of a run that ask for no more.
    pub fn common(&self) -> TransportSettings {
        TransportSettings {
            opening: Opening::Established,
            mss: self.mtu,
            header: self.header,
            dup_acks: 1, // a later packet reports nothing, so that the last of a message alone is its tail
            small_queues: Some(Bytes(1)),
            ecn: EcnMode::On, // marks choose paths, whatever the control makes of them
            ..TransportSettings::defaults()
        }
    }

    /// Checks across settings, which stand at `path`.
    pub fn check(&self, path: &str, cc: Option<&Algorithm>, faults: &mut Faults) {
        if !self.entropies.is_power_of_two() {
            let rule = Code::OutOfRange.rule("must be a power of two, such as 64 or 128");
            faults.add(&format!("{path}.entropies"), rule, &self.entropies.into());
        }
        if self.entropies == 1 && self.entropy != Entropy::Single {
            let rule =
                Code::Conflict.rule("must be \"single\" beside entropies = 1: there is no value to choose");
            faults.add(&format!("{path}.entropy"), rule, &self.entropy.show());
        }
        if !self.denied.is_empty() && self.entropy != Entropy::States {
            let rule = Code::Conflict
                .rule("must be \"states\" beside denied: no other rule knows of values that are denied");
            faults.add(&format!("{path}.entropy"), rule, &self.entropy.show());
        }
        if let Some((place, value)) =
            self.denied.iter().enumerate().find(|(_, value)| **value >= self.entropies)
        {
            let rule = format!("must be below entropies = {}: values count from 0", self.entropies);
            faults.add(&format!("{path}.denied.{place}"), Code::OutOfRange.rule(rule), &(*value).into());
        } else if self.denied.iter().collect::<BTreeSet<_>>().len() as u64 >= self.entropies {
            let rule = Code::Conflict.rule("must leave at least one value that packets may carry");
            faults.add(&format!("{path}.denied"), rule, &self.denied.show());
        }
        if self.recovery == Recovery::Sleek && self.untrimmed == Untrimmed::Refused {
            let rule = Code::Conflict.rule(
                "must be \"timers\" where every switch trims and reports each loss, or write untrimmed = \"allowed\"",
            );
            faults.add(&format!("{path}.recovery"), rule, &self.recovery.show());
        }
        let Some(cc) = cc else { return };
        if cc.runs_over_uec() && !cc.reacts() && !self.receiver_credit {
            let rule = format!("must be true beside cc = \"{}\", which bounds nothing by itself", cc.kind());
            faults.add(
                &format!("{path}.receiver_credit"),
                Code::Conflict.rule(rule),
                &self.receiver_credit.into(),
            );
        }
        if !cc.runs_over_uec() {
            let rule = format!(
                "must be one that learns of trimmed packets: {} does not. Over Ultra Ethernet run {}",
                cc.kind(),
                controls(Algorithm::runs_over_uec)
            );
            faults.add(&format!("{path}.cc"), Code::Unsupported.rule(rule), &cc.kind().into());
        }
    }

    /// The discipline of hosts' ports where `[nic]` is not written: uet-htsim 40ccb05, ten answers to a packet of data.
    pub fn nic() -> Value {
        json!({"kind": "trimming", "limit": "none", "header_limit": "none"})
    }

    /// The profile as a component, for lists and reference pages.
    pub fn component() -> Component {
        Component::of::<Self>(PROFILE)
    }
}
