//! The switches' halves of the protocols that senders speak: somebody answers, and a header is complete.

use crate::cc::Algorithm;
use crate::engine::check::chosen::Chosen;
use crate::experiment::Experiment;
use crate::params::{Code, Faults};

/// Each protocol that a sender speaks has a switch that answers.
pub fn check(experiment: &Experiment, kinds: &[&str], faults: &mut Faults) {
    let mut reported = vec![];
    for load in &experiment.loads {
        let Some(protocol) = load.transport.cc.protocol() else { continue };
        if !kinds.contains(&protocol) && !reported.contains(&protocol) {
            reported.push(protocol);
            let rule = format!(
                "must be \"{protocol}\" here or at some port: traffic.{} has cc = \"{}\", which needs switches to answer",
                load.name,
                load.transport.cc.kind()
            );
            faults.add("port_control", Code::Conflict.rule(rule), &experiment.control.kind().into());
        }
    }
}

/// By link: the port of a switch that writes nothing into the header of `cc`; empty if all write, or it has none. A switch of
/// RCP or its like may be missing on a path: the others offer their rates all the same. HPCC's window would be blind to its queue.
pub fn silent(cc: &Algorithm, chosen: &[Chosen<'_>]) -> Vec<bool> {
    let Some(protocol) = cc.protocol().filter(|_| cc.header_room().is_some()) else { return vec![] };
    let silent = |port: &Chosen<'_>| port.control.is_some() && port.kind() != protocol;
    if chosen.iter().any(silent) { chosen.iter().map(silent).collect() } else { vec![] }
}
