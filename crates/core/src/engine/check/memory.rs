//! An estimate of a run's memory, before it is built.
//!
//! The sum over ports, connections, packets under way, results and traces, from the experiment alone. Parts that
//! depend on the course of the run (packets that wait, connections open at once) are taken at their usual size
//! for such loads. Tests hold the estimate against the measured peak of runs of several sizes.

use crate::engine::check::chosen::Chosen;
use crate::engine::check::fabric::Fabric;
use crate::engine::check::facts::Checked;
use crate::engine::check::priorities;
use crate::engine::error::gb;
use crate::events::EVENT_BYTES;
use crate::experiment::{Experiment, LoadSpec};
use crate::hosts::facts::MessageRow;
use crate::hosts::records::FlowRow;
use crate::hosts::{CONNECTION_BYTES, Pair};
use crate::net::pfc::Pausing;
use crate::net::pfc::ingress::Ingress;
use crate::net::port::chain::{PACKET_BYTES, SLOT_BYTES};
use crate::net::port::{Controlled, Port};
use crate::params::{Code, Faults, ParamType};
use crate::probe::queue::QueueRecord;
use crate::probe::settings::TraceWhen;
use crate::probe::traces::{Arrivals, FlowTraceRow, PacketRow, PortRow, QueueRow};
use crate::queue::Queue;
use crate::routing::choice::{Ecmp, permutation};
use crate::routing::fastest::Fastest;
use crate::routing::graph::{Link, Node, NodeId, Role};
use crate::transport::Config;
use crate::workload::{Expected, Sends, Workload};
use serde_json::{Value, json};
use shallows_units::{Bytes, Size, Span};
use std::collections::{BTreeMap, BTreeSet};

/// A part of a run's memory.
#[derive(Debug, Clone)]
pub struct Part {
    /// The kind of item.
    pub what: &'static str,
    /// How many there are.
    pub count: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// A way to make it smaller.
    pub cure: &'static str,
}

/// The memory of a run by parts, the largest first.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// Parts.
    pub parts: Vec<Part>,
}

/// Bytes of a port's record: bins of waits and lengths that are usually met.
const USUAL_RECORD: u64 = 1200;
/// Bytes of such bins for each packet of a flow, where a run is so short that few pass.
const RECORD_A_PACKET: u64 = 16;
/// Most packets of a connection that usually wait or travel.
const USUAL_WINDOW: u64 = 1024;
/// So often a window doubles at most: 10 packets are then ten million.
const MOST_DOUBLINGS: u64 = 20;
/// A cell's slots double in number, so it has between as many as packets and twice as many.
const SLOTS: [u64; 2] = [3, 2];
/// Bytes of a run with nothing in it.
const RUN: u64 = 16_384;
/// A name on the heap with its share of a map.
const NAME: u64 = 64;
/// A result stands as a row, as columns, and as the copy handed out.
const COPIES: u64 = 3;
/// Flowlets of a connection: in two switches that choose, there and back.
const FLOWLETS: u64 = 2 * 2;
/// One, with its share of the table.
const FLOWLET: u64 = 32;
/// Bytes that the turns of a permutation over some ten next hops take.
const TURNS: u64 = 96;

impl Estimate {
    /// The estimate for a checked experiment.
    pub fn new(experiment: &Experiment, checked: &Checked<'_>) -> Self {
        let works = checked.loads.iter().zip(&experiment.loads);
        let mut loads: Vec<Expected> = works
            .map(|(work, load)| work.expects(experiment.run.duration).over(load.transport.qps()))
            .collect();
        let mut flood = Flood::new(experiment, checked, &loads);
        flood.stand(&mut loads);
        flood.streams = Flood::streams(experiment, checked, &loads);
        let sum = |get: fn(&Expected) -> u64| loads.iter().map(get).fold(0, u64::saturating_add);
        let (at_once, in_all, messages) = (sum(|l| l.at_once), sum(|l| l.in_all), sum(|l| l.messages));
        let passages = flood.passages(experiment);
        let mut parts = vec![
            network(checked),
            fastest_ways(experiment, checked),
            flowlets(experiment, at_once, in_all),
            ports(experiment, checked, &flood, &passages),
            packets(experiment, &flood),
            Part {
                what: "connections that stand at once",
                count: at_once,
                bytes: at_once.saturating_mul(CONNECTION_BYTES as u64 + 4 * EVENT_BYTES as u64),
                cure: "fewer hosts or flows in traffic",
            },
            Part {
                what: "rows of results",
                count: in_all.saturating_add(messages),
                bytes: COPIES.saturating_mul(
                    in_all
                        .saturating_mul(size_of::<FlowRow>() as u64)
                        .saturating_add(messages.saturating_mul(size_of::<MessageRow>() as u64)),
                ),
                cure: "a shorter duration, or less traffic",
            },
            traces(experiment, checked, at_once, &passages),
        ];
        parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
        Estimate { parts }
    }

    /// Bytes in all.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).fold(0, u64::saturating_add)
    }

    /// A fault where it is more than `most` bytes.
    pub fn within(&self, most: u64) -> Result<(), Faults> {
        let mut faults = Faults::default();
        if self.bytes() > most {
            let parts = self.parts.iter().take(2).map(|part| {
                format!("{} for {} {} (less with {})", gb(part.bytes), part.count, part.what, part.cure)
            });
            let rule = format!(
                "must fit: the run would take about {}, and {} are free: {}",
                gb(self.bytes()),
                gb(most),
                parts.collect::<Vec<_>>().join(", ")
            );
            let hint = "run with --allow-memory (allow_memory=True) to try it all the same";
            faults.add("memory", Code::TooMuchMemory.rule(rule).hint(hint), &Value::Null);
            return Err(faults);
        }
        Ok(())
    }

    /// For programs: bytes, and parts.
    pub fn show(&self) -> Value {
        let part = |p: &Part| json!({"what": p.what, "count": p.count, "bytes": p.bytes});
        json!({"bytes": self.bytes(), "parts": self.parts.iter().map(part).collect::<Vec<_>>()})
    }
}

/// Graph, tables, and names.
fn network(checked: &Checked<'_>) -> Part {
    let (nodes, links) = (checked.graph.nodes.len() as u64, checked.graph.links.len() as u64);
    let node = size_of::<Node>() as u64 + 3 * NAME;
    let link = size_of::<Link>() as u64 + 3 * NAME;
    Part {
        what: "nodes and links",
        count: nodes + links,
        bytes: RUN
            + nodes * node
            + links * link
            + (checked.routing.memory() + checked.timeline.memory()) as u64,
        cure: "a smaller topology",
    }
}

/// Tables of ideal times where links fail: at most one for each switch of hosts and size of a packet, for all cells.
fn fastest_ways(experiment: &Experiment, checked: &Checked<'_>) -> Part {
    let graph = &checked.graph;
    let switches = graph.ids(Role::Switch).count() as u64;
    let roots = graph.ids(Role::Host).map(|host| Fastest::root(&checked.routing, host).0);
    let sizes =
        experiment.loads.iter().map(|load| Config::new(&load.transport)).map(|c| (c.rules.mss, c.header));
    let each = (roots.collect::<BTreeSet<_>>().len() * sizes.collect::<BTreeSet<_>>().len()) as u64;
    let count = if experiment.reroutes() { each } else { 0 };
    Part {
        what: "tables of fastest ways",
        count,
        bytes: count.saturating_mul(switches * Fastest::BYTES_A_SWITCH),
        cure: "a smaller topology, or events that leave links up",
    }
}

/// Flowlets, or turns, of connections that stand, and of those that ended so late that they are not forgotten.
fn flowlets(experiment: &Experiment, at_once: u64, in_all: u64) -> Part {
    let (gap, each) = match experiment.run.ecmp {
        Ecmp::Permutation => (permutation::IDLE, TURNS),
        _ => (experiment.routing.flowlet_gap, FLOWLET),
    };
    let gap = gap.as_secs_f64() / experiment.run.duration.as_secs_f64();
    let remembered = (in_all as f64 * gap.min(1.0)) as u64;
    let remembers = matches!(experiment.run.ecmp, Ecmp::Flowlet | Ecmp::Permutation);
    let count = if remembers { at_once.max(remembered).min(in_all) } else { 0 };
    Part {
        what: "flowlets in switches",
        count,
        bytes: count.saturating_mul(FLOWLETS * each),
        cure: "a shorter routing.flowlet_gap, or fewer flows in traffic",
    }
}

fn ports(experiment: &Experiment, checked: &Checked<'_>, flood: &Flood, passages: &Passages) -> Part {
    let probes = &experiment.probes;
    let traced = checked.traced.len() as u64;
    let usual_record = most_packets(experiment, flood.way).saturating_mul(RECORD_A_PACKET).min(USUAL_RECORD);
    let mut bytes = 0;
    for (link, chosen) in checked.graph.links.iter().zip(&checked.chosen) {
        let is_switch = checked.graph.role(link.from) == Role::Switch;
        let recorded = if is_switch { probes.queues } else { probes.nic_queues };
        let record = if recorded { size_of::<QueueRecord>() as u64 + usual_record } else { 0 };
        let control = if chosen.kind() == "none" { 0 } else { size_of::<Controlled>() as u64 };
        let events = 2 * EVENT_BYTES as u64;
        let queues: u64 = priorities::queues(experiment, chosen).map(Queue::memory).sum();
        bytes += size_of::<Port>() as u64 + queues + record + control + events;
    }
    if probes.queues {
        let switches =
            checked.graph.links.iter().filter(|link| checked.graph.role(link.from) == Role::Switch);
        bytes += flood.records(passages.switches / switches.count().max(1) as f64);
    }
    if probes.port_trace != TraceWhen::Off {
        bytes += traced * checked.classes.len() as u64 * size_of::<Arrivals>() as u64;
    }
    let controlled = checked.flow_control.iter().flatten().count() as u64;
    bytes += controlled * (size_of::<Pausing>() + size_of::<Ingress>() + EVENT_BYTES) as u64;
    let cure = "a smaller topology, or probe.queues = false";
    Part { what: "ports", count: checked.graph.links.len() as u64, bytes, cure }
}

/// Most packets that one connection sends while the run lasts, by the growth of its window alone.
fn most_packets(experiment: &Experiment, way: f64) -> u64 {
    let windows = experiment.loads.iter().map(|load| window_after(load, experiment.run.duration, way));
    windows.max().unwrap_or(0).saturating_mul(2)
}

/// Packets of a window that began with the initial one, or jumped to part of a saved one, and doubled in every round trip of the run (slow start). Who
/// sends at a rate has no such bound; over NDP and Homa the first window stays under way.
fn window_after(load: &LoadSpec, duration: Span, way: f64) -> u64 {
    let settings = &load.transport.settings;
    if load.transport.ndp().is_some() || load.transport.homa().is_some() {
        return settings.bytes(settings.initial_window).div_ceil(settings.mss.as_u64().max(1));
    }
    // NSCC begins with the most that it may have.
    if load.transport.cc.paces_wire() || load.transport.cc.opens_freely() {
        return u64::MAX;
    }
    let round_trips = (duration.as_secs_f64() / (2.0 * way)) as u64;
    let doublings = if way == 0.0 { MOST_DOUBLINGS } else { round_trips };
    // The first round trip opens the connection.
    let doublings = if load.transport.roce().is_some() { doublings } else { doublings.saturating_sub(1) };
    let first = settings.bytes(settings.initial_window).max(settings.first_jump());
    let initial = first.div_ceil(settings.mss.as_u64().max(1));
    initial.max(1).saturating_mul(1 << doublings.min(MOST_DOUBLINGS))
}

/// Packets that wait or travel.
fn packets(experiment: &Experiment, flood: &Flood) -> Part {
    let (windows, at_cards) = flood.by_windows(experiment);
    let count = flood.at_rates().saturating_add(windows);
    let each = count.saturating_mul(SLOT_BYTES as u64);
    // A card that serves its flows in turn keeps their packets in queues of their own.
    let bytes = each.saturating_add(at_cards.saturating_mul(PACKET_BYTES as u64));
    let bytes = bytes.saturating_mul(SLOTS[0]) / SLOTS[1];
    Part { what: "packets under way", count, bytes, cure: "fewer flows, or smaller ones" }
}

/// One load as a fluid.
struct Stream {
    expected: Expected,
    /// Its hosts.
    sends: Sends,
    /// Bytes of payload of its packets.
    payload: f64,
    /// Bits of a packet on the wire.
    packet: f64,
    /// Bits that it sends at most in the run.
    total: f64,
    /// Bits of one message, where messages come one after the other and not all at once.
    message: Option<f64>,
    /// Bits a second of all its connections, if it sends at a rate: what the control or the load decides, at most what the
    /// links of its hosts carry.
    rate: Option<f64>,
    /// Its data come all through the run.
    spread: bool,
    /// Bits a second that it sends while it has data: at its rate, or as fast as its links carry.
    peak: f64,
    /// Packets that wait in the senders' own ports, since their links carry less.
    at_hosts: f64,
    /// It slows down where packets are marked or lost.
    reacts: bool,
    /// A handshake comes before the data.
    opens: bool,
    /// Bytes of a connection's first window.
    first: f64,
    /// Each packet is acknowledged.
    acknowledged: bool,
    /// Acknowledgements come back, for each packet or for several.
    answered: bool,
}

/// The loads as fluids over a network of links: what enters and cannot leave waits.
struct Flood {
    streams: Vec<Stream>,
    fabric: Fabric,
    /// Seconds of the run, of a packet's way to the first switch, and of its whole way.
    duration: f64,
    first: f64,
    way: f64,
    /// Bits a second that the links to the receivers carry.
    drain: f64,
    /// Bits a second that the links of the senders carry.
    sources: f64,
    /// Packets that the ports before the receivers hold, or others that get more than they carry; none without a limit.
    room: Option<f64>,
    /// A full port marks or drops, so that a control learns of it.
    signals: bool,
    /// A port marks.
    marks: bool,
    /// Seconds that a queue stands before its discipline marks or drops.
    patience: f64,
}

/// Packets, acknowledgements included, that ports pass on.
struct Passages {
    /// Those of hosts.
    hosts: f64,
    /// Those of switches.
    switches: f64,
    /// Changes of windows and rates.
    changes: f64,
}

/// A connection of one message stands for so many round trips: its handshake, its data and its end.
const ROUND_TRIPS: f64 = 3.0;
/// So many round trips pass until a control that reacts has emptied what its start filled.
const REACTION: f64 = 10.0;
/// Bytes of a bin, as a count and as a row.
const BIN: f64 = 16.0;
/// So many packets meet each bin that is met.
const MEET: f64 = 4.0;
/// The greatest length in packets that has a bin of its own.
const LONGEST: f64 = 4096.0;
/// Senders that share a crowded port take so many times as long as that port would need.
const SLOWED: f64 = 4.0;
/// So many round trips pass until windows that lost most of their packets fit the network.
const LOSSY: f64 = 3.0;

impl Flood {
    fn new(experiment: &Experiment, checked: &Checked<'_>, loads: &[Expected]) -> Self {
        let graph = &checked.graph;
        let duration = experiment.run.duration.as_secs_f64();
        let (mut out, mut into) = (vec![0.0f64; graph.nodes.len()], vec![0.0f64; graph.nodes.len()]);
        let mut rooms = vec![Some(0.0); graph.nodes.len()];
        // Thousands of ports share a few disciplines.
        let mut limits: Vec<(*const Queue, Option<f64>)> = vec![];
        let mut limit_of = |queue: &Queue| match limits.iter().find(|(known, _)| std::ptr::eq(*known, queue))
        {
            Some((_, limit)) => *limit,
            None => {
                let limit = limit_of(queue);
                limits.push((queue, limit));
                limit
            }
        };
        let mut limit = |chosen: &Chosen<'_>| {
            priorities::queues(experiment, chosen).map(&mut limit_of).fold(Some(0.0), plus)
        };
        for ((link, (rate, _)), chosen) in graph.links.iter().zip(&checked.best).zip(&checked.chosen) {
            out[link.from.index()] += rate.as_bps() as f64;
            into[link.to.index()] += rate.as_bps() as f64;
            rooms[link.to.index()] = plus(rooms[link.to.index()], limit(chosen));
        }
        let of =
            |hosts: &BTreeSet<NodeId>, by: &[f64]| hosts.iter().map(|host| by[host.index()]).sum::<f64>();
        let streams = Self::streams(experiment, checked, loads);
        let ends = |get: fn(&Sends) -> &Vec<NodeId>| -> BTreeSet<NodeId> {
            streams.iter().flat_map(|stream| get(&stream.sends)).copied().collect()
        };
        let (from, to) = (ends(|sends| &sends.from), ends(|sends| &sends.to));
        let known = streams.iter().all(|stream| !stream.sends.pairs.is_empty());
        let pairs: Vec<(Pair, f64)> = streams.iter().flat_map(|stream| stream.pairs(&out)).collect();
        let hashes = known && !experiment.run.ecmp.sprays();
        let fabric = Fabric::new(checked, &pairs, hashes, |link| limit(&checked.chosen[link as usize]));
        let room = to.iter().map(|host| rooms[host.index()]).fold(Some(0.0), plus);
        let room = room.map(|room| room * fabric.hops / 2.0);
        // Ports inside the network hold packets too where pairs meet there.
        let room = if fabric.crowded > 0.0 { fabric.room } else { room };
        let buffers =
            checked.buffers.iter().map(|(settings, _)| settings.buffer.map(|bytes| bytes.as_u64() as f64));
        let buffers = buffers.fold(Some(0.0), plus).filter(|_| !checked.buffers.is_empty());
        let packet = streams.iter().map(|stream| stream.packet / 8.0).fold(f64::INFINITY, f64::min);
        let buffers = buffers.map(|bytes| bytes / packet);
        let at_switches = || checked.chosen.iter().filter(|chosen| chosen.control.is_some());
        let marks = at_switches().any(|chosen| !matches!(chosen.queue, Queue::DropTail(_)));
        let signals = room.is_some() || marks;
        let mut queues: Vec<&Queue> =
            at_switches().flat_map(|chosen| priorities::queues(experiment, chosen)).collect();
        queues.dedup_by_key(|queue| std::ptr::from_ref::<Queue>(*queue));
        let patience = queues.into_iter().map(patience_of).max().unwrap_or_default().as_secs_f64();
        Flood {
            duration,
            first: fabric.first,
            way: fabric.way,
            drain: of(&to, &into),
            sources: of(&from, &out),
            room: match (room, buffers) {
                (Some(room), Some(buffer)) => Some(room.min(buffer)),
                (room, buffer) => room.or(buffer),
            },
            signals,
            marks,
            patience,
            fabric,
            streams,
        }
    }

    /// Each load as a fluid.
    fn streams(experiment: &Experiment, checked: &Checked<'_>, loads: &[Expected]) -> Vec<Stream> {
        let graph = &checked.graph;
        let duration = experiment.run.duration.as_secs_f64();
        let mut out = vec![0.0f64; graph.nodes.len()];
        for (link, (rate, _)) in graph.links.iter().zip(&checked.best) {
            out[link.from.index()] += rate.as_bps() as f64;
        }
        let endless = limit_of(&experiment.nic).is_none();
        let stream = |((expected, load), source): ((&Expected, &LoadSpec), &dyn Workload)| {
            let mut sends = source.sends();
            if sends.from.is_empty() {
                let hosts: Vec<NodeId> = graph.ids(Role::Host).collect();
                sends = Sends { from: hosts.clone(), to: hosts, ..sends };
            }
            let from: BTreeSet<NodeId> = sends.from.iter().copied().collect();
            let links = from.iter().map(|host| out[host.index()]).sum();
            Stream::new(*expected, sends, load, links, duration, endless)
        };
        let sources = checked.loads.iter().map(|source| &**source);
        loads.iter().zip(&experiment.loads).zip(sources).map(stream).collect()
    }

    /// Connections that stand at once: those that the network has not served yet, and those of the last round trips.
    fn stand(&self, loads: &mut [Expected]) {
        let served = self.sources.min(self.drain) * self.duration;
        let offered: f64 = self.streams.iter().map(|stream| stream.total).sum();
        let unserved = if offered.is_finite() && offered > served { 1.0 - served / offered } else { 0.0 };
        let recent = (ROUND_TRIPS * 2.0 * self.way / self.duration).min(1.0);
        for load in loads.iter_mut().filter(|load| load.in_all > load.at_once) {
            let standing = (load.in_all as f64 * unserved.max(recent)) as u64;
            load.at_once = load.at_once.max(standing).min(load.in_all);
        }
    }

    /// Bits a second that come through the network, of so many that enter it.
    fn carried(&self, entering: f64) -> f64 {
        (entering * self.fabric.through).min(self.drain)
    }

    /// Seconds in which a load has data under way.
    fn sends_for(&self, stream: &Stream) -> f64 {
        (self.duration - if stream.opens { 2.0 * self.way } else { 0.0 }).max(0.0)
    }

    /// Seconds of propagation until a packet is at port `number` of its way, that of its host being 0.
    fn until(&self, number: f64) -> f64 {
        if number < 1.0 {
            return 0.0;
        }
        let between = (self.way - self.first) / (self.fabric.hops - 1.0).max(1.0);
        self.first + (number - 1.0) * between
    }

    /// Packets and acknowledgements times the ports that each passes, and changes of windows.
    fn passages(&self, experiment: &Experiment) -> Passages {
        let mut all = Passages { hosts: 0.0, switches: 0.0, changes: 0.0 };
        let at_rates: f64 = self.streams.iter().filter_map(|stream| stream.rate).sum();
        for (stream, load) in self.streams.iter().zip(&experiment.loads) {
            let time = self.sends_for(stream);
            // Bits that have been sent some time after the beginning.
            let grown = |after: f64| match stream.rate {
                Some(_) => stream.total,
                None => stream.total.min(self.grown(stream, load, after)),
            };
            let (enters, passes) = match stream.rate {
                Some(rate) => {
                    let share = rate / at_rates.max(1.0);
                    let enters = share * at_rates.min(self.sources);
                    (enters, share * self.carried(at_rates.min(self.sources)))
                }
                None => {
                    // Arrivals all through the run are sent all through the run.
                    let arrives = if stream.spread { stream.total / self.duration } else { f64::INFINITY };
                    let carried = self.carried(self.sources).min(arrives);
                    (carried, carried)
                }
            };
            let lost = self.burst(stream, passes);
            let at = |rate: f64, after: f64| {
                let left = (time - after).max(0.0);
                (rate * left).min(grown(left)) / stream.packet
            };
            let hops = self.fabric.hops.round().max(1.0) as u32;
            // Senders at a rate that react send what comes through once marks tell them, and lost packets do not.
            let slows = stream.rate.is_some() && stream.reacts && self.marks;
            let slowed = if slows { (time - self.overloaded(stream, time)).max(0.0) } else { 0.0 };
            let spared = (enters - passes).max(0.0) * slowed / stream.packet;
            all.hosts += at(enters, 0.0).min((at(enters, 0.0) - spared).max(at(passes, 0.0)));
            let last = |after: f64| {
                let before = at(passes, after);
                lost.map_or(before, |(bits, lasts)| {
                    let later = passes * (time - after - lasts).max(0.0);
                    before.min((bits + if stream.rate.is_none() { later } else { 0.0 }) / stream.packet)
                })
            };
            for number in 1..hops {
                all.switches += last(self.until(number.into()));
            }
            if stream.answered {
                let each = if stream.acknowledged { 1.0 } else { 0.5 };
                all.hosts += each * last(self.way);
                for number in 1..hops {
                    all.switches += each * last(self.way + self.until(number.into()));
                }
            }
            if stream.opens {
                // Those that begin in the last seconds do not come so far.
                let opened = |after: f64| match self.duration - after {
                    left if left <= 0.0 => 0.0,
                    left if stream.spread => stream.expected.in_all as f64 * left / self.duration,
                    _ => stream.expected.in_all as f64,
                };
                for begins in [0.0, self.way] {
                    all.hosts += opened(begins);
                    all.switches +=
                        (1..hops).map(|number| opened(begins + self.until(number.into()))).sum::<f64>();
                }
            }
            all.changes += self.changes(stream, load, last(self.way));
        }
        all
    }

    /// Bits that windows let out within so many seconds of the first: they double in each round trip.
    fn grown(&self, stream: &Stream, load: &LoadSpec, after: f64) -> f64 {
        let window = window_after(load, Span::ps((after * 1e12) as u64), self.way);
        if after <= 0.0 || window == u64::MAX {
            return if after <= 0.0 { 0.0 } else { f64::INFINITY };
        }
        // `window_after` leaves a round trip for the handshake, which is over here.
        let doubled = if stream.opens && after >= 2.0 * self.way { 2.0 } else { 1.0 };
        2.0 * doubled * window as f64 * stream.expected.at_once as f64 * stream.packet
    }

    /// The bits of a load that come through while its first bursts lose most of what they send, and how long that lasts; none if
    /// the ports hold them, or carry them.
    fn burst(&self, stream: &Stream, passes: f64) -> Option<(f64, f64)> {
        // Those that come at random do not come at once.
        let room = self.room.filter(|_| !stream.sends.spread)? * stream.packet;
        let flows = stream.expected.at_once as f64;
        let (burst, lasts) = match stream.rate {
            // All at once at the rates of the links, and again what was lost.
            Some(rate) if !stream.reacts || stream.total < rate * 2.0 * self.way => {
                let each = stream.total / (stream.expected.in_all as f64).max(1.0);
                (stream.message.unwrap_or(each) * flows, 2.0)
            }
            Some(_) => return None,
            None => (flows * stream.first * 8.0, LOSSY),
        };
        let served = burst * (passes / stream.peak.max(1.0)).min(1.0);
        // Messages at equal times come as bursts, one after the other.
        let bursts = if stream.message.is_some() { (stream.total / burst).max(1.0) } else { 1.0 };
        (burst.is_finite() && burst > served + room).then(|| {
            (bursts * lasts * (served + room), lasts * 2.0 * self.way.max(burst / stream.peak.max(1.0)))
        })
    }

    /// Changes of a load's windows and rates, of which `pass` packets arrive: with each acknowledgement, twice a round trip where a
    /// control samples the delivery rate, and by the control's own clock.
    fn changes(&self, stream: &Stream, load: &LoadSpec, pass: f64) -> f64 {
        let cc = &load.transport.cc;
        let flows = stream.expected.at_once as f64;
        let each = |period: f64| flows * self.sends_for(stream) / period;
        // A rate stays as it begins until the first answers, and for ever if all has been sent by then.
        let answered = (self.duration - 2.0 * self.way).max(0.0);
        // Nor does it change once all has been sent, and those that come at random stand for half of the run.
        let answered = answered.min(SLOWED * stream.total / self.carried(self.sources).max(1.0));
        let answered = if stream.sends.spread { answered / 2.0 } else { answered };
        let sent_before = stream.total / flows.max(1.0) < self.of_one(stream) * 2.0 * self.way;
        match (stream.rate, cc.changes_every()) {
            (Some(_), Some(_)) if sent_before => 0.0,
            (Some(_), Some(period)) => (flows * answered / period.as_secs_f64()).max(0.1 * pass),
            (None, Some(period)) => each(period.as_secs_f64()).max(0.1 * pass),
            (None, None) if cc.samples() => each(self.way).min(pass),
            (None, None) => pass,
            (Some(_), None) if stream.reacts => 0.1 * pass,
            (Some(_), None) => 0.0,
        }
    }

    /// Bits a second at which one connection begins.
    fn of_one(&self, stream: &Stream) -> f64 {
        stream.peak / (stream.expected.at_once as f64).max(1.0)
    }

    /// Seconds in which more of a load enters than comes through, of so many in which it sends.
    fn overloaded(&self, stream: &Stream, time: f64) -> f64 {
        if stream.reacts && self.signals {
            (self.patience + REACTION * 2.0 * self.way).min(time)
        } else {
            (time - self.first).max(0.0)
        }
    }

    /// Bytes of the bins of lengths and waits that crowded ports meet beyond the usual ones, where each passes so many packets.
    /// Lengths up to the limit have a bin each, and each octave of waits has a hundred and twenty-eight.
    fn records(&self, packets: f64) -> u64 {
        let crowded = self.fabric.crowded;
        if crowded == 0.0 {
            return 0;
        }
        let limit = self.room.map_or(LONGEST, |room| (room / crowded).clamp(1.0, LONGEST));
        let bins = (limit + 128.0 * libm::log2(limit)).min(packets / MEET);
        (crowded * bins * BIN) as u64
    }

    /// Packets of the loads that send at a rate: rate x delay on the wires, overload x time in the queues.
    fn at_rates(&self) -> u64 {
        let at_rates = || self.streams.iter().filter_map(|stream| Some((stream, stream.rate?)));
        let offered: f64 = at_rates().map(|(_, rate)| rate).sum::<f64>();
        if offered == 0.0 {
            return 0;
        }
        let entering = offered.min(self.sources);
        let passing = self.carried(entering);
        let (mut count, mut waiting) = (0.0, 0.0);
        for (stream, rate) in at_rates() {
            let share = rate / offered;
            let time = self.sends_for(stream);
            let sent = stream.total.min(share * entering * time);
            let (enters, passes) = (share * entering, share * passing);
            let overloaded = self.overloaded(stream, time);
            let on_wires = enters * self.first.min(time)
                + passes * (self.way - self.first).min((time - self.first).max(0.0));
            let back =
                if stream.acknowledged { passes * self.way.min((time - self.way).max(0.0)) } else { 0.0 };
            waiting += ((enters - passes) * overloaded).min(sent) / stream.packet;
            count += (on_wires + back).min(sent) / stream.packet + stream.at_hosts;
        }
        let waiting = self.room.map_or(waiting, |room| waiting.min(room));
        (count + waiting) as u64 + 1
    }

    /// Packets of the loads whose controls have windows, and how many of them wait at the senders' cards.
    fn by_windows(&self, experiment: &Experiment) -> (u64, u64) {
        let by_windows =
            || self.streams.iter().zip(&experiment.loads).filter(|(stream, _)| stream.rate.is_none());
        let (mut count, mut begun, mut passed, mut travel, mut at_cards) = (0.0, 0.0, 0.0, 0.0f64, 0.0f64);
        for (stream, load) in by_windows() {
            let settings = &load.transport.settings;
            let flows = stream.expected.at_once as f64;
            let first = settings.bytes(settings.initial_window).max(settings.first_jump());
            let initial = first as f64 / stream.payload;
            let mss = settings.mss.max(Bytes(1)).as_u64();
            let sendable = (self.sources * self.duration / 8.0) as u64;
            let mut bytes = stream.expected.bytes.unwrap_or(u64::MAX).min(sendable);
            let carried = self.carried(self.sources);
            // Messages that come slower than the network carries them do not wait for one another.
            if let Some(message) = stream.message
                && stream.total < carried * self.duration
            {
                let arrive = stream.total / flows.max(1.0) / self.duration;
                bytes = bytes.min(((message + arrive * 2.0 * self.way) / 8.0) as u64);
            }
            let grown = window_after(load, experiment.run.duration, self.way);
            let pipe = carried * 2.0 * self.way / stream.packet;
            // A window grows by the packets that come through, and those that do not wait.
            let crowded = (self.sources - carried).min(carried) * self.duration;
            let came = CARD_SHARE * carried * self.sends_for(stream) / stream.packet / flows.max(1.0);
            // A window grows without end at the sender's own card, and at a port that holds everything.
            let card = Config::new(&load.transport).small_queues.map_or(u64::MAX, |bytes| bytes / mss);
            let usual = USUAL_WINDOW.max((pipe / flows.max(1.0)) as u64);
            let usual = match self.room {
                Some(_) => usual.max((pipe / flows.max(1.0)) as u64 + card.min(MOST_AT_CARD)),
                None => usual.max((crowded.max(0.0) / stream.packet / flows.max(1.0)) as u64),
            };
            let asked = settings.receive_window.map_or(u64::MAX, |window| settings.bytes(window) / mss + 1);
            let each = (bytes / mss + 2).min(grown.min(usual)).min(asked) as f64;
            count += flows * each;
            begun += flows * initial.max(1.0);
            passed += crowded.max(0.0) / stream.packet;
            travel = travel.max(pipe);
            at_cards +=
                self.fabric.alone * (each.min(card as f64).min(came) - pipe / flows.max(1.0)).max(0.0);
        }
        // A window grows by acknowledged packets, and packets that find no room are dropped. A card drops nothing.
        let most = match self.room {
            Some(room) => 2.0 * begun + travel + room + at_cards,
            None => 2.0 * begun + travel + passed + at_cards,
        };
        let count = count.min(most.max(begun)) as u64;
        (count, count.min(at_cards as u64))
    }
}

impl Stream {
    fn new(
        expected: Expected,
        sends: Sends,
        load: &LoadSpec,
        links: f64,
        duration: f64,
        endless: bool,
    ) -> Self {
        let config = Config::new(&load.transport);
        let bytes = expected.bytes.map(|bytes| bytes as f64 * expected.in_all as f64);
        let message = bytes.filter(|_| expected.messages > 0).map(|bytes| bytes / expected.messages as f64);
        let full = (config.rules.mss as f64).max(1.0);
        let payload =
            sends.packet.map_or(message.unwrap_or(full).clamp(1.0, full), |bytes| bytes.max(1) as f64);
        let packet = 8.0 * (payload + f64::from(config.header));
        let wire = packet / (8.0 * payload);
        let cc = &load.transport.cc;
        let flows = expected.at_once as f64;
        let given = sends.rate.map(|rate| rate.as_bps() as f64 * wire);
        let kept = given.or(cc.steady_rate().map(|rate| rate.as_bps() as f64)).map(|rate| rate * flows);
        let rate = kept.or(cc.begins_at_line_rate().then_some(links));
        let total = bytes.map_or(f64::INFINITY, |bytes| bytes * 8.0 * wire);
        // Messages that come one after the other, all through the run, and not all at once.
        let lasting = expected.messages > expected.at_once;
        // Datagrams and packets at a kept rate wait in the host's port if its link carries less.
        let offered = if lasting { total / duration } else { f64::INFINITY };
        let over = kept.map_or(0.0, |kept| (kept.min(offered) - links).max(0.0) * duration / packet);
        Stream {
            payload,
            packet,
            total,
            message: message.filter(|_| lasting).map(|bytes| bytes * 8.0 * wire),
            spread: lasting || sends.spread,
            peak: rate.map_or(links, |rate| rate.min(links)),
            rate: rate
                .map(|rate| rate.min(links))
                .map(|rate| if lasting || sends.spread { rate.min(total / duration) } else { rate }),
            at_hosts: if endless { over.min(total / packet) } else { 0.0 },
            reacts: kept.is_none() && cc.reacts(),
            opens: given.is_none() && load.transport.roce().is_none() && load.transport.ndp().is_none(),
            answered: given.is_none(),
            acknowledged: given.is_none() && load.transport.roce().is_none(),
            first: {
                let settings = &load.transport.settings;
                settings.bytes(settings.initial_window).max(settings.first_jump()) as f64
            },
            sends,
            expected,
        }
    }

    /// Its pairs with the bits a second that each sends, as far as they are known; otherwise some of those that may be.
    fn pairs(&self, out: &[f64]) -> Vec<(Pair, f64)> {
        let Sends { from, to, pairs, .. } = &self.sends;
        if pairs.is_empty() {
            let some = |i: usize| (from[i % from.len()], to[(i * 7 + 1) % to.len()]);
            return (0..SOME_PAIRS)
                .map(some)
                .filter(|(from, to)| from != to)
                .map(|pair| (pair, 0.0))
                .collect();
        }
        let mut of_host = BTreeMap::new();
        pairs.iter().for_each(|(from, _)| *of_host.entry(*from).or_insert(0.0) += 1.0);
        let links: f64 = of_host.keys().map(|host| out[host.index()]).sum();
        let share = (self.rate.unwrap_or(links) / links.max(1.0)).min(1.0);
        pairs.iter().map(|pair| (*pair, share * out[pair.0.index()] / of_host[&pair.0])).collect()
    }
}

/// Pairs whose ways stand for all, where loads draw them.
const SOME_PAIRS: usize = 64;
/// Most packets of a connection at its own card. Linux's limit is 4 MiB, some three thousand; without one few windows grow
/// as far in a run.
const MOST_AT_CARD: u64 = 4096;

/// The share of the packets that came through by which a window outgrows its card. In slow start it is all of them, and no more after a
/// loss or a long delay.
const CARD_SHARE: f64 = 0.5;

/// Time that a discipline lets a queue stand: CoDel's interval.
fn patience_of(queue: &Queue) -> Span {
    let shown = queue.show();
    let interval = shown.get("interval").filter(|_| shown.contains_key("target")).and_then(Value::as_str);
    interval.and_then(|text| Span::parse(text).ok()).unwrap_or_default()
}

/// Packets that a discipline holds; none if nothing limits it.
fn limit_of(queue: &Queue) -> Option<f64> {
    let shown = queue.show();
    let text = ["limit", "limit_each"].iter().find_map(|key| shown.get(*key)?.as_str())?;
    match Size::read(&Value::from(text), "", &mut Faults::default())? {
        Size::Packets(packets) => Some(packets as f64),
        Size::Bytes(bytes) => Some(bytes.as_u64() as f64 / FULL_PACKET),
    }
}

/// Bytes of a full packet on Ethernet.
const FULL_PACKET: f64 = 1500.0;

fn plus(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? + b?)
}

fn traces(experiment: &Experiment, checked: &Checked<'_>, connections: u64, passages: &Passages) -> Part {
    let probes = &experiment.probes;
    let is_switch =
        |port: &&u32| checked.graph.role(checked.graph.links[**port as usize].from) == Role::Switch;
    let all: Vec<u32> = (0..checked.graph.links.len() as u32).collect();
    let switches = all.iter().filter(is_switch).count();
    let hosts = all.len() - switches;
    // Passages at some ports, as shares of those at all ports of their kind.
    let at = |ports: &[u32]| {
        let own = ports.iter().filter(is_switch).count();
        passages.switches * own as f64 / switches.max(1) as f64
            + passages.hosts * (ports.len() - own) as f64 / hosts.max(1) as f64
    };
    let (ports, classes) = (checked.traced.len() as u64, checked.classes.len() as u64);
    // A packet changes a queue when it comes and when it goes, and its acknowledgement changes a window once on its way.
    let changes = (2.0 * at(&checked.traced)) as u64;
    let rows = |when, count: u64, by_change: u64| {
        let rows = match when {
            TraceWhen::Off => 0,
            TraceWhen::Change => count.saturating_add(by_change),
            TraceWhen::Every(span) => (experiment.run.duration.as_ps() / span.as_ps()).saturating_mul(count),
        };
        rows.min(probes.trace_rows)
    };
    let tapped = (at(&checked.tapped) as u64).min(probes.trace_rows);
    let counts = [
        (rows(probes.queue_trace, ports, changes), size_of::<QueueRow>()),
        (rows(probes.port_trace, ports.saturating_mul(classes), changes), size_of::<PortRow>()),
        (rows(probes.windows(), connections, passages.changes as u64), size_of::<FlowTraceRow>()),
        (tapped, size_of::<PacketRow>()),
    ];
    Part {
        what: "rows of traces",
        count: counts.iter().map(|(rows, _)| rows).sum(),
        bytes: counts.iter().map(|(rows, size)| rows.saturating_mul(COPIES * *size as u64)).sum(),
        cure: "a longer interval, or fewer ports and classes",
    }
}
