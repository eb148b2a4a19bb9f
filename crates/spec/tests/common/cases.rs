//! Random experiments, small enough to run by the hundred.

use proptest::prelude::*;
use serde_json::{Value, json};
use shallows_core::transport::Transport;

/// Every load but incast over fresh connections.
pub const ANY: &[Load] = &[
    Load::Bulk,
    Load::Forever,
    Load::Kept,
    Load::Fresh,
    Load::Poisson,
    Load::Incast,
    Load::Table,
    Load::Collective,
    Load::Graph,
];

/// The traffic of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Without end.
    Forever,
    /// A fixed amount on each connection.
    Bulk,
    /// Messages on connections that stay.
    Kept,
    /// A connection for each message.
    Fresh,
    /// Random arrivals.
    Poisson,
    /// Rounds on connections that stay.
    Incast,
    /// Rounds on fresh connections.
    FreshIncast,
    /// Listed flows.
    Table,
    /// Rounds of a ring on connections that stay.
    Collective,
    /// Messages that wait for others, on fresh connections.
    Graph,
}

impl Load {
    /// Every connection that it opens is closed.
    pub fn closes(self) -> bool {
        !matches!(self, Load::Forever | Load::Kept | Load::Incast | Load::Collective)
    }
}

/// A random experiment. The simplest comes first everywhere, so that failures shrink to it.
#[derive(Debug, Clone)]
pub struct Case {
    pub topology: &'static str,
    pub hosts: u64,
    pub queue: Value,
    pub loss: f64,
    pub duplicate: f64,
    pub reorder: f64,
    pub profile: &'static str,
    pub cc: &'static str,
    pub switches: Switches,
    pub ack_every: u64,
    /// Further settings of the transport.
    pub tuning: Vec<(&'static str, Value)>,
    pub load: Load,
    pub bytes: u64,
    pub seed: u64,
}

/// Settings of the transport that are on or off.
#[derive(Debug, Clone, Copy)]
pub struct Switches {
    pub sack: bool,
    pub prr: bool,
    pub nagle: bool,
    pub limited_transmit: bool,
    pub handshake: bool,
    pub small_window: bool,
}

/// Experiments with any of `loads`.
pub fn cases(loads: &'static [Load]) -> impl Strategy<Value = Case> {
    let queue = prop_oneof![
        Just(json!({"kind": "drop-tail"})),
        (1u64..40, any::<bool>(), prop::sample::select(vec!["before", "after"])).prop_map(
            |(limit, count_in_service, measure)| {
                let limit = format!("{limit}pkt");
                json!({"kind": "drop-tail", "limit": limit, "count_in_service": count_in_service, "measure": measure})
            }
        ),
        (1500u64..60_000, any::<bool>(), any::<bool>(), prop::sample::select(vec!["pass", "drop"])).prop_map(
            |(limit, count_in_service, first_exempt, not_ect)| {
                let (mark_at, limit) = (format!("{}B", limit / 3), format!("{limit}B"));
                json!({"kind": "threshold", "limit": limit, "mark_at": mark_at,
                    "count_in_service": count_in_service, "first_exempt": first_exempt, "not_ect": not_ect})
            }
        ),
    ];
    let share = || prop_oneof![Just(0.0), 0.0..0.05f64];
    let switches =
        any::<[bool; 6]>().prop_map(|[sack, prr, nagle, limited_transmit, handshake, small_window]| {
            Switches { sack, prr, nagle, limited_transmit, handshake, small_window }
        });
    let network = (prop::sample::select(vec!["star", "dumbbell", "parking-lot", "tree"]), 1u64..5, queue);
    let faults = (share(), share(), share());
    let profiles = Transport::list().into_iter().filter(|profile| profile.facts.not_tcp.is_empty());
    let tcp: Vec<&str> = profiles.map(|profile| profile.name).collect();
    let transport = (
        prop::sample::select(tcp),
        prop::sample::select(vec![
            "newreno", "dctcp", "xdctcp", "rcp", "sdc", "racs", "d3", "hpcc", "dcqcn", "timely", "swift",
            "copa", "bbr1", "bbr3",
        ]),
        switches,
        prop_oneof![3 => 1u64..4, 1 => 4u64..40],
        prop::collection::vec(tuning(), 0..4),
    );
    let traffic = (prop::sample::select(loads), 1u64..60_000, 1u64..1 << 32);
    (network, faults, transport, traffic).prop_map(|(network, faults, transport, traffic)| Case {
        topology: network.0,
        hosts: network.1,
        queue: network.2,
        loss: faults.0,
        duplicate: faults.1,
        reorder: faults.2,
        profile: transport.0,
        cc: transport.1,
        switches: transport.2,
        ack_every: transport.3,
        tuning: transport.4,
        load: traffic.0,
        bytes: traffic.1,
        seed: traffic.2,
    })
}

/// A setting of the transport that profiles leave as it is.
fn tuning() -> impl Strategy<Value = (&'static str, Value)> {
    prop::sample::select(vec![
        ("loss_detection", json!("rack")),
        ("mss", json!("536B")),
        ("mss", json!("8960B")),
        ("burst", json!(4)),
        ("burst", json!(44)),
        ("dup_acks", json!(1)),
        ("dup_acks", json!(10)),
        ("prr_on_ecn", json!(true)),
        ("ecn", json!("on")),
        ("clock_grain", json!("1ms")),
        ("timer_grain", json!("1ms")),
        ("min_rto", json!("300us")),
        ("initial_window", json!("100pkt")),
        ("slow_start_limit", json!(1e6)),
        ("arithmetic", json!("linux")),
        ("growth", json!("acks")),
        ("growth", json!("delivered")),
        ("rtt_by", json!("karn")),
        ("app_limit_checks", json!("writes")),
        ("idle_restart", json!(false)),
        ("validate_cwnd", json!(false)),
        ("growth_cap", json!("max-flight")),
        ("saved_cwnd", json!("64pkt")),
        ("saved_cwnd", json!("600pkt")),
    ])
}

impl Case {
    /// The experiment, `duration` long, with statistics from `warmup` on.
    pub fn document(&self, duration: &str, warmup: &str) -> Value {
        let Switches { sack, prr, nagle, limited_transmit, handshake, small_window } = self.switches;
        let hosts = self.hosts;
        let (topology, from, to) = match self.topology {
            "star" => (json!({"kind": "star", "senders": hosts}), "s*", "r0"),
            "dumbbell" => {
                (json!({"kind": "dumbbell", "left": hosts, "right": 1, "rate": "5Gbps"}), "l*", "r0")
            }
            "parking-lot" => (json!({"kind": "parking-lot", "hops": hosts, "rate": "2Gbps"}), "s", "r"),
            _ => (
                json!({"kind": "tree", "fanout": 2, "hosts_per_leaf": hosts, "uplink_rate": "1Gbps"}),
                "h*",
                "r0",
            ),
        };
        let window = if small_window { "4pkt" } else { "none" };
        let mut document = json!({
            "duration": duration,
            "warmup": warmup,
            "seed": self.seed,
            "topology": topology,
            "queue": self.queue,
            "port_control": if ["rcp", "sdc", "racs", "d3", "hpcc"].contains(&self.cc) { self.cc } else { "none" },
            "port": {"*->*": {
                "loss": self.loss, "duplicate": self.duplicate, "reorder": self.reorder, "reorder_delay": "50us",
            }},
            "transport": {
                "profile": self.profile,
                "cc": self.cc_settings(),
                "sack": sack,
                "prr": prr,
                "nagle": nagle,
                "limited_transmit": limited_transmit,
                "opening": if handshake { "handshake" } else { "established" },
                "receive_window": window,
                "ack_every": self.ack_every,
                "initial_rto": "1s",
                "max_rto": "4s",
            },
            "traffic": {"load": self.traffic(from, to)},
            "probe": {"nic_queues": true, "at_dequeue": true},
        });
        for (key, value) in &self.tuning {
            document["transport"][key] = value.clone();
        }
        if document["transport"]["loss_detection"] == "rack" {
            document["transport"]["pipe"] = json!("rfc6675");
        }
        document["transport"]["ack_delay"] = json!("200us");
        self.make_legal(&mut document["transport"]);
        document
    }

    /// Settings that need others, or a control that knows them.
    fn make_legal(&self, transport: &mut Value) {
        let settings = transport.as_object_mut().expect("a table");
        let mut put = |key: &str, value: Value| drop(settings.insert(key.into(), value));
        let tuned = |wanted: &str| self.tuning.iter().any(|(key, _)| *key == wanted);
        let caps = ["newreno", "dctcp", "xdctcp"].contains(&self.cc);
        if tuned("growth_cap") {
            put("growth_cap", json!(if caps { "max-flight" } else { "none" }));
            put("validate_cwnd", json!(false));
        }
        if tuned("saved_cwnd") && caps && self.cc != "xdctcp" {
            put("saved_rtt", json!("100us"));
            put("sack", json!(true));
            put("arithmetic", json!("exact"));
        } else {
            put("saved_cwnd", json!("none"));
        }
    }

    fn cc_settings(&self) -> Value {
        if self.cc == "xdctcp" {
            json!({"kind": "xdctcp", "long_classes": "load"})
        } else if self.cc == "sdc" {
            json!({"kind": "sdc", "quantised": self.bytes.is_multiple_of(2)})
        } else {
            json!({"kind": self.cc})
        }
    }

    fn traffic(&self, from: &str, to: &str) -> Value {
        let bytes = format!("{}B", self.bytes);
        match self.load {
            Load::Forever => json!({"kind": "bulk", "from": from, "to": to, "jitter": "20us"}),
            Load::Bulk => json!({"kind": "bulk", "from": from, "to": to, "bytes": bytes, "flows": 2}),
            Load::Kept | Load::Fresh => {
                let connection = if self.load == Load::Kept { "persistent" } else { "fresh" };
                json!({"kind": "messages", "from": from, "to": to, "bytes": bytes, "interval": "100us", "count": 4,
                    "phase": "random", "connection": connection})
            }
            Load::Poisson => {
                json!({"kind": "poisson", "from": from, "to": to, "every": "50us", "stop": "500us",
                    "sizes": {"kind": "uniform", "min": "1B", "max": bytes}})
            }
            Load::Incast | Load::FreshIncast => {
                let connection = if self.load == Load::Incast { "persistent" } else { "fresh" };
                json!({"kind": "incast", "from": from, "to": to, "workers": 6, "response": bytes, "rounds": 2,
                    "jitter": "5us", "connection": connection})
            }
            Load::Table => {
                let host = |pattern: &str| pattern.replace('*', "0");
                let flow =
                    |start: &str| json!({"from": host(from), "to": to, "bytes": bytes, "start": start});
                json!({"kind": "table", "flows": [flow("0s"), flow("1us"), flow("1us"), flow("300us")]})
            }
            Load::Collective => {
                // A block for each rank: no topology here has more than 100 hosts.
                let bytes = format!("{}B", self.bytes + 100);
                json!({"kind": "collective", "hosts": [from, to], "bytes": bytes, "rounds": 2, "gap": "30us",
                    "jitter": "5us"})
            }
            Load::Graph => {
                let host = from.replace('*', "0");
                let there = |id: &str, after: Value| json!({"id": id, "from": host, "to": to, "bytes": bytes, "after": after, "delay": "2us"});
                let back = json!({"id": "b", "from": to, "to": host, "bytes": bytes, "after": ["a", "d"]});
                json!({"kind": "graph", "connection": "fresh",
                    "messages": [there("a", json!([])), back, there("c", json!(["b"])), there("d", json!([]))]})
            }
        }
    }
}
