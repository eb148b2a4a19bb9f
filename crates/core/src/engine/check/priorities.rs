//! Priorities of an experiment: their checks, and the lanes of a port.

use crate::engine::check::chosen::Chosen;
use crate::events::random::Stream;
use crate::experiment::{Experiment, PrioritySpec};
use crate::params::{Code, Faults};
use crate::queue::parts::lanes::{LaneOf, Lanes, PRIORITIES};
use crate::queue::{Place, Queue};
use shallows_units::Rate;

/// The disciplines at work at a port: its own, or those of its lanes.
pub fn queues<'a>(experiment: &'a Experiment, chosen: &Chosen<'a>) -> impl Iterator<Item = &'a Queue> {
    let (own, is_switch) = (chosen.queue, chosen.control.is_some());
    let lane = move |spec: &'a PrioritySpec| discipline(spec, is_switch).unwrap_or(own);
    let alone = experiment.priorities.is_empty().then_some(own);
    experiment.priorities.iter().map(lane).chain(alone)
}

/// The discipline that a lane has of its own.
fn discipline(spec: &PrioritySpec, is_switch: bool) -> Option<&Queue> {
    if is_switch { spec.queue.as_ref() } else { spec.nic.as_ref() }
}

/// Faults of the priorities by themselves, and of loads that name others.
pub fn check(experiment: &Experiment, faults: &mut Faults) {
    for spec in &experiment.priorities {
        for (key, queue) in [("queue", &spec.queue), ("nic", &spec.nic)] {
            if let Some(queue) = queue {
                queue.check(&format!("priority.{}.{key}", spec.number), faults);
            }
        }
    }
    let known: Vec<u64> = experiment.priorities.iter().map(|spec| spec.number.into()).collect();
    for load in &experiment.loads {
        let settings = &load.transport.settings;
        let acks = settings.ack_priority.filter(|acks| *acks != settings.priority);
        let cnps = load.transport.roce().and_then(|roce| roce.cnp_priority);
        let cnps = cnps.filter(|cnps| ![Some(settings.priority), acks].contains(&Some(*cnps)));
        let falls = (1..=settings.demote_at.len() as u64).map(|falls| settings.priority.checked_sub(falls));
        let own = [("priority", Some(settings.priority)), ("ack_priority", acks), ("cnp_priority", cnps)];
        let levels = load.transport.homa().map_or(0, |homa| homa.levels());
        let own = own.into_iter().filter(|_| levels == 0);
        let levels = (0..levels).map(|number| ("scheduled_levels", Some(number)));
        for (key, number) in own.chain(levels).chain(falls.map(|number| ("demote_at", number))) {
            let Some(number) = number.filter(|n| !known.contains(n)) else { continue };
            if known.is_empty() && number == 0 {
                continue;
            }
            let declared: Vec<String> = known.iter().map(u64::to_string).collect();
            let declared = if declared.is_empty() { "none".into() } else { declared.join(", ") };
            let rule = format!(
                "names a priority that no section declares: write [priority.{number}] (declared: {declared})"
            );
            let path = format!("traffic.{}.transport.{key}", load.name);
            faults.add(&path, Code::NotFound.rule(rule), &number.into());
        }
    }
}

/// The lanes of port number `port`, whose own discipline is `own`.
pub fn build(experiment: &Experiment, own: &Queue, (port, rate): (usize, Rate), is_switch: bool) -> Lanes {
    let lane = |spec: &PrioritySpec| {
        let index = (port * PRIORITIES + usize::from(spec.number)) as u64;
        let random = Stream::new(experiment.run.seed, "lane", index);
        LaneOf {
            priority: spec.number,
            quantum: spec.settings.quantum.map(|bytes| bytes.as_u64()),
            lossless: spec.settings.pfc && is_switch,
            queue: discipline(spec, is_switch).unwrap_or(own).build(Place { rate, last_hop: false, random }),
        }
    };
    Lanes::new(experiment.priorities.iter().map(lane).collect(), rate)
}
