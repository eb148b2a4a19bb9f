//! Workloads: the traffic of applications, one file each, and the list below.

pub mod deadlines;
pub mod dependent;
mod due;
pub mod ends;
pub mod locality;
pub mod paths;
pub mod placement;
pub mod plan;
pub mod schedules;
mod written;

use crate::cc::Algorithm;
use crate::events::random::Stream;
pub use crate::hosts::MessageDone;
use crate::hosts::connections::{Connections, Opener};
use crate::hosts::{FlowId, Pair, TimeoutCounts, Write};
use crate::params::{Beyond, Faults, Rule};
use crate::routing::choice::Ecmp;
use crate::routing::graph::{Graph, NodeId};
use crate::routing::ideal::Wire;
use crate::routing::table::Routing;
use crate::transport::datagram::Emission;
pub use dependent::{Step, Steps};
use paths::Tables;
use shallows_units::{Rate, Span, Time};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One round of an incast, or of messages that depend on one another.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// Number, from 0.
    pub round: u32,
    /// Responses that it waits for; of dependent messages all.
    pub responses: u32,
    /// Their bytes together.
    pub bytes: u64,
    /// When the requests were sent, or the first message.
    pub started: Time,
    /// When the last response was there.
    pub ended: Option<Time>,
    /// Retransmission timeouts of the responding connections meanwhile.
    pub timeouts: TimeoutCounts,
    /// The critical path of dependent messages that ended, each alone on the empty network.
    pub ideal: Option<Span>,
}

/// A rule of next hops that may send packets of one connection over several paths.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    /// The rule.
    pub ecmp: Ecmp,
    /// Each packet may take another path, and the control compares what packets met: refused.
    pub blinds: bool,
    /// Packets may overtake, and the transport takes that for a loss: refused.
    pub reorders: bool,
    /// Packets go back by other links, and the transport needs the same: refused.
    pub asymmetric: bool,
}

/// The data for building a workload.
pub struct BuildCx<'a> {
    /// The network.
    pub graph: &'a Graph,
    /// By link its best rate and delay of the run.
    pub links: &'a [Wire],
    /// Where the workload stands in the file: `traffic.long`.
    pub path: &'a str,
    /// Seed of the run.
    pub seed: u64,
    /// Length of the run.
    pub duration: Span,
    /// Tables of the switches, to check which hosts reach each other.
    pub routing: &'a mut Routing,
    /// The tables that follow failures and repairs of links.
    pub tables: &'a [Tables],
    /// Its congestion control.
    pub cc: &'a Algorithm,
    /// By link: the port of a switch that writes nothing into its header. Empty if it has no such header, or all write.
    pub silent: &'a [bool],
    /// The rule of next hops, where it may send packets of one connection over several paths.
    pub spreads: Option<Spread>,
    /// Whether it does so between one of the pairs.
    pub parts: bool,
    /// Its connections are queue pairs.
    pub queue_pairs: bool,
    /// Most payload of one of its packets, in bytes.
    pub payload: u64,
    /// Settings that follow from the path at a connection's opening.
    pub from_path: Vec<String>,
    /// Hosts of jobs that stand before this load in the file, which took them for themselves.
    pub taken: &'a mut BTreeSet<NodeId>,
    /// Lines for a reader of the results.
    pub notes: Vec<String>,
    /// Where faults go.
    pub faults: &'a mut Faults,
}

impl BuildCx<'_> {
    /// Random numbers of this workload alone.
    pub fn random(&self, index: u64) -> Stream {
        Stream::new(self.seed, self.path, index)
    }

    /// Records that `key` breaks `rule`.
    pub fn fault(&mut self, key: &str, rule: Rule, value: impl Into<serde_json::Value>) {
        self.faults.add(&format!("{}.{key}", self.path), rule, &value.into());
    }
}

/// The interface of the network for a workload.
pub struct WorkCx<'a> {
    /// The connections.
    pub connections: Connections<'a>,
    /// Whose connections are opened.
    pub opener: Opener,
}

impl WorkCx<'_> {
    /// The present.
    pub fn now(&self) -> Time {
        self.connections.now
    }

    /// Whether packets of the first host come to the second.
    pub fn leads(&self, from: NodeId, to: NodeId) -> bool {
        self.connections.leads(from, to)
    }

    /// Opens a connection from `ends.0` to `ends.1` (hosts by node number); `bytes` is the size that the
    /// application announces, if it does.
    pub fn open(&mut self, ends: Pair, bytes: Option<u64>) -> FlowId {
        self.connections.open(self.opener, ends, bytes)
    }

    /// Writes a message; [`Workload::on_message`] reports its delivery and repeats `tag`. `deadline` is
    /// the time that it has from now on, if any.
    pub fn send(&mut self, flow: FlowId, bytes: u64, tag: u64, deadline: Option<Span>) {
        self.connections.send(flow, Write { bytes, tag, deadline, asks: false });
    }

    /// Writes a request. The load learns when it arrives, but no table lists it as a message.
    pub fn ask(&mut self, flow: FlowId, bytes: u64, tag: u64) {
        self.connections.send(flow, Write { bytes, tag, deadline: None, asks: true });
    }

    /// Writes without end.
    pub fn send_forever(&mut self, flow: FlowId) {
        self.connections.send_forever(flow);
    }

    /// Opens a socket from `ends.0` to `ends.1`, which sends the datagrams of [`Workload::emission`] for pair number `pair`.
    pub fn emit(&mut self, ends: Pair, pair: u64) -> FlowId {
        self.connections.emit(self.opener, ends, pair)
    }

    /// The run is to stop: somebody cancelled it, or it holds too much. A load that has more to do then leaves it.
    pub fn stopped(&self) -> bool {
        self.connections.roster.stopped()
    }

    /// No more will be written.
    pub fn close(&mut self, flow: FlowId) {
        self.connections.close(flow);
    }

    /// Opens, writes one message, closes.
    pub fn send_once(&mut self, ends: Pair, bytes: u64, tag: u64, deadline: Option<Span>) -> FlowId {
        self.connections.send_once(self.opener, ends, Write { bytes, tag, deadline, asks: false })
    }

    /// Opens, writes a request, closes.
    pub fn ask_once(&mut self, ends: Pair, bytes: u64, tag: u64) -> FlowId {
        self.connections.send_once(self.opener, ends, Write { bytes, tag, deadline: None, asks: true })
    }

    /// Timeouts so far of this load's connections.
    pub fn timeouts(&self) -> TimeoutCounts {
        self.connections.timeouts_of(self.opener)
    }
}

/// A load's future, as far as it is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct Expected {
    /// Connections that stand at once.
    pub at_once: u64,
    /// Connections in all.
    pub in_all: u64,
    /// Messages in all.
    pub messages: u64,
    /// Bytes that a connection sends, or nothing where it sends without end.
    pub bytes: Option<u64>,
}

impl Expected {
    /// With `qps` connections in place of each.
    pub fn over(self, qps: u64) -> Self {
        Expected {
            at_once: self.at_once.saturating_mul(qps),
            in_all: self.in_all.saturating_mul(qps),
            messages: self.messages,
            bytes: self.bytes.map(|bytes| bytes.div_ceil(qps)),
        }
    }
}

/// How a load sends, as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct Sends {
    /// Hosts that send data; none, and they are unknown.
    pub from: Vec<NodeId>,
    /// Hosts that receive them.
    pub to: Vec<NodeId>,
    /// The pairs of both, where the load knows them beforehand; each as often as it has connections.
    pub pairs: Vec<Pair>,
    /// Its data come all through the run, and not at its beginning.
    pub spread: bool,
    /// Rate of each connection, where the load decides it and not a control.
    pub rate: Option<Rate>,
    /// Mean bytes of a packet, where the load decides it.
    pub packet: Option<u64>,
}

impl Sends {
    /// Between these pairs.
    pub fn between(pairs: impl IntoIterator<Item = Pair>) -> Self {
        let pairs: Vec<Pair> = pairs.into_iter().collect();
        let (from, to): (BTreeSet<NodeId>, BTreeSet<NodeId>) = pairs.iter().copied().unzip();
        let (from, to) = (from.into_iter().collect(), to.into_iter().collect());
        // A rank of a collective is in a pair with itself: who sends to whom follows from its plan.
        let pairs = if pairs.iter().all(|(from, to)| from != to) { pairs } else { vec![] };
        Sends { from, to, pairs, ..Sends::default() }
    }
}

/// Sends by a law of its own.
///
/// A load has five duties. It sends only what is due ([`Workload::wake`]). It asks [`WorkCx::stopped`] before each connection
/// and each message, and returns at once if the run is to stop: one call may make a million of them. It says what it expects
/// ([`Workload::expects`]), or the run's memory is estimated without it. It says whether the seed draws its times
/// ([`Workload::is_random`]). It states in the facts of its settings whether it
/// listens and which tables it fills ([`Facts`](crate::params::Facts)); the conformance suite compares them with the run.
pub trait Workload: Send {
    /// Called at the start and at each time it asked for: sends all that is due, returns when to wake next. A loop in it asks
    /// [`WorkCx::stopped`] at each turn.
    fn wake(&mut self, cx: &mut WorkCx<'_>) -> Option<Time>;
    /// A message of this workload was delivered (closed loops); returns when to wake, if sooner.
    fn on_message(&mut self, _done: &MessageDone, _cx: &mut WorkCx<'_>) -> Option<Time> {
        None
    }
    /// It wants to know of deliveries, and answers arrivals by sending. Such a load keeps a run in one cell, and its facts
    /// say `closed_loop: true`.
    fn listens(&self) -> bool {
        false
    }
    /// Its times of sending are drawn by the seed.
    fn is_random(&self) -> bool {
        false
    }
    /// Its future in a run of this length, as far as it is known. The estimate of memory counts its connections and messages;
    /// without them a run may be refused too late. A load that draws its times gives means.
    fn expects(&self, _duration: Span) -> Expected {
        Expected::default()
    }
    /// Its hosts, and the rate and size of packets that it decides. The estimate of memory takes them for the packets that
    /// wait or travel.
    fn sends(&self) -> Sends {
        Sends::default()
    }
    /// The law of its datagrams, if it sends some.
    fn emission(&self) -> Option<Arc<dyn Emission>> {
        None
    }
    /// Its records of steps and rounds, where messages depend on one another.
    fn record(&self) -> Option<&Steps> {
        None
    }
    /// Rounds so far, where it works in rounds.
    fn rounds(&self) -> &[Round] {
        self.record().map_or(&[], Steps::rounds)
    }
    /// Steps so far, where messages depend on one another.
    fn steps(&self) -> &[Step] {
        self.record().map_or(&[], Steps::rows)
    }
    /// Names of its steps.
    fn step_names(&self) -> Vec<String> {
        vec![]
    }
    /// Round and step of the message with this tag.
    fn place_of(&self, tag: u64) -> Option<(u32, u32)> {
        self.record().map(|steps| steps.place_of(tag))
    }
}

/// Makes a workload from outside this crate.
pub trait MakeWorkload: Send + Sync {
    /// The workload, ready to run; faults are recorded.
    fn build(&self, cx: &mut BuildCx<'_>) -> Option<Box<dyn Workload>>;
}

impl Beyond for dyn MakeWorkload {}

/// The list of workloads: `"name" => Variant(file)` adds one.
macro_rules! workloads {
    ( $( $word:literal => $variant:ident($file:ident) ),* $(,)? ) => {
        $( pub mod $file; )*

        $crate::components! {
            /// A workload with its settings.
            pub enum Traffic, "workload", open Traffic(dyn MakeWorkload) { $( $word => $variant($file::Settings) ),* }
        }

        impl Traffic {
            /// The workload, ready to run; faults are recorded.
            pub fn build(&self, cx: &mut BuildCx<'_>) -> Option<Box<dyn Workload>> {
                match self {
                    $( Traffic::$variant(s) => Some(Box::new($file::Load::build(s, cx)?)), )*
                    // Without its maker an experiment can be checked, not run.
                    Traffic::Custom(custom) => custom.made.as_ref()?.build(cx),
                }
            }
        }
    };
}

workloads! {
    "bulk" => Bulk(bulk),
    "messages" => Messages(messages),
    "poisson" => Poisson(poisson),
    "incast" => Incast(incast),
    "table" => Table(table),
    "datagrams" => Datagrams(datagrams),
    "collective" => Collective(collective),
    "graph" => Graph(graph),
}
