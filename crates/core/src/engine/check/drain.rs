//! How long the fullest port of a switch takes to send all that may wait for it.
//!
//! Source: Mittal et al. 2018, "Revisiting Network Support for RDMA" (SIGCOMM): IRN's longer timeout covers the longest path and a
//! full buffer of a switch on a congested link.

use super::chosen::Chosen;
use super::priorities;
use crate::experiment::{Experiment, LoadSpec, SwitchSettings};
use crate::params::{Code, Faults};
use crate::routing::graph::{Graph, Role};
use crate::transport::roce::settings::Repair;
use serde_json::Value;
use shallows_units::{Bytes, Size, Span};

/// Whether the longer timeout of a load follows from its network.
pub fn asks(load: &LoadSpec) -> bool {
    let roce = load.transport.roce();
    roce.is_some_and(|roce| roce.repair == Repair::SelectiveRepeat && roce.rto_high.is_none())
}

/// The longest of all ports of switches: the memory of its switch, or its own limits, at its rate. Nothing where no load asks. A
/// port whose queue has no bound is a fault.
pub fn longest(
    experiment: &Experiment,
    graph: &Graph,
    chosen: &[Chosen<'_>],
    buffers: &[(SwitchSettings, Vec<u32>)],
    faults: &mut Faults,
) -> Span {
    let Some(load) = experiment.loads.iter().find(|load| asks(load)) else { return Span::ZERO };
    let frames = experiment.loads.iter().flat_map(|load| load.transport.largest_frames());
    let frame = frames.map(|(_, bytes)| bytes).max().unwrap_or(0);
    let mut shared = vec![None; graph.links.len()];
    for (settings, ports) in buffers {
        ports.iter().for_each(|port| shared[*port as usize] = settings.buffer.map(Bytes::as_u64));
    }
    let mut longest = Span::ZERO;
    for (number, link) in graph.links.iter().enumerate() {
        if graph.role(link.from) == Role::Host {
            continue;
        }
        let Some(bytes) = shared[number].or_else(|| limits(experiment, &chosen[number], frame)) else {
            let rule = format!(
                "must be a time: \"none\" follows from the memory before a port, and the queue of {} has no bound. Or write a limit, \
                 or switch.*.buffer",
                graph.port_name(number as u32)
            );
            let path = format!("traffic.{}.transport.rto_high", load.name);
            faults.add(&path, Code::Conflict.rule(rule), &"none".into());
            return Span::ZERO;
        };
        longest = longest.max(link.rate.transmit(Bytes(bytes)));
    }
    longest
}

/// The limits of all queues of a port together, in bytes, if each has one.
fn limits(experiment: &Experiment, port: &Chosen<'_>, frame: u64) -> Option<u64> {
    let bytes = |limit: &Value| match Size::parse(limit.as_str()?).ok()? {
        Size::Bytes(bytes) => Some(bytes.as_u64()),
        Size::Packets(packets) => Some(packets.saturating_mul(frame)),
    };
    let of = |queue: &crate::queue::Queue| {
        let limits = queue.limits();
        let all: Option<Vec<u64>> = limits.iter().map(|(_, limit)| bytes(limit)).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.into_iter().fold(0, u64::saturating_add))
    };
    let all: Option<Vec<u64>> = priorities::queues(experiment, port).map(of).collect();
    all.map(|all| all.into_iter().fold(0, u64::saturating_add))
}
