//! The settings of queue pairs, and the form in which both ends work with them.

use super::wire::{AETH, CNP_BODY, FIRST, HEADERS, LAST, RETH, TRIGGER};
use crate::cc::{Algorithm, EcnUse};
use crate::packet::Flags;
use crate::params::{Code, Component, Faults, ParamType, Params, Table};
use crate::port_control::MOST_BYTES;
use crate::transport::settings::{EcnMode, Opening, TransportSettings};
use serde_json::{Map, Value};
use shallows_units::{Bytes, Span};

/// The name by which `transport.profile` chooses queue pairs.
pub const PROFILE: &str = "roce";

crate::choices! {
    /// The operation that carries messages.
    pub enum Verb {
        /// RDMA WRITE: a message's first packet has 16 bytes more.
        Write = "write",
        /// SEND.
        Send = "send",
        /// RDMA READ: the receiver asks for each message, and its packets are not acknowledged.
        Read = "read",
    }
}

crate::choices! {
    /// How lost packets are repaired.
    pub enum Repair {
        /// The responder drops what is out of order, and all from the gap on is sent again.
        GoBackN = "go-back-n",
        /// The whole message is sent again, and counts when all its packets came in a row.
        GoBackZero = "go-back-0",
        /// The responder keeps what is out of order, and each lost packet is sent again (IRN).
        SelectiveRepeat = "irn",
    }
}

crate::choices! {
    /// The packets that a timeout of IRN sends again.
    pub enum Resends {
        /// The oldest, and others once a later one has arrived.
        First = "first",
        /// All packets without an answer.
        All = "all",
    }
}

crate::choices! {
    /// Routing by packet beside a repair that takes what overtakes for a loss.
    pub enum Reordering {
        /// Is refused.
        Refused = "refused",
        /// Is run, and a note says so.
        Allowed = "allowed",
    }
}

crate::choices! {
    /// The part of several queue pairs in one message.
    pub enum QpShare {
        /// Each message is cut into parts of whole packets, one for each queue pair.
        Parts = "parts",
        /// Each message goes whole, by the next queue pair.
        Turns = "turns",
    }
}

crate::params! {
    /// RoCEv2. Queue pairs of RDMA network cards: messages cut into packets of the MTU, go-back-N or IRN, notifications.
    /// Hosts' ports are drop-tail: each queue pair has one packet there at most, so that they take turns.
    pub struct RoceSettings {
        /// Payload of a full packet.
        mtu: Bytes = "1024B", "[1B, 9000B]", "InfiniBand: 256, 512, 1024, 2048 or 4096; the simulators of DCQCN's and HPCC's authors: 1000";
        /// The operation that carries messages. Of "read" the receiving end asks for each, and nothing is acknowledged.
        verb: Verb = "write", "", "storage and collectives write; SEND has no RETH";
        /// Queue pairs between a sender and a receiver. Each has a hash of its own, so that switches spread them over paths, and a control of
        /// its own.
        qps: u64 = 1, "[1, 256]", "verbs: a queue pair is one; collective libraries open several, so that more hashes fill the paths";
        /// With several of them, what each carries: "parts" of every message, or whole messages in "turns".
        qp_share: QpShare = "parts", "", "the user's library; parts fill several paths with one message";
        /// With verb = "read", requests of a queue pair that are outstanding at most.
        reads: u64 = 16, "[1, 1024]", "cards say how many (max_qp_rd_atom), usually 16; not verified";
        /// Ethernet's bytes of each packet: 18 for header and checksum, 38 with preamble and gap.
        ethernet: Bytes = "18B", "[0B, 100B]", "IEEE 802.3: 14 and 4; TCP's packets here begin at IP";
        /// How lost packets are repaired.
        repair: Repair = "go-back-n", "", "RoCEv2 cards; their first ones for go-back-0; Mittal 2018 for irn";
        /// Without irn, whether routing may send packets of a queue pair over several paths. Each that overtakes counts as a loss.
        reordering: Reordering = "refused", "", "InfiniBand s.9.7.5: a packet beyond the expected one reports a loss";
        /// Packets that one acknowledgement covers at most. A message's last packet is acknowledged at once, and one behind which
        /// the window lets no other out.
        ack_every: u64 = 1, "[1, 4096]", "HPCC's authors' simulator, in effect; DCQCN's: 256. Controls by delay or telemetry learn from each";
        /// Without irn, time after which a gap is reported again, or "none": once a gap.
        nak_interval: Option<Span> = "none", "(0s, 10s]", "InfiniBand: one NAK a gap; HPCC's authors' simulator: 500 us";
        /// Without irn, time without an acknowledgement after which all is sent again.
        timeout: Span = "67.108864ms", "(0s, 10000s]", "InfiniBand: 4.096 us x 2^n, n = 14 as usual; cards: 4 ms at least";
        /// Timeouts in a row that a queue pair survives. One more, and it fails: with irn after 8 x rto_high, 2.56 ms without an
        /// answer.
        retry_count: u64 = 7, "[0, 1000]", "InfiniBand: three bits, 7 the most and usual";
        /// With irn, timeout while at least rto_low_packets are in flight; "none": the round trip of the flow's longest empty path, and the
        /// time in which a switch's port sends its full buffer.
        rto_high: Option<Span> = "320us", "(0s, 10s]", "Mittal 2018, not verified: the longest path and a full buffer at 40 Gb/s";
        /// With irn, timeout while fewer are.
        rto_low: Span = "100us", "(0s, 10s]", "Mittal 2018, not verified";
        /// With irn, packets in flight below which rto_low holds.
        rto_low_packets: u64 = 3, "[1, 1000000]", "Mittal 2018, not verified: N = 3";
        /// With irn, what a timeout sends again: "first", the oldest packet, and others once a later one has arrived; or "all" of
        /// which no answer came.
        timeout_resends: Resends = "first", "", "Mittal 2018, not verified; all: conweave, which pays one timeout for a lost tail";
        /// With irn, most data in flight, counted in full packets; "none": the card's rate times the round trip of the flow's
        /// empty path.
        bdp: Option<Bytes> = "none", "[1B, ]", "Mittal 2018: the bandwidth-delay product of the longest path";
        /// Whether data packets are ECN-capable, so that switches mark them: "auto" where the control learns about marks. Marks cause
        /// notifications, which line-rate and controls by delay or telemetry only count.
        ecn: EcnMode = "auto", "", "Zhu 2015: DCQCN needs it; a card's packets may be ECN-capable under any control";
        /// Least time between two notifications of a queue pair; 0 for one a marked packet.
        cnp_interval: Span = "50us", "[0s, 1s]", "Zhu 2015: 50 us at the receiver; cards since: 0 or 4 us, and the sender spaces its cuts";
        /// Priority of data packets at ports that tell priorities apart: a lane each (section `priority`).
        priority: u64 = 0, "[0, 7]", "IEEE 802.1Q-2018 s.6.9.3: best effort";
        /// Priority of acknowledgements, or "none": that of the data.
        ack_priority: Option<u64> = "none", "[0, 7]", "DCQCN's authors: that of the data; HPCC's authors' simulator: above it for DCQCN and TIMELY";
        /// Priority of notifications, or "none": that of the acknowledgements.
        cnp_priority: Option<u64> = "none", "[0, 7]", "Zhu 2015: a high one of its own";
    }
    facts {
        not_tcp: "queue pairs of RoCEv2",
    }
}

/// The settings in the form in which both ends work with them. Of a load over TCP they are the defaults, and unused.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Queue pairs between two hosts.
    pub qps: u64,
    /// They share each message.
    pub cuts: bool,
    /// Bytes that a message's first packet has more.
    pub first: u16,
    /// Bytes that its last one has more, if it is not the first.
    pub last: u16,
    /// With READ, requests that are outstanding at most.
    pub reads: Option<u64>,
    /// Packets that one acknowledgement covers at most.
    pub ack_every: u64,
    /// A gap is reported again after this.
    pub nak_interval: Span,
    /// Least time between two notifications.
    pub cnp_interval: Span,
    /// Timeouts in a row that a queue pair survives.
    pub retry_count: u64,
    /// Lost packets are repaired one by one.
    pub selective: bool,
    /// A loss sends the whole message again.
    pub restarts: bool,
    /// The responder answers each packet.
    pub answers_each: bool,
    /// A timeout sends all again of which no answer came.
    pub resends_all: bool,
    /// Timeout with few packets in flight, and with more.
    pub timeouts: [Span; 2],
    /// The longer one is as much above the round trip of the empty path, which follows at a connection's opening.
    pub above_path: bool,
    /// So many packets in flight are few no longer.
    pub few: u64,
    /// With selective repeat, most bytes in flight, if they are written.
    pub bdp: Option<u64>,
    /// The rate of the congestion control is that of the wire.
    pub paces_wire: bool,
    /// A new rate holds for the packet that waits too: that of every control but DCQCN, which alone learns about marks here.
    pub rescales: bool,
    /// Priority of notifications, if it is not that of acknowledgements.
    pub cnp_priority: Option<u64>,
}

impl Rules {
    /// The rules of a load with `settings` under `cc`.
    pub fn new(settings: &RoceSettings, cc: &Algorithm) -> Self {
        let s = settings;
        let selective = s.repair == Repair::SelectiveRepeat;
        Rules {
            qps: s.qps,
            cuts: s.qp_share == QpShare::Parts,
            first: match s.verb {
                Verb::Write => RETH,
                Verb::Send => 0,
                Verb::Read => AETH,
            },
            last: if s.verb == Verb::Read { AETH } else { 0 },
            reads: (s.verb == Verb::Read).then_some(s.reads),
            ack_every: s.ack_every,
            nak_interval: s.nak_interval.unwrap_or(Span::ps(u64::MAX)),
            cnp_interval: s.cnp_interval,
            retry_count: s.retry_count,
            selective,
            restarts: s.repair == Repair::GoBackZero,
            answers_each: selective || s.ack_every == 1,
            resends_all: s.timeout_resends == Resends::All,
            timeouts: if selective { [s.rto_low, s.rto_high.unwrap_or(Span::ZERO)] } else { [s.timeout; 2] },
            above_path: selective && s.rto_high.is_none(),
            few: s.rto_low_packets,
            bdp: s.bdp.map(Bytes::as_u64),
            paces_wire: cc.paces_wire(),
            rescales: cc.ecn() == EcnUse::Off,
            cnp_priority: s.cnp_priority,
        }
    }
}

impl Rules {
    /// Bytes that a data packet with these flags has more than a middle one.
    #[inline]
    pub fn extra(&self, flags: Flags) -> u16 {
        if flags.any(FIRST) {
            self.first
        } else if flags.any(LAST) {
            self.last
        } else {
            0
        }
    }
}

impl RoceSettings {
    /// The settings of TCP that both transports share, for the parts of a run that ask for no more: sizes of packets,
    /// priorities, and that a sender is bounded in its host's port.
    pub fn common(&self) -> TransportSettings {
        TransportSettings {
            opening: Opening::Established,
            mss: self.mtu,
            header: Bytes(HEADERS + self.ethernet.as_u64()),
            dup_acks: 1, // every later packet reports a loss, so that the last of a message alone is its tail
            small_queues: Some(Bytes(1)),
            ecn: self.ecn,
            priority: self.priority,
            ack_priority: self.ack_priority,
            ..TransportSettings::defaults()
        }
    }

    /// Whether packets of a queue pair must keep their order.
    pub fn keeps_order(&self) -> bool {
        self.repair != Repair::SelectiveRepeat && self.reordering == Reordering::Refused
    }

    /// Priority and bytes of the largest data packet, acknowledgement and notification.
    pub fn largest_frames(&self, explicit: bool) -> [(u64, u64); 3] {
        let header = self.common().header_bytes();
        let feedback = if explicit { MOST_BYTES } else { 0 };
        let acks = self.ack_priority.unwrap_or(self.priority);
        let (more, answer) = match self.verb {
            Verb::Write => (RETH, AETH + TRIGGER),
            Verb::Send => (0, AETH + TRIGGER),
            Verb::Read => (AETH, RETH),
        };
        [
            (self.priority, header + self.mtu.as_u64() + u64::from(more) + feedback),
            (acks, header + u64::from(answer) + feedback),
            (self.cnp_priority.unwrap_or(acks), header + u64::from(CNP_BODY)),
        ]
    }

    /// Checks across settings, which stand at `path`.
    pub fn check(&self, path: &str, cc: Option<&Algorithm>, faults: &mut Faults) {
        let mut fault = |key: &str, code: Code, rule: String, value: &Value| {
            faults.add(&format!("{path}.{key}"), code.rule(rule), value);
        };
        if self.repair == Repair::SelectiveRepeat && self.rto_high.is_some_and(|high| high < self.rto_low) {
            let rule = format!("must be at least rto_low ({})", self.rto_low);
            fault("rto_high", Code::Conflict, rule, &self.rto_high.show());
        }
        let reads = self.verb == Verb::Read;
        if reads && self.repair != Repair::GoBackN {
            let rule = "must be \"go-back-n\" with verb = \"read\": a reader asks again from a gap on, and acknowledges nothing";
            fault("repair", Code::Conflict, rule.into(), &self.repair.show());
        }
        let (idle, other): (&[&str], _) = match self.repair {
            Repair::GoBackN | Repair::GoBackZero => {
                (&["rto_high", "rto_low", "rto_low_packets", "timeout_resends", "bdp"], "irn")
            }
            Repair::SelectiveRepeat => {
                (&["nak_interval", "timeout", "reordering"], "go-back-n\" or \"go-back-0")
            }
        };
        let [own, usual] = [self, &Self::defaults()].map(|settings| {
            let mut map = Map::new();
            settings.show(&mut map);
            map
        });
        // A record has every default written out.
        for key in idle.iter().filter(|key| own[**key] != usual[**key]) {
            let rule = format!("changes nothing: it belongs to repair = \"{other}\"");
            fault(key, Code::Conflict, rule, &own[*key]);
        }
        if self.qps == 1 && self.qp_share != QpShare::Parts {
            let rule = "changes nothing: there is one queue pair. Write qps = 4, for example";
            fault("qp_share", Code::Conflict, rule.into(), &self.qp_share.show());
        }
        let (key, verbs) = if reads { ("ack_every", "write\" or \"send") } else { ("reads", "read") };
        if own[key] != usual[key] {
            let rule = format!("changes nothing: it belongs to verb = \"{verbs}\"");
            fault(key, Code::Conflict, rule, &own[key]);
        }
        let Some(cc) = cc else { return };
        if let Some(backend) = cc.backend() {
            let rule = format!(
                "runs in backend {backend} alone, which has no queue pairs. Over RoCEv2 run {}",
                controls(Algorithm::runs_over_roce)
            );
            fault("cc", Code::Unsupported, rule, &cc.kind().into());
        } else if !cc.runs_over_roce() {
            let rule = format!(
                "needs TCP: a queue pair's acknowledgements carry neither marks nor the header of {}. Over RoCEv2 run {}",
                cc.kind(),
                controls(Algorithm::runs_over_roce)
            );
            fault("cc", Code::Unsupported, rule, &cc.kind().into());
        } else if reads && !cc.runs_over_read() {
            let rule = format!(
                "needs acknowledgements, and verb = \"read\" has none. Over READ run {}",
                controls(Algorithm::runs_over_read)
            );
            fault("cc", Code::Unsupported, rule, &cc.kind().into());
        } else if let Some(bound) = cc.show().get("window_rtt").filter(|bound| reads && **bound != "none") {
            let rule =
                "must be absent with verb = \"read\": a window counts what is acknowledged, and nothing is";
            fault("cc.window_rtt", Code::Conflict, rule.into(), bound);
        }
        if self.ecn == EcnMode::Off && cc.ecn() != EcnUse::Off {
            let rule =
                format!("must be \"auto\" or \"on\": {} learns about congestion by marks alone", cc.kind());
            fault("ecn", Code::Conflict, rule, &self.ecn.show());
        }
        cc.check_over_roce(&format!("{path}.cc"), faults);
    }

    /// The profile as a component, for lists and reference pages.
    pub fn component() -> Component {
        Component::of::<Self>(PROFILE)
    }
}

/// The controls that run as `runs` says, by name.
pub fn controls(runs: impl Fn(&Algorithm) -> bool) -> String {
    let names = Algorithm::all().iter().filter(|control| {
        let named = Map::from_iter([("kind".to_owned(), control.name.into())]);
        let mut unread = Faults::default(); // a required setting is not written, and says nothing here
        let found = Algorithm::read(&mut Table::new("", &named, &mut unread));
        found.is_some_and(|found| runs(&found))
    });
    names.map(|control| control.name).collect::<Vec<_>>().join(", ")
}
