//! Checks of the changes: links that exist, values that change something, and no contradictions.

use super::{Change, Timeline, What};
use crate::engine::check::chosen::Chosen;
use crate::engine::check::lossless::Flow;
use crate::experiment::{Experiment, LinkState, Lossy};
use crate::params::{Code, Faults, ParamType, Rule};
use crate::routing::graph::Graph;
use crate::routing::select::select_links;
use serde_json::Value;
use shallows_units::Time;
use std::collections::{BTreeMap, BTreeSet};

impl Timeline {
    /// The changes of an experiment, whose links have the rates and delays that overrides give them.
    pub(in crate::engine) fn check(
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
        check.both_ways(&changes, faults);
        let touched = changes.iter().map(|change| change.link).collect();
        let varied = changes.iter().filter(|change| !matches!(change.what, What::Loss(_) | What::Pause(..)));
        let varied = varied.map(|change| change.link).collect();
        let reconvergence = experiment.routing.reconvergence;
        Timeline { changes, reconvergence, touched, varied, ..Timeline::default() }
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
        let bits = settings.pause.iter().fold(0, |bits, priority| bits | 1u8 << priority);
        let whats: Vec<What> = [
            settings.state.map(What::State),
            settings.rate.map(What::Rate),
            settings.delay.map(What::Delay),
            settings.loss.map(What::Loss),
            (bits != 0).then_some(What::Pause(bits, true)),
        ]
        .into_iter()
        .flatten()
        .collect();
        if whats.is_empty() {
            let rule =
                Code::Missing.rule("needs state, rate, delay, loss or pause: the event changes nothing");
            let rule = rule.judged_by(&["state", "rate", "delay", "loss", "pause"]);
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
        if let Some(span) = settings.pause_for.filter(|_| bits == 0) {
            let rule = Code::Conflict.rule("changes nothing: the event pauses no priority");
            faults.add(&self.path(event, "pause_for"), rule, &span.show());
        }
        let at = Time::ZERO + settings.at;
        let ends = settings.pause_for.filter(|_| bits != 0);
        let end = ends.map(|span| (at + span, What::Pause(bits, false)));
        let all: Vec<(Time, What)> = whats.into_iter().map(|what| (at, what)).chain(end).collect();
        let of_link = |link: u32| {
            let latency = self.graph.latency(self.graph.links[link as usize].to);
            let arriving = move |what: What| match what {
                What::Delay(delay) => What::Delay(delay + latency),
                other => other,
            };
            all.iter().map(move |(at, what)| Change { at: *at, event, link, what: arriving(*what) })
        };
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
        if new_rate && self.chosen[link as usize].settings.trace.is_some() {
            return Some(
                Code::Conflict.rule(format!("must not change at {}, whose rate follows a trace", name())),
            );
        }
        let controlled = self.flow_control.get(link as usize).is_some_and(Option::is_some);
        let lossless = if controlled { self.experiment.lossless() } else { 0 };
        if let What::Pause(bits, _) = what
            && bits & !lossless != 0
        {
            let rule = format!("must name lossless priorities of {} ([priority.N] pfc = true)", name());
            return Some(Code::Conflict.rule(rule));
        }
        None
    }

    /// Faults of changes that contradict each other, or change nothing.
    fn order(&self, changes: &[Change], faults: &mut Faults) {
        let mut last: BTreeMap<(u32, &str), &Change> = BTreeMap::new();
        let mut reported = BTreeSet::new();
        // By event and key: the first change, as long as all its links have the value already.
        let mut idle: BTreeMap<(usize, &str), Option<&Change>> = BTreeMap::new();
        for change in changes {
            let key = change.what.key();
            let before = last.insert((change.link, key), change);
            let in_force = before.map_or_else(|| self.at_first(change), |before| before.what);
            let idles = idle.entry((change.event, key)).or_insert(Some(change));
            if change.what != in_force {
                *idles = None;
            }
            let name = self.graph.port_name(change.link);
            let by = |one: &Change| format!("event.{}", self.experiment.events[one.event].name);
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
            if reported.insert((change.event, key)) {
                self.conflict(change, rule, faults);
            }
        }
        for ((event, key), change) in idle {
            let Some(change) = change.filter(|_| reported.insert((event, key))) else { continue };
            let name = self.graph.port_name(change.link);
            self.conflict(change, format!("changes nothing: {name} has this {key} already"), faults);
        }
    }

    /// The value before all changes.
    fn at_first(&self, change: &Change) -> What {
        let (link, port) = (&self.graph.links[change.link as usize], &self.chosen[change.link as usize]);
        match change.what {
            What::State(_) => What::State(LinkState::Up),
            What::Rate(_) => What::Rate(link.rate),
            What::Delay(_) => What::Delay(link.delay),
            What::Loss(_) => What::Loss(port.settings.loss),
            What::Pause(bits, _) => What::Pause(bits, false),
        }
    }

    fn conflict(&self, change: &Change, rule: String, faults: &mut Faults) {
        let keys: &[&str] = match change.what {
            What::State(_) => &["at", "link", "state"],
            What::Rate(_) => &["at", "link", "rate"],
            What::Delay(_) => &["at", "link", "delay"],
            What::Loss(_) => &["at", "link", "loss"],
            What::Pause(..) => &["at", "link", "pause", "pause_for"],
        };
        let rule = Code::Conflict.rule(rule).judged_by(keys);
        let written = match change.what {
            What::Delay(delay) => self.experiment.events[change.event].settings.delay.unwrap_or(delay).show(),
            other => other.show(),
        };
        faults.add(&self.path(change.event, change.what.key()), rule, &written);
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
        let mut reported = BTreeSet::new();
        for change in changes.iter().filter(|change| matches!(change.what, What::State(_))) {
            let link = &self.graph.links[change.link as usize];
            let back = self.graph.back(change.link);
            let alike = back.and_then(|back| states.get(&back)) == states.get(&change.link);
            if !alike && reported.insert(change.event) {
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
