//! Changes of links at their times: checked, in order, and carried out at pauses of the run.
//!
//! A pause comes before all events of its time, in one cell and in several, so that a change has the same place whatever
//! the threads and steps. The tables follow after `routing.reconvergence`: all switches at once, each change by itself.

use super::check::Chosen;
use super::lossless::Flow;
use super::{Floor, Simulation};
use crate::experiment::{Experiment, LinkState, Lossy};
use crate::hosts::connections::locked;
use crate::net::pfc::Frame;
use crate::params::{Code, Faults, ParamType, Rule};
use crate::routing::graph::Graph;
use crate::routing::ideal::Wire;
use crate::routing::select::select_links;
use serde_json::Value;
use shallows_units::{Rate, Span, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

/// A new property of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    State(LinkState),
    Rate(Rate),
    Delay(Span),
    Loss(f64),
}

impl What {
    /// Its key in the file.
    fn key(self) -> &'static str {
        match self {
            What::State(_) => "state",
            What::Rate(_) => "rate",
            What::Delay(_) => "delay",
            What::Loss(_) => "loss",
        }
    }

    fn show(self) -> Value {
        match self {
            What::State(state) => state.show(),
            What::Rate(rate) => rate.show(),
            What::Delay(delay) => delay.show(),
            What::Loss(loss) => loss.show(),
        }
    }
}

/// A change of one link.
#[derive(Debug, Clone, Copy)]
struct Change {
    at: Time,
    /// Number of its event.
    event: usize,
    link: u32,
    what: What,
}

/// All changes of a run.
#[derive(Debug, Default)]
pub struct Timeline {
    /// In order of time, of the file, and of links.
    changes: Vec<Change>,
    /// The first that is still to come.
    next: usize,
    /// The same, of those that the tables have not followed yet.
    followed: usize,
    reconvergence: Span,
    /// Links that the tables leave out.
    left_out: BTreeSet<u32>,
    /// Links of which something changes; those of which more than the loss does.
    touched: BTreeSet<u32>,
    varied: BTreeSet<u32>,
}

/// Bytes of memory that a change takes, with its place in the sets.
const CHANGE_BYTES: usize = size_of::<Change>() + 48;

impl Timeline {
    /// The changes of an experiment.
    pub(super) fn check(
        experiment: &Experiment,
        graph: &Graph,
        chosen: &[Chosen<'_>],
        flow_control: &[Option<Flow>],
        faults: &mut Faults,
    ) -> Timeline {
        let check = Check { experiment, graph, chosen, flow_control };
        let mut changes: Vec<Change> =
            (0..experiment.events.len()).flat_map(|event| check.changes(event, faults)).collect();
        changes.sort_by_key(|change| (change.at, change.event));
        check.order(&changes, faults);
        let touched = changes.iter().map(|change| change.link).collect();
        let varied = changes.iter().filter(|change| !matches!(change.what, What::Loss(_)));
        let varied = varied.map(|change| change.link).collect();
        let reconvergence = experiment.routing.reconvergence;
        Timeline { changes, reconvergence, touched, varied, ..Timeline::default() }
    }

    /// Something of `link` changes.
    pub fn touches(&self, link: u32) -> bool {
        self.touched.contains(&link)
    }

    /// Not only its loss changes.
    pub fn varies(&self, link: u32) -> bool {
        self.varied.contains(&link)
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.changes.len() * CHANGE_BYTES
    }

    /// By link the best rate and delay of the run, which begins with these.
    pub fn best(&self, mut wires: Vec<Wire>) -> Vec<Wire> {
        for change in &self.changes {
            let (rate, delay) = &mut wires[change.link as usize];
            match change.what {
                What::Rate(other) => *rate = other.max(*rate),
                What::Delay(other) => *delay = other.min(*delay),
                What::State(_) | What::Loss(_) => {}
            }
        }
        wires
    }

    /// When something changes next.
    pub fn next_at(&self) -> Time {
        let change = self.changes.get(self.next).map_or(Time::MAX, |change| change.at);
        let followed =
            self.changes.get(self.followed).map_or(Time::MAX, |change| change.at + self.reconvergence);
        change.min(followed)
    }

    /// Brings the list of links that the tables leave out up to `now`; whether there is anything new.
    fn follow(&mut self, now: Time) -> bool {
        let mut anything = false;
        while let Some(change) =
            self.changes.get(self.followed).filter(|one| one.at + self.reconvergence <= now)
        {
            self.followed += 1;
            if let What::State(state) = change.what {
                anything = true;
                match state {
                    LinkState::Down => _ = self.left_out.insert(change.link),
                    LinkState::Up => _ = self.left_out.remove(&change.link),
                }
            }
        }
        anything
    }
}

/// The experiment that is checked.
struct Check<'a> {
    experiment: &'a Experiment,
    graph: &'a Graph,
    chosen: &'a [Chosen<'a>],
    flow_control: &'a [Option<Flow>],
}

impl Check<'_> {
    fn path(&self, event: usize, key: &str) -> String {
        format!("event.{}.{key}", self.experiment.events[event].name)
    }

    /// The changes that an event makes, with the faults that it has by itself.
    fn changes(&self, event: usize, faults: &mut Faults) -> Vec<Change> {
        let settings = &self.experiment.events[event].settings;
        let duration = self.experiment.run.duration;
        if settings.at >= duration {
            let rule = format!("must be below the duration of {duration}: nothing happens later");
            let rule = Code::Conflict.rule(rule).judged_by(&["at", "duration"]);
            faults.add(&self.path(event, "at"), rule, &settings.at.show());
        }
        let whats: Vec<What> = [
            settings.state.map(What::State),
            settings.rate.map(What::Rate),
            settings.delay.map(What::Delay),
            settings.loss.map(What::Loss),
        ]
        .into_iter()
        .flatten()
        .collect();
        if whats.is_empty() {
            let rule = Code::Missing
                .rule("or one of rate, delay and loss must be written: the event changes nothing");
            let rule = rule.judged_by(&["state", "rate", "delay", "loss"]);
            faults.add(&self.path(event, "state"), rule, &Value::Null);
        }
        let links = select_links(self.graph, &settings.link).unwrap_or_else(|rule| {
            let rule = rule.judged_by(&["link"]);
            faults.add(&self.path(event, "link"), rule, &settings.link.show());
            vec![]
        });
        for what in &whats {
            if let Some(rule) = links.iter().find_map(|link| self.forbids(*link, *what)) {
                faults.add(&self.path(event, what.key()), rule, &what.show());
            }
        }
        let at = Time::ZERO + settings.at;
        let of_link = |link: u32| whats.iter().map(move |what| Change { at, event, link, what: *what });
        links.into_iter().flat_map(of_link).collect()
    }

    /// The rule that a change breaks by the port that it meets.
    fn forbids(&self, link: u32, what: What) -> Option<Rule> {
        let name = || self.graph.port_name(link);
        let (kind, new_rate) = (self.chosen[link as usize].kind(), matches!(what, What::Rate(_)));
        if new_rate && kind != "none" {
            let rule =
                format!("must not change at {}: its port_control \"{kind}\" is made for one rate", name());
            return Some(Code::Unsupported.rule(rule));
        }
        let controlled = self.flow_control.get(link as usize).is_some_and(Option::is_some);
        if controlled && (new_rate || matches!(what, What::Delay(_))) {
            let rule = format!(
                "must not change at {}, which has a lossless priority: its headroom is sized for one rate and delay",
                name()
            );
            return Some(Code::Unsupported.rule(rule));
        }
        None
    }

    /// Faults of changes that contradict each other.
    fn order(&self, changes: &[Change], faults: &mut Faults) {
        let mut last: BTreeMap<(u32, &str), &Change> = BTreeMap::new();
        let mut told = BTreeSet::new();
        for change in changes {
            let key = change.what.key();
            let before = last.insert((change.link, key), change);
            let (name, by) = (self.graph.port_name(change.link), |one: &Change| {
                format!("event.{}", self.experiment.events[one.event].name)
            });
            let rule = match (change.what, before) {
                (_, Some(before)) if before.at == change.at => {
                    format!("contradicts {}, which sets it for {name} at the same time", by(before))
                }
                (What::State(state), Some(before)) if before.what == change.what => {
                    format!("changes nothing: {} has taken {name} {} before", by(before), word(state))
                }
                (What::State(LinkState::Up), None) => {
                    format!("changes nothing: {name} is up from the start")
                }
                _ => continue,
            };
            if told.insert((change.event, key)) {
                let rule = Code::Conflict.rule(rule).judged_by(&["at", "link", "state"]);
                faults.add(&self.path(change.event, key), rule, &change.what.show());
            }
        }
        self.both_ways(changes, faults);
    }

    /// Where a priority is lossless both directions of a cable fail together: what comes one way is paused the other way.
    fn both_ways(&self, changes: &[Change], faults: &mut Faults) {
        if self.flow_control.is_empty() || self.experiment.pfc.lossy == Lossy::Allowed {
            return;
        }
        let mut states: BTreeMap<u32, Vec<(Time, LinkState)>> = BTreeMap::new();
        for change in changes {
            if let What::State(state) = change.what {
                states.entry(change.link).or_default().push((change.at, state));
            }
        }
        let mut told = BTreeSet::new();
        for change in changes.iter().filter(|change| matches!(change.what, What::State(_))) {
            let link = &self.graph.links[change.link as usize];
            let back = self.graph.find_link(link.to, link.from);
            let alike = back.and_then(|back| states.get(&back)) == states.get(&change.link);
            if !alike && told.insert(change.event) {
                let (from, to) = (self.graph.name(link.from), self.graph.name(link.to));
                let rule = format!(
                    "must name both directions (\"{from}<->{to}\") where a priority is lossless: what comes one way is \
                     paused the other way. Or write pfc.lossy = \"allowed\""
                );
                let names = &self.experiment.events[change.event].settings.link;
                faults.add(&self.path(change.event, "link"), Code::Conflict.rule(rule), &names.show());
            }
        }
    }
}

fn word(state: LinkState) -> &'static str {
    match state {
        LinkState::Down => "down",
        LinkState::Up => "up",
    }
}

impl Simulation {
    /// Carries out the changes that are due, and lets the tables follow.
    pub(super) fn change_links(&mut self, floor: &Floor) {
        while let Some(change) = self.timeline.changes.get(self.timeline.next).copied() {
            if change.at > self.now {
                break;
            }
            self.timeline.next += 1;
            self.change_link(floor, change);
        }
        if self.timeline.follow(self.now) {
            let down: Vec<u32> = self.timeline.left_out.iter().copied().collect();
            floor.commons.write().unwrap_or_else(PoisonError::into_inner).routing.rebuild(&down);
        }
    }

    fn change_link(&mut self, floor: &Floor, Change { link, what, .. }: Change) {
        {
            let mut commons = floor.commons.write().unwrap_or_else(PoisonError::into_inner);
            match what {
                What::Rate(rate) => commons.links[link as usize].0 = rate,
                What::Delay(delay) => commons.links[link as usize].1 = delay,
                What::State(_) | What::Loss(_) => {}
            }
        }
        let pauses = self.pauses_of_peer(floor, link);
        let commons = floor.commons.read().unwrap_or_else(PoisonError::into_inner);
        let (cell, place) = self.places[link as usize];
        let cell = &mut *locked(&floor.cells[cell as usize]);
        cell.network.now = self.now;
        let port = &mut cell.network.ports[place as usize];
        match what {
            What::State(LinkState::Down) => cell.network.cut(place, &commons),
            What::State(LinkState::Up) => cell.network.revive(place, pauses, &commons),
            What::Rate(rate) => port.set_rate(rate),
            What::Delay(delay) => port.delay = delay,
            What::Loss(loss) => port.faults.iter_mut().for_each(|faults| faults.loss = loss),
        }
        cell.tell_changes(&commons);
    }

    /// The frame by which the port at the other end would pause this one, under flow control.
    fn pauses_of_peer(&self, floor: &Floor, link: u32) -> Option<Frame> {
        let back = *self.backs.get(link as usize)?;
        let (cell, place) = *self.places.get(back as usize)?;
        locked(&floor.cells[cell as usize]).network.ports[place as usize].closed_accounts()
    }
}
