//! Flow control of an experiment: the part of each port, and the proof that no packet of a lossless priority is lost.
//!
//! With a headroom of at least [`Way::headroom`] at each port and memory for all headrooms, none is; a test holds that
//! against random schedules. A smaller one is refused with the number that would do.

use crate::engine::check::chosen::Chosen;
use crate::experiment::{Deadlocks, Experiment, Lossy, SwitchSettings};
use crate::net::pfc::headroom::{Way, standard_response};
use crate::net::pfc::ingress::{Ingress, Law};
use crate::net::pfc::watchdog::Watchdog;
use crate::net::pfc::{FRAME, PRIORITIES, Pausing, ones};
use crate::params::{Code, Faults, ParamType};
use crate::queue::Queue;
use crate::routing::graph::{Graph, NodeId, Role};
use crate::routing::select::{select_links, select_ports};
use serde_json::Value;
use shallows_units::{Bytes, Rate, Size, Span};
use std::collections::BTreeMap;

/// A port's part in flow control.
#[derive(Debug, Clone)]
pub struct Flow {
    lossless: u8,
    response: Span,
    watchdog: Option<Watchdog>,
    /// At a switch: the law for what comes by this port.
    law: Option<Law>,
    /// The least headroom without loss, by priority.
    needed: [u64; PRIORITIES],
}

impl Flow {
    /// The port's part, at work.
    pub fn pausing(&self, rate: Rate) -> Pausing {
        let mut pausing = Pausing::new(rate, self.lossless, self.response, self.watchdog);
        pausing.ingress = self.law.clone().map(|law| Box::new(Ingress::new(law)));
        pausing
    }

    /// Packets can be lost in spite of it.
    pub fn is_lossy(&self) -> bool {
        self.law
            .as_ref()
            .is_some_and(|law| law.headroom.iter().zip(&self.needed).any(|(has, need)| has < need))
    }
}

/// Largest frames: of all loads, and of each priority.
struct Frames {
    any: u64,
    own: [u64; PRIORITIES],
}

impl Frames {
    fn new(experiment: &Experiment) -> Self {
        let mut own = [0; PRIORITIES];
        for load in &experiment.loads {
            for (priority, bytes) in load.transport.largest_frames() {
                let most = &mut own[priority as usize];
                *most = (*most).max(bytes);
            }
        }
        Frames { any: own.into_iter().max().unwrap_or(0), own }
    }
}

/// The network that is checked.
struct Check<'a> {
    experiment: &'a Experiment,
    graph: &'a Graph,
    chosen: &'a [Chosen<'a>],
    frames: Frames,
    /// By link: its slowest and its fastest rate of the run, and its longest delay.
    extent: Vec<(Rate, Rate, Span)>,
}

/// By link: its slowest and its fastest rate of the run, and its longest delay. Events that are faulty say so elsewhere.
fn extents(experiment: &Experiment, graph: &Graph) -> Vec<(Rate, Rate, Span)> {
    let mut extent: Vec<_> = graph.links.iter().map(|link| (link.rate, link.rate, link.delay)).collect();
    for event in &experiment.events {
        for link in select_links(graph, &event.settings.link).unwrap_or_default() {
            let (slowest, fastest, longest) = &mut extent[link as usize];
            if let Some(rate) = event.settings.rate {
                (*slowest, *fastest) = (rate.min(*slowest), rate.max(*fastest));
            }
            if let Some(delay) = event.settings.delay {
                *longest = (delay + graph.latency(graph.links[link as usize].to)).max(*longest);
            }
        }
    }
    extent
}

/// By link the part of its port in flow control, or nothing without lossless priorities. Of each switch's memory, the
/// headrooms are taken off `buffers`.
pub fn check(
    experiment: &Experiment,
    graph: &Graph,
    chosen: &[Chosen<'_>],
    buffers: &mut [(SwitchSettings, Vec<u32>)],
    faults: &mut Faults,
) -> Vec<Option<Flow>> {
    let extent = extents(experiment, graph);
    let check = Check { experiment, graph, chosen, frames: Frames::new(experiment), extent };
    if experiment.lossless() == 0 {
        check.reserves(buffers, faults);
        return refuse_idle(experiment, faults);
    }
    check.disciplines(faults);
    let flows: Vec<Option<Flow>> = (0..graph.links.len()).map(|link| check.flow(link)).collect();
    check.pauses_last(&flows, faults);
    check.headrooms(&flows, faults);
    check.memory(&flows, buffers, faults);
    flows
}

/// Settings of flow control without a lossless priority would change nothing.
fn refuse_idle(experiment: &Experiment, faults: &mut Faults) -> Vec<Option<Flow>> {
    for over in &experiment.ports {
        let set = &over.settings;
        let written = [
            ("pfc_xoff", set.pfc_xoff.as_ref().map(ParamType::show)),
            ("pfc_alpha", set.pfc_alpha.as_ref().map(ParamType::show)),
            ("pfc_hysteresis", set.pfc_hysteresis.as_ref().map(ParamType::show)),
            ("pfc_headroom", set.pfc_headroom.as_ref().map(ParamType::show)),
            ("pfc_response", set.pfc_response.as_ref().map(ParamType::show)),
        ];
        for (key, value) in written {
            if let Some(value) = value {
                let rule = Code::Conflict.rule("changes nothing: no [priority.N] has pfc = true");
                faults.add(&format!("port.{}.{key}", over.ports.0.join(",")), rule, &value);
            }
        }
    }
    vec![]
}

impl Check<'_> {
    fn slowest(&self, link: usize) -> Rate {
        self.extent[link].0
    }

    fn fastest(&self, link: usize) -> Rate {
        self.extent[link].1
    }

    fn delay(&self, link: usize) -> Span {
        self.extent[link].2
    }

    /// How long a port takes to obey a frame that has passed its switch's latency, as all that comes by a link has. Its MAC
    /// obeys by itself, so the latency is a part of the response.
    fn response(&self, link: usize) -> Span {
        let written = self.chosen[link].settings.pfc_response;
        let whole = written.unwrap_or_else(|| standard_response(self.slowest(link)));
        whole.saturating_sub(self.graph.latency(self.graph.links[link].from))
    }

    fn is_switch(&self, node: NodeId) -> bool {
        self.graph.role(node) == Role::Switch
    }

    fn back(&self, link: usize) -> Option<usize> {
        self.graph.back(link as u32).map(|back| back as usize)
    }

    /// The part of the port at `link`; none between two hosts.
    fn flow(&self, number: usize) -> Option<Flow> {
        let (lossless, link) = (self.experiment.lossless(), &self.graph.links[number]);
        let at_switch = self.is_switch(link.from);
        let back = self.back(number)?;
        if !at_switch && !self.is_switch(link.to) {
            return None;
        }
        let bites = at_switch && self.experiment.pfc.deadlock == Deadlocks::Watchdog;
        let mut needed = [0; PRIORITIES];
        let mut law = None;
        if at_switch {
            let way = |own_frame| Way {
                link: (self.fastest(back), self.delay(back)),
                back: (self.slowest(number), self.delay(number)),
                response: self.response(back),
                any_frame: self.frames.any.max(u64::from(FRAME)),
                own_frame,
            };
            for priority in ones(lossless).map(usize::from) {
                needed[priority] = way(self.frames.own[priority]).headroom();
            }
            law = Some(self.law(number, back, &needed, way(0).until_applied() + self.delay(back)));
        }
        let pfc = &self.experiment.pfc;
        let (detection, restoration, action) = (pfc.watchdog, pfc.restoration, pfc.action);
        let watchdog = bites.then_some(Watchdog { detection, restoration, action });
        Some(Flow { lossless, response: self.response(number), watchdog, law, needed })
    }

    fn law(&self, number: usize, back: usize, needed: &[u64; PRIORITIES], flight: Span) -> Law {
        let settings = &self.chosen[number].settings;
        let quanta = self.experiment.pfc.quanta as u16;
        let chosen = settings.pfc_headroom.map(Bytes::as_u64);
        Law {
            xoff: settings.pfc_xoff.map(Bytes::as_u64),
            alpha: settings.pfc_alpha,
            hysteresis: match settings.pfc_hysteresis {
                Size::Bytes(bytes) => bytes.as_u64(),
                Size::Packets(packets) => packets.saturating_mul(self.frames.any),
            },
            headroom: needed.map(|needed| if needed == 0 { 0 } else { chosen.unwrap_or(needed) }),
            quanta,
            pause: self.fastest(back).transmit(Bytes(64)) * u64::from(quanta),
            flight,
        }
    }

    /// Lossless lanes of switches take every packet.
    fn disciplines(&self, faults: &mut Faults) {
        let mut reported = vec![];
        let switches = self.chosen.iter().filter(|chosen| chosen.control.is_some());
        for (spec, chosen) in
            switches.flat_map(|chosen| self.experiment.priorities.iter().map(move |s| (s, chosen)))
        {
            let queue = spec.queue.as_ref().unwrap_or(chosen.queue);
            let limits = queue.limits();
            if !spec.settings.pfc
                || queue.keeps_order() && limits.is_empty()
                || reported.contains(&spec.number)
            {
                continue;
            }
            reported.push(spec.number);
            let (rule, value) = match limits.first() {
                Some((key, limit)) => (
                    format!("is lossless: write {key} = \"none\" in priority.{}.queue", spec.number),
                    limit.clone(),
                ),
                None => (
                    format!(
                        "is lossless: its discipline at switches must keep the order of arrival ({})",
                        Queue::in_order().collect::<Vec<_>>().join(", ")
                    ),
                    queue.kind().into(),
                ),
            };
            faults.add(&format!("priority.{}.queue", spec.number), Code::Conflict.rule(rule), &value);
        }
    }

    /// A pause must outlast the time between two frames that renew it.
    fn pauses_last(&self, flows: &[Option<Flow>], faults: &mut Faults) {
        let needs = flows.iter().enumerate().filter_map(|(number, flow)| {
            let law = flow.as_ref()?.law.as_ref()?;
            let wait = self.slowest(number).transmit(Bytes(self.frames.any + u64::from(FRAME)));
            let quantum = Span::ps(law.pause.as_ps() / u64::from(law.quanta));
            (law.pause < wait * 2).then(|| (wait * 2).as_ps().div_ceil(quantum.as_ps().max(1)))
        });
        if let Some(least) = needs.max() {
            let rule =
                format!("must be at least {least}: a frame that renews a pause may wait for a data frame");
            faults.add("pfc.quanta", Code::OutOfRange.rule(rule), &self.experiment.pfc.quanta.into());
        }
    }

    fn headrooms(&self, flows: &[Option<Flow>], faults: &mut Faults) {
        if self.experiment.pfc.lossy == Lossy::Allowed {
            return;
        }
        let lossy = |number: &usize| flows[*number].as_ref().is_some_and(Flow::is_lossy);
        let mut worst: BTreeMap<String, (u64, usize)> = BTreeMap::new();
        for number in (0..flows.len()).filter(lossy) {
            let needed = flows[number].as_ref().map_or(0, |flow| flow.needed.into_iter().max().unwrap_or(0));
            let path = self.headroom_of(number as u32);
            let most = worst.entry(path).or_insert((needed, number));
            *most = (*most).max((needed, number));
        }
        for (path, (needed, number)) in worst {
            let back = self.back(number).unwrap_or(number);
            let rule = format!(
                "must be at least {}: at {} so much may still come after XOFF ({}, delays {} and {}, response {}, \
                 frames of {}). Leave it out for what each link needs, or write pfc.lossy = \"allowed\"",
                Bytes(needed),
                self.graph.port_name(number as u32),
                self.fastest(back),
                self.delay(back),
                self.delay(number),
                self.response(back),
                Bytes(self.frames.any),
            );
            let has = self.chosen[number].settings.pfc_headroom.show();
            faults.add(&path, Code::OutOfRange.rule(rule), &has);
        }
    }

    /// Where the headroom of a port is written.
    fn headroom_of(&self, number: u32) -> String {
        let sets = |over: &&crate::experiment::PortOverride| {
            let found = select_ports(self.graph, &over.ports).is_ok_and(|ports| ports.contains(&number));
            over.settings.pfc_headroom.is_some() && found
        };
        let over = self.experiment.ports.iter().rev().find(sets);
        over.map_or("port".into(), |over| format!("port.{}.pfc_headroom", over.ports.0.join(",")))
    }

    /// Every switch has memory for its headrooms, and some to share.
    fn memory(
        &self,
        flows: &[Option<Flow>],
        buffers: &mut [(SwitchSettings, Vec<u32>)],
        faults: &mut Faults,
    ) {
        let owner = |ports: &[u32]| ports.first().map(|port| self.graph.links[*port as usize].from);
        let sized: Vec<NodeId> = buffers.iter().filter_map(|(_, ports)| owner(ports)).collect();
        let bare: Vec<String> = self
            .graph
            .ids(Role::Switch)
            .filter(|node| !sized.contains(node))
            .map(|node| self.graph.name(node).into())
            .collect();
        if let Some(first) = bare.first() {
            let rule = format!(
                "must give every switch a buffer, by which flow control pauses ({first} has none): write \
                 [switch.\"*\"] with buffer"
            );
            faults.add("switch", Code::Missing.rule(rule), &Value::Null);
        }
        for (settings, ports) in buffers {
            let one_way = ports.iter().find(|port| flows[**port as usize].is_none());
            if let Some(port) = one_way {
                let rule = format!(
                    "needs links both ways: nothing can pause back along {}",
                    self.graph.port_name(*port)
                );
                faults.add("priority", Code::Conflict.rule(rule), &Value::Null);
                return;
            }
            let taken: u64 = ports
                .iter()
                .map(|port| self.taken(flows[*port as usize].as_ref()))
                .fold(self.reserved(settings, ports), u64::saturating_add);
            let size = settings.buffer.map_or(0, Bytes::as_u64);
            if size <= taken {
                let switch = owner(ports).map_or("", |node| self.graph.name(node));
                let reserves = match self.reserved(settings, ports) {
                    0 => String::new(),
                    bytes => format!(", and {} in reserves of lossy priorities", Bytes(bytes)),
                };
                let rule = format!(
                    "must be more than {}: the headrooms of {switch}, with one packet beside each{reserves}, take so much and \
                     leave nothing to share",
                    Bytes(taken)
                );
                faults.add(&self.buffer_of(switch), Code::OutOfRange.rule(rule), &settings.buffer.show());
                return;
            }
            settings.buffer = Some(Bytes(size - taken));
        }
    }

    /// The reserves of a switch's lossy priorities.
    fn reserved(&self, settings: &SwitchSettings, ports: &[u32]) -> u64 {
        let queues = self.experiment.lossy().saturating_mul(ports.len() as u64);
        settings.reserve.map_or(0, Bytes::as_u64).saturating_mul(queues)
    }

    /// Without lossless priorities: every switch has memory for its reserves, and some to share.
    fn reserves(&self, buffers: &mut [(SwitchSettings, Vec<u32>)], faults: &mut Faults) {
        for (settings, ports) in buffers {
            let (taken, size) = (self.reserved(settings, ports), settings.buffer.map_or(0, Bytes::as_u64));
            if taken > 0 && size <= taken {
                let switch =
                    ports.first().map_or("", |port| self.graph.name(self.graph.links[*port as usize].from));
                let rule = format!(
                    "must be more than {}: the reserves of {switch} take so much and leave nothing to share",
                    Bytes(taken)
                );
                faults.add(&self.buffer_of(switch), Code::OutOfRange.rule(rule), &settings.buffer.show());
                return;
            }
            settings.buffer = Some(Bytes(size - taken));
        }
    }

    /// Headrooms of a port, with a packet beside each.
    fn taken(&self, flow: Option<&Flow>) -> u64 {
        let Some((lossless, law)) = flow.and_then(|flow| Some((flow.lossless, flow.law.as_ref()?))) else {
            return 0;
        };
        let of = |priority: u8| {
            law.headroom[usize::from(priority)].saturating_add(self.frames.own[usize::from(priority)])
        };
        ones(lossless).map(of).fold(0, u64::saturating_add)
    }

    /// Where the buffer of a switch is written.
    fn buffer_of(&self, switch: &str) -> String {
        use crate::routing::select::select_switches;
        let named = |over: &&crate::experiment::SwitchOverride| {
            let found = select_switches(self.graph, &over.switches);
            over.settings.buffer.is_some()
                && found.is_ok_and(|nodes| nodes.iter().any(|node| self.graph.name(*node) == switch))
        };
        let over = self.experiment.switches.iter().rev().find(named);
        over.map_or("switch".into(), |over| format!("switch.{}.buffer", over.switches.0.join(",")))
    }
}
