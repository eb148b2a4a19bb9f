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
use crate::params::{Code, Faults};
use crate::probe::queue::QueueRecord;
use crate::probe::settings::TraceWhen;
use crate::probe::traces::{Arrivals, FlowTraceRow, PortRow, QueueRow};
use crate::queue::Queue;
use crate::routing::choice::{Ecmp, permutation};
use crate::routing::fastest::Fastest;
use crate::routing::graph::{Link, Node, Role};
use crate::transport::Config;
use crate::workload::Expected;
use serde_json::{Value, json};
use shallows_units::{Bytes, Rate, Span};
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
/// So often a window doubles at most: 10 packets are then more than [`USUAL_WINDOW`].
const MOST_DOUBLINGS: u64 = 10;
/// A cell's slots double in number, so it has between as many as packets and twice as many.
const SLOTS: [u64; 2] = [3, 2];
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
        let loads: Vec<Expected> =
            checked.loads.iter().map(|load| load.expects(experiment.run.duration)).collect();
        let sum = |get: fn(&Expected) -> u64| loads.iter().map(get).fold(0, u64::saturating_add);
        let (at_once, in_all, messages) = (sum(|l| l.at_once), sum(|l| l.in_all), sum(|l| l.messages));
        let mut parts = vec![
            network(checked),
            fastest_ways(experiment, checked),
            flowlets(experiment, at_once, in_all),
            ports(experiment, checked),
            packets(experiment, checked, &loads),
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
            traces(experiment, checked, at_once),
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
        bytes: nodes * node + links * link + (checked.routing.memory() + checked.timeline.memory()) as u64,
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

/// Packets of a window that began with the initial one and doubled in every round trip of the run (slow start). Who
/// sends at a rate has no such bound; over NDP and Homa the first window stays under way.
fn window_after(load: &LoadSpec, duration: Span, checked: &Checked<'_>) -> u64 {
    let settings = &load.transport.settings;
    if load.transport.ndp().is_some() || load.transport.homa().is_some() {
        return settings.bytes(settings.initial_window).div_ceil(settings.mss.as_u64().max(1));
    }
    if load.transport.cc.paces_wire() || load.transport.cc.opens_freely() {
        return u64::MAX;
    }
    let round_trip = usual_round_trip(checked);
    let doublings =
        if round_trip == Span::ZERO { MOST_DOUBLINGS } else { duration.as_ps() / round_trip.as_ps() };
    let initial = settings.bytes(settings.initial_window).div_ceil(settings.mss.as_u64().max(1));
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
fn packets(experiment: &Experiment, checked: &Checked<'_>, loads: &[Expected]) -> Part {
    let fastest = checked.best.iter().map(|(rate, _)| *rate).max().unwrap_or(Rate::bps(1));
    let sendable = fastest.as_bps() as f64 / 8.0 * experiment.run.duration.as_secs_f64();
    let count = loads.iter().zip(&experiment.loads).map(|(expected, load)| {
        let mss = load.transport.settings.mss.max(Bytes(1)).as_u64();
        let bytes = expected.bytes.unwrap_or(u64::MAX).min(sendable as u64);
        let window = window_after(load, experiment.run.duration, checked).min(USUAL_WINDOW);
        expected.at_once.saturating_mul((bytes / mss + 2).min(window))
    });
    let count = count.fold(0, u64::saturating_add);
    let bytes = count.saturating_mul(SLOTS[0] * SLOT_BYTES as u64) / SLOTS[1];
    Part { what: "packets under way", count, bytes, cure: "fewer flows, or smaller ones" }
}

fn traces(experiment: &Experiment, checked: &Checked<'_>, connections: u64) -> Part {
    let probes = &experiment.probes;
    let ticks = |when: TraceWhen, by_change: u64| match when {
        TraceWhen::Off => 0,
        TraceWhen::Change => by_change,
        TraceWhen::Every(span) => experiment.run.duration.as_ps() / span.as_ps(),
    };
    // How often a value changes is unknown; a thousand times is a start.
    let (ports, classes) = (checked.traced.len() as u64, checked.classes.len() as u64);
    let rows = |when, count: u64| ticks(when, 1000).saturating_mul(count).min(probes.trace_rows);
    let counts = [
        (rows(probes.queue_trace, ports), size_of::<QueueRow>()),
        (rows(probes.port_trace, ports.saturating_mul(classes)), size_of::<PortRow>()),
        (rows(probes.flow_trace, connections), size_of::<FlowTraceRow>()),
    ];
    Part {
        what: "rows of traces",
        count: counts.iter().map(|(rows, _)| rows).sum(),
        bytes: counts.iter().map(|(rows, size)| rows.saturating_mul(COPIES * *size as u64)).sum(),
        cure: "a longer interval, or fewer ports and classes",
    }
}
