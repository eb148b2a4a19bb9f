//! The settings of datagrams.

use crate::cc::Algorithm;
use crate::params::{Code, Component, Faults, Params};
use crate::transport::settings::{Codepoint, EcnMode, Opening, TransportSettings};
use shallows_units::Bytes;

/// The name by which `transport.profile` chooses datagrams.
pub const PROFILE: &str = "udp";
/// The control that stands for none at all.
pub const CONTROL: &str = "line-rate";

crate::choices! {
    /// The codepoint of a packet that nobody answers for.
    pub enum Ect {
        /// Switches drop it where they would mark others.
        NotEct = "not-ect",
        /// ECT(0).
        Ect0 = "ect0",
        /// ECT(1).
        Ect1 = "ect1",
    }
}

crate::params! {
    /// Datagrams: UDP, or unreliable datagrams of RoCEv2. Nothing is acknowledged or sent again, and no congestion control
    /// is at work. Loads of the kind `datagrams` have this profile, and no others.
    pub struct DatagramSettings {
        /// Most payload of a packet, and so of a datagram.
        mtu: Bytes = "1472B", "[1B, 65000B]", "Ethernet's 1500 less 28 bytes of headers";
        /// Bytes of a packet's header.
        header: Bytes = "28B", "[1B, 200B]", "IPv4 and UDP (RFC 768); with RoCEv2's BTH, DETH and checksum 52";
        /// The ECN codepoint of packets. With ect0 or ect1 switches mark them instead of dropping them, and nobody reacts.
        ecn: Ect = "not-ect", "", "RFC 8085 s.3.1.7: only an application that reacts to marks may set ECT; the others show what such traffic does";
        /// Priority of packets at ports that tell priorities apart: a lane each (section `priority`).
        priority: u64 = 0, "[0, 7]", "IEEE 802.1Q-2018 s.6.9.3: best effort";
        /// Most bytes of a sender in its host's port. A datagram that would exceed it waits.
        send_buffer: Bytes = "212992B", "[1B, ]", "Linux net.core.wmem_default, where a program that blocks waits";
    }
    facts {
        not_tcp: "datagrams",
    }
}

impl DatagramSettings {
    /// The settings of TCP that both transports share, for the parts of a run that ask for no more.
    pub fn common(&self) -> TransportSettings {
        TransportSettings {
            opening: Opening::Established,
            mss: self.mtu,
            header: self.header,
            small_queues: Some(self.send_buffer),
            ecn: if self.ecn == Ect::NotEct { EcnMode::Off } else { EcnMode::On },
            ect: if self.ecn == Ect::Ect1 { Codepoint::Ect1 } else { Codepoint::Ect0 },
            priority: self.priority,
            ..TransportSettings::defaults()
        }
    }

    /// Checks across settings, which stand at `path`.
    pub fn check(&self, path: &str, cc: Option<&Algorithm>, faults: &mut Faults) {
        let packet = self.mtu.as_u64() + self.header.as_u64();
        if packet > 65_535 {
            let rule = "must leave room for the header in 65535 bytes";
            faults.add(&format!("{path}.mtu"), Code::Conflict.rule(rule), &self.mtu.to_string().into());
        }
        let Some(cc) = cc else { return };
        let bound = cc.show().get("window_rtt").filter(|bound| **bound != "none").cloned();
        if cc.kind() != CONTROL {
            let rule = "must be left out: datagrams have no congestion control";
            faults.add(&format!("{path}.cc"), Code::Unsupported.rule(rule), &cc.kind().into());
        } else if let Some(bound) = bound {
            let rule = "changes nothing: nobody acknowledges a datagram, so that no window bounds them";
            faults.add(&format!("{path}.cc.window_rtt"), Code::Conflict.rule(rule), &bound);
        }
    }

    /// The profile as a component, for lists and reference pages.
    pub fn component() -> Component {
        Component::of::<Self>(PROFILE)
    }
}
