//! Lines for a reader of the results: settings that are legal, change nothing or something other than expected, and show
//! in no number.

use crate::cc::EcnUse;
use crate::engine::Simulation;
use crate::engine::check::chosen::Chosen;
use crate::engine::check::lossless::Flow;
use crate::engine::timeline::Timeline;
use crate::experiment::{Experiment, LoadSpec};
use crate::hosts::cell::Cell;
use crate::net::port::WireFaults;
use crate::packet::Flags;
use crate::routing::choice::Ecmp;
use crate::routing::graph::{Graph, NodeId, Role};
use crate::transport::roce::settings::Verb;
use crate::transport::{Config, TransportKind};
use shallows_units::Time;
use std::collections::BTreeMap;

/// Most names that a note lists. It gives the number of the others.
const MOST_NAMES: usize = 4;

/// The notes that are known before a run.
pub fn at_build(
    experiment: &Experiment,
    graph: &Graph,
    chosen: &[Chosen<'_>],
    flow_control: &[Option<Flow>],
    timeline: &Timeline,
    parted: &[bool],
) -> Vec<String> {
    let mut notes = sorted_by_ect1(experiment, graph, chosen);
    let lossy = (0u32..).zip(flow_control).filter(|(_, flow)| flow.as_ref().is_some_and(Flow::is_lossy));
    let lossy: Vec<String> = lossy.map(|(number, _)| graph.port_name(number)).collect();
    if !lossy.is_empty() {
        let ports = names(&lossy);
        notes.push(format!(
            "{ports}: the headroom is smaller than what may come after XOFF, so packets can be lost."
        ));
    }
    notes.extend(sprayed(experiment, parted));
    notes.extend(never_followed(experiment, timeline));
    notes.extend(timers_over_pauses(experiment));
    notes.extend(marked_last_hops(experiment, graph, chosen));
    notes.extend(one_of_several_ports(experiment));
    notes
}

/// A card's other ports stay idle where no entropy values choose among them.
fn one_of_several_ports(experiment: &Experiment) -> Option<String> {
    let planes = experiment.topology.show().get("planes")?.as_u64().filter(|planes| *planes > 1)?;
    let keeps = |load: &&LoadSpec| {
        let config = Config::new(&load.transport);
        config.kind != TransportKind::Uec || !config.chooses_paths()
    };
    let loads: Vec<String> = experiment.loads.iter().filter(keeps).map(|load| load.name.clone()).collect();
    (!loads.is_empty()).then(|| {
        format!(
            "traffic {}: each connection has the rate of one port of its card, which has {planes}. Ultra Ethernet's entropy values use them \
             all: profile \"uec\".",
            names(&loads)
        )
    })
}

/// UE 1.0.3 s.3.6.14: credit bounds what comes over the last hop, so that a mark there would slow a sender down twice.
fn marked_last_hops(experiment: &Experiment, graph: &Graph, chosen: &[Chosen<'_>]) -> Option<String> {
    let credited = |load: &&LoadSpec| Config::new(&load.transport).uec.credit;
    let loads: Vec<String> = experiment.loads.iter().filter(credited).map(|load| load.name.clone()).collect();
    if loads.is_empty() {
        return None;
    }
    let mut seen = BTreeMap::new();
    let mut marks = |port: &Chosen<'_>| {
        let looked = || {
            let settings = port.queue.show();
            ["kmin", "mark_at"].iter().any(|mark| settings.get(*mark).is_some_and(|least| least != "none"))
        };
        *seen.entry(std::ptr::from_ref(port.queue)).or_insert_with(looked)
    };
    let roles = graph.links.iter().map(|link| (graph.role(link.from), graph.role(link.to)));
    let last = (0u32..).zip(roles).filter(|(_, roles)| *roles == (Role::Switch, Role::Host));
    let ports: Vec<u32> =
        last.map(|(number, _)| number).filter(|number| marks(&chosen[*number as usize])).collect();
    let ports: Vec<String> = ports.into_iter().map(|number| graph.port_name(number)).collect();
    (!ports.is_empty()).then(|| {
        format!(
            "traffic {}: packets are marked at {}, where receiver_credit bounds already what comes. Ultra Ethernet has no marks \
             there: write a queue without them in [port.\"NAME\"].",
            names(&loads),
            names(&ports)
        )
    })
}

/// IRN's timers are shorter than a pause may last: what waits is sent again.
fn timers_over_pauses(experiment: &Experiment) -> Option<String> {
    let lossless: Vec<u64> = experiment
        .priorities
        .iter()
        .filter(|priority| priority.settings.pfc)
        .map(|priority| priority.number.into())
        .collect();
    let paused = |load: &&LoadSpec| {
        Config::new(&load.transport).keeps_short_timers()
            && lossless.contains(&load.transport.settings.priority)
    };
    let loads: Vec<String> = experiment.loads.iter().filter(paused).map(|load| load.name.clone()).collect();
    (!loads.is_empty()).then(|| {
        format!(
            "traffic {}: repair = \"irn\" in a lossless priority, where its timers go on while packets are paused. A pause \
             longer than rto_low sends again what is not lost. Write longer ones, or repair = \"go-back-n\".",
            names(&loads)
        )
    })
}

/// A responder that drops what is out of order takes each packet that overtakes for a loss.
fn sprayed(experiment: &Experiment, parted: &[bool]) -> Option<String> {
    let flowlets = experiment.run.ecmp == Ecmp::Flowlet;
    let goes_back = |load: &&LoadSpec| {
        load.transport.roce().is_some_and(|roce| flowlets || !roce.keeps_order())
            && !Config::new(&load.transport).roce.selective
    };
    let loads = experiment.loads.iter().zip(parted).filter(|(load, parts)| **parts && goes_back(load));
    let loads: Vec<String> = loads.map(|(load, _)| load.name.clone()).collect();
    if loads.is_empty() || !experiment.run.ecmp.sprays() {
        return None;
    }
    let reads = |load: &LoadSpec| load.transport.roce().is_some_and(|roce| roce.verb == Verb::Read);
    let other = if experiment.loads.iter().any(|load| loads.contains(&load.name) && !reads(load)) {
        ", or repair = \"irn\""
    } else {
        ""
    };
    let names = names(&loads);
    Some(if flowlets {
        format!(
            "traffic {names}: a queue pair that pauses for longer than routing.flowlet_gap may take another path, and \
             without irn each packet that overtakes counts as a loss. Keep the gap above the difference of the paths' delays, \
             queues included."
        )
    } else {
        format!(
            "traffic {names}: packets of one queue pair take several paths, and without irn each that overtakes counts as a loss. \
             Write ecmp = \"flow\"{other}."
        )
    })
}

/// Links fail, and the run is over before the tables follow for the first time.
fn never_followed(experiment: &Experiment, timeline: &Timeline) -> Option<String> {
    let (first, end) = (timeline.first_followed()?, Time::ZERO + experiment.run.duration);
    (first >= end).then(|| {
        format!(
            "routing.reconvergence: the tables follow no failure or repair before the end at {}: the first would be at {}.",
            experiment.run.duration,
            first - Time::ZERO
        )
    })
}

fn sorted_by_ect1(experiment: &Experiment, graph: &Graph, chosen: &[Chosen<'_>]) -> Vec<String> {
    // Most ports share one set of settings, which is looked at once.
    let mut seen = BTreeMap::new();
    let mut sorts_by_ect1 = |port: &Chosen<'_>| {
        let looked = || port.queue.show().get("classify").is_some_and(|by| by == "ect1");
        *seen.entry(std::ptr::from_ref(port.queue)).or_insert_with(looked)
    };
    let ports: Vec<String> = (0u32..)
        .zip(chosen)
        .filter(|(_, port)| sorts_by_ect1(port))
        .map(|(number, _)| graph.port_name(number))
        .collect();
    if ports.is_empty() {
        return vec![];
    }
    let as_classic = experiment.loads.iter().filter(|load| {
        let config = Config::new(&load.transport);
        config.ecn && config.ect == Flags::ECT0 && load.transport.cc.ecn() == EcnUse::PerPacket
    });
    as_classic
        .map(|load| {
            let (name, cc) = (&load.name, load.transport.cc.kind());
            format!(
                "traffic.{name}: {cc} sends ECT(0), and {} sorts by ECT(1), so it shares the classic queue. Write \
                 transport.ect = \"ect1\" or classify = \"any_ect\" for the low-latency queue.",
                names(&ports)
            )
        })
        .collect()
}

fn names(all: &[String]) -> String {
    let listed = all.iter().take(MOST_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = all.len().saturating_sub(MOST_NAMES);
    if more > 0 { format!("{listed} and {more} more") } else { listed }
}

impl Simulation {
    /// Switches that had no room for what comes back to queue pairs, or to others beside a lossless priority: fewer of them
    /// reach their senders than in the paper or from the card, just when they are needed.
    fn lost_answers(&self) -> Option<String> {
        let queue_pairs = self.roster.configs.iter().any(|config| config.kind == TransportKind::Roce);
        let (mut all, mut shared, mut switches) = (0, 0, vec![]);
        for (link, (cell, place)) in (0u32..).zip(&self.places) {
            let network = &self.cells[*cell as usize].network;
            let Some((one, in_memory)) = network.lost_answers.get(place) else { continue };
            (all, shared) = (all + one, shared + in_memory);
            let switch = self.switch_of(link);
            if !switches.contains(&switch) {
                switches.push(switch);
            }
        }
        (all > 0 && (queue_pairs || !self.backs.is_empty())).then(|| {
            let why = if shared > 0 {
                format!(
                    " {shared} of them found no room in the shared memory beside what their priority has for itself: write a larger \
                     switch.*.reserve, or give them a priority of their own."
                )
            } else {
                " Their queue was full: give them a priority of their own, or a larger limit.".to_owned()
            };
            format!(
                "{}: {all} control packets (acknowledgements, notifications, requests) were dropped for want of room.{why}",
                names(&switches)
            )
        })
    }

    /// Loads with more timeouts than packets that were lost: a lost packet costs one at most, so the others sent again what waited.
    fn idle_timeouts(&self) -> Vec<String> {
        let note = |(place, config): (usize, &Config)| {
            let cells = self.cells.iter().map(|cell| cell.hosts.loads[place]);
            let (timeouts, lost) =
                cells.fold((0, 0), |sum, load| (sum.0 + load.timeouts.all, sum.1 + load.lost));
            let idle = timeouts.saturating_sub(lost);
            let timers = match config.kind {
                TransportKind::Roce if config.roce.selective && config.roce.above_path => {
                    "transport.rto_low".into()
                }
                TransportKind::Roce if config.roce.selective => {
                    let [low, high] = config.roce.timeouts;
                    format!("transport.rto_low ({low}) or rto_high ({high})")
                }
                TransportKind::Roce => format!("transport.timeout ({})", config.roce.timeouts[0]),
                TransportKind::Tcp if config.settings.rto_rtts.is_some() => "transport.rto_rtts".into(),
                TransportKind::Tcp => format!("transport.min_rto ({})", config.settings.min_rto),
                TransportKind::Ndp
                | TransportKind::ExpressPass
                | TransportKind::Homa
                | TransportKind::Uec
                | TransportKind::Datagram => "transport.timeout".into(),
            };
            let longer = if config.roce.selective && !config.roce.above_path {
                ", or rto_high = \"none\", which follows from path and buffer"
            } else {
                ""
            };
            // UE 1.0.3 s.3.6.13.5: a packet asks for an answer if it fills its window, and not if the window shrinks later.
            let unasked = match config.kind {
                TransportKind::Uec => format!(
                    " Or a window was cut behind packets that ask for no answer, and their receiver is silent below transport.ack_bytes \
                     ({} bytes): then a shorter timeout helps, or less ack_bytes.",
                    config.uec.ack_bytes
                ),
                _ => String::new(),
            };
            (idle > 0).then(|| {
                let lost = if lost == 0 { "no packet was lost".into() } else { format!("{lost} packets were lost") };
                format!(
                    "traffic {}: {timeouts} timeouts, and {lost}. {idle} of them or more sent again what was not lost: {timers} is below \
                     the time that packets or acknowledgements wait in queues and pauses. Write a longer one{longer}.{unasked}",
                    self.names.loads[place]
                )
            })
        };
        self.roster.configs.iter().enumerate().filter_map(note).collect()
    }

    /// Senders that pace and begin in one instant stay in step where nothing random moves them: the run is one phase of many.
    fn one_phase(&self) -> Vec<String> {
        let moved = |cell: &Cell| {
            let faults = cell.network.ports.iter().filter_map(|port| port.faults.as_deref());
            faults.into_iter().any(WireFaults::is_random)
        };
        if self.loads.iter().any(|load| load.work.is_random()) || self.cells.iter().any(moved) {
            return vec![];
        }
        let alone = self.roster.in_step.iter().filter(|(_, (senders, _))| *senders > 1);
        let note = |(load, (senders, to)): (&u16, &(u32, NodeId))| {
            let (name, to) = (&self.names.loads[usize::from(*load)], &self.names.hosts[to.index()]);
            format!(
                "traffic {name}: {senders} senders to {to} begin in the same picosecond, and nothing random moves them. Their paced packets \
                 keep this one phase for long, whatever the seed: starts that differ by less than a microsecond may give other \
                 queues and times. Move the starts at random, for example by jitter = \"1us\", and run several seeds."
            )
        };
        alone.map(note).collect()
    }

    /// Loads that have sent nothing.
    fn silent(&self) -> Vec<String> {
        let silent =
            (0u16..).zip(&self.names.loads).filter(|(load, _)| !self.roster.slowest.contains_key(load));
        let note = |(_, name): (u16, &String)| {
            format!(
                "traffic {name}: nothing was sent until {}. Compare its start, its number of flows and its times between arrivals \
                 with the duration.",
                self.now - Time::ZERO
            )
        };
        if self.finished { silent.map(note).collect() } else { vec![] }
    }

    /// Lines for a reader of the results, those of the run included.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        let short = self.roster.short_timers.iter();
        notes.extend(short.map(|(load, base)| {
            let place = usize::from(*load);
            let (name, low) = (&self.names.loads[place], self.roster.configs[place].roce.timeouts[0]);
            format!(
                "traffic {name}: transport.rto_low ({low}) is not above the round trip of an empty path ({:.1} us), so that \
                 each lone packet is sent twice. Write a longer one.",
                1e6 * base.as_secs_f64()
            )
        }));
        notes.extend(self.deadlocks.iter().map(|found| format!("{found}.")));
        let in_cell = |(cell, one): (u32, &Cell)| -> Vec<(u32, u32)> {
            one.network.buffers().never_short().map(|place| (cell, place)).collect()
        };
        let idle: Vec<(u32, u32)> = (0..).zip(&self.cells).flat_map(in_cell).collect();
        let links = (0u32..).zip(&self.places).filter(|(_, place)| idle.contains(place));
        let never_short: Vec<String> = links.map(|(link, _)| self.switch_of(link)).collect();
        notes.extend(self.silent());
        notes.extend(self.lost_answers());
        notes.extend(self.idle_timeouts());
        notes.extend(self.one_phase());
        if !never_short.is_empty() {
            notes.push(format!(
                "{}: the shared buffer was never short. Its dynamic threshold (alpha) refused no packet and changed \
                 nothing.",
                names(&never_short)
            ));
        }
        notes
    }
}
