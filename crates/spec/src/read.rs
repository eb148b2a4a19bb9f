//! Reads the sections of a document.

use crate::shares;
use serde_json::{Map, Value, json};
use shallows_core::experiment::{
    EventSettings, EventSpec, Experiment, LoadSpec, PfcSettings, PortOverride, PortPatch, PrioritySettings,
    PrioritySpec, RoutingPatch, RoutingSettings, RunSettings, SwitchOverride, SwitchPatch,
};
use shallows_core::params::custom::{Plugins, PythonSettings};
use shallows_core::params::{Code, Component, Fault, Faults, Names, ParamType, Params, Rule, Table};
use shallows_core::port_control::Protocol;
use shallows_core::probe::ProbeSettings;
use shallows_core::queue::Queue;
use shallows_core::routing::choice::Ecmp;
use shallows_core::topology::Topology;
use shallows_core::transport::{Transport, datagram};
use shallows_core::workload::Traffic;

use shallows_units::{Bytes, Span};
use std::collections::BTreeMap;

type Object = Map<String, Value>;

/// The experiment of a document; nothing where a section that others need is faulty.
pub fn experiment(map: &Object, faults: &mut Faults) -> Option<Experiment> {
    let mut top = Table::new("", map, faults);
    let run = RunSettings::read(&mut top);
    let sections = [
        "python",
        "topology",
        "queue",
        "nic",
        "port_control",
        "port",
        "switch",
        "priority",
        "pfc",
        "routing",
        "event",
        "transport",
        "traffic",
        "probe",
    ];
    let mut section = |name: &'static str| {
        top.raw(name);
        map.get(name)
    };
    let sections = sections.map(&mut section);
    let [
        python,
        topology,
        queue,
        nic,
        control,
        port_as_written,
        switch,
        priority,
        pfc,
        routing,
        event,
        transport,
        traffic,
        probe,
    ] = sections;
    top.finish();
    // Shares of the bandwidth-delay product become bytes in these.
    let [mut queue, mut nic, mut port, mut priority] =
        [queue, nic, port_as_written, priority].map(|section| section.cloned());

    let plugins = &settings::<PythonSettings>(python, "python", faults).plugins(faults);
    // Loads are read first, since their profile decides what a discipline's defaults are; their faults are reported last.
    let mut load_faults = Faults::default();
    let transport = transport.cloned().map(expand_cc);
    let loads = loads(traffic, transport.as_ref(), plugins, &mut load_faults);
    let profile = loads.as_deref().map_or("", profile_of_all);
    let topology = component(topology, "topology", plugins, faults, Topology::read);
    let network = topology.as_ref().zip(loads.as_ref());
    // Where the network itself is faulty any product does.
    let bdp = || match network {
        Some((topology, loads)) => bdp(topology, loads, (port_as_written, switch, routing)),
        None => Some(Bytes(1)),
    };
    shares::convert([&mut queue, &mut nic, &mut port, &mut priority], bdp, faults);
    let queue = component(with_habits(queue, profile).as_ref(), "queue", plugins, faults, Queue::read);
    let nic_written = nic.is_some();
    let nic = match with_habits(nic, profile) {
        None => Some(Queue::default()),
        some => component(some.as_ref(), "nic", plugins, faults, Queue::read),
    };
    let control = match control {
        None => Some(Protocol::default()),
        some => component(some, "port_control", plugins, faults, Protocol::read),
    };
    let ports = ports(port.as_ref(), profile, faults);
    let switches = switches(switch, faults);
    let priorities = priorities(priority.as_ref(), profile, faults);
    let pfc_written = pfc.is_some();
    let pfc: PfcSettings = settings(pfc, "pfc", faults);
    if pfc_written && !priorities.iter().any(|spec| spec.settings.pfc) {
        let rule = Code::Conflict.rule("changes nothing: no [priority.N] has pfc = true");
        faults.add("pfc", rule, &Value::Null);
    }
    let events = events(event, faults);
    let routing = self::routing(routing, &run, &events, faults);
    faults.0.extend(load_faults.0);
    let probes: ProbeSettings = settings(probe, "probe", faults);
    let loads = loads?;
    let nic = if nic_written { nic? } else { nic_of_profiles(&loads, faults)? };
    Some(Experiment {
        run,
        topology: topology?,
        queue: queue?,
        nic,
        control: control?,
        ports,
        switches,
        priorities,
        pfc,
        routing,
        events,
        loads,
        probes,
        cut: Default::default(),
        tie_stride: 1,
        short_ways: true,
    })
}

/// The bandwidth-delay product of a network, from the sections that decide it. Their faults are reported elsewhere.
fn bdp(
    topology: &Topology,
    loads: &[LoadSpec],
    (port, switch, routing): (Option<&Value>, Option<&Value>, Option<&Value>),
) -> Option<Bytes> {
    let mut faults = Faults::default();
    let ports = ports(port, profile_of_all(loads), &mut faults);
    let switches = switches(switch, &mut faults);
    let mut patch = RoutingSettings::defaults();
    settings::<RoutingPatch>(routing, "routing", &mut faults).apply(&mut patch);
    let mut experiment = Experiment::new(topology.clone(), Queue::default(), loads.to_vec(), Span::s(1));
    (experiment.ports, experiment.switches, experiment.routing) = (ports, switches, patch);
    experiment.bdp()
}

/// The profile that all loads have; nothing where they differ.
fn profile_of_all(loads: &[LoadSpec]) -> &'static str {
    let mut profiles = loads.iter().map(|load| load.transport.profile);
    let first = profiles.next().unwrap_or_default();
    if profiles.all(|profile| profile == first) { first } else { "" }
}

/// A discipline as written, with the settings that it has under the loads' profile unless the file says otherwise.
fn with_habits(written: Option<Value>, profile: &str) -> Option<Value> {
    let mut queue = match written? {
        Value::String(kind) => json!({"kind": kind}),
        other => other,
    };
    if let Some(map) = queue.as_object_mut() {
        let kind = map.get("kind").and_then(Value::as_str).unwrap_or_default();
        for (key, value) in Queue::habits(kind, profile) {
            map.entry(*key).or_insert_with(|| (*value).into());
        }
    }
    Some(queue)
}

/// The discipline of hosts' ports that the profiles of all loads have, or drop-tail where they differ.
fn nic_of_profiles(loads: &[LoadSpec], faults: &mut Faults) -> Option<Queue> {
    let mut nics = loads.iter().map(|load| load.transport.nic());
    let first = nics.next().unwrap_or_else(|| "fq".into());
    let nic = if nics.all(|nic| nic == first) { first } else { "drop-tail".into() };
    component(Some(&nic), "nic", &[], faults, Queue::read)
}

/// A section that names a component: a table with `kind`, or the bare word.
fn component<T>(
    written: Option<&Value>,
    path: &str,
    plugins: &Plugins,
    faults: &mut Faults,
    read: impl FnOnce(&mut Table<'_>) -> Option<T>,
) -> Option<T> {
    let word;
    let map = match written {
        Some(Value::Object(map)) => map,
        Some(Value::String(kind)) => {
            word = json!({"kind": kind});
            word.as_object()?
        }
        other => {
            let rule = if other.is_none() {
                Code::Missing.rule("is required: a table with a kind")
            } else {
                Code::WrongType.rule("must be a table with a kind")
            };
            faults.add(path, rule, other.unwrap_or(&Value::Null));
            return None;
        }
    };
    let mut table = Table::new(path, map, faults).with(plugins);
    let component = read(&mut table)?; // without a kind its keys mean nothing
    table.finish();
    Some(component)
}

fn must_be(what: &str) -> Rule {
    Code::WrongType.rule(format!("must be {what}"))
}

/// `cc = "dctcp"` as `cc = {kind = "dctcp"}`.
fn expand_cc(mut transport: Value) -> Value {
    if let Some(cc @ Value::String(_)) = transport.get_mut("cc") {
        *cc = json!({"kind": cc.clone()});
    }
    transport
}

/// The tables in `written`, each under its name.
fn tables<'a>(written: Option<&'a Value>, path: &str, faults: &mut Faults) -> Vec<(&'a String, &'a Object)> {
    let mut found = vec![];
    match written {
        None => {}
        Some(Value::Object(map)) => {
            for (name, value) in map {
                match value.as_object() {
                    Some(table) => found.push((name, table)),
                    None => faults.add(&format!("{path}.{name}"), must_be("a table"), value),
                }
            }
        }
        Some(other) => faults.add(path, must_be("a table of tables"), other),
    }
    found
}

fn ports(written: Option<&Value>, profile: &str, faults: &mut Faults) -> Vec<PortOverride> {
    let mut overrides = vec![];
    for (name, map) in tables(written, "port", faults) {
        let path = format!("port.{name}");
        let mut table = Table::new(&path, map, faults);
        let settings = PortPatch::read(&mut table);
        let (queue, control) = (table.raw("queue").cloned(), table.raw("port_control").cloned());
        table.finish();
        let queue = with_habits(queue, profile)
            .and_then(|q| component(Some(&q), &format!("{path}.queue"), &[], faults, Queue::read));
        let control = control
            .and_then(|c| component(Some(&c), &format!("{path}.port_control"), &[], faults, Protocol::read));
        overrides.push(PortOverride { ports: Names(vec![name.clone()]), settings, queue, control });
    }
    overrides
}

fn switches(written: Option<&Value>, faults: &mut Faults) -> Vec<SwitchOverride> {
    let mut overrides = vec![];
    for (name, map) in tables(written, "switch", faults) {
        let path = format!("switch.{name}");
        let mut table = Table::new(&path, map, faults);
        let settings = SwitchPatch::read(&mut table);
        table.finish();
        overrides.push(SwitchOverride { switches: Names(vec![name.clone()]), settings });
    }
    overrides
}

/// The changes of links, in the order of the file.
fn events(written: Option<&Value>, faults: &mut Faults) -> Vec<EventSpec> {
    let mut events = vec![];
    for (name, map) in tables(written, "event", faults) {
        let path = format!("event.{name}");
        let mut table = Table::new(&path, map, faults);
        let settings = EventSettings::read(&mut table);
        table.finish();
        events.push(EventSpec { name: name.clone(), settings });
    }
    events
}

/// Forwarding while links fail. A setting that changes nothing is a fault.
fn routing(
    written: Option<&Value>,
    run: &RunSettings,
    events: &[EventSpec],
    faults: &mut Faults,
) -> RoutingSettings {
    let patch: RoutingPatch = settings(written, "routing", faults);
    let mut settings = RoutingSettings::defaults();
    patch.apply(&mut settings);
    if let Some(span) = patch.reconvergence
        && events.iter().all(|event| event.settings.state.is_none())
    {
        let rule = Code::Conflict.rule("changes nothing: no [event.NAME] takes a link down or up");
        faults.add("routing.reconvergence", rule, &span.show());
    }
    if let Some(gap) = patch.flowlet_gap
        && run.ecmp != Ecmp::Flowlet
    {
        let rule = Code::Conflict.rule("changes nothing: ecmp is not \"flowlet\"");
        faults.add("routing.flowlet_gap", rule, &gap.show());
    }
    settings
}

/// The priorities, in the order of their numbers.
fn priorities(written: Option<&Value>, profile: &str, faults: &mut Faults) -> Vec<PrioritySpec> {
    let mut found = vec![];
    for (name, map) in tables(written, "priority", faults) {
        let path = format!("priority.{name}");
        let number = Some(name.as_str()).filter(|name| name.len() == 1).and_then(|name| name.parse().ok());
        let Some(number) = number.filter(|number| *number < 8u8) else {
            let rule = Code::OutOfRange.rule("must be a number from 0 to 7, as in [priority.3]");
            faults.add(&path, rule, &name.as_str().into());
            continue;
        };
        let mut table = Table::new(&path, map, faults);
        let settings = PrioritySettings::read(&mut table);
        let (queue, nic) = (table.raw("queue").cloned(), table.raw("nic").cloned());
        table.finish();
        let [queue, nic] = [("queue", queue), ("nic", nic)].map(|(key, queue)| {
            with_habits(queue, profile)
                .and_then(|q| component(Some(&q), &format!("{path}.{key}"), &[], faults, Queue::read))
        });
        found.push(PrioritySpec { number, settings, queue, nic });
    }
    found.sort_by_key(|spec| spec.number);
    found
}

fn loads(
    written: Option<&Value>,
    base: Option<&Value>,
    plugins: &Plugins,
    faults: &mut Faults,
) -> Option<Vec<LoadSpec>> {
    let base = match base {
        None => None,
        Some(Value::Object(map)) => Some(map),
        Some(other) => {
            faults.add("transport", must_be("a table"), other);
            return None;
        }
    };
    // The common transport is read once, so that its faults are reported once.
    let common =
        base.and_then(|map| Transport::read(&mut Table::new("transport", map, faults).with(plugins), map));
    let mut whole = base.is_none() || common.is_some();
    let listed = Traffic::all().iter().filter(|load| !load.facts.transport.is_empty());
    let decided: BTreeMap<&str, &str> = listed.map(|load| (load.name, load.facts.transport)).collect();
    let mut loads = vec![];
    for (name, map) in tables(written, "traffic", faults) {
        if faults.enough() {
            return None;
        }
        let path = format!("traffic.{name}");
        let mut table = Table::new(&path, map, faults).with(plugins);
        let class = table.raw("class").cloned().unwrap_or_else(|| name.as_str().into());
        let own = table.raw("transport").cloned().map(expand_cc);
        let kind = table.raw("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let traffic = Traffic::read(&mut table);
        let before = table.faults.0.len();
        if traffic.is_some() {
            table.finish();
        }
        point_to_transport(&mut faults.0[before..]);
        let class = String::parse(&class).unwrap_or_else(|rule| {
            faults.add(&format!("{path}.class"), rule, &class);
            name.clone()
        });
        let transport = match decided.get(kind.as_str()) {
            Some(profile) => decided_transport(&path, own.as_ref(), profile, plugins, faults),
            None => load_transport(&path, own.as_ref(), base, common.as_ref(), plugins, faults),
        };
        if let Some(transport) = &transport
            && let Some((other, profile)) = decided.iter().find(|(_, profile)| **profile == transport.profile)
            && !decided.contains_key(kind.as_str())
        {
            let rule = format!("belongs to loads of kind = \"{other}\"");
            faults.add(
                &format!("{path}.transport.profile"),
                Code::Unsupported.rule(rule),
                &(*profile).into(),
            );
            whole = false;
        }
        match (traffic, transport) {
            (Some(traffic), Some(transport)) => {
                loads.push(LoadSpec { name: name.clone(), class, traffic, transport })
            }
            _ => whole = false,
        }
    }
    whole.then_some(loads)
}

/// Names the place of settings that a load does not have and its transport has.
fn point_to_transport(faults: &mut [Fault]) {
    for fault in faults.iter_mut().filter(|fault| fault.code == Code::UnknownKey) {
        let key = fault.path.rsplit('.').next().unwrap_or_default();
        let has = |component: &Component| component.params.iter().any(|param| param.name == key);
        if ["cc", "profile"].contains(&key) || Transport::list().iter().any(has) {
            fault.hint = format!("did you mean transport.{key}?");
        }
    }
}

/// The transport of a load whose kind decides the profile: the common settings concern others.
fn decided_transport(
    path: &str,
    own: Option<&Value>,
    profile: &str,
    plugins: &Plugins,
    faults: &mut Faults,
) -> Option<Transport> {
    let path = format!("{path}.transport");
    let mut map = Object::from_iter([
        ("profile".to_owned(), profile.into()),
        ("cc".to_owned(), json!({"kind": datagram::settings::CONTROL})),
    ]);
    match own {
        None => {}
        Some(Value::Object(own)) => map.extend(own.clone()),
        Some(other) => {
            faults.add(&path, must_be("a table"), other);
            return None;
        }
    }
    if map["profile"] != profile {
        let rule = format!("must be left out: this load has the profile \"{profile}\"");
        faults.add(&format!("{path}.profile"), Code::Unsupported.rule(rule), &map["profile"]);
        return None;
    }
    Transport::read(&mut Table::new(&path, &map, faults).with(plugins), &map)
}

/// The transport of a load: its own settings over the common ones.
fn load_transport(
    path: &str,
    own: Option<&Value>,
    base: Option<&Object>,
    common: Option<&Transport>,
    plugins: &Plugins,
    faults: &mut Faults,
) -> Option<Transport> {
    let path = format!("{path}.transport");
    match own {
        None if base.is_none() => {
            let rule = Code::Missing.rule("is required: a table with cc, such as { cc = \"dctcp\" }");
            faults.add("transport", rule, &Value::Null);
            None
        }
        None => common.cloned(),
        Some(Value::Object(own)) => {
            let merged = Transport::over(base.unwrap_or(&Object::new()), own);
            let mut found = Faults::default();
            let transport =
                Transport::read(&mut Table::new(&path, &merged, &mut found).with(plugins), &merged);
            // Faults of the common transport are reported there, once for all loads.
            let own_part = |fault: &Fault| fault.path.strip_prefix(&path).map(str::to_owned);
            let before = faults.0.len();
            for fault in found.0 {
                let known = |f: &Fault| {
                    f.path.strip_prefix("transport") == own_part(&fault).as_deref() && f.rule == fault.rule
                };
                if !faults.0[..before].iter().any(known) {
                    faults.0.push(fault);
                }
            }
            transport
        }
        Some(other) => {
            faults.add(&path, must_be("a table"), other);
            None
        }
    }
}

/// A section that is one table, which may be left out.
fn settings<P: Params>(written: Option<&Value>, path: &str, faults: &mut Faults) -> P {
    match written {
        None => P::defaults(),
        Some(Value::Object(map)) => {
            let mut table = Table::new(path, map, faults);
            let settings = P::read(&mut table);
            table.finish();
            settings
        }
        Some(other) => {
            faults.add(path, must_be("a table"), other);
            P::defaults()
        }
    }
}
