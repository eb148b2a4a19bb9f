//! An estimate of a run's memory, before it is built.
//!
//! The sum over ports, connections, packets under way, results and traces, from the experiment alone. Parts that
//! depend on the course of the run (packets that wait, connections open at once) are taken at their usual size
//! for such loads. Tests hold the estimate against the measured peak of runs of several sizes.

use crate::engine::check::facts::Checked;
use crate::engine::check::priorities;
use crate::engine::error::gb;
use crate::events::EVENT_BYTES;
use crate::experiment::{Experiment, LoadSpec};
use crate::hosts::CONNECTION_BYTES;
use crate::hosts::facts::MessageRow;
use crate::hosts::records::FlowRow;
use crate::net::pfc::Pausing;
use crate::net::pfc::ingress::Ingress;
use crate::net::port::chain::SLOT_BYTES;
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
use crate::workload::{Expected, Sends};
use serde_json::{Value, json};
use shallows_units::{Bytes, Size, Span};
use std::collections::BTreeSet;

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
        Flood::new(experiment, checked, &loads).stand(&mut loads);
        let sum = |get: fn(&Expected) -> u64| loads.iter().map(get).fold(0, u64::saturating_add);
        let (at_once, in_all, messages) = (sum(|l| l.at_once), sum(|l| l.in_all), sum(|l| l.messages));
        let flood = Flood::new(experiment, checked, &loads);
        let mut parts = vec![
            network(checked),
            fastest_ways(experiment, checked),
            flowlets(experiment, at_once, in_all),
            ports(experiment, checked),
            packets(experiment, checked, &flood),
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
            traces(experiment, checked, at_once, flood.passages(experiment, checked)),
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

fn ports(experiment: &Experiment, checked: &Checked<'_>) -> Part {
    let probes = &experiment.probes;
    let traced = checked.traced.len() as u64;
    let usual_record = most_packets(experiment, checked).saturating_mul(RECORD_A_PACKET).min(USUAL_RECORD);
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
    if probes.port_trace != TraceWhen::Off {
        bytes += traced * checked.classes.len() as u64 * size_of::<Arrivals>() as u64;
    }
    let controlled = checked.flow_control.iter().flatten().count() as u64;
    bytes += controlled * (size_of::<Pausing>() + size_of::<Ingress>() + EVENT_BYTES) as u64;
    let cure = "a smaller topology, or probe.queues = false";
    Part { what: "ports", count: checked.graph.links.len() as u64, bytes, cure }
}

/// Most packets that one connection sends while the run lasts, by the growth of its window alone.
fn most_packets(experiment: &Experiment, checked: &Checked<'_>) -> u64 {
    let windows = experiment.loads.iter().map(|load| window_after(load, experiment.run.duration, checked));
    windows.max().unwrap_or(0).saturating_mul(2)
}

/// Packets of a window that began with the initial one, or jumped to part of a saved one, and doubled in every round trip of the run (slow start). Who
/// sends at a rate has no such bound; over NDP and Homa the first window stays under way.
fn window_after(load: &LoadSpec, duration: Span, checked: &Checked<'_>) -> u64 {
    let settings = &load.transport.settings;
    if load.transport.ndp().is_some() || load.transport.homa().is_some() {
        return settings.bytes(settings.initial_window).div_ceil(settings.mss.as_u64().max(1));
    }
    // NSCC begins with the most that it may have.
    if load.transport.cc.paces_wire() || load.transport.cc.opens_freely() {
        return u64::MAX;
    }
    let round_trip = usual_round_trip(checked);
    let doublings =
        if round_trip == Span::ZERO { MOST_DOUBLINGS } else { duration.as_ps() / round_trip.as_ps() };
    // The first round trip opens the connection.
    let doublings = if load.transport.roce().is_some() { doublings } else { doublings.saturating_sub(1) };
    let first = settings.bytes(settings.initial_window).max(settings.first_jump());
    let initial = first.div_ceil(settings.mss.as_u64().max(1));
    initial.max(1).saturating_mul(1 << doublings.min(MOST_DOUBLINGS))
}

/// There and back over two links of hosts, and over two between switches where there are such.
fn usual_round_trip(checked: &Checked<'_>) -> Span {
    let (mut at_host, mut between) = (None::<Span>, Span::ZERO);
    for (link, (_, delay)) in checked.graph.links.iter().zip(&checked.best) {
        if [link.from, link.to].iter().any(|end| checked.graph.role(*end) == Role::Host) {
            at_host = Some(at_host.map_or(*delay, |least| least.min(*delay)));
        } else {
            between = between.max(*delay);
        }
    }
    (at_host.unwrap_or_default() + between) * 4
}

/// Packets that wait or travel.
fn packets(experiment: &Experiment, checked: &Checked<'_>, flood: &Flood) -> Part {
    let count = flood.at_rates().saturating_add(flood.by_windows(experiment, checked));
    let bytes = count.saturating_mul(SLOTS[0] * SLOT_BYTES as u64) / SLOTS[1];
    Part { what: "packets under way", count, bytes, cure: "fewer flows, or smaller ones" }
}

/// One load as a fluid.
struct Stream {
    expected: Expected,
    /// Bytes of payload of its packets.
    payload: f64,
    /// Bits of a packet on the wire.
    packet: f64,
    /// Bits that it sends at most in the run.
    total: f64,
    /// Bits a second of all its connections, if it sends at a rate: what the control or the load decides, at most what the
    /// links of its hosts carry.
    rate: Option<f64>,
    /// Packets that wait in the senders' own ports, since their links carry less.
    at_hosts: f64,
    /// It slows down where packets are marked or lost.
    reacts: bool,
    /// A handshake comes before the data.
    opens: bool,
    /// Each packet is acknowledged.
    acknowledged: bool,
    /// Acknowledgements come back, for each packet or for several.
    answered: bool,
}

/// The loads as fluids over a network of hosts' links: what enters and cannot leave waits.
struct Flood {
    streams: Vec<Stream>,
    /// Seconds of the run, of a packet's way to the first switch, and of its whole way.
    duration: f64,
    first: f64,
    way: f64,
    /// Bits a second that the links to the receivers carry.
    drain: f64,
    /// Bits a second that the links of the senders carry.
    sources: f64,
    /// Packets that the ports before the receivers hold; none without a limit.
    room: Option<f64>,
    /// A full port marks or drops, so that a control learns of it.
    signals: bool,
}

/// A connection of one message stands for so many round trips: its handshake, its data and its end.
const ROUND_TRIPS: f64 = 3.0;
/// So many round trips pass until a control that reacts has emptied what its start filled.
const REACTION: f64 = 10.0;

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
        for ((link, (rate, _)), chosen) in graph.links.iter().zip(&checked.best).zip(&checked.chosen) {
            out[link.from.index()] += rate.as_bps() as f64;
            into[link.to.index()] += rate.as_bps() as f64;
            let limit = priorities::queues(experiment, chosen).map(&mut limit_of).fold(Some(0.0), plus);
            rooms[link.to.index()] = plus(rooms[link.to.index()], limit);
        }
        let of =
            |hosts: &BTreeSet<NodeId>, by: &[f64]| hosts.iter().map(|host| by[host.index()]).sum::<f64>();
        let (mut from, mut to) = (BTreeSet::<NodeId>::new(), BTreeSet::<NodeId>::new());
        let streams =
            loads.iter().zip(&experiment.loads).zip(&checked.loads).map(|((expected, load), source)| {
                let mut sends = source.sends();
                if sends.from.is_empty() {
                    let hosts: Vec<NodeId> = graph.ids(Role::Host).collect();
                    sends = Sends { from: hosts.clone(), to: hosts, ..sends };
                }
                from.extend(&sends.from);
                to.extend(&sends.to);
                let links = of(&sends.from.iter().copied().collect(), &out);
                Stream::new(*expected, sends, load, links, duration, limit_of(&experiment.nic).is_none())
            });
        let streams: Vec<Stream> = streams.collect();
        let way = usual_round_trip(checked).as_secs_f64() / 2.0;
        let room = to.iter().map(|host| rooms[host.index()]).fold(Some(0.0), plus);
        let buffers =
            checked.buffers.iter().map(|(settings, _)| settings.buffer.map(|bytes| bytes.as_u64() as f64));
        let buffers = buffers.fold(Some(0.0), plus).filter(|_| !checked.buffers.is_empty());
        let packet = streams.iter().map(|stream| stream.packet / 8.0).fold(f64::INFINITY, f64::min);
        let buffers = buffers.map(|bytes| bytes / packet);
        let kinds = checked.chosen.iter().filter(|chosen| chosen.control.is_some());
        let signals =
            room.is_some() || kinds.into_iter().any(|chosen| !matches!(chosen.queue, Queue::DropTail(_)));
        Flood {
            duration,
            first: usual_first(checked).as_secs_f64().min(way),
            way,
            drain: of(&to, &into),
            sources: of(&from, &out),
            room: match (room.map(|room| room * hops(checked) / 2.0), buffers) {
                (Some(room), Some(buffer)) => Some(room.min(buffer)),
                (room, buffer) => room.or(buffer),
            },
            signals,
            streams,
        }
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

    /// Seconds in which a load has data under way.
    fn sends_for(&self, stream: &Stream) -> f64 {
        (self.duration - if stream.opens { 2.0 * self.way } else { 0.0 }).max(0.0)
    }

    /// Packets and acknowledgements times the ports that each passes, and packets that change a window.
    fn passages(&self, experiment: &Experiment, checked: &Checked<'_>) -> (f64, f64) {
        let later = hops(checked) - 1.0;
        let carried = self.sources.min(self.drain);
        let (mut all, mut changes) = (0.0, 0.0);
        let at_rates: f64 = self.streams.iter().filter_map(|stream| stream.rate).sum();
        for (stream, load) in self.streams.iter().zip(&experiment.loads) {
            let time = self.sends_for(stream);
            let beyond = (time - self.first).max(0.0);
            let (enter, pass) = match stream.rate {
                Some(rate) => {
                    let share = rate / at_rates.max(1.0);
                    let enters = share * at_rates.min(self.sources);
                    (enters * time, share * at_rates.min(carried) * beyond)
                }
                None => {
                    let window = window_after(load, experiment.run.duration, checked) as f64;
                    let grown = 2.0 * window * stream.expected.at_once as f64 * stream.packet;
                    (grown.min(carried * time), grown.min(carried * beyond))
                }
            };
            let (enter, pass) =
                (enter.min(stream.total) / stream.packet, pass.min(stream.total) / stream.packet);
            let back = if stream.acknowledged { 1.0 } else { 0.5 } * if stream.answered { pass } else { 0.0 };
            all += enter + pass * later + back * (1.0 + later);
            changes += self.changes(stream, load, pass);
        }
        (all, changes)
    }

    /// Changes of a load's windows and rates, of which `pass` packets arrive: with each acknowledgement, twice a round trip where a
    /// control samples the delivery rate, and by the control's own clock.
    fn changes(&self, stream: &Stream, load: &LoadSpec, pass: f64) -> f64 {
        let cc = &load.transport.cc;
        let flows = stream.expected.at_once as f64;
        let each = |period: f64| flows * self.sends_for(stream) / period;
        match (stream.rate, cc.changes_every()) {
            (_, Some(period)) => each(period.as_secs_f64()).max(0.1 * pass),
            (None, None) if cc.samples() => each(self.way).min(pass),
            (None, None) => pass,
            (Some(_), None) => 0.1 * pass,
        }
    }

    /// Packets of the loads that send at a rate: rate x delay on the wires, overload x time in the queues.
    fn at_rates(&self) -> u64 {
        let at_rates = || self.streams.iter().filter_map(|stream| Some((stream, stream.rate?)));
        let offered: f64 = at_rates().map(|(_, rate)| rate).sum::<f64>();
        if offered == 0.0 {
            return 0;
        }
        let entering = offered.min(self.sources);
        let passing = entering.min(self.drain);
        let (mut count, mut waiting) = (0.0, 0.0);
        for (stream, rate) in at_rates() {
            let share = rate / offered;
            let time = self.sends_for(stream);
            let sent = stream.total.min(share * entering * time);
            let (enters, passes) = (share * entering, share * passing);
            let overloaded = if stream.reacts && self.signals {
                (REACTION * 2.0 * self.way).min(time)
            } else {
                (time - self.first).max(0.0)
            };
            let on_wires = enters * self.first.min(time)
                + passes * (self.way - self.first).min((time - self.first).max(0.0));
            let back =
                if stream.acknowledged { passes * self.way.min((time - self.way).max(0.0)) } else { 0.0 };
            waiting += ((enters - passes) * overloaded).min(sent) / stream.packet;
            count += (on_wires + back).min(2.0 * sent) / stream.packet + stream.at_hosts;
        }
        let waiting = self.room.map_or(waiting, |room| waiting.min(room));
        (count + waiting) as u64 + 1
    }

    /// Packets of the loads whose controls have windows.
    fn by_windows(&self, experiment: &Experiment, checked: &Checked<'_>) -> u64 {
        let by_windows =
            || self.streams.iter().zip(&experiment.loads).filter(|(stream, _)| stream.rate.is_none());
        let (mut count, mut begun, mut passed, mut travel) = (0.0, 0.0, 0.0, 0.0f64);
        for (stream, load) in by_windows() {
            let settings = &load.transport.settings;
            let flows = stream.expected.at_once as f64;
            let first = settings.bytes(settings.initial_window).max(settings.first_jump());
            let initial = first as f64 / stream.payload;
            let mss = settings.mss.max(Bytes(1)).as_u64();
            let sendable = (self.sources * self.duration / 8.0) as u64;
            let bytes = stream.expected.bytes.unwrap_or(u64::MAX).min(sendable);
            let grown = window_after(load, experiment.run.duration, checked);
            let pipe = 2.0 * self.sources.min(self.drain) * 2.0 * self.way / stream.packet;
            let usual = match self.room {
                Some(_) => USUAL_WINDOW.max((pipe / flows.max(1.0)) as u64),
                None => USUAL_WINDOW
                    .max(((pipe + self.drain * self.duration / stream.packet) / flows.max(1.0)) as u64),
            };
            let asked = settings.receive_window.map_or(u64::MAX, |window| settings.bytes(window) / mss + 1);
            count += flows * (bytes / mss + 2).min(grown.min(usual)).min(asked) as f64;
            begun += flows * initial.max(1.0);
            passed += self.sources.min(self.drain) * self.duration / stream.packet;
            travel = travel.max(pipe);
        }
        // A window grows by acknowledged packets, and packets that find no room are dropped.
        let most = match self.room {
            Some(room) => 2.0 * begun + travel + room,
            None => 2.0 * begun + travel + passed,
        };
        count.min(most.max(begun)) as u64
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
        // Datagrams and packets at a kept rate wait in the host's port if its link carries less.
        let over = kept.map_or(0.0, |kept| (kept - links).max(0.0) * duration / packet);
        let total = bytes.map_or(f64::INFINITY, |bytes| bytes * 8.0 * wire);
        // Messages that come one after the other, all through the run, and not all at once.
        let lasting = expected.messages > expected.at_once;
        Stream {
            payload,
            packet,
            total,
            rate: rate
                .map(|rate| rate.min(links))
                .map(|rate| if lasting { rate.min(total / duration) } else { rate }),
            at_hosts: if endless { over.min(total / packet) } else { 0.0 },
            reacts: kept.is_none() && cc.reacts(),
            opens: given.is_none() && load.transport.roce().is_none() && load.transport.ndp().is_none(),
            answered: given.is_none(),
            acknowledged: given.is_none() && load.transport.roce().is_none(),
            expected,
        }
    }
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

/// Delay of a host's link.
fn usual_first(checked: &Checked<'_>) -> Span {
    let links = checked.graph.links.iter().zip(&checked.best);
    let of_hosts = links.filter(|(link, _)| checked.graph.role(link.from) == Role::Host);
    of_hosts.map(|(_, (_, delay))| *delay).max().unwrap_or_default()
}

fn traces(
    experiment: &Experiment,
    checked: &Checked<'_>,
    connections: u64,
    (passages, windows): (f64, f64),
) -> Part {
    let probes = &experiment.probes;
    let links = (checked.graph.links.len() as f64).max(1.0);
    let (ports, classes) = (checked.traced.len() as u64, checked.classes.len() as u64);
    // A packet changes a queue when it comes and when it goes, and its acknowledgement changes a window once on its way.
    let at_traced = passages * ports as f64 / links;
    let changes = (2.0 * at_traced) as u64;
    let rows = |when, count: u64, by_change: u64| {
        let rows = match when {
            TraceWhen::Off => 0,
            TraceWhen::Change => count.saturating_add(by_change),
            TraceWhen::Every(span) => (experiment.run.duration.as_ps() / span.as_ps()).saturating_mul(count),
        };
        rows.min(probes.trace_rows)
    };
    let tapped = ((passages * checked.tapped.len() as f64 / links) as u64).min(probes.trace_rows);
    let counts = [
        (rows(probes.queue_trace, ports, changes), size_of::<QueueRow>()),
        (rows(probes.port_trace, ports.saturating_mul(classes), changes), size_of::<PortRow>()),
        (rows(probes.windows(), connections, windows as u64), size_of::<FlowTraceRow>()),
        (tapped, size_of::<PacketRow>()),
    ];
    Part {
        what: "rows of traces",
        count: counts.iter().map(|(rows, _)| rows).sum(),
        bytes: counts.iter().map(|(rows, size)| rows.saturating_mul(COPIES * *size as u64)).sum(),
        cure: "a longer interval, or fewer ports and classes",
    }
}

/// Ports on a usual path: those of a host and of a switch, and some more if switches are linked.
fn hops(checked: &Checked<'_>) -> f64 {
    let graph = &checked.graph;
    let between = graph
        .links
        .iter()
        .any(|link| [link.from, link.to].iter().all(|end| graph.role(*end) == Role::Switch));
    if between { 4.0 } else { 2.0 }
}
