//! The settings of NDP, and the form in which both ends work with them.

use crate::cc::Algorithm;
use crate::params::{Code, Component, Faults, Params};
use crate::transport::settings::{Opening, TransportSettings};
use serde_json::Value;
use shallows_units::{Bytes, Size, Span};

/// The name by which `transport.profile` chooses NDP.
pub const PROFILE: &str = "ndp";
/// The only control that runs over it.
const CONTROL: &str = "line-rate";

crate::choices! {
    /// Whether ports of switches may drop packets that they could trim.
    pub enum Untrimmed {
        /// An experiment with such a port is refused.
        Refused = "refused",
        /// It runs, and timeouts repair what is lost.
        Allowed = "allowed",
    }
}

crate::params! {
    /// NDP. Senders begin with a window at the line rate, switches trim what does not fit, and receivers pull the rest at the rate
    /// of their link. `cc` is line-rate, since pulls are all the control there is. Hosts' ports are trimming without limits: what
    /// receivers send goes before data.
    pub struct NdpSettings {
        /// Payload of a full packet.
        mtu: Bytes = "9000B", "[1B, 9000B]", "Handley 2017 s.6: jumbo frames; the authors' simulator: 9000, and 9064 with the header";
        /// Bytes of a packet's header, and of acknowledgements, NACKs and pulls.
        header: Bytes = "64B", "[1B, 200B]", "the authors' simulator";
        /// Packets that leave without a pull, in packets or bytes.
        initial_window: Size = "23pkt", "[1pkt, ]", "the authors' examples: 15 or 23; Handley 2017 s.6: 20 to 30 fill all links";
        /// A packet without an answer is sent again after this, counted from when it leaves the host's port.
        timeout: Span = "5ms", "(0s, 10000s]", "the authors' simulator: 5 ms at least; Handley 2017 s.3.2.3: 1 ms would do";
        /// A packet leaves without its pull when none has come for so long.
        pull_timeout: Span = "100ms", "(0s, 10000s]", "none: longer than the pulls of an incast of 8000 flows at 10 Gb/s; it matters where pulls are lost";
        /// Acknowledgements among the last 12 answers from which on a packet that came back is sent again at once.
        resend_acks: u64 = 4, "[0, 13]", "the authors' simulator: more than a quarter, so that its path alone is bad; 13 for never";
        /// Whether ports of switches may drop packets that they could trim.
        untrimmed: Untrimmed = "refused", "", "Handley 2017 s.3: a receiver learns of each packet";
    }
    facts {
        not_tcp: "NDP",
    }
}

/// The settings in the form in which both ends work with them. Of a load over another transport they are the defaults, and unused.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Packets that leave without a pull.
    pub window: u64,
    /// A packet without an answer is sent again after this.
    pub timeout: Span,
    /// A packet leaves without its pull after this.
    pub pull_timeout: Span,
    /// Acknowledgements among the last 12 answers from which on a packet that came back goes again at once.
    pub resend_acks: u32,
}

impl Rules {
    /// The rules of a load with `settings`.
    pub fn new(settings: &NdpSettings) -> Self {
        Rules {
            window: match settings.initial_window {
                Size::Packets(packets) => packets,
                Size::Bytes(bytes) => bytes.as_u64().div_ceil(settings.mtu.as_u64()),
            },
            timeout: settings.timeout,
            pull_timeout: settings.pull_timeout,
            resend_acks: settings.resend_acks as u32,
        }
    }
}

impl NdpSettings {
    /// The settings of TCP that both transports share, for the parts of a run that ask for no more.
    pub fn common(&self) -> TransportSettings {
        TransportSettings {
            opening: Opening::Established,
            mss: self.mtu,
            header: self.header,
            initial_window: self.initial_window,
            dup_acks: 1, // a later packet reports nothing, so that the last of a message alone is its tail
            small_queues: Some(Bytes(1)),
            ..TransportSettings::defaults()
        }
    }

    /// Checks across settings, which stand at `path`.
    pub fn check(&self, path: &str, cc: Option<&Algorithm>, faults: &mut Faults) {
        let Some(cc) = cc else { return };
        if cc.kind() != CONTROL {
            let rule = format!("must be \"{CONTROL}\": over NDP the receiver's pulls set the rate");
            faults.add(&format!("{path}.cc"), Code::Unsupported.rule(rule), &cc.kind().into());
        } else if let Some(bound) = cc.show().get("window_rtt").filter(|bound| **bound != "none") {
            let rule = "changes nothing: over NDP the receiver's pulls bound the data in flight";
            faults.add(&format!("{path}.cc.window_rtt"), Code::Conflict.rule(rule), bound);
        }
    }

    /// The discipline of hosts' ports where `[nic]` is not written.
    pub fn nic() -> Value {
        serde_json::json!({"kind": "trimming", "limit": "none", "header_limit": "none", "headers_per_packet": "none"})
    }

    /// The profile as a component, for lists and reference pages.
    pub fn component() -> Component {
        Component::of::<Self>(PROFILE)
    }
}
