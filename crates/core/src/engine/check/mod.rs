//! Checks of an experiment as a whole: hosts that do not reach each other, patterns that select nothing,
//! and the memory that a run would take. Nothing is built here that grows with the run.

mod bdp;
pub mod chosen;
pub mod drain;
mod fabric;
pub mod facts;
pub mod lossless;
pub mod memory;
pub mod notes;
pub mod priorities;
mod protocols;

use crate::engine::timeline::Timeline;
use crate::events::MAX_SOURCES;
use crate::experiment::{Experiment, LoadSpec, PortOverride, PortPatch, SwitchSettings};
use crate::hosts::connections::{Class, MAX_FLOWS};
use crate::params::{Code, Faults, ParamType, Params, unknown};
use crate::probe::settings::TraceWhen;
use crate::queue::Queue;
use crate::routing::choice::{Ecmp, Field};
use crate::routing::fixed;
use crate::routing::graph::{Graph, NodeId, Role};
use crate::routing::ideal::Wire;
use crate::routing::select::{select_ports, select_switches};
use crate::routing::table::Routing;
use crate::transport::Config;
use crate::transport::entropy::Entropy;
use crate::transport::ndp::settings::Untrimmed;
use crate::transport::roce::RoceSettings;
use crate::transport::roce::settings::Repair;
use crate::workload::paths::Tables;
use crate::workload::{BuildCx, Spread, Workload};
use chosen::Chosen;
use facts::Checked;
use memory::Estimate;
use serde_json::Value;
use shallows_units::{Bytes, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

impl Experiment {
    /// Checks across settings, and estimates the memory of a run. Faults are those of the experiment, all of them.
    pub fn check(&self) -> Result<Estimate, Faults> {
        self.checked().map(|checked| Estimate::new(self, &checked))
    }

    /// Checks the experiment; gives the facts found.
    pub fn checked(&self) -> Result<Checked<'_>, Faults> {
        let mut faults = Faults::default();
        let run = &self.run;
        if run.warmup >= run.duration {
            let rule = format!("must be below the duration of {}", run.duration);
            let rule = Code::Conflict.rule(rule).judged_by(&["warmup", "duration"]);
            faults.add("warmup", rule, &run.warmup.show());
        }
        let mut graph = self.topology.build(&mut faults);
        if !faults.0.is_empty() && graph.links.is_empty() {
            return Err(faults);
        }
        fixed::write(&self.routing.routes, &mut graph, &mut faults);
        if graph.links.len() >= MAX_SOURCES / 4 {
            let rule = format!("must have fewer than {} ports", MAX_SOURCES / 4);
            faults.add("topology", Code::TooMany.rule(rule), &Value::Null);
        }
        self.queue.check("queue", &mut faults);
        self.nic.check("nic", &mut faults);
        let (classes, class_of) = classes(self, &mut faults);
        let chosen = chosen(self, &mut graph, &mut faults);
        priorities::check(self, &mut faults);
        let mut buffers = buffers(self, &graph, &chosen, &mut faults);
        let drain = drain::longest(self, &graph, &chosen, &buffers, &mut faults);
        let flow_control = lossless::check(self, &graph, &chosen, &mut buffers, &mut faults);
        let timeline = Timeline::check(self, &graph, &chosen, &flow_control, &mut faults);
        weights_are_used(self, &mut faults);
        faults_of_wires_are_whole(self, &mut faults);
        traces_stand_alone(self, &graph, &chosen, &mut faults);
        trimming_is_whole(self, &graph, &chosen, &mut faults);
        entropy_is_used(self, &mut faults);
        metering_is_whole(self, &graph, &chosen, &mut faults);
        let traced = traced_ports(self, &graph, &mut faults);
        let tapped = tapped_ports(self, &graph, &mut faults);
        if self.probes.port_trace == TraceWhen::Change {
            let rule = Code::Unsupported.rule("must be \"off\" or an interval").judged_by(&["port_trace"]);
            faults.add("probe.port_trace", rule, &"change".into());
        }
        let tables =
            || timeline.tables(Time::ZERO + run.duration).into_iter().map(|table| (table.at, table.down));
        let followed: Vec<_> = if graph.routes().is_empty() { vec![] } else { tables().collect() };
        fixed::check(&mut graph, run.seed, &followed, &mut faults);
        let mut routing = Routing::new(&graph, run.seed);
        values_are_enough(self, &graph, &routing, &mut faults);
        let best = timeline.best(graph.links.iter().map(|link| (link.rate, link.delay)).collect());
        let follows =
            |load: &LoadSpec| load.transport.cc.header_room().is_some() || !from_path(load).is_empty();
        let tables =
            if self.loads.iter().any(follows) { timeline.tables(Time::ZERO + run.duration) } else { vec![] };
        let (loads, parted, notes) =
            loads(self, (&graph, &best, &tables), &chosen, &mut routing, &mut faults);
        if self.loads.is_empty() {
            faults.add("traffic", Code::TooFew.rule("must hold at least one load"), &Value::Null);
        }
        if !faults.0.is_empty() {
            return Err(faults);
        }
        Ok(Checked {
            graph,
            routing,
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
            notes,
            drain,
        })
    }
}

/// Every port's settings, and the faults of protocols that no switch answers.
pub fn chosen<'a>(experiment: &'a Experiment, graph: &mut Graph, faults: &mut Faults) -> Vec<Chosen<'a>> {
    let chosen = chosen::chosen(experiment, graph, faults);
    let kinds: Vec<_> = chosen.iter().map(Chosen::kind).collect();
    protocols::check(experiment, &kinds, faults);
    chosen
}

/// Settings of a wire's faults that say how, where none says that.
fn faults_of_wires_are_whole(experiment: &Experiment, faults: &mut Faults) {
    let any = |has: fn(&PortPatch) -> bool| experiment.ports.iter().any(|over| has(&over.settings));
    let jitter = any(|port| port.jitter.is_some_and(|mean| mean > Span::ZERO));
    let bursts = any(|port| port.burst_begins.is_some_and(|chance| chance > 0.0));
    let planned = any(|port| port.drop_packets.as_ref().is_some_and(|numbers| !numbers.is_empty()));
    let classes: BTreeSet<&str> = experiment.loads.iter().map(|load| load.class.as_str()).collect();
    for over in &experiment.ports {
        let port = &over.settings;
        let class = port.drop_class.as_ref().and_then(Option::as_deref);
        if let Some(class) = class.filter(|class| !classes.contains(class)) {
            let known: Vec<&str> = classes.iter().copied().collect();
            let rule = unknown(Code::NotFound, "class", class, &known).judged_by(&["classes"]);
            faults.add(&format!("port.{}.drop_class", over.ports.0.join(",")), rule, &class.into());
        }
        let idle = [
            ("drop_class", class.map(Value::from), planned, "drop_packets"),
            ("jitter_law", port.jitter_law.map(|law| law.show()), jitter, "jitter above zero"),
            ("jitter_correlation", port.jitter_correlation.map(Value::from), jitter, "jitter above zero"),
            ("jitter_order", port.jitter_order.map(|order| order.show()), jitter, "jitter above zero"),
            ("burst_ends", port.burst_ends.map(Value::from), bursts, "burst_begins above zero"),
            ("burst_loss", port.burst_loss.map(Value::from), bursts, "burst_begins above zero"),
        ];
        for (key, value, _, needed) in idle.into_iter().filter(|(_, _, used, _)| !used) {
            if let Some(value) = value {
                let rule = Code::Conflict.rule(format!("changes nothing: no port has {needed}"));
                faults.add(&format!("port.{}.{key}", over.ports.0.join(",")), rule, &value);
            }
        }
    }
}

/// A link that follows a trace has no other rate, and nothing at its port is made for one.
fn traces_stand_alone(experiment: &Experiment, graph: &Graph, chosen: &[Chosen<'_>], faults: &mut Faults) {
    let traced = |over: &&PortOverride| over.settings.trace.as_ref().is_some_and(Option::is_some);
    let Some(over) = experiment.ports.iter().find(traced) else { return };
    let path = format!("port.{}", over.ports.0.join(","));
    for (link, port) in (0..).zip(chosen).filter(|(_, port)| port.settings.trace.is_some()) {
        let name = graph.port_name(link);
        let rule = if port.settings.rate.is_some() {
            Code::Conflict.rule(format!("contradicts the rate of {name}: leave one of them out"))
        } else if port.kind() != "none" {
            Code::Unsupported.rule(format!(
                "must not be at {name}: its port_control \"{}\" is made for one rate",
                port.kind()
            ))
        } else if experiment.lossless() != 0 {
            Code::Unsupported
                .rule("must not be beside a lossless priority: its headroom is sized for one rate".to_owned())
        } else {
            continue;
        };
        faults.add(&format!("{path}.trace"), rule, &name.into());
        return;
    }
}

/// Weights matter to one rule alone.
fn weights_are_used(experiment: &Experiment, faults: &mut Faults) {
    for over in experiment.ports.iter().filter(|_| experiment.run.ecmp != Ecmp::Weighted) {
        if let Some(weight) = over.settings.weight {
            let rule = Code::Conflict.rule("changes nothing: ecmp is not \"weighted\"");
            faults.add(&format!("port.{}.weight", over.ports.0.join(",")), rule, &weight.into());
        }
    }
}

/// Entropy values choose paths where switches hash them.
fn entropy_is_used(experiment: &Experiment, faults: &mut Faults) {
    let ecmp = experiment.run.ecmp;
    let chooses = |load: &&LoadSpec| load.transport.uec().is_some_and(|uec| uec.entropy != Entropy::Single);
    if let Some(load) =
        experiment.loads.iter().find(chooses).filter(|_| ecmp.sprays() || ecmp == Ecmp::Symmetric)
    {
        let rule = format!(
            "must be \"flow\" or \"weighted\", which hash entropy values, or \"structured\": traffic.{} chooses paths by them. Or write \
             transport.entropy = \"single\"",
            load.name
        );
        faults.add("ecmp", Code::Conflict.rule(rule), &ecmp.show());
    }
}

/// Two hosts, or one twice, whose ports are not in planes: port N of all hosts leads to one network of switches, and no other port does.
fn apart(graph: &Graph, routing: &Routing) -> Option<(NodeId, NodeId)> {
    // By switch: the first switch of its network.
    let mut network: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    for first in graph.ids(Role::Switch) {
        let mut open = if network.contains_key(&first) { vec![] } else { vec![first] };
        while let Some(node) = open.pop() {
            if network.insert(node, first).is_none() {
                let there = routing.links_of(node).iter().map(|link| routing.end(*link));
                let back = routing.links_into(node).iter().map(|link| routing.start(*link));
                open.extend(there.chain(back).filter(|end| routing.forwards(*end)));
            }
        }
    }
    let planes = |host: NodeId| -> Vec<Option<NodeId>> {
        routing.links_of(host).iter().map(|link| network.get(&routing.end(*link)).copied()).collect()
    };
    let mut hosts = graph.ids(Role::Host);
    let first = hosts.next()?;
    let expected = planes(first);
    if expected.iter().collect::<BTreeSet<_>>().len() < expected.len() {
        return Some((first, first));
    }
    hosts.find(|host| planes(*host) != expected).map(|other| (first, other))
}

/// Each port of a card has a value, and each path where values name paths. Static switches send no value another way.
fn values_are_enough(experiment: &Experiment, graph: &Graph, routing: &Routing, faults: &mut Faults) {
    let structured = experiment.run.ecmp == Ecmp::Structured;
    let ports = graph.ids(Role::Host).map(|host| routing.links_of(host).len()).max().unwrap_or(0) as u64;
    let mut paths = 1;
    if structured {
        match routing.fields() {
            Ok(fields) => {
                let of = |field: &Field| u64::from(field.divisor) * u64::from(field.width);
                paths = fields.iter().map(of).max().unwrap_or(1);
            }
            Err((one, other)) => {
                let rule = format!(
                    "must not be \"structured\" here: {} and {} are equally far from hosts and joined, so that no tier decides between \
                     them. Try \"flow\"",
                    graph.name(one),
                    graph.name(other)
                );
                faults.add("ecmp", Code::Unsupported.rule(rule), &experiment.run.ecmp.show());
            }
        }
        let fails = experiment.events.iter().any(|event| event.settings.state.is_some());
        if let Some(span) = experiment.routing.reconvergence.filter(|_| fails) {
            let rule = "must be \"none\" beside ecmp = \"structured\": where tables follow a failure, values name other paths";
            faults.add("routing.reconvergence", Code::Conflict.rule(rule), &span.show());
        }
    }
    for load in &experiment.loads {
        let Some(uec) = load.transport.uec() else { continue };
        if uec.port_status && (ports < 2 || uec.entropy == Entropy::Single) {
            let rule = "changes nothing: no values choose among several ports of a card";
            let path = format!("traffic.{}.transport.port_status", load.name);
            faults.add(&path, Code::Conflict.rule(rule), &true.into());
        } else if uec.port_status
            && let Some((one, other)) = apart(graph, routing)
        {
            let rule = format!(
                "requires planes: port number N of each host must lead to one network of switches, apart from those of its other ports. Those \
                 of {} and {} do not",
                graph.name(one),
                graph.name(other)
            );
            let path = format!("traffic.{}.transport.port_status", load.name);
            faults.add(&path, Code::Unsupported.rule(rule), &true.into());
        }
        if uec.entropy == Entropy::Single {
            continue;
        }
        let rule = if uec.entropies < ports {
            format!("must be at least {ports}, the ports of a card: each needs a value")
        } else if uec.entropies < paths {
            format!(
                "must be at least {paths} beside ecmp = \"structured\": so many paths have a name. Try \"{}\"",
                paths.next_power_of_two()
            )
        } else if structured && uec.entropies - 1 > u64::from(routing.mask()) {
            let most = u64::from(routing.mask()) + 1;
            format!("must be <= {most} beside ecmp = \"structured\": a label of this network holds no more")
        } else {
            continue;
        };
        let path = format!("traffic.{}.transport.entropies", load.name);
        faults.add(&path, Code::Conflict.rule(rule), &uec.entropies.into());
    }
}

/// NDP learns of losses by trimmed headers alone, and trimming sorts packets by itself.
fn trimming_is_whole(experiment: &Experiment, graph: &Graph, chosen: &[Chosen<'_>], faults: &mut Faults) {
    let mut queues = chosen.iter().flat_map(|port| priorities::queues(experiment, port));
    if !experiment.priorities.is_empty() && queues.any(|queue| queue.kind() == Queue::TRIMMING) {
        let rule = "must be absent beside trimming, which sends headers before data by itself";
        faults.add("priority", Code::Conflict.rule(rule), &Value::Null);
    }
    let cuts = |port: &Chosen<'_>| experiment.priorities.is_empty() && port.queue.trims();
    let Some(place) = chosen.iter().position(|port| port.control.is_some() && !cuts(port)) else { return };
    let trimming = Queue::TRIMMING;
    for load in &experiment.loads {
        let over = match (load.transport.ndp(), load.transport.uec()) {
            (Some(ndp), _) if ndp.untrimmed == Untrimmed::Refused => "NDP",
            (_, Some(uec)) if uec.untrimmed == Untrimmed::Refused => "Ultra Ethernet",
            _ => continue,
        };
        {
            let rule = format!(
                "must be \"{trimming}\" with a limit at each port of a switch: traffic.{} runs {over}, which learns of losses by \
                 trimmed headers, and {} drops. Or write transport.untrimmed = \"allowed\"",
                load.name,
                graph.port_name(place as u32)
            );
            faults.add("queue", Code::Conflict.rule(rule), &chosen[place].queue.kind().into());
            return;
        }
    }
}

/// ExpressPass bounds queues by meters at every switch, which sort credits and data by themselves.
fn metering_is_whole(experiment: &Experiment, graph: &Graph, chosen: &[Chosen<'_>], faults: &mut Faults) {
    let Some(load) = experiment.loads.iter().find(|load| load.transport.needs_meters()) else { return };
    let meters = |port: &Chosen<'_>| experiment.priorities.is_empty() && port.queue.kind() == Queue::CREDIT;
    if let Some(place) = chosen.iter().position(|port| port.control.is_some() && !meters(port)) {
        let rule = format!(
            "must be \"{}\" at each port of a switch, without priorities: traffic.{} runs ExpressPass, and {} does not meter credits. Or write \
             transport.unmetered = \"allowed\"",
            Queue::CREDIT,
            load.name,
            graph.port_name(place as u32)
        );
        faults.add("queue", Code::Conflict.rule(rule), &chosen[place].queue.kind().into());
    }
}

/// The distinct classes, and each load's by number.
fn classes(experiment: &Experiment, faults: &mut Faults) -> (Vec<Class>, Vec<u16>) {
    let mut names: Vec<&str> = vec![];
    let mut known = BTreeMap::new();
    let mut numbers = vec![];
    for load in &experiment.loads {
        let number = *known.entry(load.class.as_str()).or_insert(names.len() as u16);
        if usize::from(number) == names.len() {
            names.push(&load.class);
        }
        numbers.push(number);
    }
    let wanted = &experiment.probes.classes;
    let all = wanted.0.iter().any(|w| w == "*");
    for name in wanted.0.iter().filter(|w| *w != "*" && !names.contains(&w.as_str())) {
        let rule = unknown(Code::NotFound, "class", name, &names).judged_by(&["classes"]);
        faults.add("probe.classes", rule, &name.as_str().into());
    }
    for load in &experiment.loads {
        if let Some((key, wanted)) = load.transport.cc.classes() {
            for name in wanted.0.iter().filter(|w| !known.contains_key(w.as_str())) {
                let path = format!("traffic.{}.transport.cc.{key}", load.name);
                let rule = format!("names a class that no traffic declares (declared: {})", names.join(", "));
                let rule = Code::NotFound.rule(rule).judged_by(&["classes"]);
                faults.add(&path, rule, &name.as_str().into());
            }
        }
    }
    let tracing = experiment.probes.windows() != TraceWhen::Off;
    let record = |name: &&str| Class {
        name: (*name).into(),
        traced: tracing && (all || wanted.0.iter().any(|w| w == name)),
    };
    (names.iter().map(record).collect(), numbers)
}

/// Ports whose packets are recorded.
fn tapped_ports(experiment: &Experiment, graph: &Graph, faults: &mut Faults) -> Vec<u32> {
    let names = &experiment.probes.packets;
    if experiment.probes.audit {
        return (0..graph.links.len() as u32).collect();
    }
    if names.0.is_empty() {
        return vec![];
    }
    select_ports(graph, names).unwrap_or_else(|rule| {
        faults.add("probe.packets", rule.judged_by(&["packets"]), &names.show());
        vec![]
    })
}

/// The switches' shared buffers with their ports.
fn buffers(
    experiment: &Experiment,
    graph: &Graph,
    chosen: &[Chosen<'_>],
    faults: &mut Faults,
) -> Vec<(SwitchSettings, Vec<u32>)> {
    let mut of_node = BTreeMap::new();
    for over in &experiment.switches {
        let path = format!("switch.{}", over.switches.0.join(","));
        match select_switches(graph, &over.switches) {
            Err(rule) => faults.add(&path, rule, &over.switches.show()),
            Ok(found) => {
                for node in found {
                    let (settings, sized_at) =
                        of_node.entry(node).or_insert_with(|| (SwitchSettings::defaults(), String::new()));
                    over.settings.apply(settings);
                    if over.settings.buffer.is_some() {
                        *sized_at = format!("{path}.buffer");
                    }
                }
            }
        }
    }
    let (mut buffers, mut reported) = (vec![], BTreeSet::new());
    let mut ports_of: BTreeMap<NodeId, Vec<u32>> = BTreeMap::new();
    for (i, link) in (0..).zip(&graph.links).filter(|(_, link)| of_node.contains_key(&link.from)) {
        ports_of.entry(link.from).or_default().push(i);
    }
    for (node, (settings, path)) in of_node.into_iter().filter(|(_, (settings, _))| settings.buffer.is_some())
    {
        let ports = ports_of.remove(&node).unwrap_or_default();
        let queues = ports.iter().flat_map(|port| priorities::queues(experiment, &chosen[*port as usize]));
        // Ports share a few disciplines, and each fault is reported once.
        let mut seen = BTreeSet::new();
        let queues = queues.filter(|queue| seen.insert(std::ptr::from_ref(*queue)));
        for (key, limit) in queues.flat_map(Queue::limits) {
            // One limit that nobody wrote would hide the other.
            let rule = format!(
                "is shared by ports whose {key} would bind too: write {key} = \"none\" in their queue"
            );
            if reported.insert((path.clone(), key)) {
                faults.add(&path, Code::Conflict.rule(rule), &limit);
            }
        }
        let usual = if experiment.lossless() == 0 { Bytes(0) } else { RESERVE };
        let settings = SwitchSettings { reserve: settings.reserve.or(Some(usual)), ..settings };
        buffers.push((settings, ports));
    }
    buffers
}

/// Memory of each lossy priority of a port beside lossless ones (switch-mmu.cc of HPCC's authors: 4 KB).
const RESERVE: Bytes = Bytes(4096);

/// Ports that traces cover: patterns cover switch ports only, a full name any port.
fn traced_ports(experiment: &Experiment, graph: &Graph, faults: &mut Faults) -> Vec<u32> {
    let names = &experiment.probes.ports;
    match select_ports(graph, names) {
        Ok(found) => found
            .into_iter()
            .filter(|p| {
                let is_switch = graph.role(graph.links[*p as usize].from) == Role::Switch;
                is_switch || names.0.contains(&graph.port_name(*p))
            })
            .collect(),
        Err(rule) => {
            faults.add("probe.ports", rule.judged_by(&["ports"]), &names.show());
            vec![]
        }
    }
}

/// Every load that has no fault, ready to run; whether its paths part; and lines for a reader of the results.
fn loads(
    experiment: &Experiment,
    (graph, links, tables): (&Graph, &[Wire], &[Tables]),
    chosen: &[Chosen<'_>],
    routing: &mut Routing,
    faults: &mut Faults,
) -> (Vec<Box<dyn Workload>>, Vec<bool>, Vec<String>) {
    if experiment.loads.len() > usize::from(u16::MAX) {
        let rule = Code::TooMany.rule("must hold fewer than 65536 loads");
        faults.add("traffic", rule, &(experiment.loads.len() as u64).into());
        return (vec![], vec![], vec![]);
    }
    let (mut loads, mut parted, mut notes, mut connections) = (vec![], vec![], vec![], 0);
    let mut taken = BTreeSet::new();
    for spec in &experiment.loads {
        let path = format!("traffic.{}", spec.name);
        let (seed, duration) = (experiment.run.seed, experiment.run.duration);
        let cc = &spec.transport.cc;
        let silent = protocols::silent(cc, chosen);
        // A flowlet's gap may keep the order, and a note says so.
        let ecmp = experiment.run.ecmp;
        let keeps_order = spec.transport.roce().is_some_and(RoceSettings::keeps_order);
        let by_packet = ecmp != Ecmp::Flowlet || experiment.routing.flowlet_gap == Span::ZERO;
        let asymmetric = spec.transport.needs_meters() && ecmp != Ecmp::Symmetric;
        let spreads = (ecmp.sprays() || asymmetric).then(|| Spread {
            ecmp,
            asymmetric,
            blinds: cc.compares_hops() && by_packet,
            reorders: keeps_order && ecmp != Ecmp::Flowlet,
        });
        let mut cx = BuildCx {
            graph,
            links,
            path: &path,
            seed,
            duration,
            routing,
            tables,
            cc,
            silent: &silent,
            spreads,
            parts: false,
            queue_pairs: spec.transport.roce().is_some(),
            payload: spec.transport.settings.mss.as_u64(),
            from_path: from_path(spec),
            taken: &mut taken,
            notes: vec![],
            faults,
        };
        let Some(load) = spec.traffic.build(&mut cx) else { continue };
        parted.push(cx.parts);
        notes.append(&mut cx.notes);
        let expected = load.expects(duration).over(spec.transport.qps());
        connections += expected.at_once;
        if expected.bytes.is_none() && Config::new(&spec.transport).roce.restarts {
            let rule = "must be a size, such as \"1MB\": with repair = \"go-back-0\" bytes count when their message has come whole, \
                        and one without an end never does";
            faults.add(&format!("{path}.bytes"), Code::Conflict.rule(rule), &"none".into());
        }
        loads.push(load);
        if connections >= MAX_FLOWS as u64 {
            let rule = format!("must open fewer than {MAX_FLOWS} connections at once, all loads together");
            faults.add(&path, Code::TooMany.rule(rule), &Value::Null);
        }
        if faults.enough() {
            break;
        }
    }
    (loads, parted, notes)
}

/// The settings of a load that follow from the path at a connection's opening.
fn from_path(spec: &LoadSpec) -> Vec<String> {
    let irn = |roce: &&RoceSettings| roce.repair == Repair::SelectiveRepeat && roce.bdp.is_none();
    let bdp = spec.transport.roce().filter(irn).map(|_| "transport.bdp".to_owned());
    let rto = spec.transport.settings.rto_rtts.map(|_| "transport.rto_rtts".to_owned());
    let of_cc = spec.transport.cc.path_settings().into_iter().map(|key| format!("transport.cc.{key}"));
    of_cc.chain(bdp).chain(rto).collect()
}
