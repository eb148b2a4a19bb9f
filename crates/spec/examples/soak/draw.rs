//! Random legal experiments: every topology, discipline, control, transport, probe and fault of a wire.
//!
//! Settings are drawn from the declared parameters, as `soak/experiments.py` draws them: an addition to the
//! simulator is soaked without a line here. [`mend`] changes each value that the checker refuses.

use serde_json::{Map, Value, json};
use shallows_core::cc::Algorithm;
use shallows_core::events::random::Stream;
use shallows_core::params::{Fault, Faults, Table};
use std::collections::BTreeMap;

const SPANS: [&str; 10] = ["0s", "1ns", "1us", "10us", "25us", "100us", "250us", "1ms", "5ms", "200ms"];
const RATES: [&str; 7] = ["10Mbps", "100Mbps", "1Gbps", "2500Mbps", "10Gbps", "25Gbps", "40Gbps"];
const BYTES: [&str; 9] = ["1B", "100B", "536B", "1460B", "4KB", "15KB", "60KB", "200KB", "1MB"];
const SIZES: [&str; 10] =
    ["1pkt", "2pkt", "5pkt", "20pkt", "65pkt", "250pkt", "1500B", "10KB", "100KB", "none"];
const REALS: [f64; 10] = [0.0, 0.001, 0.0625, 0.25, 0.5, 0.9, 1.0, 1.5, 4.0, 100.0];
const COUNTS: [u64; 8] = [0, 1, 2, 3, 4, 7, 20, 100];
const FEW: [u64; 4] = [1, 2, 3, 4];
/// Repairs of queue pairs, each with the settings that belong to the other.
const REPAIRS: [(&str, &[&str]); 3] = [
    ("go-back-n", &["rto_high", "rto_low", "rto_low_packets", "timeout_resends", "bdp"]),
    ("go-back-0", &["rto_high", "rto_low", "rto_low_packets", "timeout_resends", "bdp"]),
    ("irn", &["nak_interval", "timeout", "reordering"]),
];
/// An experiment cannot be without these.
const KEPT: [&str; 8] = ["topology", "queue", "transport", "traffic", "duration", "kind", "from", "to"];

/// One of several.
pub fn one<T: Copy>(chance: &mut Stream, from: &[T]) -> T {
    from[chance.below(from.len() as u64) as usize]
}

struct Param {
    name: String,
    kind: String,
    choices: Vec<String>,
    required: bool,
}

/// Whether `runs` holds for a control with its defaults.
fn is_over(name: &str, runs: fn(&Algorithm) -> bool) -> bool {
    let settings = Map::from_iter([("kind".to_owned(), name.into())]);
    let mut faults = Faults::default();
    let read = Algorithm::read(&mut Table::new("transport.cc", &settings, &mut faults));
    faults.0.is_empty() && read.is_some_and(|cc| runs(&cc))
}

/// Declared parameters by section and component, without those that only another backend runs.
pub struct Sections(BTreeMap<String, BTreeMap<String, Vec<Param>>>);

impl Sections {
    /// Those of this build.
    pub fn read() -> Self {
        let schema: Value = serde_json::from_str(&shallows_spec::schema()).expect("JSON");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let param = |one: &Value| Param {
            name: text(&one["name"]),
            kind: text(&one["kind"]),
            choices: list(&one["choices"]).iter().map(text).collect(),
            required: one["required"] == true,
        };
        let component = |one: &Value| (text(&one["name"]), list(&one["params"]).iter().map(param).collect());
        let section = |one: &Value| {
            let simulated = list(&one["components"]).into_iter().filter(|one| one["backend"].is_null());
            (text(&one["path"]), simulated.map(|one| component(&one)).collect())
        };
        Sections(list(&schema["sections"]).iter().map(section).collect())
    }

    fn component(
        &self,
        chance: &mut Stream,
        section: &str,
        without: &[&str],
        few: bool,
        share: f64,
    ) -> Value {
        let known: Vec<&String> = self.0[section].keys().filter(|k| !without.contains(&k.as_str())).collect();
        let kind = one(chance, &known);
        let mut chosen = Map::from_iter([("kind".to_owned(), kind.as_str().into())]);
        settings(chance, &self.0[section][kind], few, share, &mut chosen);
        Value::Object(chosen)
    }

    fn single(&self, chance: &mut Stream, section: &str, share: f64) -> Value {
        let mut chosen = Map::new();
        settings(chance, &self.0[section][section], false, share, &mut chosen);
        Value::Object(chosen)
    }

    /// A document that may have faults yet.
    pub fn written(&self, chance: &mut Stream) -> Value {
        let duration = one(chance, &[50u64, 100, 200, 500]);
        let warmup = one(chance, &[0, 0, duration / 3]);
        let mut document = json!({
            "seed": chance.below(1000),
            "ecmp": one(chance, &["flow", "round-robin", "random", "weighted", "flowlet", "least-loaded", "permutation", "symmetric", "structured"]),
            "duration": format!("{duration}us"),
            "warmup": format!("{warmup}us"),
            "topology": self.component(chance, "topology", &["graph"], true, 0.6),
            "queue": self.component(chance, "queue", &[], false, 0.3),
        });
        if document["topology"]["kind"] == "torus" {
            // Sizes at random make networks of a hundred thousand hosts.
            document["topology"]["size"] =
                one(chance, &["[3]", "[2,2,2]", "[4,3]", "[1,5]"]).parse().expect("JSON");
        }
        if chance.chance(0.3) {
            document["nic"] = self.component(chance, "queue", &[], false, 0.3);
        }
        if chance.chance(0.3) {
            document["port_control"] = self.component(chance, "port_control", &[], false, 0.3);
        }
        if chance.chance(0.4) {
            let pattern = one(chance, &["*->*", "*->*", "*->h*", "s*->*"]);
            document["port"][pattern] = self.single(chance, "port", 0.25);
        }
        if chance.chance(0.15) {
            document["switch"]["*"] = self.single(chance, "switch", 0.7);
        }
        document["transport"] = self.transport(chance);
        if document["transport"]["profile"] == "ndp" || document["transport"]["profile"] == "uec" {
            self.trimming(chance, &mut document);
        } else if document["transport"]["profile"] == "expresspass" {
            self.meters(chance, &mut document);
        }
        self.priorities(chance, &mut document);
        let hosts = hosts(&mut document["topology"]);
        for number in 0..one(chance, &[1, 1, 2, 3]) {
            document["traffic"][format!("load{number}")] = self.load(chance, &hosts);
        }
        if chance.chance(0.25) {
            self.events(chance, duration, &hosts, &mut document);
        }
        if ["roce", "ndp", "uec", "expresspass", "homa"]
            .iter()
            .any(|profile| document["transport"]["profile"] == *profile)
        {
            // A control of its own may need TCP.
            let loads = document["traffic"].as_object_mut().into_iter().flatten();
            let others = loads.filter(|(_, load)| load["kind"] != "datagrams");
            others.for_each(|(_, load)| drop(load.as_object_mut().expect("a table").remove("transport")));
        }
        if chance.chance(0.5) {
            document["probe"] = self.probe(chance);
        }
        document
    }

    /// Ports that trim, as NDP and Ultra Ethernet need them; the latter has marks, too, and its own choice of paths.
    fn trimming(&self, chance: &mut Stream, document: &mut Value) {
        let mut queue = Map::from_iter([("kind".to_owned(), "trimming".into())]);
        settings(chance, &self.0["queue"]["trimming"], false, 0.3, &mut queue);
        queue.insert("limit".into(), one(chance, &["1pkt", "8pkt", "8pkt", "30KB"]).into());
        document["queue"] = Value::Object(queue);
        if document["transport"]["profile"] == "uec" {
            document["queue"]["last_hop_room"] = one(chance, &["none", "2pkt", "60KB"]).into();
            let marks = one(chance, &[None, Some(("1KB", "4KB")), Some(("6KB", "25KB"))]);
            let marks = marks.map_or(["none"; 2], |(least, most)| [least, most]);
            (document["queue"]["kmin"], document["queue"]["kmax"]) = (marks[0].into(), marks[1].into());
            document["ecmp"] = one(chance, &["flow", "flow", "weighted", "structured", "structured"]).into();
            let planes = document["topology"]["planes"].as_u64().unwrap_or(1);
            let transport = document["transport"].as_object_mut().expect("a table");
            if planes > 1 {
                transport.insert("port_status".into(), chance.chance(0.4).into());
            } else {
                transport.remove("port_status");
            }
            if transport.get("entropy").is_some_and(|rule| rule == "single") {
                transport.remove("port_status");
            }
            // As many values as the paths of four planes, or more.
            if planes > 1 || document["ecmp"] == "structured" {
                document["transport"]["entropies"] = one(chance, &[64, 64, 1024]).into();
            }
        } else {
            document["ecmp"] = one(chance, &["flow", "permutation", "permutation"]).into();
        }
        document.as_object_mut().expect("a table").remove("switch");
    }

    /// Ports that meter credits, as ExpressPass needs them; now and then others, and any paths.
    fn meters(&self, chance: &mut Stream, document: &mut Value) {
        document.as_object_mut().expect("a table").remove("switch");
        if chance.chance(0.2) {
            document["transport"]["unmetered"] = "allowed".into();
            return;
        }
        let mut queue = Map::from_iter([("kind".to_owned(), "credit".into())]);
        settings(chance, &self.0["queue"]["credit"], false, 0.3, &mut queue);
        document["queue"] = Value::Object(queue);
        document["ecmp"] = "symmetric".into();
    }

    /// A priority for each level of Homa, beside which nothing trims.
    fn levels(document: &mut Value) {
        let of = |key: &str| document["transport"][key].as_u64().expect("it is written");
        let levels = of("scheduled_levels") + of("unscheduled_levels");
        if levels > 1 {
            let lanes = (0..levels).map(|number| (number.to_string(), json!({})));
            document["priority"] = Value::Object(lanes.collect());
            for key in ["queue", "nic"] {
                if document[key]["kind"] == "trimming" {
                    document[key] = "drop-tail".into();
                }
            }
            document.as_object_mut().expect("a table").retain(|key, value| key != "nic" || !value.is_null());
        }
        for (_, port) in document["port"].as_object_mut().into_iter().flatten() {
            port.as_object_mut().expect("a table").retain(|key, _| !key.starts_with("pfc_"));
        }
    }

    /// Three priorities, one of them lossless most of the time; or no setting that needs them.
    fn priorities(&self, chance: &mut Stream, document: &mut Value) {
        if document["transport"]["profile"] == "homa" {
            return Self::levels(document);
        }
        let sorted =
            ["ndp", "uec", "expresspass"].iter().any(|profile| document["transport"]["profile"] == *profile);
        if sorted || !chance.chance(0.25) {
            for key in ["priority", "ack_priority"] {
                document["transport"].as_object_mut().expect("a table").remove(key);
            }
            for (_, port) in document["port"].as_object_mut().into_iter().flatten() {
                port.as_object_mut().expect("a table").retain(|key, _| !key.starts_with("pfc_"));
            }
            return;
        }
        document["transport"]["priority"] = one(chance, &[0, 3, 3, 3]).into();
        document["transport"]["ack_priority"] = one(chance, &[0, 3, 6, 6]).into();
        let lane = json!({"kind": one(chance, &["drop-tail", "threshold", "red", "pi2"]), "limit": "none"});
        let lossless = chance.chance(0.8);
        document["priority"] = json!({
            "0": self.single(chance, "priority", 0.3), "3": {"pfc": lossless, "queue": lane}, "6": {},
        });
        document["priority"]["0"]["pfc"] = false.into();
        if lossless {
            document["switch"]["*"]["buffer"] = one(chance, &["2MB", "5MB", "1GB"]).into();
            document["pfc"] = json!({
                "quanta": one(chance, &[65535, 65535, 4000]), "deadlock": one(chance, &["stop", "watchdog", "go-on"]),
                "watchdog": one(chance, &["20us", "200us"]), "action": one(chance, &["drop", "forward", "flush"]),
                "restoration": one(chance, &["30us", "500us", "none"]), "lossy": one(chance, &["refused", "allowed"]),
            });
            document["queue"]["limit"] = "none".into();
            document["port"]["*->*"]["pfc_xoff"] = one(chance, &["1KB", "3KB", "20KB", "none"]).into();
        } else if let Some(port) = document["port"].as_object_mut() {
            port.values_mut()
                .filter_map(Value::as_object_mut)
                .for_each(|p| p.retain(|key, _| !key.starts_with("pfc_")));
        }
    }

    /// Links that change at some times: those of a host, or all. Only cables fail where a priority may be lossless.
    fn events(&self, chance: &mut Stream, duration: u64, hosts: &[String], document: &mut Value) {
        document["routing"] = self.single(chance, "routing", 0.5);
        for number in 0..one(chance, &[1, 2, 4]) {
            let host = &hosts[chance.below(hosts.len() as u64) as usize];
            let cables = [format!("{host}<->*"), "*<->*".into(), format!("*->{host}"), format!("{host}->*")];
            let few = if document.get("pfc").is_some() { 2 } else { 4 };
            let mut event = self.single(chance, "event", 0.3);
            event["at"] = format!("{}us", chance.below(duration)).into();
            event["link"] = cables[chance.below(few) as usize].as_str().into();
            event["state"] = one(chance, &["down", "up", "none"]).into();
            if document["ecmp"] == "structured" {
                document["routing"]["reconvergence"] = "none".into();
            }
            document["event"][format!("event{number}")] = event;
        }
    }

    fn transport(&self, chance: &mut Stream) -> Value {
        // Loads of datagrams alone have the profile udp.
        let profiles: Vec<&String> = self.0["transport"].keys().filter(|profile| *profile != "udp").collect();
        let profile = one(chance, &profiles);
        let mut chosen = Map::from_iter([("profile".to_owned(), profile.as_str().into())]);
        settings(chance, &self.0["transport"][profile], false, 0.08, &mut chosen);
        let sizes = ["200B", "536B", "1460B", "1460B", "9000B"];
        if profile == "roce" {
            let (repair, other) = one(chance, &REPAIRS);
            chosen.retain(|key, _| !other.contains(&key.as_str()) && key != "cnp_priority");
            chosen.insert("repair".into(), repair.into());
            chosen.insert("mtu".into(), one(chance, &sizes).into());
            let qps = one(chance, &[1, 1, 2, 5]);
            chosen.insert("qps".into(), qps.into());
            if qps == 1 {
                chosen.remove("qp_share");
            }
            // Without a protocol of switches.
            let control = self.control(chance, |cc| cc.runs_over_roce() && cc.protocol().is_none());
            chosen.insert("cc".into(), control);
            if chance.chance(0.2) {
                // READ has no acknowledgements, and goes back to a gap.
                let controls =
                    [json!("line-rate"), json!("dcqcn"), json!({"kind": "dcqcn", "parameters": "vendor"})];
                let control = controls[chance.below(3) as usize].clone();
                REPAIRS[2].1.iter().chain(&["ack_every"]).for_each(|key| drop(chosen.remove(*key)));
                REPAIRS[0].1.iter().for_each(|key| drop(chosen.remove(*key)));
                chosen.extend([
                    ("verb".into(), "read".into()),
                    ("repair".into(), "go-back-n".into()),
                    ("cc".into(), control),
                ]);
            } else {
                chosen.insert("verb".into(), one(chance, &["write", "send"]).into());
                chosen.remove("reads");
            }
            if chosen["repair"] != "irn" {
                chosen.insert("reordering".into(), "allowed".into()); // most rules of next hops would be refused
            }
        } else if profile == "expresspass" {
            chosen.insert("mtu".into(), one(chance, &sizes[..4]).into());
            chosen.insert("timeout".into(), one(chance, &["20us", "100us", "1ms"]).into());
            chosen.insert("cc".into(), "line-rate".into());
        } else if profile == "ndp" {
            chosen.insert("mtu".into(), one(chance, &sizes[..4]).into());
            chosen.insert("cc".into(), "line-rate".into());
        } else if profile == "uec" {
            let choices = self.0["transport"][profile].iter().find(|param| param.name == "entropy");
            let choices: Vec<&str> = choices.expect("a setting").choices.iter().map(String::as_str).collect();
            chosen.extend([
                ("mtu".into(), one(chance, &sizes[..4]).into()),
                ("timeout".into(), one(chance, &["20us", "100us", "1ms"]).into()),
                ("entropy".into(), one(chance, &choices).into()),
                ("cc".into(), self.control(chance, Algorithm::runs_over_uec)),
            ]);
            // Values that a controller denies are known to one rule, and drawn below 64.
            if chosen["entropy"] != "states" {
                chosen.remove("denied");
            } else if chosen.contains_key("denied") {
                chosen.insert("entropies".into(), 64.into());
            }
            // A control that bounds nothing needs credit.
            let bounds = is_over(chosen["cc"]["kind"].as_str().unwrap_or_default(), Algorithm::reacts);
            chosen.insert("receiver_credit".into(), (!bounds || chance.chance(0.3)).into());
        } else if profile == "homa" {
            let (above, cutoffs) = one(chance, &[(0, "[]"), (1, "[]"), (3, r#"["2KB", "20KB"]"#)]);
            chosen.extend([
                ("mtu".into(), one(chance, &sizes[..4]).into()),
                ("cc".into(), "line-rate".into()),
                ("rtt_bytes".into(), one(chance, &["1B", "10KB", "100KB"]).into()),
                ("timeout".into(), one(chance, &["20us", "200us", "2ms"]).into()),
                ("unscheduled_levels".into(), above.into()),
                ("scheduled_levels".into(), one(chance, &[1, 2, 5]).into()),
                ("cutoffs".into(), cutoffs.parse().expect("JSON")),
            ]);
            chosen.remove("sizes");
        } else {
            chosen.insert("mss".into(), one(chance, &sizes).into());
            chosen.insert("cc".into(), self.component(chance, "transport.cc", &[], false, 0.3));
            for key in ["growth_cap", "saved_cwnd", "saved_rtt", "max_jump"] {
                chosen.remove(key);
            }
            if chance.chance(0.15) {
                let control = self.control(chance, |cc| cc.round_gain(1.0, 1.0).is_some());
                chosen.extend([
                    ("growth_cap".into(), "max-flight".into()),
                    ("validate_cwnd".into(), false.into()),
                    ("cc".into(), control),
                ]);
            }
            if chance.chance(0.2) {
                chosen.extend([
                    ("saved_cwnd".into(), one(chance, &["30pkt", "100pkt", "1000pkt", "2MB"]).into()),
                    ("saved_rtt".into(), one(chance, &["5us", "20us", "100us"]).into()),
                    ("max_jump".into(), one(chance, &["none", "none", "40pkt"]).into()),
                    ("sack".into(), true.into()),
                    ("arithmetic".into(), "exact".into()),
                    ("cc".into(), self.control(chance, Algorithm::resumes)),
                ]);
            }
        }
        Value::Object(chosen)
    }

    /// A control for which `runs` holds.
    fn control(&self, chance: &mut Stream, runs: fn(&Algorithm) -> bool) -> Value {
        let all = self.0["transport.cc"].keys().map(String::as_str);
        let others: Vec<&str> = all.filter(|name| !is_over(name, runs)).collect();
        self.component(chance, "transport.cc", &others, false, 0.3)
    }

    fn load(&self, chance: &mut Stream, hosts: &[String]) -> Value {
        let mut load = self.component(chance, "traffic", &["table", "graph"], true, 0.3);
        let first = chance.below(hosts.len() as u64) as usize;
        let some = one(chance, &[2, 3, 4]).min(hosts.len());
        let some: Vec<&String> = (0..some).map(|i| &hosts[(first + i) % hosts.len()]).collect();
        if load["kind"] == "collective" {
            load["hosts"] = json!(some);
        } else if load["kind"] == "bulk" && chance.chance(0.3) {
            load["from"] = if chance.chance(0.5) { json!(hosts) } else { json!(some) };
            load["pattern"] = "permutation".into();
            load.as_object_mut().expect("a table").remove("to");
        } else {
            load["from"] = json!(some[1..]);
            load["to"] = json!(some[..1]);
            load["pattern"] = "all".into();
        }
        if load["kind"] == "poisson" {
            load["sizes"] = self.component(chance, "traffic.sizes", &["empirical"], false, 0.3);
        }
        if load["kind"] == "datagrams" {
            self.datagrams(chance, load.as_object_mut().expect("a table"));
            return load;
        }
        if load["kind"] != "collective" && chance.chance(0.2) {
            load["deadline"] = self.component(chance, "traffic.deadline", &[], false, 0.3);
        }
        if chance.chance(0.2) {
            load["transport"] = json!({"cc": self.component(chance, "transport.cc", &[], false, 0.3)});
        }
        load
    }

    /// Laws of times and sizes that belong together.
    fn datagrams(&self, chance: &mut Stream, load: &mut Map<String, Value>) {
        for key in ["bytes", "sizes", "rate", "every", "on", "off", "stop", "name", "trace"] {
            load.remove(key);
        }
        if chance.chance(0.5) {
            load.insert("bytes".into(), one(chance, &["1B", "100B", "1400B"]).into());
        } else {
            load.insert("sizes".into(), json!({"kind": "uniform", "min": "1B", "max": "1472B"}));
        }
        if chance.chance(0.5) {
            load.insert("rate".into(), one(chance, &RATES).into());
        } else {
            load.insert("every".into(), one(chance, &["100ns", "1us", "25us"]).into());
        }
        if chance.chance(0.5) {
            let spans = ["1us", "10us", "100us"];
            load.extend([
                ("on".into(), one(chance, &spans).into()),
                ("off".into(), one(chance, &spans).into()),
            ]);
        }
        let mut transport = Map::new();
        settings(chance, &self.0["transport"]["udp"], false, 0.2, &mut transport);
        transport.retain(|key, _| ["ecn", "send_buffer", "priority"].contains(&key.as_str()));
        load.insert("transport".into(), Value::Object(transport));
    }

    fn probe(&self, chance: &mut Stream) -> Value {
        let mut probe = self.single(chance, "probe", 0.3);
        for trace in ["queue_trace", "port_trace", "flow_trace"] {
            probe[trace] = one(chance, &["off", "off", "10us", "37us", "change"]).into();
        }
        if chance.chance(0.4) {
            probe["packets"] = json!(["*->*"]);
        }
        probe["trace_rows"] = 2_000_000.into();
        probe
    }
}

fn settings(chance: &mut Stream, params: &[Param], few: bool, share: f64, chosen: &mut Map<String, Value>) {
    for param in params {
        if (param.required || chance.chance(share))
            && let Some(value) = value(chance, param, few)
        {
            chosen.insert(param.name.clone(), value);
        }
    }
}

fn value(chance: &mut Stream, param: &Param, few: bool) -> Option<Value> {
    let kind = param.kind.strip_suffix(" or none");
    if kind.is_some() && chance.chance(0.3) {
        return Some("none".into());
    }
    let sizes = if kind.is_some() { &SIZES[..] } else { &SIZES[..9] };
    Some(match kind.unwrap_or(&param.kind) {
        "span" => one(chance, &SPANS).into(),
        "rate" => one(chance, &RATES).into(),
        "bytes" => one(chance, &BYTES).into(),
        "size" => one(chance, sizes).into(),
        "count" if few => one(chance, &FEW).into(),
        "count" => one(chance, &COUNTS).into(),
        "real" => one(chance, &REALS).into(),
        "flag" => chance.chance(0.5).into(),
        "choice" => param.choices[chance.below(param.choices.len() as u64) as usize].as_str().into(),
        "list of count" => {
            let mut numbers: Vec<u64> = (0..chance.below(4)).map(|_| 1 + chance.below(59)).collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers.into()
        }
        _ => return None,
    })
}

/// Names of a topology's hosts; where its settings are not legal it loses them.
fn hosts(topology: &mut Value) -> Vec<String> {
    for _ in 0..2 {
        let rest = json!({"duration": "1ms", "topology": topology.clone(), "queue": "drop-tail", "transport": {"cc": "newreno"},
            "traffic": {"x": {"kind": "bulk", "from": "*", "pattern": "permutation"}}});
        if let Ok(experiment) = shallows_spec::parse(&rest.to_string()) {
            let mut faults = shallows_core::params::Faults::default();
            let graph = experiment.topology.build(&mut faults);
            let hosts = graph.ids(shallows_core::routing::graph::Role::Host);
            let names: Vec<String> = hosts.map(|id| graph.nodes[id.index()].name.clone()).collect();
            if faults.0.is_empty() && names.len() > 1 {
                return names;
            }
        }
        *topology = json!({"kind": topology["kind"]});
    }
    vec!["h0".into(), "h1".into()]
}

/// Changes the document at a fault: to a value that the rule allows, or without the key. Returns whether it did.
pub fn mend(document: &mut Value, fault: &Fault) -> bool {
    let first_load = document["traffic"].as_object().and_then(|loads| loads.keys().next().cloned());
    let path: Vec<&str> = fault.path.split('.').map(|key| key.split('[').next().unwrap_or(key)).collect();
    if let ["event", name, key] = path[..]
        && document["event"][name].get(key).is_none()
    {
        // It lacks a time, a link or any change.
        return document["event"].as_object_mut().is_some_and(|events| events.remove(name).is_some());
    }
    let (mut last, mut parents) = (path[path.len() - 1], &path[..path.len() - 1]);
    let mut table = document;
    for (number, key) in parents.iter().enumerate() {
        if !table.get(*key).is_some_and(Value::is_object) {
            (parents, last) = (&parents[..number], *key);
            break;
        }
        table = &mut table[*key];
    }
    let Some(table) = table.as_object_mut() else { return false };
    let before = table.clone();
    let rule = fault.rule.as_str();
    let asked = ["must be \"", "such as \""].iter().find_map(|lead| {
        let (_, rest) = rule.split_once(lead)?;
        rest.split_once('"').map(|(word, _)| word).filter(|word| !word.is_empty())
    });
    let is_kept = |key: &str| KEPT.contains(&key);
    let letters = |c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let named: Vec<&str> =
        rule.split(letters).filter(|word| before.contains_key(*word) && !is_kept(word)).collect();
    if let Some(rest) = rule.strip_prefix("needs exactly one of `") {
        let mut two = rest.split('`').step_by(2);
        let (one, other) = (two.next().unwrap_or_default(), two.next().unwrap_or_default());
        table.remove(other);
        let value = match one {
            "load" => json!(0.5),
            "response" => json!("20KB"),
            _ => json!(1),
        };
        table.insert(one.into(), value);
    } else if let Some(load) = first_load.filter(|_| last.ends_with("classes")) {
        table.insert(last.into(), json!([load]));
    } else if let Some(word) = asked {
        table.insert(last.into(), word.into());
    } else if rule.contains("is required: a table") {
        table.insert(last.into(), json!({"kind": "fixed", "bytes": "20KB"}));
    } else if rule.starts_with("must be >= min") {
        table.remove("min");
        if let Some(most) = table.get("max").cloned() {
            table.insert("min".into(), most);
        }
    } else if table.contains_key(last) && !(is_kept(last) && parents.is_empty()) {
        table.remove(last);
    } else if !named.is_empty() {
        // A default is at fault, and the rule names the settings that exclude it.
        named.iter().for_each(|word| _ = table.remove(*word));
    } else if !parents.is_empty() {
        table.retain(|key, _| is_kept(key));
    }
    *table != before
}
