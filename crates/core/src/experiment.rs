//! A checked experiment: one run, with every setting in place.

use crate::net::pfc::watchdog::WatchdogAction;
use crate::net::wire::jitter::{JitterLaw, JitterOrder};
use crate::net::wire::trace::LinkTrace;
use crate::params::{Names, Params, Row};
use crate::port_control::Protocol;
use crate::probe::ProbeSettings;
use crate::queue::Queue;
use crate::routing::choice::Ecmp;
use crate::routing::fixed::RouteParams;
use crate::topology::Topology;
use crate::transport::Transport;
use crate::workload::Traffic;
use shallows_units::{Bytes, Rate, Size, Span};

crate::params! {
    /// Overrides of the ports that a name or pattern selects. A pattern changes only the settings that it names. Where
    /// several patterns select a port and name the same setting, the last one written decides.
    pub struct PortSettings, patch PortPatch {
        /// Rate, or "none" to keep the topology's.
        rate: Option<Rate> = "none", "", "the topology's";
        /// One-way delay, or "none" to keep the topology's.
        delay: Option<Span> = "none", "[0s, 100000s]", "the topology's";
        /// A trace that the rate follows, or "none".
        trace: Option<LinkTrace> = "none", "", "a link of one rate";
        /// Probability that a packet is lost on the wire behind the port.
        loss: f64 = 0.0, "[0, 1]", "a wire without faults";
        /// Numbers of packets lost there, counted from 1 as they come to the far end: faults to a plan.
        drop_packets: Vec<u64> = [], "[1, ]", "a wire without faults";
        /// The class whose packets `drop_packets` numbers, those of other classes left out; or "none": packets of all classes together.
        drop_class: Option<String> = "none", "", "all that comes to the far end";
        /// Probability that an ECN-capable packet is marked CE there: a mark process without a queue.
        mark: f64 = 0.0, "[0, 1]", "a wire without marks";
        /// Every so many ECN-capable packets one is marked CE there, or "none".
        mark_every: Option<u64> = "none", "[1, ]", "a wire without marks";
        /// Probability that a packet is delivered twice.
        duplicate: f64 = 0.0, "[0, 1]", "a wire without faults";
        /// Probability that a packet is held back, and so may be overtaken.
        reorder: f64 = 0.0, "[0, 1]", "a wire without faults";
        /// Longest time for which such a packet is held back.
        reorder_delay: Span = "0s", "[0s, 100000s]", "none";
        /// Mean extra time that packets take on the wire, each another one: never less than `delay` in all.
        jitter: Span = "0s", "[0s, 100000s]", "a wire without jitter";
        /// Distribution of these times.
        jitter_law: JitterLaw = "uniform", "", "Linux sch_netem, without a table";
        /// Correlation of the times of packets that follow each other.
        jitter_correlation: f64 = 0.0, "[0, 1)", "each by itself";
        /// Whether packets keep their order: then one waits for those before it.
        jitter_order: JitterOrder = "kept", "", "a link keeps its order; Linux sch_netem's packets overtake each other";
        /// Chance that a burst of losses begins behind a packet (Gilbert and Elliott).
        burst_begins: f64 = 0.0, "[0, 1]", "a wire without faults";
        /// Chance that it ends: its mean length is the inverse, in packets.
        burst_ends: f64 = 1.0, "(0, 1]", "bursts of one packet";
        /// Chance of loss within a burst; outside `loss` holds.
        burst_loss: f64 = 1.0, "[0, 1]", "Gilbert 1960 with h = 0, Linux sch_netem's default";
        /// Chance that a bit is wrong. A frame with a wrong bit fails its check at the far end, long ones more often.
        bit_errors: f64 = 0.0, "[0, 0.1]", "a wire without faults; IEEE 802.3 allows 1e-12 to 1e-10 after correction";
        /// Share of this port among equal next hops, with ecmp = "weighted": flows in proportion to it.
        weight: u64 = 1, "[0, 65535]", "Zhou 2014 (WCMP): entries of a group; equal weights are ECMP";
        /// Flow control, port of a switch: fixed XOFF for the packets of one priority that came by this port, or "none".
        pfc_xoff: Option<Bytes> = "none", "[1B, ]", "thresholds follow the free memory";
        /// Flow control: XOFF is this times the free shared memory, or "none". The lesser of this and `pfc_xoff` holds.
        pfc_alpha: Option<f64> = 0.125, "(0, 1000000]", "HPCC's simulator at the rate of its hosts: 1/8";
        /// Flow control: XON lies so far below XOFF, in bytes, or in packets of the largest size.
        pfc_hysteresis: Size = "2pkt", "", "Zhu 2015 (DCQCN) s.4: two MTUs";
        /// Flow control: memory for what one priority still sends after XOFF, or "none": what the link needs.
        pfc_headroom: Option<Bytes> = "none", "", "rate x (delays + response) + two frames + the pause frame";
        /// Flow control: time that this port takes to obey a pause frame, or "none": the standard's limit for its rate.
        pfc_response: Option<Span> = "none", "[0s, 1s]", "IEEE 802.3-2018 s.31B.3.7";
    }
}

crate::params! {
    /// The settings of one run.
    pub struct RunSettings {
        /// A title of one line.
        title: String = "", "", "none";
        /// Simulated time.
        duration: Span = required, "(0s, 100000s]", "the user's experiment";
        /// Time after which statistics begin.
        warmup: Span = "0s", "", "from the start";
        /// Seed of all random numbers.
        seed: u64 = 1, "", "any";
        /// How several equally short paths are shared: by flows, each by a hash, by bursts of flows, or by packets.
        ecmp: Ecmp = "flow", "", "RFC 2992; packets overtake each other where they share paths";
    }
}

crate::params! {
    /// Forwarding while links fail, static routes, and flowlets.
    pub struct RoutingSettings, patch RoutingPatch {
        /// Time from the failure or repair of a link until the tables of all switches follow; `"none"`: they are static.
        reconvergence: Option<Span> = "0s", "[0s, 100000s]", "tables that follow at once; the user's network takes longer";
        /// Static routes, each `{ at = "leaf0", to = "h4..h7", via = ["spine1", "spine2"] }`: at these switches packets for these hosts go
        /// to these next nodes instead of the computed ones. Several share as `ecmp` says. Links that are down are left out once
        /// the tables follow; if none is left, the computed next hops stand in.
        routes: Vec<Row<RouteParams>> = [], "", "computed tables";
        /// With ecmp = "flowlet": a flow that pauses for longer may take another path.
        flowlet_gap: Span = "500us", "[0s, 100000s]", "longer than paths of a data centre differ; choose by yours";
    }
}

crate::params! {
    /// A change of links at a time, under a name of its own. It sets one or more of state, rate, delay, loss and pause.
    pub struct EventSettings {
        /// When. The change comes before all else of that instant.
        at: Span = required, "[0s, 100000s]", "the user's experiment";
        /// Links by name or pattern: "a->b" is one direction of a cable, "a<->b" are both.
        link: Names = required, "", "the user's experiment";
        /// Whether the links go down or come up; or "none": as they are. Packets on a link that goes down, and at its port, are lost.
        state: Option<LinkState> = "none", "", "as it is";
        /// Rate from the next packet on, or "none": as it is.
        rate: Option<Rate> = "none", "", "as it is";
        /// One-way delay of packets that leave from then on, or "none": as it is. A wire keeps its order.
        delay: Option<Span> = "none", "[0s, 100000s]", "as it is";
        /// Probability that a packet is lost on the wire, or "none": as it is.
        loss: Option<f64> = "none", "[0, 1]", "as it is";
        /// Lossless priorities that the node at the end of the links pauses: a slow receiver, or a card whose pauses never end.
        pause: Vec<u64> = [], "[0, 7]", "none";
        /// How long it pauses them, or "none": for ever.
        pause_for: Option<Span> = "none", "(0s, 100000s]", "a storm of pauses lasts until somebody acts";
    }
}

crate::choices! {
    /// Whether a link carries packets.
    pub enum LinkState {
        /// It carries none.
        Down = "down",
        /// It does.
        Up = "up",
    }
}

/// A change of links, by its name in the file.
#[derive(Debug, Clone)]
pub struct EventSpec {
    /// Name.
    pub name: String,
    /// Its settings.
    pub settings: EventSettings,
}

crate::params! {
    /// Settings that the ports of a switch share, for the switches that a name or pattern selects. A pattern changes
    /// only the settings that it names. Where several patterns select a switch and name the same setting, the last one
    /// written decides.
    pub struct SwitchSettings, patch SwitchPatch {
        /// Memory that all ports of one switch share, or "none": every port has its own, its discipline's
        /// limit.
        buffer: Option<Bytes> = "none", "[1B, ]", "a partition by port";
        /// Dynamic threshold: a port may hold this times the free buffer. "none" shares all with all.
        alpha: Option<f64> = 1.0, "(0, 1000000]", "Choudhury and Hahne 1998: a saturated port leaves half free";
        /// Memory that each lossy priority of each port has for itself, taken off the buffer; or "none": 4096 bytes beside a
        /// lossless priority, otherwise nothing. It keeps acknowledgements and notifications alive while the headrooms fill.
        reserve: Option<Bytes> = "none", "", "simulator of HPCC's authors: 4 KB for each port and priority";
        /// The delay of the switch itself: each packet comes to its queue so long after its last bit has arrived, in order and
        /// at any rate. Base and ideal times include it. A pause frame takes effect after `pfc_response`, or after the latency if
        /// that is longer. A link that fails takes the packets in this stage with it.
        latency: Span = "0s", "[0s, 100000s]", "the delay of the links alone; data sheets give 300ns to 1us for chips of data centres";
    }
}

crate::params! {
    /// A priority, named by its number from 0 to 7. Every port then has a lane for each named priority. A load names its
    /// priority in `transport.priority`.
    pub struct PrioritySettings {
        /// Bytes that the lane sends in a round, or "none": strict. Strict lanes go before all others, the highest number
        /// first; the others share the rest in proportion to their quanta.
        quantum: Option<Bytes> = "none", "[64B, 1GB]", "IEEE 802.1Q-2018 s.8.6.8.1; Linux sch_ets";
        /// Whether it is lossless: switches pause their neighbours before their memory is full.
        pfc: bool = false, "", "IEEE 802.1Qbb: off by default";
    }
}

crate::params! {
    /// Priority-based flow control (IEEE 802.1Qbb), for the priorities with `pfc = true`. Thresholds, headroom and the
    /// response time belong to ports (`port."*->*".pfc_alpha` ..), memory to switches (`switch."*".buffer`).
    pub struct PfcSettings {
        /// Length of a pause in quanta of 512 bit times. It is sent again after half of it.
        quanta: u64 = 65535, "[1, 65535]", "IEEE 802.3-2018 s.31B.2: sixteen bits, the most";
        /// Whether a headroom that can lose packets is refused.
        lossy: Lossy = "refused", "", "a lossless priority is lossless";
        /// The end of a deadlock, in which ports of a cycle wait for each other for ever.
        deadlock: Deadlocks = "stop", "", "a run that stands still is an error";
        /// With deadlock = "watchdog": the detection time. A switch's port whose priority is paused for so long acts.
        watchdog: Span = "200ms", "(0s, 100000s]", "SONiC's `pfcwd start_default`; Junos: two polls of 100 ms";
        /// The port's action then, for this priority alone.
        action: WatchdogAction = "drop", "", "SONiC's `pfcwd`: drop";
        /// The action ends when no pause frame about the priority has come for so long, or "none": never. `flush` has no use for it.
        restoration: Option<Span> = "200ms", "(0s, 100000s]", "SONiC's `pfcwd start_default`; `pfcwd start`: twice the detection time";
    }
}

crate::choices! {
    /// The end of a deadlock.
    pub enum Deadlocks {
        /// The run ends with an error that names its cycle.
        Stop = "stop",
        /// A switch's port that is paused for too long acts (`pfc.action`).
        Watchdog = "watchdog",
        /// None: the run goes on to its end, and a note names the cycle.
        GoOn = "go-on",
    }
}

crate::choices! {
    /// The fate of an experiment whose headroom can lose packets.
    pub enum Lossy {
        /// It does not run.
        Refused = "refused",
        /// It runs.
        Allowed = "allowed",
    }
}

/// A priority, with the disciplines of its lanes.
#[derive(Debug, Clone)]
pub struct PrioritySpec {
    /// Its number.
    pub number: u8,
    /// Its settings.
    pub settings: PrioritySettings,
    /// Discipline of its lane at switch ports; or the port's.
    pub queue: Option<Queue>,
    /// Discipline of its lane at host ports; or the port's.
    pub nic: Option<Queue>,
}

/// Settings of switches.
#[derive(Debug, Clone)]
pub struct SwitchOverride {
    /// Name or pattern of switches.
    pub switches: Names,
    /// The changed settings.
    pub settings: SwitchPatch,
}

/// An override of ports.
#[derive(Debug, Clone)]
pub struct PortOverride {
    /// Name or pattern of ports.
    pub ports: Names,
    /// The changed settings.
    pub settings: PortPatch,
    /// Another discipline, if any.
    pub queue: Option<Queue>,
    /// Another controller, if any.
    pub control: Option<Protocol>,
}

/// Whether a run is cut into cells; tests force it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cut {
    /// Where the network is large enough.
    #[default]
    Large,
    /// Never.
    Never,
    /// Wherever it may be.
    Always,
}

/// A load: its traffic, transport and class.
#[derive(Debug, Clone)]
pub struct LoadSpec {
    /// Name in the file.
    pub name: String,
    /// Class.
    pub class: String,
    /// The source of its data.
    pub traffic: Traffic,
    /// How.
    pub transport: Transport,
}

/// One run, every setting in place.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Length, warm-up, seed.
    pub run: RunSettings,
    /// Network.
    pub topology: Topology,
    /// Discipline of switch ports.
    pub queue: Queue,
    /// Discipline of host ports.
    pub nic: Queue,
    /// Controller of switch ports.
    pub control: Protocol,
    /// Overrides, in order.
    pub ports: Vec<PortOverride>,
    /// Settings of switches, in order.
    pub switches: Vec<SwitchOverride>,
    /// Priorities that ports tell apart, by number; none, and a port has one queue.
    pub priorities: Vec<PrioritySpec>,
    /// Flow control of the lossless ones.
    pub pfc: PfcSettings,
    /// Forwarding while links fail.
    pub routing: RoutingSettings,
    /// Changes of links, in order of the file.
    pub events: Vec<EventSpec>,
    /// Loads, in order.
    pub loads: Vec<LoadSpec>,
    /// The choice of recordings.
    pub probes: ProbeSettings,
    /// Whether the network is cut into cells where it is large enough; tests force it.
    pub cut: Cut,
    /// 1 for first in, first out among simultaneous events; tests shuffle them by other odd numbers.
    pub tie_stride: u64,
    /// Acknowledgements and packets that are as nearly all are take short ways through hosts and their ports, to the same
    /// effect. Tests forbid it.
    pub short_ways: bool,
}

impl Experiment {
    /// The lossy priorities; one without any section.
    pub fn lossy(&self) -> u64 {
        let lossy = self.priorities.iter().filter(|spec| !spec.settings.pfc).count();
        if self.priorities.is_empty() { 1 } else { lossy as u64 }
    }

    /// The lossless priorities, a bit each.
    pub fn lossless(&self) -> u8 {
        let bit = |spec: &PrioritySpec| u8::from(spec.settings.pfc) << spec.number;
        self.priorities.iter().map(bit).fold(0, |all, bit| all | bit)
    }

    /// Links fail or are repaired, so that the switches' tables change.
    pub fn reroutes(&self) -> bool {
        self.events.iter().any(|event| event.settings.state.is_some())
    }

    /// A run with the given parts and otherwise defaults; a help for tests and examples.
    pub fn new(topology: Topology, queue: Queue, loads: Vec<LoadSpec>, duration: Span) -> Self {
        let run =
            RunSettings { title: String::new(), duration, warmup: Span::ZERO, seed: 1, ecmp: Ecmp::Flow };
        let (nic, control, probes) = (Queue::default(), Protocol::default(), ProbeSettings::defaults());
        Experiment {
            run,
            topology,
            queue,
            nic,
            control,
            ports: vec![],
            switches: vec![],
            priorities: vec![],
            pfc: PfcSettings::defaults(),
            routing: RoutingSettings::defaults(),
            events: vec![],
            loads,
            probes,
            cut: Cut::Large,
            tie_stride: 1,
            short_ways: true,
        }
    }
}
