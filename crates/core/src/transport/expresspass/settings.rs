//! The settings of ExpressPass, and the form in which both ends work with them.

use crate::cc::Algorithm;
use crate::params::{Code, Component, Faults, Params};
use crate::transport::settings::{Opening, TransportSettings};
use serde_json::Value;
use shallows_units::{Bytes, Size, Span};

/// The name by which `transport.profile` chooses ExpressPass.
pub const PROFILE: &str = "expresspass";
/// The only control that runs over it.
const CONTROL: &str = "line-rate";

crate::choices! {
    /// Whether credits may miss the meters of their data's ports.
    pub enum Unmetered {
        /// An experiment with such a port is refused.
        Refused = "refused",
        /// It runs, and data may wait and be lost.
        Allowed = "allowed",
    }
}

crate::choices! {
    /// The rule by which the rate of credits follows their losses.
    pub enum Control {
        /// That of the authors' simulator, whose target falls as the rate comes near the link's.
        Simulator = "simulator",
        /// Algorithm 1 of the paper, whose rate goes beyond the link's by the target.
        Algorithm1 = "algorithm-1",
    }
}

crate::choices! {
    /// The credits by whose losses an update goes.
    pub enum Judged {
        /// Those sent in the round trip after the last update: their fates are known a round trip later.
        Own = "own",
        /// All whose fate became known in the round trip since the last update. They were sent at the rate before.
        Known = "known",
    }
}

crate::params! {
    /// ExpressPass. Receivers send credits at a rate, switches meter them so that data fit the links, and each lets a packet out. `cc` is
    /// line-rate, since credits are all the control there is. Hosts' ports have the discipline credit.
    pub struct ExpressPassSettings {
        /// Payload of a full packet.
        mtu: Bytes = "1460B", "[1B, 9000B]", "the authors' simulator: 1538 bytes less the header";
        /// Bytes of a packet's header on the wire.
        header: Bytes = "78B", "[1B, 200B]", "the authors' simulator: xpassHdrSize";
        /// Bytes of a credit, and of requests, stops and their answers.
        credit: Bytes = "84B", "[1B, 200B]", "Cho 2017 s.3.1: the least Ethernet frame, with preamble and gap";
        /// First rate of a flow's credits, as a part of what fills the link.
        first_rate: f64 = 0.5, "(0, 1]", "the authors' simulator: alpha";
        /// How far the first increase goes.
        w_first: f64 = 0.0625, "(0, 1]", "the authors' simulator: w_init";
        /// The least weight of an increase.
        w_min: f64 = 0.01, "(0, 1]", "Cho 2017 s.3.2; the authors' simulator: min_w_";
        /// The greatest weight of an increase.
        w_max: f64 = 0.5, "(0, 1]", "Cho 2017 s.3.2";
        /// The rule by which the rate of credits follows their losses.
        control: Control = "simulator", "", "ns2-xpass, credit_feedback_control: with algorithm 1 the queue of credits stays full, and a later flow loses most of its own";
        /// With control = "algorithm-1": share of dropped credits up to which the rate grows.
        target_loss: f64 = 0.1, "[0, 1)", "Cho 2017 s.3.2: 10 per cent";
        /// The credits by whose losses an update of the rate goes.
        judged: Judged = "known", "", "the authors' simulator; the paper does not say when fates are known";
        /// The time between two credits is longer or shorter by up to this part of it, at random.
        jitter: f64 = 0.1, "[0, 1)", "the authors' simulator: from -0.1 to 0.1";
        /// A request or a stop goes again after this without an answer, or after two round trips if that is longer.
        timeout: Span = "1ms", "(0s, 10000s]", "the authors' simulator: 1 ms for stops, 0.1 ms for requests";
        /// A receiver to which nothing comes for so long sends no more credits.
        patience: Span = "100ms", "(0s, 10000s]", "none: longer than the time between credits of thousands of flows at 10 Gb/s";
        /// Whether ports of switches may pass credits on without a meter, and credits may take other links than data.
        unmetered: Unmetered = "refused", "", "Cho 2017 s.3.1: every port meters, and paths are symmetric";
    }
    facts {
        not_tcp: "ExpressPass",
    }
}

/// The settings in the form in which both ends work with them. Of a load over another transport they are the defaults, and unused.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Bytes of a credit.
    pub credit: u16,
    /// First rate, as a part of the link's.
    pub first_rate: f64,
    /// First weight.
    pub w_first: f64,
    /// Least weight.
    pub w_min: f64,
    /// Greatest weight.
    pub w_max: f64,
    /// It is algorithm 1 of the paper.
    pub algorithm1: bool,
    /// Its share of dropped credits that is aimed at.
    pub target_loss: f64,
    /// Updates go by the losses of all credits whose fate became known.
    pub known: bool,
    /// Jitter of the time between credits.
    pub jitter: f64,
    /// Requests and stops go again after this.
    pub timeout: Span,
    /// Credits end after this.
    pub patience: Span,
}

impl Rules {
    /// The rules of a load with `settings`.
    pub fn new(settings: &ExpressPassSettings) -> Self {
        Rules {
            credit: settings.credit.as_u64() as u16,
            first_rate: settings.first_rate,
            w_first: settings.w_first,
            w_min: settings.w_min,
            w_max: settings.w_max,
            algorithm1: settings.control == Control::Algorithm1,
            target_loss: settings.target_loss,
            known: settings.judged == Judged::Known,
            jitter: settings.jitter,
            timeout: settings.timeout,
            patience: settings.patience,
        }
    }
}

impl ExpressPassSettings {
    /// The settings of TCP that both transports share, for the parts of a run that ask for no more.
    pub fn common(&self) -> TransportSettings {
        TransportSettings {
            opening: Opening::Established,
            mss: self.mtu,
            header: self.header,
            initial_window: Size::Packets(1),
            small_queues: Some(Bytes(1)),
            ..TransportSettings::defaults()
        }
    }

    /// Checks across settings, which stand at `path`.
    pub fn check(&self, path: &str, cc: Option<&Algorithm>, faults: &mut Faults) {
        if self.w_min > self.w_max {
            let rule = Code::Conflict.rule(format!("must be at most w_max ({})", self.w_max));
            faults.add(&format!("{path}.w_min"), rule, &self.w_min.into());
        }
        let Some(cc) = cc else { return };
        if cc.kind() != CONTROL {
            let rule = format!("must be \"{CONTROL}\": over ExpressPass the receiver's credits set the rate");
            faults.add(&format!("{path}.cc"), Code::Unsupported.rule(rule), &cc.kind().into());
        } else if let Some(bound) = cc.show().get("window_rtt").filter(|bound| **bound != "none") {
            let rule = "changes nothing: over ExpressPass the receiver's credits bound the data in flight";
            faults.add(&format!("{path}.cc.window_rtt"), Code::Conflict.rule(rule), bound);
        }
    }

    /// The discipline of hosts' ports where `[nic]` is not written.
    pub fn nic() -> Value {
        serde_json::json!({"kind": "credit", "limit": "none"})
    }

    /// The profile as a component, for lists and reference pages.
    pub fn component() -> Component {
        Component::of::<Self>(PROFILE)
    }
}
