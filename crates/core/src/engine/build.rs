//! From a checked experiment to a run: ports, loads, records.

use crate::cc::Algorithm;
use crate::engine::cells::Effort;
use crate::engine::cells::layout::lay_out;
use crate::engine::cells::partition::{Cut, Partition};
use crate::engine::check::chosen::Chosen;
use crate::engine::check::facts::Checked;
use crate::engine::check::memory::Estimate;
use crate::engine::check::notes;
use crate::engine::check::priorities;
use crate::engine::tables::Names as ResultNames;
use crate::engine::timeline::Timeline;
use crate::engine::{Load, Simulation};
use crate::events::random::Stream;
use crate::events::{Event, Source};
use crate::experiment::{Experiment, LoadSpec};
use crate::hosts::cell::Cell;
use crate::hosts::connections::{Class, Roster};
use crate::hosts::facts::ClassRecord;
use crate::hosts::work::{Hosts, LoadInfo};
use crate::net::port::Varying;
use crate::net::port::{Controlled, Port, Scheduled, Service, WireFaults};
use crate::net::wire::bursts::{BitErrors, Bursts};
use crate::net::wire::jitter::Jitter;
use crate::net::wire::trace::Follower;
use crate::params::Faults;
use crate::port_control::{Place as Stand, Protocol};
use crate::probe::inner::records;
use crate::probe::queue::QueueRecord;
use crate::probe::settings::TraceWhen;
use crate::probe::traces::{Arrivals, Clock};
use crate::queue::parts::fifo::Fifo;
use crate::queue::parts::fronted::Fronted;
use crate::queue::{Built, Place};
use crate::routing::choice::{Ecmp, Sharing};
use crate::routing::fastest::Fastest;
use crate::routing::graph::{Graph, Role};
use crate::routing::ideal::{Ideals, Wire};
use crate::transport::{Config, TransportKind};
use shallows_units::{Index, Span, Time};
use std::sync::Arc;

/// Most simulated time between two looks at [`crate::Control`], so that a long run stops soon too.
const LONGEST_STRETCH: Span = Span::ms(100);

impl Experiment {
    /// Checks across settings, and builds the run. Faults are those of the experiment, all of them.
    pub fn build(&self) -> Result<Simulation, Faults> {
        self.build_within(None)
    }

    /// Builds the run, unless it is likely to take more than so many bytes of memory.
    pub fn build_within(&self, memory: Option<u64>) -> Result<Simulation, Faults> {
        let checked = self.checked()?;
        if let Some(most) = memory {
            Estimate::new(self, &checked).within(most)?;
        }
        Ok(build(self, checked, memory))
    }
}

/// Builds the run.
fn build(experiment: &Experiment, checked: Checked<'_>, memory: Option<u64>) -> Simulation {
    let Checked {
        graph,
        mut routing,
        chosen,
        classes,
        class_of,
        buffers,
        traced,
        tapped,
        flow_control,
        timeline,
        best,
        loads,
        parted,
        mut notes,
        drain,
    } = checked;
    let run = &experiment.run;
    let mut ports = ports(experiment, &graph, &chosen, &timeline, &classes);
    for (port, flow) in ports.iter_mut().zip(&flow_control) {
        if let (Service::Departure(scheduled), Some(flow)) = (&mut port.service, flow) {
            scheduled.pausing = Some(Box::new(flow.pausing(port.rate)));
        }
    }
    let start = |work| Load { work, wake_at: Time::MAX, source: Source::NONE };
    let mut loads: Vec<Load> = loads.into_iter().map(start).collect();
    let infos: Vec<LoadInfo> = (0..)
        .zip(class_of.iter().zip(&loads))
        .map(|(config, (class, load))| LoadInfo {
            config,
            class: *class,
            listens: load.work.listens(),
            timeouts: Default::default(),
            lost: 0,
        })
        .collect();
    let config = |(load, Load { work, .. }): (&LoadSpec, &Load)| {
        let config = Config::new(&load.transport);
        let predicts = config.predicts && experiment.short_ways;
        let mut config = Config { predicts, emission: work.emission(), seed: experiment.run.seed, ..config };
        if config.roce.above_path {
            config.roce.timeouts[1] = drain;
        }
        config
    };
    let configs: Arc<[Config]> = experiment.loads.iter().zip(&loads).map(config).collect();
    let partition = partition(experiment, &graph, &best, &ports, &loads);
    for port in &tapped {
        ports[*port as usize].set(|flags| flags.tapped = true);
    }
    let mut in_order: Vec<u32> = (0..ports.len() as u32).collect();
    in_order.sort_by_key(|link| partition.cell_of[graph.links[*link as usize].from.index()]);
    record(experiment, &traced, classes.len(), &mut ports, &in_order);
    let weights = chosen.iter().map(|chosen| chosen.settings.weight as u32);
    let weights = if run.ecmp == Ecmp::Weighted { weights.collect() } else { Arc::default() };
    routing.symmetric = run.ecmp == Ecmp::Symmetric;
    routing.structured = run.ecmp == Ecmp::Structured;
    let fields = if routing.structured { routing.fields().unwrap_or_default() } else { vec![] };
    let (gap, fields) = (experiment.routing.flowlet_gap, fields.into());
    let sharing = Sharing { ecmp: run.ecmp, seed: run.seed, gap, weights, fields };
    let (mut networks, places, mut directory) =
        lay_out(ports, buffers, routing, &partition, experiment, (&graph, &sharing));
    directory.best = if experiment.events.is_empty() { vec![] } else { best };
    directory.fastest = experiment.reroutes().then(|| Fastest::new(&directory.routing));
    for network in &mut networks {
        network.until = Time::ZERO + run.duration;
        network.losses = experiment.probes.audit.then(Vec::new);
    }
    if partition.whole.is_some() {
        for (i, load) in (0..).zip(&mut loads) {
            load.source = networks[0].events.add(Event::Load(i));
        }
    }
    let hosts = |number: usize| {
        let mut hosts = Hosts::new(number as u32, configs.clone(), infos.clone());
        hosts.ideals = Ideals::new(run.ecmp.sprays());
        hosts.trace_changes = experiment.probes.windows() == TraceWhen::Change;
        if experiment.probes.waits && partition.whole.is_some() {
            hosts.waits = vec![ClassRecord::default(); classes.len()];
        }
        hosts
    };
    let cells = networks.into_iter().enumerate().map(|(i, network)| Cell::new(network, hosts(i))).collect();
    let mut roster = Roster::new(classes, infos, configs);
    roster.most_bytes = memory.unwrap_or(0);
    roster.cell_of = partition.cell_of.clone();
    roster.rest = partition.lookahead * 2;
    roster.numbers_stay = experiment.probes.shares;
    roster.all_opened = (!tapped.is_empty()).then(Vec::new);
    let queue_pairs = roster.configs.iter().any(|config| config.kind == TransportKind::Roce);
    roster.all_announced = (queue_pairs && !tapped.is_empty()).then(Vec::new);
    Simulation {
        names: ResultNames::new(experiment, &graph),
        notes: {
            notes.splice(
                0..0,
                notes::at_build(experiment, &graph, &chosen, &flow_control, &timeline, &parted),
            );
            notes
        },
        places,
        cells,
        directory,
        partition,
        threads: 1,
        effort: Effort::default(),
        roster,
        loads,
        probes: experiment.probes.clone(),
        now: Time::ZERO,
        duration: Time::ZERO + run.duration,
        warmup: Time::ZERO + run.warmup,
        traced_ports: traced,
        queue_clock: Clock::new(experiment.probes.queue_trace),
        port_clock: Clock::new(experiment.probes.port_trace),
        flow_clock: Clock::new(experiment.probes.windows()),
        queue_rows: vec![],
        port_rows: vec![],
        pause_at: Time::ZERO,
        stop_at: Time::MAX,
        progress_every: Span::ps((run.duration.as_ps() / 500).max(1)).min(LONGEST_STRETCH),
        begun: false,
        warm: run.warmup == Span::ZERO, // then all counts, also what loads send as they are opened
        before_warmup: vec![],
        tapped: vec![],
        losses: vec![],
        timeline,
        backs: if flow_control.is_empty() { vec![] } else { backs(&graph) },
        deadlock_mode: experiment.pfc.deadlock,
        deadlocks: vec![],
        memory,
        finished: false,
    }
}

/// By link: the one back along its cable.
fn backs(graph: &Graph) -> Vec<Index> {
    (0..graph.links.len() as u32).map(|link| graph.back(link).into()).collect()
}

/// Every port, empty.
fn ports(
    experiment: &Experiment,
    graph: &Graph,
    chosen: &[Chosen<'_>],
    timeline: &Timeline,
    classes: &[Class],
) -> Vec<Port> {
    let seed = experiment.run.seed;
    let no_control = Protocol::default();
    let bounded = experiment.loads.iter().any(|load| load.transport.settings.small_queues.is_some());
    let port = |(i, Chosen { settings, queue, control }): (usize, &Chosen<'_>)| {
        let control = control.unwrap_or(&no_control);
        let link = &graph.links[i];
        let (rate, delay) = (link.rate, link.delay);
        let is_switch = graph.role(link.from) == Role::Switch;
        let varies = timeline.varies(i as u32) || settings.trace.is_some();
        let last_hop = is_switch && graph.role(link.to) == Role::Host;
        let place = Place { rate, last_hop, random: Stream::new(seed, "queue", i as u64) };
        let service = match queue.build(place) {
            _ if !experiment.priorities.is_empty() => {
                Service::departure(Box::new(priorities::build(experiment, queue, (i, rate), is_switch)))
            }
            Built::Arrival(admission) if control.departures() || varies => {
                Service::Departure(Box::new(Scheduled::new(Box::new(Fifo::new(admission, rate)))))
            }
            Built::Arrival(admission) => Service::Arrival(admission),
            // A controller learns about each departure, for which a packet in line has no event; and of a link that
            // changes nothing is known beforehand.
            Built::Departure(disc) if control.departures() || varies => {
                Service::Departure(Box::new(Scheduled::new(Fronted::around(disc))))
            }
            Built::Departure(disc) => Service::departure(disc),
        };
        let mut port = Port::new(rate, delay, is_switch, service);
        if bounded
            && !is_switch
            && let Some(scheduled) = port.service.scheduled_mut()
        {
            scheduled.sockets = Some(Box::default());
        }
        port.control = control
            .build(Stand { rate, switch: link.from.0 })
            .map(|control| Box::new(Controlled::new(control)));
        let back = graph.back(i as u32);
        port.opposite = back.filter(|back| chosen[*back as usize].kind() != no_control.kind());
        let chances = [settings.loss, settings.mark, settings.duplicate, settings.reorder];
        let by_chance = chances.iter().any(|chance| *chance > 0.0)
            || settings.jitter > Span::ZERO
            || settings.burst_begins > 0.0
            || settings.bit_errors > 0.0
            || settings.trace.is_some();
        let planned = settings.mark_every.is_some() || !settings.drop_packets.is_empty();
        if by_chance || planned || timeline.touches(i as u32) {
            let mut doomed = settings.drop_packets.clone();
            doomed.sort_unstable_by_key(|number| std::cmp::Reverse(*number));
            doomed.dedup();
            port.faults = Some(Box::new(WireFaults {
                seen: 0,
                planned_of: settings.drop_class.as_ref().and_then(|wanted| {
                    (0..).zip(classes).find(|(_, class)| class.name == *wanted).map(|(number, _)| number)
                }),
                doomed,
                loss: settings.loss,
                mark: settings.mark,
                mark_every: settings.mark_every,
                capable: 0,
                duplicate: settings.duplicate,
                reorder: settings.reorder,
                reorder_delay: settings.reorder_delay,
                bursts: (settings.burst_begins > 0.0).then(|| Bursts {
                    moves: (settings.burst_begins, settings.burst_ends),
                    loss: settings.burst_loss,
                    on: false,
                    random: Stream::new(seed, "bursts", i as u64),
                }),
                bit_errors: (settings.bit_errors > 0.0)
                    .then(|| BitErrors::new(settings.bit_errors, Stream::new(seed, "bits", i as u64))),
                jitter: (settings.jitter > Span::ZERO).then(|| Jitter {
                    law: settings.jitter_law,
                    mean: settings.jitter,
                    correlation: settings.jitter_correlation,
                    order: settings.jitter_order,
                    state: (0.0, Time::ZERO),
                    random: Stream::new(seed, "jitter", i as u64),
                }),
                random: Stream::new(seed, "wire", i as u64),
                random_marks: Stream::new(seed, "marks", i as u64),
                varying: varies.then(|| Varying::following(settings.trace.as_ref().map(Follower::new))),
                counts_from: Time::ZERO,
            }));
        }
        port
    };
    chosen.iter().enumerate().map(port).collect()
}

/// The cells, or why there is one.
fn partition(
    experiment: &Experiment,
    graph: &Graph,
    best: &[Wire],
    ports: &[Port],
    loads: &[Load],
) -> Partition {
    let mut whys = vec![];
    for (load, spec) in loads.iter().zip(&experiment.loads) {
        if load.work.listens() {
            whys.push(format!("traffic.{} answers deliveries in the same instant", spec.name));
        }
        if let Algorithm::Custom(custom) = &spec.transport.cc
            && !custom.made.as_ref().is_some_and(|made| made.works_in_any_thread())
        {
            whys.push(format!("traffic.{} has its congestion control in Python", spec.name));
        }
    }
    let reads = |port: &Port| port.service.scheduled().is_some_and(|s| s.disc.reads_remaining());
    if ports.iter().any(reads) {
        whys.push("a queue discipline reads how much a flow has left to send".into());
    }
    if experiment.probes.windows() == TraceWhen::Change {
        whys.push("flows are traced on change, at both ends at once".into());
    }
    match whys.into_iter().next().filter(|_| experiment.cut != Cut::Never) {
        Some(why) => Partition::whole(graph, why),
        None if experiment.cut == Cut::Never => Partition::whole(graph, "a test asks for it".into()),
        None => {
            let delays: Vec<Span> = best.iter().map(|(_, delay)| *delay).collect();
            Partition::new(graph, &delays, experiment.cut)
        }
    }
}

/// Attaches the recorders, those of each cell together: in this order of ports.
fn record(experiment: &Experiment, traced: &[u32], classes: usize, ports: &mut [Port], in_order: &[u32]) {
    let probes = &experiment.probes;
    let changes = probes.queue_trace == TraceWhen::Change;
    let end = Time::ZERO + experiment.run.duration;
    for link in in_order {
        let port = &mut ports[*link as usize];
        let is_traced = traced.binary_search(link).is_ok();
        let wanted = if port.flags().switch { probes.queues } else { probes.nic_queues };
        if wanted || (changes && is_traced) {
            let rows = probes.trace_rows.min(usize::MAX as u64) as usize;
            port.record = Some(Box::new(QueueRecord::new(
                probes.at_dequeue,
                changes && is_traced,
                probes.shares,
                rows,
                end,
            )));
        }
        if wanted && let Some(scheduled) = port.service.scheduled_mut() {
            scheduled.inner = records(scheduled.disc.inner(), classes);
        }
        if is_traced && probes.port_trace != TraceWhen::Off {
            port.arrivals = Some(vec![Arrivals::default(); classes].into());
        }
    }
}
