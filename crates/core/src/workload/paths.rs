//! The paths that a workload needs: its hosts reach each other, and the header of its congestion control has room for all
//! switches, also for those of the paths that tables take after failures.

use super::{BuildCx, Spread};
use crate::cc::Room;
use crate::hosts::Pair;
use crate::params::{Code, ParamType};
use crate::routing::choice::Ecmp;
use crate::routing::graph::NodeId;
use crate::routing::longest::Longest;
use crate::routing::table::Routing;
use shallows_units::{Span, Time};
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
        let (mut in_order, mut followed) = (vec![], vec![]);
        for (from, to) in pairs.filter(|(from, to)| from != to).take(PAIRS_CHECKED) {
            let there = self.routing.leads(from, to);
            if !there || !self.routing.leads(to, from) {
                let ends = if there { (to, from) } else { (from, to) };
                let (from, to) = (self.graph.name(ends.0), self.graph.name(ends.1));
                let rule = format!("needs a path from {from} to {to}: no links lead there");
                self.faults.add(self.path, Code::NoPath.rule(rule), &serde_json::Value::Null);
                return;
            }
            if let Some(Spread { ecmp, blinds, reorders, asymmetric }) = self.spreads.filter(|_| !self.parts)
                && let Some(fork) = fork(self.routing, (from, to))
            {
                if blinds {
                    return self.compares_nothing((from, to), fork, ecmp);
                }
                if reorders {
                    return self.overtakes((from, to), fork, ecmp);
                }
                if asymmetric {
                    return self.returns_elsewhere((from, to), fork, ecmp);
                }
                self.parts = true;
            }
            if !self.tables.is_empty() && !self.from_path.is_empty() {
                followed.push((from, to));
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
        self.note_longer_paths(&followed);
    }

    /// Notes the pair whose path becomes longest in tables that follow failures, where settings follow from the path at a
    /// connection's opening: those of before the failure then hold for a path that is none any more.
    fn note_longer_paths(&mut self, pairs: &[Pair]) {
        let (mut routing, links) = (Routing::new(self.graph, self.seed), self.links);
        let mut times = |down: &[u32]| -> Vec<(Span, u64)> {
            routing.rebuild(down);
            let mut longest = Longest::default();
            let of = |ends: &Pair| {
                let switches = switches(&mut routing, *ends);
                let leads = routing.leads(ends.0, ends.1) && routing.leads(ends.1, ends.0);
                let mut way = |ends| longest.time(&routing, ends, 0, links);
                let time = if leads { way(*ends) + way((ends.1, ends.0)) } else { Span::ZERO };
                (time, switches)
            };
            pairs.iter().map(of).collect()
        };
        let before = if pairs.is_empty() { vec![] } else { times(&[]) };
        let (mut most, mut worst) = ((Span::ZERO, 0), None);
        for Tables { at, down } in self.tables.iter().filter(|_| !pairs.is_empty()) {
            for ((ends, was), is) in pairs.iter().zip(&before).zip(times(down)) {
                let longer = (is.0.saturating_sub(was.0), is.1.saturating_sub(was.1));
                if longer > most {
                    (most, worst) = (longer, Some((*ends, *was, is, *at)));
                }
            }
        }
        let Some(((from, to), was, is, at)) = worst else { return };
        let load = self.path.replace("traffic.", "traffic ");
        self.notes.push(format!(
            "{load}: the path of {from} to {to} has {} switches and {} there and back when the tables follow at {}, instead of {} \
             and {}. A connection that was opened before keeps {} of its first path. Write values for the longest path.",
            is.1,
            is.0,
            at - Time::ZERO,
            was.1,
            was.0,
            self.from_path.join(" and "),
            from = self.graph.name(from),
            to = self.graph.name(to),
        ));
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
                if let Some(spread) = self.spreads.filter(|spread| spread.blinds)
                    && let Some(fork) = fork(&routing, *ends)
                {
                    return self.compares_nothing(*ends, fork, spread.ecmp);
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

    /// A control that compares what two packets met at the same hop has nothing to compare where each takes another path.
    fn compares_nothing(&mut self, (from, to): Pair, fork: NodeId, ecmp: Ecmp) {
        let (from, to, fork) = (self.graph.name(from), self.graph.name(to), self.graph.name(fork));
        let gap = if ecmp == Ecmp::Flowlet { " with routing.flowlet_gap above 0s" } else { "" };
        let rule = format!(
            "must be \"flow\", \"weighted\" or \"flowlet\"{gap}: {} has cc = \"{}\", which compares what two packets met on the same \
             path, and each packet from {from} to {to} may take another path from {fork} on. Its window would not move. Or choose a \
             control without telemetry, such as dcqcn, swift or line-rate",
            self.path,
            self.cc.kind()
        );
        self.faults.add("ecmp", Code::Conflict.rule(rule), &ecmp.show());
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

    /// Credits that take other links than their data reserve nothing on the links of the data.
    fn returns_elsewhere(&mut self, (from, to): Pair, fork: NodeId, ecmp: Ecmp) {
        let (from, to, fork) = (self.graph.name(from), self.graph.name(to), self.graph.name(fork));
        let rule = format!(
            "must be \"symmetric\": {} runs ExpressPass, whose credits must take the links of their data, and between {from} and {to} there \
             are several paths from {fork} on. Or write unmetered = \"allowed\" in its transport",
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

/// Switches on the longest path between two hosts that reach each other.
fn switches(routing: &mut Routing, ends: Pair) -> u64 {
    routing.find([ends.0, ends.1]);
    (routing.most_links(ends) as u64).saturating_sub(1)
}
