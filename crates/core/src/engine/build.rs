//! From a checked experiment to a run: ports, paths, loads, records. What only the whole can tell
//! (hosts that do not reach each other, patterns that select nothing) is found here.

use super::notes;
use super::results::Names as ResultNames;
use super::{Load, Simulation};
use crate::events::random::Stream;
use crate::events::{Event, EventQueue, MAX_SOURCES, Source};
use crate::experiment::{Experiment, PortSettings, SwitchSettings};
use crate::hosts::cell::Cell;
use crate::hosts::connections::{Class, Roster};
use crate::hosts::work::{ClassRecord, Hosts, LoadInfo};
use crate::net::port::{Controlled, Port, Scheduled, Service, WireFaults};
use crate::net::{Commons, Network};
use crate::params::{Faults, ParamType, Params};
use crate::port_control::Protocol;
use crate::probe::inner::records;
use crate::probe::queue::QueueRecord;
use crate::probe::settings::TraceWhen;
use crate::probe::traces::{Arrivals, Clock};
use crate::queue::parts::fifo::Fifo;
use crate::queue::{Built, Place, Queue};
use crate::routing::graph::{Graph, Role};
use crate::routing::ideal::Ideals;
use crate::routing::select::{select_ports, select_switches};
use crate::routing::table::Routing;
use crate::transport::Config;
use crate::workload::BuildCx;
use serde_json::Value;
use shallows_units::{Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most simulated time between two looks at [`crate::Control`], so that a long run stops soon too.
const LONGEST_STRETCH: Span = Span::ms(100);

impl Experiment {
    /// Checks across settings, and builds the run. Faults are those of the experiment, all of them.
    pub fn build(&self) -> Result<Simulation, Faults> {
        build(self)
    }
}

/// Builds the run, or gives all faults.
fn build(experiment: &Experiment) -> Result<Simulation, Faults> {
    let mut faults = Faults::default();
    let run = &experiment.run;
    if run.warmup >= run.duration {
        faults.add("warmup", format!("must be below the duration of {}", run.duration), &run.warmup.show());
    }
    let graph = experiment.topology.build(&mut faults);
    if !faults.0.is_empty() && graph.links.is_empty() {
        return Err(faults);
    }
    if graph.links.len() >= MAX_SOURCES / 4 {
        faults.add("topology", format!("must have fewer than {} ports", MAX_SOURCES / 4), &Value::Null);
    }
    experiment.queue.check("queue", &mut faults);
    experiment.nic.check("nic", &mut faults);
    let (classes, class_of) = classes(experiment, &mut faults);
    let chosen = chosen(experiment, &graph, &mut faults);
    let ports = ports(experiment, &graph, &chosen);
    let buffers = buffers(experiment, &graph, &chosen, &mut faults);
    let traced = traced_ports(experiment, &graph, &mut faults);
    let tapped = tapped_ports(experiment, &graph, &mut faults);
    if experiment.probes.port_trace == TraceWhen::Change {
        faults.add("probe.port_trace", "must be \"off\" or an interval", &"change".into());
    }
    let mut routing = Routing::new(&graph, run.seed);
    let mut loads = loads(experiment, &graph, &mut routing, &mut faults);
    if experiment.loads.is_empty() {
        faults.add("traffic", "must hold at least one load", &Value::Null);
    }
    if !faults.0.is_empty() {
        return Err(faults);
    }

    let infos: Vec<LoadInfo> = (0..)
        .zip(class_of.iter().zip(&loads))
        .map(|(config, (class, load))| LoadInfo {
            config,
            class: *class,
            listens: load.work.listens(),
            timeouts: Default::default(),
        })
        .collect();
    let configs: Arc<[Config]> = experiment.loads.iter().map(|l| Config::new(&l.transport)).collect();
    let mut network = Network::new(ports, EventQueue::new(experiment.tie_stride));
    network.forward(&routing, run.ecmp, run.seed);
    for (i, load) in (0..).zip(&mut loads) {
        load.source = network.events.add(Event::Load(i));
    }
    for port in &tapped {
        network.ports[*port as usize].tapped = true;
    }
    for (settings, ports) in buffers {
        if let Some(size) = settings.buffer {
            network.share(size.as_u64(), settings.alpha, ports);
        }
    }
    record(experiment, &traced, classes.len(), &mut network);
    let links = network.ports.iter().map(|port| (port.rate, port.delay)).collect();
    let mut hosts = Hosts::new(0, configs.clone(), infos.clone());
    hosts.ideals = Ideals::new(run.ecmp.sprays());
    hosts.trace_changes = experiment.probes.flow_trace == TraceWhen::Change;
    if experiment.probes.waits {
        hosts.waits = vec![ClassRecord::default(); classes.len()];
    }
    let mut roster = Roster::new(classes, infos, configs);
    roster.cell_of = vec![0; graph.nodes.len()];
    roster.all_opened = (!tapped.is_empty()).then(Vec::new);
    Ok(Simulation {
        names: ResultNames::new(experiment, &graph),
        notes: notes::at_build(experiment, &graph, &chosen),
        places: (0..network.ports.len() as u32).map(|place| (0, place)).collect(),
        cells: vec![Cell::new(network, hosts)],
        commons: Commons { connections: vec![], routing, links },
        roster,
        loads,
        probes: experiment.probes.clone(),
        now: Time::ZERO,
        duration: Time::ZERO + run.duration,
        warmup: Time::ZERO + run.warmup,
        traced_ports: traced,
        queue_clock: Clock::new(experiment.probes.queue_trace),
        port_clock: Clock::new(experiment.probes.port_trace),
        flow_clock: Clock::new(experiment.probes.flow_trace),
        queue_rows: vec![],
        port_rows: vec![],
        pause_at: Time::ZERO,
        stop_at: Time::MAX,
        progress_every: Span::ps((run.duration.as_ps() / 500).max(1)).min(LONGEST_STRETCH),
        begun: false,
        warm: false,
        before_warmup: vec![],
        tapped: vec![],
        finished: false,
    })
}

/// The distinct classes, and each load's by number.
fn classes(experiment: &Experiment, faults: &mut Faults) -> (Vec<Class>, Vec<u16>) {
    let mut names: Vec<&str> = vec![];
    let mut numbers = vec![];
    for load in &experiment.loads {
        let known = names.iter().position(|name| *name == load.class);
        numbers.push(known.unwrap_or(names.len()) as u16);
        if known.is_none() {
            names.push(&load.class);
        }
    }
    let wanted = &experiment.probes.classes;
    let all = wanted.0.iter().any(|w| w == "*");
    for name in wanted.0.iter().filter(|w| *w != "*" && !names.contains(&w.as_str())) {
        faults.unknown("probe.classes", "class", name, &names);
    }
    for load in &experiment.loads {
        if let Some((key, wanted)) = load.transport.cc.classes() {
            for name in wanted.0.iter().filter(|w| !names.contains(&w.as_str())) {
                let path = format!("traffic.{}.transport.cc.{key}", load.name);
                let rule = format!("names a class that no traffic declares (declared: {})", names.join(", "));
                faults.add(&path, rule, &name.as_str().into());
            }
        }
    }
    let tracing = experiment.probes.flow_trace != TraceWhen::Off;
    let record = |name: &&str| Class {
        name: (*name).into(),
        traced: tracing && (all || wanted.0.iter().any(|w| w == name)),
    };
    (names.iter().map(record).collect(), numbers)
}

/// What a port is: its own settings, its discipline's, and its controller's, which hosts have none of.
pub struct Chosen<'a> {
    /// The port's own.
    pub settings: PortSettings,
    /// Its discipline's.
    pub queue: &'a Queue,
    /// Its controller's.
    pub control: Option<&'a Protocol>,
}

impl Chosen<'_> {
    /// Its controller's protocol.
    fn kind(&self) -> &str {
        self.control.map_or("none", Protocol::kind)
    }
}

/// Every port's settings in the order of the graph's links, its overrides over the common ones.
pub fn chosen<'a>(experiment: &'a Experiment, graph: &Graph, faults: &mut Faults) -> Vec<Chosen<'a>> {
    let mut chosen: Vec<Chosen<'a>> = graph
        .links
        .iter()
        .map(|link| match graph.role(link.from) {
            Role::Switch => (&experiment.queue, Some(&experiment.control)),
            Role::Host => (&experiment.nic, None),
        })
        .map(|(queue, control)| Chosen { settings: PortSettings::defaults(), queue, control })
        .collect();
    for over in &experiment.ports {
        let path = format!("port.{}", over.ports.0.join(","));
        match select_ports(graph, &over.ports) {
            Err(rule) => faults.add(&path, rule, &over.ports.show()),
            Ok(found) => {
                for port in found {
                    let port = &mut chosen[port as usize];
                    over.settings.apply(&mut port.settings);
                    port.queue = over.queue.as_ref().unwrap_or(port.queue);
                    port.control = over.control.as_ref().or(port.control);
                }
            }
        }
        if let Some(queue) = &over.queue {
            queue.check(&format!("{path}.queue"), faults);
        }
    }
    let kinds: Vec<_> = chosen.iter().map(Chosen::kind).collect();
    protocols_are_whole(experiment, &kinds, faults);
    chosen
}

/// Every port, empty.
fn ports(experiment: &Experiment, graph: &Graph, chosen: &[Chosen<'_>]) -> Vec<Port> {
    let seed = experiment.run.seed;
    let no_control = Protocol::default();
    let port = |(i, Chosen { settings, queue, control }): (usize, &Chosen<'_>)| {
        let control = control.unwrap_or(&no_control);
        let link = &graph.links[i];
        let rate = settings.rate.unwrap_or(link.rate);
        let delay = settings.delay.unwrap_or(link.delay);
        let service = match queue.build(Place { rate, random: Stream::new(seed, "queue", i as u64) }) {
            Built::Arrival(admission) if control.departures() => {
                Service::Departure(Box::new(Scheduled::new(Box::new(Fifo::new(admission, rate)))))
            }
            Built::Arrival(admission) => Service::Arrival(admission),
            Built::Departure(disc) => Service::Departure(Box::new(Scheduled::new(disc))),
        };
        let mut port = Port::new(rate, delay, graph.role(link.from) == Role::Switch, service);
        port.control = control.build(rate).map(|control| Box::new(Controlled::new(control)));
        let back = graph.find_link(link.to, link.from);
        port.opposite = back.filter(|back| chosen[*back as usize].kind() != no_control.kind());
        let chances = [settings.loss, settings.mark, settings.duplicate, settings.reorder];
        let by_chance = chances.iter().any(|chance| *chance > 0.0);
        if by_chance || settings.mark_every.is_some() || !settings.drop_packets.is_empty() {
            let mut doomed = settings.drop_packets.clone();
            doomed.sort_unstable_by_key(|number| std::cmp::Reverse(*number));
            doomed.dedup();
            port.faults = Some(Box::new(WireFaults {
                seen: 0,
                doomed,
                loss: settings.loss,
                mark: settings.mark,
                mark_every: settings.mark_every,
                capable: 0,
                duplicate: settings.duplicate,
                reorder: settings.reorder,
                reorder_delay: settings.reorder_delay,
                random: Stream::new(seed, "wire", i as u64),
                random_marks: Stream::new(seed, "marks", i as u64),
            }));
        }
        port
    };
    chosen.iter().enumerate().map(port).collect()
}

/// Each protocol that a sender speaks has a switch that answers.
fn protocols_are_whole(experiment: &Experiment, kinds: &[&str], faults: &mut Faults) {
    let mut told = vec![];
    for load in &experiment.loads {
        let Some(protocol) = load.transport.cc.protocol() else { continue };
        if !kinds.contains(&protocol) && !told.contains(&protocol) {
            told.push(protocol);
            let rule = format!(
                "must be \"{protocol}\" here or at some port: traffic.{} has cc = \"{}\", which needs switches to answer",
                load.name,
                load.transport.cc.kind()
            );
            faults.add("port_control", rule, &experiment.control.kind().into());
        }
    }
}

/// Ports whose packets are recorded.
fn tapped_ports(experiment: &Experiment, graph: &Graph, faults: &mut Faults) -> Vec<u32> {
    let names = &experiment.probes.packets;
    if names.0.is_empty() {
        return vec![];
    }
    select_ports(graph, names).unwrap_or_else(|rule| {
        faults.add("probe.packets", rule, &names.show());
        vec![]
    })
}

/// The switches' shared buffers with their ports.
fn buffers(
    experiment: &Experiment,
    graph: &Graph,
    chosen: &[Chosen<'_>],
    faults: &mut Faults,
) -> Vec<(SwitchSettings, Vec<u32>)> {
    let mut of_node = BTreeMap::new();
    for over in &experiment.switches {
        let path = format!("switch.{}", over.switches.0.join(","));
        match select_switches(graph, &over.switches) {
            Err(rule) => faults.add(&path, rule, &over.switches.show()),
            Ok(found) => {
                for node in found {
                    let (settings, sized_at) =
                        of_node.entry(node).or_insert_with(|| (SwitchSettings::defaults(), String::new()));
                    over.settings.apply(settings);
                    if over.settings.buffer.is_some() {
                        *sized_at = format!("{path}.buffer");
                    }
                }
            }
        }
    }
    let mut buffers = vec![];
    for (node, (settings, path)) in of_node.into_iter().filter(|(_, (settings, _))| settings.buffer.is_some())
    {
        let ports: Vec<u32> =
            (0u32..).zip(&graph.links).filter(|(_, link)| link.from == node).map(|(i, _)| i).collect();
        for (key, limit) in ports.iter().flat_map(|port| chosen[*port as usize].queue.limits()) {
            // One limit that nobody wrote would hide the other.
            let rule = format!(
                "is shared by ports whose {key} would bind too: write {key} = \"none\" in their queue"
            );
            if !faults.0.iter().any(|fault| fault.path == path && fault.rule == rule) {
                faults.add(&path, rule, &limit);
            }
        }
        buffers.push((settings, ports));
    }
    buffers
}

/// Ports that traces cover: patterns cover switch ports only, a full name any port.
fn traced_ports(experiment: &Experiment, graph: &Graph, faults: &mut Faults) -> Vec<u32> {
    let names = &experiment.probes.ports;
    match select_ports(graph, names) {
        Ok(found) => found
            .into_iter()
            .filter(|p| {
                let is_switch = graph.role(graph.links[*p as usize].from) == Role::Switch;
                is_switch || names.0.contains(&graph.port_name(*p))
            })
            .collect(),
        Err(rule) => {
            faults.add("probe.ports", rule, &names.show());
            vec![]
        }
    }
}

fn loads(experiment: &Experiment, graph: &Graph, routing: &mut Routing, faults: &mut Faults) -> Vec<Load> {
    if experiment.loads.len() > usize::from(u16::MAX) {
        faults.add("traffic", "must hold fewer than 65536 loads", &Value::Null);
    }
    let mut loads = vec![];
    for spec in &experiment.loads {
        let path = format!("traffic.{}", spec.name);
        let mut cx = BuildCx {
            graph,
            path: &path,
            seed: experiment.run.seed,
            duration: experiment.run.duration,
            routing,
            faults,
        };
        if let Some(work) = spec.traffic.build(&mut cx) {
            loads.push(Load { work, wake_at: Time::MAX, source: Source::NONE });
        }
    }
    loads
}

/// Attaches what is to be recorded.
fn record(experiment: &Experiment, traced: &[u32], classes: usize, net: &mut Network) {
    let probes = &experiment.probes;
    let changes = probes.queue_trace == TraceWhen::Change;
    let end = Time::ZERO + experiment.run.duration;
    for (i, port) in net.ports.iter_mut().enumerate() {
        let is_traced = traced.binary_search(&(i as u32)).is_ok();
        let wanted = if port.is_switch { probes.queues } else { probes.nic_queues };
        if wanted || (changes && is_traced) {
            let rows = probes.trace_rows.min(usize::MAX as u64) as usize;
            port.record =
                Some(Box::new(QueueRecord::new(probes.at_dequeue, changes && is_traced, rows, end)));
        }
        if wanted && let Service::Departure(scheduled) = &mut port.service {
            scheduled.inner = records(scheduled.disc.inner(), classes);
        }
        if is_traced && probes.port_trace != TraceWhen::Off {
            port.arrivals = Some(vec![Arrivals::default(); classes].into());
        }
        port.prepare();
    }
}
