//! The paths that a workload needs: its hosts reach each other, and the header of its congestion control has room for all
//! switches, also for those of the paths that tables take after failures.

use super::BuildCx;
use crate::cc::Room;
use crate::hosts::Pair;
use crate::params::{Code, ParamType};
use crate::routing::choice::Ecmp;
use crate::routing::graph::NodeId;
use crate::routing::table::Routing;
use shallows_units::Time;
use std::collections::BTreeSet;

/// Pairs of hosts that are looked at before a run; beyond them an unreachable one ends the run.
const PAIRS_CHECKED: usize = 100_000;

/// The switches' tables after some changes of links.
#[derive(Debug, Clone)]
pub struct Tables {
    /// Since then.
    pub at: Time,
    /// Links that they leave out.
    pub down: Vec<u32>,
}

impl BuildCx<'_> {
    /// Records a fault for the first of `pairs` that has no path one way or the other, or one too long for the congestion
    /// control.
    pub fn require_paths(&mut self, pairs: impl Iterator<Item = Pair>) {
        let room = self.cc.header_room();
        let mut in_order = vec![];
        for (from, to) in pairs.filter(|(from, to)| from != to).take(PAIRS_CHECKED) {
            let there = self.routing.leads(from, to);
            if !there || !self.routing.leads(to, from) {
                let ends = if there { (to, from) } else { (from, to) };
                let (from, to) = (self.graph.name(ends.0), self.graph.name(ends.1));
                let rule = format!("needs a path from {from} to {to}: no links lead there");
                self.faults.add(self.path, Code::NoPath.rule(rule), &serde_json::Value::Null);
                return;
            }
            if let Some((ecmp, refused)) = self.spreads.filter(|_| !self.parts)
                && let Some(fork) = fork(self.routing, (from, to))
            {
                if refused {
                    return self.overtakes((from, to), fork, ecmp);
                }
                self.parts = true;
            }
            if let Some(room) = room {
                let switches = switches(self.routing, (from, to));
                if switches > room.most {
                    return self.too_long((from, to), switches, room.most, None);
                }
                if let Some(port) = silent(self.routing, (from, to), self.silent) {
                    return self.says_nothing((from, to), port, None);
                }
                in_order.push(((from, to), switches));
            }
        }
        if let Some(room) = room
            && !self.tables.is_empty()
        {
            self.require_room_after_failures(&in_order, room);
        }
    }

    /// Checks the room along the tables that follow failures, for pairs with their switches in the whole network. A header that is
    /// sized by the path of the connection's opening has no room for a longer one.
    fn require_room_after_failures(&mut self, pairs: &[(Pair, u64)], room: Room) {
        let mut routing = Routing::new(self.graph, self.seed);
        for Tables { at, down } in self.tables {
            routing.rebuild(down);
            for (ends, before) in pairs {
                let switches = switches(&mut routing, *ends);
                if switches > room.most {
                    return self.too_long(*ends, switches, room.most, Some(*at));
                }
                if let Some(port) = silent(&routing, *ends, self.silent) {
                    return self.says_nothing(*ends, port, Some(*at));
                }
                if let Some(key) = room.sized_by_path.filter(|_| switches > *before) {
                    let (from, to) = (self.graph.name(ends.0), self.graph.name(ends.1));
                    let rule = format!(
                        "must be {switches} or more: events change the path of {from} to {to} from {before} switches to \
                         {switches}, and \"none\" has room for the path at a connection's opening only"
                    );
                    let path = format!("{}.transport.cc.{key}", self.path);
                    self.faults.add(&path, Code::Conflict.rule(rule), &"none".into());
                    return;
                }
            }
        }
    }

    fn too_long(&mut self, (from, to): Pair, switches: u64, most: u64, since: Option<Time>) {
        let (from, to) = (self.graph.name(from), self.graph.name(to));
        let since = followed(since);
        let rule = format!(
            "needs paths of at most {most} switches: the header of cc = \"{}\" has no room for more, and {from} to {to} has \
             {switches}{since}",
            self.cc.kind()
        );
        self.faults.add(self.path, Code::Unsupported.rule(rule), &switches.into());
    }

    /// A responder that drops what is out of order takes each packet that overtakes for a loss.
    fn overtakes(&mut self, (from, to): Pair, fork: NodeId, ecmp: Ecmp) {
        let (from, to, fork) = (self.graph.name(from), self.graph.name(to), self.graph.name(fork));
        let rule = format!(
            "must be \"flow\", \"weighted\" or \"flowlet\": {} has queue pairs without irn, and their packets from {from} to {to} would \
             take several paths from {fork} on. Each that overtakes counts as a loss. Or write repair = \"irn\" or \
             reordering = \"allowed\" in its transport",
            self.path
        );
        self.faults.add("ecmp", Code::Conflict.rule(rule), &ecmp.show());
    }

    /// A window that sees some of its links alone fills the others without end.
    fn says_nothing(&mut self, (from, to): Pair, port: u32, since: Option<Time>) {
        let (from, to) = (self.graph.name(from), self.graph.name(to));
        let (kind, since, port) = (self.cc.kind(), followed(since), self.graph.port_name(port));
        let rule = format!(
            "needs port_control = \"{}\" at every port of a switch that its data may pass: cc = \"{kind}\" learns nothing about the \
             queue at {port}, between {from} and {to}{since}",
            self.cc.protocol().unwrap_or(kind),
        );
        self.faults.add(self.path, Code::Conflict.rule(rule), &serde_json::Value::Null);
    }
}

/// When tables have come to be others, in words.
fn followed(since: Option<Time>) -> String {
    since.map_or(String::new(), |at| format!(" when the tables follow at {}", at - Time::ZERO))
}

/// The first node on the way between two hosts that has several next hops.
fn fork(routing: &Routing, (from, to): Pair) -> Option<NodeId> {
    let mut node = from;
    loop {
        match *routing.ways(node, to) {
            [link] => node = NodeId(routing.goes_on(link)?),
            [] => return None,
            _ => return Some(node),
        }
    }
}

/// The first port of `marked` that packets between two hosts, which reach each other, may pass.
fn silent(routing: &Routing, (from, to): Pair, marked: &[bool]) -> Option<u32> {
    if marked.is_empty() {
        return None;
    }
    let (mut ahead, mut seen) = (vec![from], BTreeSet::new());
    while let Some(node) = ahead.pop() {
        for link in routing.ways(node, to).iter().copied().filter(|link| seen.insert(*link)) {
            if marked[link as usize] {
                return Some(link);
            }
            ahead.extend(routing.goes_on(link).map(NodeId));
        }
    }
    None
}

/// Switches on the path between two hosts that reach each other.
fn switches(routing: &mut Routing, ends: Pair) -> u64 {
    routing.find([ends.0, ends.1]);
    (routing.path(ends).count() as u64).saturating_sub(1)
}
