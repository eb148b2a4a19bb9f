//! The settings of all transports at the edge of what each check allows, and the forms in which both ends work with them.
//!
//! A check has two sides: the last value that it lets through, and the first that it does not.

use super::Transport;
use crate::packet::Flags;
use crate::params::{Faults, Table};
use crate::transport::config::{Config, TransportKind};
use crate::transport::settings::EchoMode;
use serde_json::{Map, Value, json};
use shallows_units::Span;

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().expect("a table").clone()
}

fn read(settings: &Value) -> (Option<Transport>, Vec<String>) {
    let (map, mut faults) = (map(settings), Faults::default());
    let transport = Transport::read(&mut Table::new("transport", &map, &mut faults), &map);
    (transport, faults.0.into_iter().map(|fault| fault.path.replace("transport.", "")).collect())
}

fn config(settings: Value) -> Config {
    let (transport, faults) = read(&settings);
    assert_eq!(faults, Vec::<String>::new(), "{settings}");
    Config::new(&transport.expect("no fault"))
}

/// The paths at which each of these is refused, over a profile and a control.
#[track_caller]
fn refused(profile: &str, cc: Value, cases: &[(Value, &[&str])]) {
    for (changes, paths) in cases {
        let mut settings = map(&json!({"profile": profile, "cc": cc}));
        settings.extend(map(changes));
        assert_eq!(read(&Value::Object(settings)).1, *paths, "{profile} {cc} {changes}");
    }
}

fn cc(kind: &str) -> Value {
    json!({"kind": kind})
}

#[test]
fn checks_of_tcp_have_two_sides() {
    refused(
        "datacentre",
        cc("newreno"),
        &[
            (json!({"min_rto": "2s", "max_rto": "2s"}), &[]),
            (json!({"min_rto": "2s", "max_rto": "1999ms"}), &["max_rto"]),
            // Only a receiver that waits can wait too long, by segments or by bytes.
            (json!({"ack_every": 1, "ack_delay": "10ms"}), &[]),
            (json!({"ack_every": 2, "ack_delay": "9999us"}), &[]),
            (json!({"ack_every": 2, "ack_delay": "10ms"}), &["ack_delay"]),
            (json!({"ack_counts": "bytes", "ack_delay": "10ms"}), &["ack_delay"]),
            (json!({"demote_at": ["5B", "6B"], "priority": 2}), &[]),
            (json!({"demote_at": ["5B", "5B"], "priority": 2}), &["demote_at.1"]),
            (json!({"demote_at": ["5B", "9B", "8B"], "priority": 3}), &["demote_at.2"]),
            (json!({"demote_at": ["5B", "6B"], "priority": 1}), &["demote_at"]),
            (json!({"tail_loss_probe": true, "loss_detection": "rack"}), &[]),
            (json!({"tail_loss_probe": true}), &["tail_loss_probe"]),
            (json!({"pipe": "sack1"}), &[]),
            (json!({"pipe": "sack1", "loss_detection": "rack"}), &["pipe"]),
            (json!({"ack_pieces": 2, "ack_every": 1}), &[]),
            (json!({"ack_pieces": 2, "ack_every": 2}), &["ack_every"]),
            (json!({"ack_repeats": 1, "ack_every": 2}), &["ack_every"]),
            (json!({"ack_ahead": "1pkt", "ack_every": 2}), &["ack_every"]),
            (json!({"ack_pieces": 1, "arithmetic": "linux"}), &[]),
            (json!({"ack_pieces": 2, "arithmetic": "linux"}), &["ack_pieces"]),
            (json!({"growth_cap": "max-flight", "validate_cwnd": false}), &[]),
            (json!({"growth_cap": "max-flight"}), &["growth_cap"]),
            (json!({"saved_rtt": "1ms"}), &["saved_rtt"]),
            (json!({"max_jump": "9pkt"}), &["max_jump"]),
            (json!({"saved_cwnd": "9pkt"}), &["saved_cwnd"]),
            (json!({"saved_cwnd": "9pkt", "saved_rtt": "1ms", "max_jump": "9pkt"}), &[]),
            (json!({"saved_cwnd": "9pkt", "saved_rtt": "1ms", "sack": false}), &["saved_cwnd"]),
            (json!({"saved_cwnd": "9pkt", "saved_rtt": "1ms", "arithmetic": "linux"}), &["saved_cwnd"]),
        ],
    );
    refused(
        "datacentre",
        cc("bbr1"),
        &[
            (json!({"growth_cap": "max-flight", "validate_cwnd": false}), &["growth_cap"]),
            (json!({"saved_cwnd": "9pkt", "saved_rtt": "1ms"}), &["saved_cwnd"]),
        ],
    );
}

/// Windows hold a segment at least, and those that are filled at once are TCP's at most: 1 GiB (RFC 7323 s.2.3).
#[test]
fn windows_are_between_a_segment_and_a_gibibyte() {
    let resumes = json!({"saved_cwnd": "9pkt", "saved_rtt": "1ms"});
    let both = |key: &str, value: &str| {
        let mut settings = map(&resumes);
        settings.insert(key.into(), value.into());
        Value::Object(settings)
    };
    for key in
        ["initial_window", "receive_window", "ack_ahead", "cwnd_max", "saved_cwnd", "max_jump", "cwnd_floor"]
    {
        refused(
            "datacentre",
            cc("newreno"),
            &[(both(key, "1460B"), &[]), (both(key, "1459B"), &[key]), (both(key, "1pkt"), &[])],
        );
    }
    for key in ["initial_window", "cwnd_floor", "ssthresh_floor"] {
        refused(
            "datacentre",
            cc("newreno"),
            &[(json!({key: "1073741824B"}), &[]), (json!({key: "1073741825B"}), &[key])],
        );
    }
    refused("datacentre", cc("newreno"), &[(json!({"ssthresh_floor": "1459B"}), &[])]);
}

/// A packet has 65 535 bytes at most, with the 64 that headers of switches take where there are any, and the twelve of timestamps.
#[test]
fn headers_need_room_in_a_packet() {
    let stamped = json!({"timestamps": true, "mss": "65000B", "header": "500B"});
    refused("datacentre", cc("newreno"), &[(stamped.clone(), &[])]);
    refused(
        "datacentre",
        cc("rcp"),
        &[
            (json!({"mss": "65000B", "header": "471B"}), &[]),
            (json!({"mss": "65000B", "header": "472B"}), &["mss"]),
            (json!({"mss": "65000B", "header": "459B", "timestamps": true}), &[]),
            (json!({"mss": "65000B", "header": "460B", "timestamps": true}), &["mss"]),
        ],
    );
    refused("udp", cc("line-rate"), &[(json!({"mtu": "65000B", "header": "200B"}), &[])]);
}

#[test]
fn checks_of_queue_pairs_have_two_sides() {
    let irn = |changes: Value| {
        let mut settings = map(&json!({"repair": "irn"}));
        settings.extend(map(&changes));
        Value::Object(settings)
    };
    refused(
        "roce",
        cc("line-rate"),
        &[
            (irn(json!({"rto_low": "320us"})), &[]),
            (irn(json!({"rto_low": "321us"})), &["rto_high"]),
            (irn(json!({"rto_low": "321us", "rto_high": "none"})), &[]),
            (json!({"verb": "read"}), &[]),
            (irn(json!({"verb": "read"})), &["repair"]),
            (json!({"verb": "read", "repair": "go-back-0"}), &["repair"]),
            // Settings of the other repair change nothing, and their defaults may be written.
            (
                json!({"rto_high": "320us", "rto_low": "100us", "rto_low_packets": 3, "timeout_resends": "first"}),
                &[],
            ),
            (json!({"rto_high": "319us"}), &["rto_high"]),
            (json!({"rto_low": "99us"}), &["rto_low"]),
            (json!({"rto_low_packets": 4}), &["rto_low_packets"]),
            (json!({"timeout_resends": "all"}), &["timeout_resends"]),
            (json!({"bdp": "9000B"}), &["bdp"]),
            (json!({"repair": "go-back-0", "bdp": "9000B"}), &["bdp"]),
            (irn(json!({"bdp": "9000B", "timeout_resends": "all", "rto_low_packets": 4})), &[]),
            (irn(json!({"nak_interval": "1us"})), &["nak_interval"]),
            (irn(json!({"timeout": "1ms"})), &["timeout"]),
            (irn(json!({"reordering": "allowed"})), &["reordering"]),
            (json!({"qps": 2, "qp_share": "turns"}), &[]),
            (json!({"qps": 1, "qp_share": "turns"}), &["qp_share"]),
            (json!({"reads": 17}), &["reads"]),
            (json!({"verb": "read", "reads": 17}), &[]),
            (json!({"verb": "read", "ack_every": 2}), &["ack_every"]),
            (json!({"ack_every": 2}), &[]),
            (json!({"ecn": "off"}), &[]),
        ],
    );
    refused(
        "roce",
        cc("dcqcn"),
        &[
            (json!({}), &[]),
            (json!({"ecn": "off"}), &["ecn"]),
            (json!({"ecn": "on"}), &[]),
            (json!({"verb": "read"}), &[]),
        ],
    );
    // A control by acknowledgements, one by marks that they would carry, one with a header of its own, and one of Linux alone.
    refused("roce", cc("newreno"), &[(json!({}), &[]), (json!({"verb": "read"}), &["cc"])]);
    for kind in ["dctcp", "rcp", "bbr1"] {
        refused("roce", cc(kind), &[(json!({"ecn": "on"}), &["cc"])]);
    }
    let bounded = json!({"kind": "line-rate", "window_rtt": "9us"});
    refused("roce", bounded, &[(json!({}), &[]), (json!({"verb": "read"}), &["cc.window_rtt"])]);
}

#[test]
fn checks_of_receivers_transports_have_two_sides() {
    let even = json!({"kind": "uniform", "min": "1KB", "max": "9KB"});
    refused(
        "homa",
        cc("line-rate"),
        &[
            (json!({"unscheduled_levels": 1, "scheduled_levels": 7}), &[]),
            (json!({"unscheduled_levels": 1, "scheduled_levels": 8}), &["scheduled_levels"]),
            (json!({"unscheduled_levels": 0, "scheduled_levels": 8}), &[]),
            (json!({"unscheduled_levels": 3, "scheduled_levels": 4, "cutoffs": ["9B", "10B"]}), &[]),
            (
                json!({"unscheduled_levels": 3, "scheduled_levels": 4, "cutoffs": ["9B", "9B"]}),
                &["cutoffs.1"],
            ),
            (json!({"unscheduled_levels": 3, "scheduled_levels": 4, "cutoffs": ["9B"]}), &["cutoffs"]),
            (json!({"unscheduled_levels": 0, "scheduled_levels": 4, "cutoffs": ["9B"]}), &["cutoffs"]),
            (json!({"unscheduled_levels": 2, "scheduled_levels": 4, "sizes": even}), &[]),
            (
                json!({"unscheduled_levels": 2, "scheduled_levels": 4, "sizes": even, "cutoffs": ["9B"]}),
                &["cutoffs"],
            ),
        ],
    );
    refused(
        "expresspass",
        cc("line-rate"),
        &[(json!({"w_min": 0.5, "w_max": 0.5}), &[]), (json!({"w_min": 0.51, "w_max": 0.5}), &["w_min"])],
    );
    for profile in ["homa", "expresspass", "ndp", "udp"] {
        refused(
            profile,
            json!({"kind": "line-rate", "window_rtt": "9us"}),
            &[(json!({}), &["cc.window_rtt"])],
        );
        refused(profile, cc("newreno"), &[(json!({}), &["cc"])]);
        refused(profile, cc("line-rate"), &[(json!({}), &[]), (json!({"min_rto": "1ms"}), &["min_rto"])]);
    }
    refused(
        "datacentre",
        cc("newreno"),
        &[(json!({"rtt_bytes": "9B"}), &["rtt_bytes"]), (json!({"no_such": 1}), &["no_such"])],
    );
}

#[test]
fn checks_of_ultra_ethernet_have_two_sides() {
    refused(
        "uec",
        cc("nscc"),
        &[
            (json!({"entropies": 64}), &[]),
            (json!({"entropies": 63}), &["entropies"]),
            (json!({"entropies": 1, "entropy": "single"}), &[]),
            (json!({"entropies": 1}), &["entropy"]),
            (json!({"entropies": 2}), &[]),
            (json!({"entropies": 4, "entropy": "states", "denied": [3, 1]}), &[]),
            (json!({"entropies": 4, "entropy": "mixed", "denied": [3]}), &["entropy"]),
            (json!({"entropies": 4, "entropy": "states", "denied": [3, 4]}), &["denied.1"]),
            (json!({"entropies": 4, "entropy": "states", "denied": [3, 1, 0]}), &[]),
            // A value that is named twice is denied once.
            (json!({"entropies": 4, "entropy": "states", "denied": [3, 1, 0, 0]}), &[]),
            (json!({"entropies": 4, "entropy": "states", "denied": [3, 1, 0, 2]}), &["denied"]),
            (json!({"recovery": "sleek", "untrimmed": "allowed"}), &[]),
            (json!({"recovery": "sleek"}), &["recovery"]),
            (json!({"receiver_credit": true}), &[]),
        ],
    );
    // A control without a window needs credit; one that knows no trimmed packets runs not at all.
    refused(
        "uec",
        cc("line-rate"),
        &[(json!({}), &["receiver_credit"]), (json!({"receiver_credit": true}), &[])],
    );
    refused("uec", cc("newreno"), &[(json!({}), &["cc"])]);
}

/// A packet's timer doubles with each timeout of the packet, up to 8 s (UE 1.0.3 s.3.5), or stays.
#[test]
fn timers_of_packets_double_up_to_eight_seconds() {
    let timers = |backoff: &str, timeout: &str| {
        let config =
            config(json!({"profile": "uec", "cc": cc("nscc"), "backoff": backoff, "timeout": timeout}));
        [0, 1, 2, 12, 13, 64, 1000].map(|timeouts| config.uec.timer(timeouts))
    };
    let s = Span::s;
    let ms = Span::ms;
    assert_eq!(timers("doubled", "1ms"), [ms(1), ms(2), ms(4), ms(4096), s(8), s(8), s(8)]);
    assert_eq!(timers("doubled", "5s"), [s(5), s(8), s(8), s(8), s(8), s(8), s(8)]);
    assert_eq!(timers("none", "1ms"), [ms(1); 7]);
}

/// Bytes on the wire of each transport's packets: IPv4 20, TCP 20, its timestamps 12 (RFC 7323 s.3.2: ten, padded); UDP 8; of RoCEv2 BTH 12 and
/// ICRC 4 (InfiniBand annex A17), and Ethernet's 18; the others' as their authors' simulators count.
#[test]
fn packets_have_their_headers() {
    let bytes = |settings: Value| {
        let config = config(settings);
        (u64::from(config.header), config.packet, config.rules.mss, config.rules.overhead)
    };
    let plain = |profile: &str, kind: &str| bytes(json!({"profile": profile, "cc": cc(kind)}));
    assert_eq!(plain("datacentre", "newreno"), (40, 1500, 1460, 0));
    assert_eq!(plain("linux", "cubic"), (52, 1500, 1448, 0));
    assert_eq!(plain("roce", "dcqcn"), (62, 1086, 1024, 0));
    assert_eq!(bytes(json!({"profile": "roce", "cc": cc("dcqcn"), "ethernet": "38B"})), (82, 1106, 1024, 0));
    assert_eq!(plain("ndp", "line-rate"), (64, 9064, 9000, 0));
    assert_eq!(plain("expresspass", "line-rate"), (78, 1538, 1460, 0));
    assert_eq!(plain("homa", "line-rate"), (60, 1500, 1440, 0));
    // Windows of Ultra Ethernet count headers.
    assert_eq!(plain("uec", "nscc"), (64, 4160, 4096, 64));
    assert_eq!(plain("udp", "line-rate"), (28, 1500, 1472, 0));
}

/// RoCEv2's longest packets: a WRITE's first one has RETH's 16 bytes, a response AETH's 4; an acknowledgement AETH, and with IRN the number
/// that caused it; a READ's request RETH; a notification 16 reserved bytes. Each has its priority.
#[test]
fn largest_frames_are_the_longest_packets() {
    let frames = |settings: Value| {
        let (transport, faults) = read(&settings);
        assert_eq!(faults, Vec::<String>::new());
        transport.expect("no fault").largest_frames()
    };
    let roce = |changes: Value| {
        let mut settings = map(&json!({"profile": "roce", "cc": cc("dcqcn"), "priority": 3}));
        settings.extend(map(&changes));
        frames(Value::Object(settings))
    };
    assert_eq!(roce(json!({})), [(3, 62 + 1024 + 16), (3, 62 + 8), (3, 62 + 16)]);
    assert_eq!(roce(json!({"ack_priority": 5})), [(3, 1102), (5, 70), (5, 78)]);
    assert_eq!(roce(json!({"ack_priority": 5, "cnp_priority": 6})), [(3, 1102), (5, 70), (6, 78)]);
    assert_eq!(roce(json!({"verb": "send"})), [(3, 1086), (3, 70), (3, 78)]);
    assert_eq!(roce(json!({"verb": "read"})), [(3, 1090), (3, 78), (3, 78)]);
    // HPCC's telemetry, at most 64 bytes, goes with data and acknowledgements.
    let hpcc = json!({"profile": "roce", "cc": cc("hpcc")});
    assert_eq!(frames(hpcc), [(0, 1102 + 64), (0, 70 + 64), (0, 78)]);
    let tcp = json!({"cc": cc("newreno"), "priority": 2, "demote_at": ["9B", "10B"], "ack_priority": 7});
    assert_eq!(frames(tcp), [(2, 1500), (1, 1500), (0, 1500), (7, 40)]);
    assert_eq!(frames(json!({"cc": cc("rcp")})), [(0, 1564), (0, 104)]);
    // Homa's data has all levels, and everything else the highest.
    let homa = json!({"profile": "homa", "cc": cc("line-rate"), "scheduled_levels": 2});
    assert_eq!(frames(homa), [(0, 1500), (1, 1500), (2, 1500)]);
}

/// Priorities of data, acknowledgements and notifications: those of the data where nothing else is written.
#[test]
fn priorities_fall_back_on_the_datas() {
    let priorities = |settings: Value| config(settings).priorities();
    assert_eq!(priorities(json!({"cc": cc("newreno"), "priority": 3})), [3, 3, 3]);
    assert_eq!(priorities(json!({"cc": cc("newreno"), "priority": 3, "ack_priority": 5})), [3, 5, 5]);
    let roce =
        json!({"profile": "roce", "cc": cc("dcqcn"), "priority": 3, "ack_priority": 5, "cnp_priority": 6});
    assert_eq!(priorities(roce), [3, 5, 6]);
    let homa = |above: u64, below: u64| {
        let levels = json!({"unscheduled_levels": above, "scheduled_levels": below});
        let mut settings = map(&json!({"profile": "homa", "cc": cc("line-rate")}));
        settings.extend(map(&levels));
        priorities(Value::Object(settings))[0]
    };
    assert_eq!([homa(1, 7), homa(0, 1), homa(0, 8)], [7, 0, 7]);
}

/// Rules that Homa's settings give: the first bytes in whole packets, levels above and below, and grants to as many messages as levels.
#[test]
fn homas_rules_follow_from_its_settings() {
    let rules = |changes: Value| {
        let mut settings = map(&json!({"profile": "homa", "cc": cc("line-rate")}));
        settings.extend(map(&changes));
        config(Value::Object(settings)).homa
    };
    let usual = rules(json!({}));
    assert_eq!((usual.rtt_bytes, usual.unscheduled, usual.scheduled), (7 * 1440, (7, 1), 7));
    assert_eq!((usual.overcommitment, usual.timeout, usual.cutoffs.len()), (7, Span::ms(2), 0));
    let whole = rules(
        json!({"rtt_bytes": "2880B", "overcommitment": 2, "unscheduled_levels": 0, "scheduled_levels": 3}),
    );
    assert_eq!((whole.rtt_bytes, whole.unscheduled, whole.overcommitment), (2880, (2, 1), 2));
    assert_eq!(rules(json!({"rtt_bytes": "2881B"})).rtt_bytes, 3 * 1440);
}

/// NDP's first window is counted in packets: bytes are rounded up to whole ones.
#[test]
fn ndps_window_is_whole_packets() {
    let window = |size: &str| {
        let rules = config(json!({"profile": "ndp", "cc": cc("line-rate"), "initial_window": size})).ndp;
        assert_eq!((rules.timeout, rules.pull_timeout, rules.resend_acks), (Span::ms(5), Span::ms(100), 4));
        rules.window
    };
    assert_eq!(["23pkt", "18000B", "18001B"].map(window), [23, 2, 3]);
}

/// Each transport is its own kind, opens as its authors let it, and bounds its hosts' ports: all but TCP have no handshake, and one packet
/// of a flow stands in the port at most.
#[test]
fn transports_open_and_wait_as_they_do() {
    use TransportKind::{Datagram, ExpressPass, Homa, Ndp, Roce, Tcp, Uec};
    for (profile, kind, is, opens, bound) in [
        ("datacentre", "newreno", Tcp, true, Some(4 << 20)),
        ("rfc", "newreno", Tcp, true, None),
        ("linux", "cubic", Tcp, true, Some(4 << 20)),
        ("ns2", "dctcp", Tcp, false, None),
        ("roce", "dcqcn", Roce, false, Some(1)),
        ("ndp", "line-rate", Ndp, false, Some(1)),
        ("expresspass", "line-rate", ExpressPass, false, Some(1)),
        ("homa", "line-rate", Homa, false, Some(1)),
        ("uec", "nscc", Uec, false, Some(1)),
        ("udp", "line-rate", Datagram, false, Some(212_992)),
    ] {
        let (transport, _) = read(&json!({"profile": profile, "cc": cc(kind)}));
        let transport = transport.expect("no fault");
        let config = Config::new(&transport);
        assert_eq!((config.kind, config.small_queues), (is, bound), "{profile}");
        assert_eq!([config.handshakes(), config.shakes_hands()], [opens; 2], "{profile}");
        assert_eq!(transport.is_tcp(), is == Tcp);
        assert_eq!(transport.control(), if is == Datagram { "none" } else { kind });
        assert_eq!(transport.roce().is_some(), is == Roce);
        assert_eq!(transport.ndp().is_some(), is == Ndp);
        assert_eq!(transport.homa().is_some(), is == Homa);
        assert_eq!(transport.uec().is_some(), is == Uec);
        assert_eq!(transport.needs_meters(), is == ExpressPass);
        assert_eq!((config.keeps_short_timers(), transport.qps()), (false, 1));
    }
    let unmetered = json!({"profile": "expresspass", "cc": cc("line-rate"), "unmetered": "allowed"});
    assert!(!read(&unmetered).0.expect("no fault").needs_meters());
    // A connection whose end reports nothing later than its last byte has a tail of one packet.
    for profile in ["ndp", "homa", "uec", "roce"] {
        let kind = if profile == "uec" { "nscc" } else { "line-rate" };
        assert_eq!(config(json!({"profile": profile, "cc": cc(kind)})).settings.dup_acks, 1, "{profile}");
    }
}

/// Hosts' ports where `[nic]` is not written.
#[test]
fn each_profile_has_its_hosts_port() {
    let nic = |profile: &str, kind: &str| {
        read(&json!({"profile": profile, "cc": cc(kind)})).0.expect("no fault").nic()
    };
    for (profile, port) in
        [("datacentre", "fq"), ("rfc", "drop-tail"), ("linux", "fq"), ("ns2", "drop-tail"), ("pfabric", "fq")]
    {
        assert_eq!(nic(profile, "newreno"), json!(port));
    }
    assert_eq!([nic("roce", "dcqcn"), nic("udp", "line-rate")], [json!("drop-tail"), json!("fq")]);
    assert_eq!(nic("expresspass", "line-rate"), json!({"kind": "credit", "limit": "none"}));
    assert_eq!(nic("homa", "line-rate"), json!({"kind": "pfabric", "limit": "1000000pkt"}));
    let trimming = json!({"kind": "trimming", "limit": "none", "header_limit": "none"});
    assert_eq!(nic("uec", "nscc"), trimming);
    let mut ndp = map(&trimming);
    ndp.insert("headers_per_packet".into(), "none".into());
    assert_eq!(nic("ndp", "line-rate"), Value::Object(ndp));
}

/// Data is ECN-capable where the control needs marks, or the setting says so. RFC 9331 s.4.1: Prague sends ECT(1), and RFC 3168 s.5: others ECT(0).
/// How marks are reported follows from the control too: RFC 8257 s.3.2 for DCTCP, RFC 9768 for Prague, RFC 3168 s.6.1.3 else.
#[test]
fn codepoints_and_echoes_follow_from_the_control() {
    for (kind, changes, ecn, ect, echo) in [
        ("newreno", json!({}), false, Flags::ECT0, EchoMode::UntilCwr),
        ("newreno", json!({"ecn": "on"}), true, Flags::ECT0, EchoMode::UntilCwr),
        ("newreno", json!({"ecn": "on", "ect": "ect1"}), true, Flags::ECT1, EchoMode::UntilCwr),
        ("dctcp", json!({}), true, Flags::ECT0, EchoMode::PerPacket),
        ("dctcp", json!({"ecn": "off"}), false, Flags::ECT0, EchoMode::PerPacket),
        ("dctcp", json!({"echo": "until-cwr"}), true, Flags::ECT0, EchoMode::UntilCwr),
        ("prague", json!({}), true, Flags::ECT1, EchoMode::Counted),
        ("prague", json!({"ect": "ect0"}), true, Flags::ECT0, EchoMode::Counted),
        ("prague", json!({"echo": "per-packet"}), true, Flags::ECT1, EchoMode::PerPacket),
    ] {
        let mut settings = map(&json!({"cc": cc(kind)}));
        settings.extend(map(&changes));
        let config = config(Value::Object(settings));
        assert_eq!((config.ecn, config.ect, config.echo), (ecn, ect, echo), "{kind} {changes}");
        assert_eq!(config.counts_echoes(), echo == EchoMode::Counted);
        assert_eq!(config.counts_marks, kind == "prague" && echo == EchoMode::Counted);
    }
    let udp = |ecn: &str| {
        let config = config(json!({"profile": "udp", "cc": cc("line-rate"), "ecn": ecn}));
        (config.ecn, config.ect)
    };
    assert_eq!([udp("not-ect").0, udp("ect0").0, udp("ect1").0], [false, true, true]);
    assert_eq!([udp("ect0").1, udp("ect1").1], [Flags::ECT0, Flags::ECT1]);
    let of = |profile: &str, kind: &str| config(json!({"profile": profile, "cc": cc(kind)})).ecn;
    assert_eq!([of("uec", "nscc"), of("roce", "dcqcn"), of("roce", "line-rate")], [true, true, false]);
}

/// SYN, pure acknowledgements and retransmissions: RFC 3168 s.6.1.1 to 6.1.5 leave them without ECT. Linux `tcp_ecn_send` sets it where the control
/// cannot do without, and on all but SYN once AccECN is agreed on.
#[test]
fn packets_of_control_are_capable_where_the_control_needs_it() {
    for (kind, rule, echo, control, syn) in [
        ("dctcp", "never", "auto", false, false),
        ("dctcp", "needed", "auto", true, true),
        ("newreno", "needed", "auto", false, false),
        ("newreno", "needed", "accecn", true, false),
        ("newreno", "always", "auto", true, true),
    ] {
        let config =
            config(json!({"cc": cc(kind), "ect_on_control": rule, "echo": echo, "ecn_acks": "linux"}));
        assert_eq!((config.ect_on_control, config.ect_on_syn), (control, syn), "{kind} {rule} {echo}");
        // Linux `tcp_data_ecn_check` asks only where not even retransmissions lack ECT.
        assert_eq!(config.asks_for_ect, !control);
    }
    assert!(!config(json!({"cc": cc("newreno")})).asks_for_ect);
}

/// A receiver waits for `ack_every` segments, by number or by bytes; the window of a setting in packets is so many segments.
#[test]
fn counts_are_segments_or_bytes() {
    let of = |changes: Value| {
        let mut settings = map(&json!({"cc": cc("newreno"), "ack_delay": "1ms"}));
        settings.extend(map(&changes));
        config(Value::Object(settings))
    };
    assert_eq!(of(json!({"ack_every": 2})).ack_from, 2);
    assert_eq!(of(json!({"ack_every": 2, "ack_counts": "bytes"})).ack_from, 2920);
    assert!(of(json!({"ack_counts": "bytes"})).ack_counts_bytes && !of(json!({})).ack_counts_bytes);
    let ahead = of(json!({"ack_ahead": "3pkt"}));
    assert_eq!((ahead.ack_ahead, ahead.reports_held, ahead.misbehaves), (4380, false, true));
    assert_eq!((of(json!({})).reports_held, of(json!({"sack": false})).reports_held), (true, false));
    assert_eq!(of(json!({"receive_window": "2pkt"})).receive_window, 2920);
    assert_eq!(of(json!({})).receive_window, u64::MAX);
    // Linux tcp_init_cwnd: the clamp holds from the start.
    let clamped = of(json!({"cwnd_max": "4pkt"})).rules;
    assert_eq!([clamped.initial_window, clamped.cwnd_max, clamped.restart_window], [5840.0; 3]);
    let usual = of(json!({})).rules;
    assert_eq!([usual.initial_window, usual.cwnd_max], [14_600.0, 1_073_741_824.0]);
    assert_eq!(
        [usual.cwnd_floor, usual.ssthresh_floor, usual.initial_ssthresh],
        [1460.0, 2920.0, f64::INFINITY]
    );
    // RFC 8985 TLP.max_ack_delay: nothing where each segment is acknowledged at once; Linux: tcp_rto_min_us.
    assert_eq!(of(json!({})).single_ack_delay, Span::ZERO);
    assert_eq!(of(json!({"ack_every": 2})).single_ack_delay, Span::ms(1));
    assert_eq!(of(json!({"arithmetic": "linux"})).single_ack_delay, Span::ms(10));
    let probes = |changes: Value| {
        let config = of(changes);
        [config.rack, config.probes]
    };
    assert_eq!(probes(json!({})), [false; 2]);
    assert_eq!(probes(json!({"loss_detection": "rack"})), [true, false]);
    assert_eq!(probes(json!({"loss_detection": "rack", "tail_loss_probe": true})), [true; 2]);
    assert_eq!(probes(json!({"loss_detection": "rack", "tail_loss_probe": true, "sack": false})), [false; 2]);
    let whole = |counts: &str| of(json!({"window_counts": counts})).whole_windows;
    assert!(whole("segments") && !whole("bytes"));
}

/// A load's table over the common one: settings of another transport stay behind, and those that both have remain.
#[test]
fn a_load_over_another_transport_leaves_settings_behind() {
    let over = |common: Value, own: Value| Value::Object(Transport::over(&map(&common), &map(&own)));
    let tcp = json!({"cc": "newreno", "min_rto": "1ms", "priority": 3, "header": "44B"});
    assert_eq!(
        over(tcp.clone(), json!({"profile": "roce"})),
        json!({"cc": "newreno", "priority": 3, "profile": "roce"})
    );
    // Homa has a header too, and another profile of TCP keeps everything.
    assert_eq!(
        over(tcp.clone(), json!({"profile": "homa", "cc": "line-rate"})),
        json!({"cc": "line-rate", "header": "44B", "profile": "homa"})
    );
    assert_eq!(
        over(tcp.clone(), json!({"profile": "rfc", "priority": 4})),
        json!({"cc": "newreno", "min_rto": "1ms", "priority": 4, "header": "44B", "profile": "rfc"})
    );
    assert_eq!(over(tcp.clone(), json!({"nagle": true}))["min_rto"], "1ms");
    let uec = json!({"profile": "uec", "mtu": "9B", "entropies": 4});
    assert_eq!(over(uec, json!({"profile": "ndp"})), json!({"profile": "ndp", "mtu": "9B"}));
}
