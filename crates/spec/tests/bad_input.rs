//! Wrong documents: every fault is reported, all at once and each once, with path, rule, value
//! and hint; nothing panics, and nothing is built without bound.

mod common;

use common::documents::{good, with};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// All faults of a document as printed, one a line.
fn faults_of(document: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(&shallows_spec::check(document)).expect("JSON");
    let faults = answer["faults"].as_array().expect("a list");
    assert_eq!(faults.is_empty(), !answer["experiment"].is_null(), "an experiment or faults, not both");
    let text = |fault: &Value, key: &str| fault[key].as_str().expect("text").to_string();
    faults
        .iter()
        .map(|fault| {
            let (path, rule, value, hint) =
                (text(fault, "path"), text(fault, "rule"), text(fault, "value"), text(fault, "hint"));
            let got = if value.is_empty() { String::new() } else { format!(", got {value}") };
            let hint = if hint.is_empty() { String::new() } else { format!(" ({hint})") };
            format!("{path}: {rule}{got}{hint}")
        })
        .collect()
}

/// One line for the changes, then one for each fault.
fn row(changes: &[(&str, Value)]) -> String {
    let made: Vec<String> = changes.iter().map(|(path, value)| format!("{path} = {value}")).collect();
    format!(
        "{}\n    {}\n",
        made.join("; ").replace(" = null", " left out"),
        faults_of(&with(changes).to_string()).join("\n    ")
    )
}

/// Changes that make a good document one of cards with eight ports over Ultra Ethernet, and `more`.
fn planes(more: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let document = [
        ("topology", json!({"kind": "leaf-spine", "leaves": 2, "planes": 8})),
        ("queue", json!({"kind": "trimming", "limit": "1bdp"})),
        ("transport", json!({"profile": "uec", "cc": "nscc"})),
        ("traffic.long", json!({"kind": "bulk", "from": "h0", "to": "h7"})),
    ];
    document.iter().chain(more).cloned().collect()
}

/// Parts for another backend make a good document that the simulator refuses, each load by its path.
#[test]
fn what_another_backend_runs_is_no_fault_of_the_document() {
    let own = json!({"kind": "bulk", "from": "s0", "to": "r0", "transport": {"cc": "dctcp"}});
    let kernel = json!({"kind": "kernel", "name": "bbr"});
    let document = with(&[("transport.cc", kernel), ("traffic.own", own)]).to_string();
    assert_eq!(faults_of(&document), [""; 0]);
    let Err(faults) = shallows_spec::load(&document) else { panic!("the simulator runs it") };
    let [fault] = &faults[..] else { panic!("{faults:?}") };
    assert_eq!(fault.path, "traffic.long.transport.cc");
    assert!(fault.rule.contains("newreno, cbr, cubic") && !fault.rule.contains("kernel"), "{}", fault.rule);
    assert_eq!(fault.value, "{\"kind\":\"kernel\",\"name\":\"bbr\"}");
    assert_eq!(fault.hint, "run with --backend linux");
}

/// RFC 7323 s.2.3: the largest window, 1 GiB, is a window.
#[test]
fn the_largest_window_is_allowed() {
    for key in ["initial_window", "cwnd_floor", "ssthresh_floor"] {
        let path = format!("transport.{key}");
        let faults =
            |bytes: u64| faults_of(&with(&[(path.as_str(), json!(format!("{bytes}B")))]).to_string());
        assert_eq!(faults(1 << 30), [""; 0], "{key}");
        assert_eq!(faults((1 << 30) + 1).len(), 1, "{key}");
    }
}

/// The table of wrong documents is the snapshot: each change to a good document, and the message it gets.
#[test]
fn wrong_documents_are_told_what_is_wrong() {
    let rows: &[&[(&str, Value)]] = &[
        &[("duraton", json!("1s"))],
        &[("topology.kind", json!("sta"))],
        &[("topology.sendrs", json!(3))],
        &[("queue.markat", json!("65pkt"))],
        &[("transport.cc.kind", json!("dctpc"))],
        &[("transport.cc.gg", json!(0.1))],
        &[("transport.cc", json!("bbr"))],
        &[("transport.cc", json!("kernel"))],
        &[("transport.cc", json!({"kind": "kernel", "name": "no name"}))],
        &[("transport.profile", json!("linus"))],
        &[("transport.mss_", json!("1B"))],
        &[("traffic.long.kind", json!("bluk"))],
        &[("traffic.long.form", json!("s*"))],
        &[("traffic.long.from", json!("x*"))],
        &[("traffic.long.from", json!("s7"))],
        &[("traffic.long.to", json!("switch"))],
        &[("traffic.long.pattern", json!("al"))],
        &[("probe", json!({"queue": true}))],
        &[("probe", json!({"classes": "short"}))],
        &[("probe", json!({"ports": "left->right"}))],
        &[("probe", json!({"queue_trace": "10"}))],
        &[("probe", json!({"queue_trace": "0s"}))],
        &[("probe", json!({"port_trace": "change"}))],
        &[("port", json!({"swich->r0": {"loss": 0.5}}))],
        &[("port", json!({"switch->r0": {"loss": 1.5}}))],
        &[("port", json!({"switch->r0": {"queue": {"kind": "threshold", "mark_at": "300pkt"}}}))],
        &[("priority", json!({"8": {}}))],
        &[("priority", json!({"03": {}, "high": {}}))],
        &[("priority", json!({"0": {"quantum": "10B"}}))],
        &[("priority", json!({"0": {"queue": {"kind": "drop-tial"}, "nic": 3}}))],
        &[("priority", json!({"0": {"pcf": true}}))],
        &[("priority", json!({"3": {}}))],
        &[("transport.priority", json!(3))],
        &[("transport.priority", json!(8)), ("transport.ack_priority", json!("high"))],
        &[("priority", json!({"0": {}})), ("traffic.long.transport", json!({"ack_priority": 6}))],
        &[("pfc", json!({"quanta": 65535}))],
        &[("priority", json!({"0": {}})), ("pfc", json!({"quanta": 0}))],
        &[("port", json!({"*->*": {"pfc_alpha": 0.5, "pfc_xoff": "0B"}}))],
        &[("priority", json!({"0": {"pfc": true}}))],
        &[
            ("priority", json!({"0": {"pfc": true, "queue": {"kind": "codel", "limit": "none"}}})),
            ("switch", json!({"*": {"buffer": "9MB"}})),
        ],
        &[
            ("priority", json!({"0": {"pfc": true, "queue": "drop-tail"}})),
            ("switch", json!({"*": {"buffer": "100KB"}})),
        ],
        &[
            ("priority", json!({"0": {"pfc": true, "queue": "drop-tail"}})),
            ("switch", json!({"*": {"buffer": "9MB"}})),
            ("port", json!({"switch->s*": {"pfc_headroom": "50KB"}, "switch->s1": {"pfc_headroom": "60KB"}})),
        ],
        &[
            ("priority", json!({"0": {"pfc": true, "queue": "drop-tail"}})),
            ("switch", json!({"*": {"buffer": "9MB"}})),
            (
                "pfc",
                json!({"quanta": 20, "lossy": "yes", "deadlock": "wait", "watchdog": "0s", "action": "alert", "restoration": "0s"}),
            ),
        ],
        &[
            ("priority", json!({"0": {"pfc": true, "queue": "drop-tail"}})),
            ("switch", json!({"*": {"buffer": "9MB"}})),
            ("pfc", json!({"quanta": 20})),
        ],
        &[
            ("priority", json!({"0": {"pfc": true, "queue": "drop-tail"}})),
            ("switch", json!({"*": {"buffer": "9MB"}})),
            (
                "topology",
                json!({
            "kind": "graph", "hosts": ["s0", "r0"], "switches": "sw", "links": [
                {"from": "s0", "to": "sw", "duplex": false}, {"from": "sw", "to": "r0"}]}),
            ),
        ],
        &[("duration", json!("0s"))],
        &[("duration", json!(1))],
        &[("duration", json!("1"))],
        &[("duration", json!("-1s"))],
        &[("duration", json!("1e30s"))],
        &[("duration", json!("99999999999999999999s"))],
        &[("duration", json!("100001s"))],
        &[("duration", json!("0.5ps"))],
        &[("duration", Value::Null)],
        &[("warmup", json!("1ms"))],
        &[("duration", json!("xyz")), ("warmup", json!("5ms"))],
        &[("seed", json!(-1))],
        &[("seed", json!(18446744073709551616.0))],
        &[("seed", json!(1.5))],
        &[("topology.rate", json!("0bps"))],
        &[("topology.rate", json!("-10Gbps"))],
        &[("topology.rate", json!("10gbps"))],
        &[("topology.rate", json!("10"))],
        &[("topology.rate", json!(1e10))],
        &[("topology.rate", json!("18446744073709551616bps"))],
        &[("topology.rate", json!("NaNbps"))],
        &[("topology.rate", json!("infGbps"))],
        &[("topology.senders", json!(0))],
        &[("topology.senders", json!(1e30))],
        &[("topology.senders", json!("many"))],
        &[("topology", json!(7))],
        &[("topology", Value::Null)],
        &[("topology", json!({"senders": 3}))],
        &[("queue", Value::Null)],
        &[("queue", json!("thresold"))],
        &[("queue.limit", json!("0pkt"))],
        &[("queue.limit", json!("0B"))],
        &[("queue.limit", json!(250))],
        &[("queue.limit", json!("x")), ("queue.mark_at", json!("300pkt"))],
        &[("queue.mark_at", json!("250pkt"))],
        &[("queue.mark_at", json!("none"))],
        &[("nic", json!([]))],
        &[("transport", Value::Null)],
        &[("transport", json!("dctcp"))],
        &[("transport.cc", json!(3))],
        &[("transport.cc", Value::Null)],
        &[("transport.cc.g", json!(0))],
        &[("transport.cc.g", json!("0.1"))],
        &[("transport.mss", json!("0B"))],
        &[("transport.mss", json!("65001B"))],
        &[
            ("transport.mss", json!("65000B")),
            ("transport.header", json!("500B")),
            ("transport.timestamps", json!(true)),
        ],
        &[("transport.min_rto", json!("2s")), ("transport.max_rto", json!("1s"))],
        &[("transport.ack_every", json!(2)), ("transport.ack_delay", json!("20ms"))],
        &[("transport.initial_window", json!("100B"))],
        &[("transport.sack", json!("yes"))],
        &[("transport.growth_cap", json!("max-flight"))],
        &[
            ("transport.growth_cap", json!("max-flight")),
            ("transport.validate_cwnd", json!(false)),
            ("transport.cc", json!("bbr3")),
        ],
        &[("transport.growth_cap", json!("max"))],
        &[(
            "transport",
            json!({"profile": "roce", "cc": "dcqcn", "growth_cap": "max-flight", "saved_cwnd": "9pkt"}),
        )],
        &[("transport.saved_cwnd", json!("100pkt"))],
        &[("transport.saved_rtt", json!("1ms")), ("transport.max_jump", json!("10pkt"))],
        &[
            ("transport", json!({"profile": "linux", "cc": "swift", "sack": false})),
            ("transport.saved_cwnd", json!("100pkt")),
            ("transport.saved_rtt", json!("1ms")),
        ],
        &[
            ("transport.saved_cwnd", json!("100B")),
            ("transport.saved_rtt", json!("0s")),
            ("transport.resume_beta", json!(0.4)),
        ],
        &[("transport.mss", json!("0B")), ("traffic.long.transport", json!({"nagle": true}))],
        &[
            ("transport.min_rto", json!("2s")),
            ("transport.max_rto", json!("1s")),
            ("traffic.long.transport", json!({"nagle": true})),
        ],
        &[("traffic.long.transport", json!({"cc": "dctpc"}))],
        &[("traffic.long.transport", json!(3))],
        &[("transport.cc", json!({"kind": "xdctcp", "long_classes": ["long", "big"]}))],
        &[("transport.cc", json!({"kind": "xdctcp"})), ("traffic.long.class", json!("big"))],
        &[("traffic", Value::Null)],
        &[("traffic", json!({}))],
        &[("traffic", json!({})), ("duration", json!("x"))],
        &[("traffic", json!([]))],
        &[("traffic", json!({"a": 3}))],
        &[("traffic", json!({"a": {}}))],
        &[("traffic.long.bytes", json!("0B"))],
        &[("traffic.long.flows", json!(-1))],
        &[("traffic.long.from", json!([]))],
        &[("traffic.long.from", json!("r0"))],
        &[("traffic.long.class", json!(4))],
        &[(
            "traffic.long",
            json!({"kind": "poisson", "from": "s*", "to": "r0", "sizes": {"kind": "fixed", "bytes": "1KB"}}),
        )],
        &[(
            "traffic.long",
            json!({"kind": "poisson", "from": "s*", "to": "*", "sizes": {"kind": "fixed", "bytes": "1KB"}, "load": 0.5, "fan_in": 60}),
        )],
        &[(
            "traffic.long",
            json!({"kind": "poisson", "from": "s*", "to": "r0", "sizes": {"kind": "uniform", "min": "2KB", "max": "1KB"}, "load": 0.5}),
        )],
        &[(
            "traffic.long",
            json!({"kind": "poisson", "from": "s*", "to": "r0", "sizes": {"kind": "empirical", "name": "x"}, "load": 0.5}),
        )],
        &[(
            "traffic.long",
            json!({"kind": "poisson", "from": "s*", "to": "r0", "sizes": {"kind": "empirical", "points": [[1, 0], [5, 90]]}, "load": 0.5}),
        )],
        &[("traffic.long", json!({"kind": "incast", "from": "*", "to": "r0", "response": "1KB"}))],
        &[("traffic.long", json!({"kind": "incast", "from": "s*", "to": "r0"}))],
        &[(
            "traffic.long",
            json!({"kind": "messages", "from": "s*", "to": "r0", "bytes": "1KB", "interval": "0s"}),
        )],
        &[("traffic.long", json!({"kind": "table", "flows": []}))],
        &[(
            "traffic.long",
            json!({"kind": "table", "flows": [{"from": "s0", "to": "s0", "bytes": "1KB", "start": "0s"}, {"from": "s9", "to": "r0", "bytes": "0B"}]}),
        )],
        &[("traffic.long", json!({"kind": "collective", "hosts": "s0", "bytes": "1KB"}))],
        &[("traffic.long", json!({"kind": "collective", "hosts": ["s*", "s1"], "bytes": "1KB"}))],
        &[("traffic.long", json!({"kind": "collective", "hosts": "q*", "bytes": "2B"}))],
        &[(
            "traffic.long",
            json!({"kind": "collective", "hosts": "s*", "bytes": "2B", "algorithm": "halving-doubling", "window": 2}),
        )],
        &[(
            "traffic.long",
            json!({"kind": "collective", "hosts": "*", "bytes": "1KB", "operation": "all-to-all", "algorithm": "halving-doubling"}),
        )],
        &[("traffic.long", json!({"kind": "graph", "messages": []}))],
        &[(
            "traffic.long",
            json!({"kind": "graph", "messages": [
                {"id": "fetch", "from": "s0", "to": "s1", "bytes": "1KB", "after": ["add"]},
                {"id": "add", "from": "s1", "to": "s0", "bytes": "1KB", "after": ["fetch"]},
                {"id": "add", "from": "s1", "to": "r9", "bytes": "1KB", "after": ["fetsh"]},
                {"id": "self", "from": "s1", "to": "s1", "bytes": "1KB", "after": ["self"]},
                {"id": "far", "from": "s2", "to": "r0", "bytes": "0B", "after": ["fetch", "add", "add"]},
            ]}),
        )],
        &[(
            "topology",
            json!({"kind": "graph", "hosts": ["s0", "r0", "x"], "switches": ["a", "b"], "links": [{"from": "s0", "to": "a"}, {"from": "r0", "to": "b"}, {"from": "x", "to": "b"}]}),
        )],
        &[("topology", json!({"kind": "tree", "levels": 16, "fanout": 1000}))],
        &[
            ("topology", json!({"kind": "star", "senders": 100000, "receivers": 100000})),
            ("traffic.long.to", json!("r*")),
        ],
        &[("traffic.long.flows", json!(100000)), ("topology.senders", json!(11))],
        &[("topology", json!({"kind": "graph", "hosts": ["a0..a999999", "b0..b999999"], "links": []}))],
        &[("transport.initial_window", json!("1000000pkt"))],
        &[("topology.delay", json!("18446744s"))],
        &[("duration", json!("x")), ("traffic", json!({}))],
        &[("traffic.long.bytes", json!("1")), ("traffic.long.to", json!("r9"))],
        &[
            ("topology.senders", json!("many")),
            ("traffic.long.to", json!("r9")),
            ("queue.limit", json!("1pkt")),
        ],
        &[
            ("topology.rate", json!("10")),
            ("traffic.long.to", json!("r9")),
            ("probe", json!({"ports": "a->b"})),
        ],
        &planes(&[("topology.planes", json!(0))]),
        &planes(&[("topology.planes", json!(64)), ("topology.hosts_per_leaf", json!(10_000))]),
        &planes(&[("transport.entropies", json!(4))]),
        &planes(&[("ecmp", json!("structured")), ("transport.entropies", json!(16))]),
        &planes(&[
            ("ecmp", json!("structured")),
            ("event", json!({"cut": {"at": "1us", "link": "h0->p3.leaf0", "state": "down"}})),
        ]),
        &planes(&[("event", json!({"cut": {"at": "1us", "link": "h0->p8.leaf0", "state": "down"}}))]),
        &planes(&[("ecmp", json!("symmetric"))]),
        &planes(&[("ecmp", json!("structured")), ("topology", json!({"kind": "torus", "size": [3, 3]}))]),
        &planes(&[("routing", json!({"reconvergence": "none"}))]),
        &planes(&[("transport.port_status", json!("yes"))]),
        &planes(&[("transport.port_status", json!(true)), ("topology.planes", json!(1))]),
        &planes(&[("transport.denied", json!([3]))]),
        &planes(&[("transport.entropy", json!("states")), ("transport.denied", json!([3, 64]))]),
        &planes(&[
            ("transport.entropy", json!("states")),
            ("transport.denied", json!((0..64).collect::<Vec<_>>())),
        ]),
        &planes(&[("transport.entropy", json!("states")), ("transport.denied", json!("3"))]),
        &[("topology.planes", json!(8))],
    ];
    assert_eq!(faults_of(&good().to_string()), [""; 0]);
    let begin = Instant::now();
    let table: String = rows.iter().map(|changes| row(changes)).collect();
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    insta::assert_snapshot!("faults", table);
}

#[test]
fn text_that_is_no_document_is_refused() {
    for (document, fault) in [
        ("", "document: must be JSON: EOF while parsing a value at line 1 column 0"),
        ("[]", "document: must be a table"),
        ("3", "document: must be a table"),
        ("{\"duration\": NaN}", "document: must be JSON: expected value at line 1 column 14"),
        ("{\"a\": 1e999}", "document: must be JSON: number out of range at line 1 column 11"),
    ] {
        assert_eq!(faults_of(document), [fault]);
    }
    assert_eq!(faults_of(&" ".repeat((256 << 20) + 1)), ["document: must be at most 256 MiB"]);
    let deep = "[".repeat(100_000);
    assert!(
        faults_of(&format!("{{\"topology\": {deep}"))[0]
            .starts_with("document: must be JSON: recursion limit")
    );
}

/// Faults of every section, and those that only the whole shows, in one answer, each once.
#[test]
fn all_faults_come_at_once() {
    let document = with(&[
        ("duraton", json!("1s")),
        ("seed", json!(-3)),
        ("topology.rate", json!("10gbps")),
        ("queue.mark_at", json!("300pkt")),
        ("nic", json!({"kind": "drop-tail", "limit": 100})),
        ("port", json!({"switch->r9": {"loss": 2}})),
        ("transport.min_rto", json!("0s")),
        ("transport.cc.g", json!(7)),
        ("traffic.long.to", json!("r9")),
        ("traffic.web", json!({"kind": "poisson", "from": "s*", "to": "r0", "sizes": {"kind": "fixed"}})),
        ("probe", json!({"classes": "short", "queue_trace": 5})),
    ]);
    let faults = faults_of(&document.to_string());
    let paths: Vec<&str> = faults.iter().map(|fault| fault.split(": ").next().expect("a path")).collect();
    assert_eq!(
        paths,
        [
            "seed",
            "duraton",
            "topology.rate",
            "nic.limit",
            "port.switch->r9.loss",
            "transport.cc.g",
            "transport.min_rto",
            "traffic.web.sizes.bytes",
            "probe.queue_trace",
            "queue.mark_at",
            "probe.classes",
            "port.switch->r9",
            "traffic.long.to",
            "traffic.web.load",
        ],
        "{faults:#?}"
    );
}

/// Values that other programs have for "nothing", and zero rates: the fault says what to write instead.
#[test]
fn a_value_for_nothing_is_refused_with_what_to_write() {
    let link = |rate: Value| {
        json!({"kind": "rates", "points": [{"at": "0s", "rate": "1Gbps"}, {"at": "1ms", "rate": rate}],
        "period": "2ms"})
    };
    let cases: [(&str, Value, &str); 9] = [
        ("topology", json!({"kind": "star", "rate": "0bps"}), "state = \"down\""),
        ("port", json!({"switch->r0": {"rate": "0Gbps"}}), "state = \"down\""),
        (
            "event",
            json!({"e": {"at": "1ms", "link": "switch->r0", "rate": "0bps"}}),
            "write state = \"down\"",
        ),
        (
            "port",
            json!({"switch->r0": {"trace": link(json!("0Mbps"))}}),
            "write \"none\" where the link carries nothing",
        ),
        ("transport", json!({"cc": {"kind": "cbr", "rate": "0bps"}}), "leave the load out"),
        ("queue", json!({"kind": "drop-tail", "limit": "unlimited"}), "did you mean \"none\"?"),
        ("transport", json!({"receive_window": false}), "did you mean \"none\"?"),
        ("transport", json!({"small_queues": "0B"}), "must be >= 1B, or \"none\""),
        (
            "traffic",
            json!({"x": {"kind": "bulk", "from": "s0", "to": "r0", "mss": "1000B"}}),
            "did you mean transport.mss?",
        ),
    ];
    for (section, value, says) in cases {
        let mut document = json!({
            "duration": "10ms", "topology": {"kind": "star"}, "queue": {"kind": "drop-tail"}, "transport": {"cc": "newreno"},
            "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0"}},
        });
        document[section] = value;
        let faults = shallows_spec::load(&document.to_string()).err().unwrap_or_default();
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|fault| fault.contains(says)), "{says}: {told:?}");
    }
}
