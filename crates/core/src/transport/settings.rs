//! The settings of TCP, and the profiles that set all of them at once.

use crate::cc::window::Growth;
use crate::cc::{Algorithm, EcnUse, WindowRules};
use crate::params::{Component, Faults, Param, Params, Table};
use serde_json::{Map, Value, json};
use shallows_units::{Bytes, Size, Span};

crate::choices! {
    /// How a connection begins.
    pub enum Opening {
        /// SYN, SYN+ACK, ACK.
        Handshake = "handshake",
        /// It already stands.
        Established = "established",
    }
}

crate::choices! {
    /// Whether data packets are ECN-capable.
    pub enum EcnMode {
        /// As the congestion control needs.
        Auto = "auto",
        /// Negotiated (RFC 3168).
        On = "on",
        /// Never.
        Off = "off",
    }
}

crate::choices! {
    /// How a receiver reports marks.
    pub enum EchoMode {
        /// As the congestion control needs.
        Auto = "auto",
        /// ECE until CWR (RFC 3168 s.6.1.3).
        UntilCwr = "until-cwr",
        /// Each mark (RFC 8257 s.3.2).
        PerPacket = "per-packet",
        /// Never: a broken receiver, for negative experiments.
        Never = "never",
    }
}

crate::choices! {
    /// Which acknowledgements with ECN-Echo stop growth.
    pub enum EceGrowth {
        /// Each (RFC 3168 s.6.1.2).
        Each = "each",
        /// The first of a run (ns-2).
        First = "first",
        /// Every one until the reduced window is acknowledged (Linux, state CWR).
        Round = "round",
    }
}

crate::choices! {
    /// How recovery by SACK counts what is in flight.
    pub enum Pipe {
        /// Lost segments are not in flight (RFC 6675 `SetPipe`).
        Rfc6675 = "rfc6675",
        /// One segment less for each acknowledgement; lost ones count until the recovery ends
        /// (Fall and Floyd 1996 s.4; ns-2).
        Sack1 = "sack1",
    }
}

crate::choices! {
    /// How the round-trip time is measured.
    pub enum RttBy {
        /// From each acknowledgement's echoed timestamp (RFC 7323 s.4).
        Timestamps = "timestamps",
        /// One segment at a time, never a retransmitted one (Karn; RFC 6298 s.3).
        Karn = "karn",
    }
}

crate::params! {
    /// TCP. Settings of both ends of a connection; a profile sets all of them, single settings
    /// stand over it.
    pub struct TransportSettings {
        /// How a connection begins.
        opening: Opening = "handshake", "", "RFC 9293 s.3.5";
        /// Most payload of a segment.
        mss: Bytes = "1460B", "[1B, 65000B]", "Ethernet's 1500 less 40 bytes of headers";
        /// Headers of each packet as counted on the wire, options excluded.
        header: Bytes = "40B", "[1B, 500B]", "IPv4 and TCP without options";
        /// Whether packets carry the timestamp option (12 bytes more).
        timestamps: bool = false, "", "RFC 7323; the simulator always knows the times";
        /// First congestion window.
        initial_window: Size = "10pkt", "[1pkt, ]", "RFC 6928";
        /// First slow-start threshold, or "none".
        initial_ssthresh: Option<Size> = "none", "[1pkt, ]", "RFC 5681 s.3.1: arbitrarily high";
        /// Receive window, or "none".
        receive_window: Option<Size> = "none", "[1pkt, ]", "data centres tune it out of the way";
        /// Most congestion window, or "none".
        cwnd_max: Option<Size> = "none", "[1pkt, ]", "none in any RFC";
        /// Least congestion window after an ECN reduction.
        cwnd_floor: Size = "1pkt", "[1pkt, ]", "RFC 8257 s.3.3; Linux and RFC 3168 keep 2";
        /// Least slow-start threshold.
        ssthresh_floor: Size = "2pkt", "[1pkt, ]", "RFC 5681 eq. (4)";
        /// What lets the window grow.
        growth: Growth = "bytes", "", "RFC 3465";
        /// Most segments that one acknowledgement adds in slow start.
        slow_start_limit: f64 = 2.0, "[1, ]", "RFC 3465 s.2.3: L = 2";
        /// Whether only a window that limits the sender may grow.
        validate_cwnd: bool = true, "", "RFC 7661 s.4.3; RFC 5681 is silent";
        /// Whether an idle sender starts again from the restart window.
        idle_restart: bool = true, "", "RFC 5681 s.4.1";
        /// Whether the receiver reports what it holds (RFC 2018), and loss is found by it (RFC 6675).
        sack: bool = true, "", "RFC 2018";
        /// How recovery by SACK counts what is in flight.
        pipe: Pipe = "rfc6675", "", "RFC 6675 s.4";
        /// Duplicate acknowledgements that tell of a loss.
        dup_acks: u64 = 3, "[1, 10000]", "RFC 5681 s.3.2";
        /// Whether the first duplicate acknowledgements each let a new segment out.
        limited_transmit: bool = true, "", "RFC 3042";
        /// Whether recovery sends by proportional rate reduction.
        prr: bool = false, "", "RFC 6937; Linux's default";
        /// Whether ECN reductions too are spread over a round trip by it.
        prr_on_ecn: bool = false, "", "Linux, state CWR";
        /// First retransmission timeout, before any RTT is known.
        initial_rto: Span = "1s", "(0s, ]", "RFC 6298 s.2.1; less where every RTT is known to be short, or a lost SYN decides the tail";
        /// Least retransmission timeout.
        min_rto: Span = "10ms", "(0s, ]", "Alizadeh 2010 s.4: 10 ms in data centres; RFC 6298 says 1 s";
        /// Most retransmission timeout.
        max_rto: Span = "60s", "(0s, ]", "RFC 6298 s.2.5";
        /// Factor of the timeout for each one in a row.
        rto_backoff: u64 = 2, "[1, 16]", "RFC 6298 s.5.5";
        /// Timeouts in a row after which the connection is given up.
        max_timeouts: u64 = 15, "[1, 60]", "RFC 9293 s.3.8.3: at least 100 s; Linux tcp_retries2";
        /// Grain G of the sender's clock: RTT samples are rounded to it, timeouts allow for it.
        clock_grain: Span = "0s", "", "exact; RFC 6298 s.4 wants 100 ms or less";
        /// How the round-trip time is measured.
        rtt_by: RttBy = "timestamps", "", "RFC 7323 s.4";
        /// Segments that one acknowledgement covers at most.
        ack_every: u64 = 1, "[1, 255]", "each segment; RFC 5681 s.4.2: two";
        /// How long an acknowledgement may wait for the next segment.
        ack_delay: Span = "1ms", "(0s, 500ms]", "data centre; RFC 5681 s.4.2: at most 500 ms";
        /// Segments at the start that are acknowledged one by one.
        quick_acks: u64 = 0, "", "none in the RFCs; Linux: 16";
        /// Whether a short segment waits while data is outstanding.
        nagle: bool = false, "", "RFC 9293 s.3.7.4 lets applications turn it off, and RPC libraries do";
        /// Whether data packets are ECN-capable.
        ecn: EcnMode = "auto", "", "DCTCP needs it, NewReno works without";
        /// How the receiver reports marks.
        echo: EchoMode = "auto", "", "RFC 8257 s.3.2 for DCTCP, RFC 3168 else";
        /// Whether SYN, pure acknowledgements and retransmissions are ECN-capable too.
        ect_on_control: bool = false, "", "RFC 3168 s.6.1.1, 6.1.4, 6.1.5: not; Linux DCTCP: yes";
        /// Which acknowledgements with ECN-Echo stop growth.
        ece_growth: EceGrowth = "each", "", "RFC 3168 s.6.1.2";
    }
}

/// TCP's largest window in bytes (RFC 7323 s.2.3).
const MAX_WINDOW: u64 = 1 << 30;

/// A profile: its name, what it stands for, and the settings in which it differs from the defaults.
pub struct Profile {
    /// Name in the file.
    pub name: &'static str,
    /// What it stands for.
    pub doc: &'static str,
    /// Settings that differ from the defaults above.
    pub settings: fn() -> Value,
}

/// All profiles.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "datacentre",
        doc: "The RFCs' algorithms with the timers of a data centre: minimum RTO 10 ms, no delayed acknowledgements, no Nagle.",
        settings: || json!({}),
    },
    Profile {
        name: "rfc",
        doc: "The RFCs' defaults: minimum RTO 1 s, an acknowledgement every second segment or 200 ms, Nagle.",
        settings: || json!({"min_rto": "1s", "ack_every": 2, "ack_delay": "200ms", "nagle": true, "cwnd_floor": "1pkt"}),
    },
    Profile {
        name: "linux",
        doc: "Linux's constants and habits, as far as settings reach: timestamps, quick acknowledgements, proportional rate reduction, minimum RTO 200 ms.",
        settings: || {
            json!({
                "mss": "1448B", "timestamps": true, "min_rto": "200ms", "max_rto": "120s", "ack_every": 2, "ack_delay": "40ms",
                "quick_acks": 16, "prr": true, "prr_on_ecn": true, "cwnd_floor": "2pkt", "slow_start_limit": 1e6,
                "ece_growth": "round", "nagle": false, "ect_on_control": true, "clock_grain": "1us",
            })
        },
    },
    Profile {
        name: "ns2",
        doc: "The ns-2 TCP of the DCTCP and xDCTCP inputs: window 2 at the start, 1256 at most, growth by counting acknowledgements, 10 ms clock, minimum RTO 200 ms, Nagle.",
        settings: || {
            json!({
                "opening": "established", "initial_window": "2pkt", "cwnd_max": "1256pkt", "receive_window": "1256pkt", "growth": "acks", "slow_start_limit": 1.0,
                "validate_cwnd": false, "idle_restart": false, "min_rto": "200ms", "clock_grain": "10ms", "nagle": true,
                "ece_growth": "first", "limited_transmit": false, "pipe": "sack1", "initial_rto": "3s",
            })
        },
    },
];

/// The settings of one load's connections: a profile, single settings over it, an algorithm.
#[derive(Debug, Clone, PartialEq)]
pub struct Transport {
    /// Name of the profile.
    pub profile: &'static str,
    /// Every setting.
    pub settings: TransportSettings,
    /// Congestion control.
    pub cc: Algorithm,
}

impl Transport {
    /// Reads a `[transport]` table.
    pub fn read(table: &mut Table<'_>, written: &Map<String, Value>) -> Option<Transport> {
        let names: Vec<&'static str> = PROFILES.iter().map(|p| p.name).collect();
        let profile = match table.raw("profile") {
            None => Some(&PROFILES[0]),
            Some(Value::String(name)) => {
                let found = PROFILES.iter().find(|p| p.name == name);
                if found.is_none() {
                    let path = table.at("profile");
                    table.faults.unknown(&path, "profile", name, &names);
                }
                found
            }
            Some(other) => {
                let path = table.at("profile");
                table.faults.add(&path, format!("must name a profile: {}", names.join(", ")), other);
                None
            }
        };
        let cc = match table.raw("cc") {
            Some(Value::Object(map)) => {
                let mut inner = Table::new(&table.at("cc"), map, table.faults);
                let cc = Algorithm::read(&mut inner);
                if cc.is_some() {
                    inner.finish();
                }
                cc
            }
            other => {
                let path = table.at("cc");
                table.faults.add(&path, "must name a congestion control", other.unwrap_or(&Value::Null));
                None
            }
        };
        let profile = profile.unwrap_or(&PROFILES[0]);
        let mut merged = match (profile.settings)() {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        merged.extend(
            written
                .iter()
                .filter(|(k, _)| *k != "cc" && *k != "profile")
                .map(|(k, v)| (k.clone(), v.clone())),
        );
        let mut overlay = Table::new(&table.path, &merged, table.faults);
        let before = overlay.faults.0.len();
        let settings = TransportSettings::read(&mut overlay);
        overlay.finish();
        if table.faults.0.len() == before {
            settings.check(&table.path, table.faults);
        }
        Some(Transport { profile: profile.name, settings, cc: cc? })
    }

    /// Every setting, in canonical form.
    pub fn show(&self) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("profile".into(), self.profile.into());
        map.insert("cc".into(), Value::Object(self.cc.show()));
        self.settings.show(&mut map);
        map
    }

    /// The profiles as components, for lists and reference pages.
    pub fn list() -> Vec<Component> {
        let changed = |p: &Profile| -> Vec<Param> {
            let own = (p.settings)();
            let mut params = TransportSettings::list();
            for param in &mut params {
                if let Some(value) = own.get(param.name) {
                    param.default = value.clone();
                }
            }
            params
        };
        PROFILES.iter().map(|p| Component { name: p.name, doc: p.doc, params: changed(p) }).collect()
    }
}

impl TransportSettings {
    /// Checks across settings.
    fn check(&self, path: &str, faults: &mut Faults) {
        let mut fault = |key: &str, rule: String, value: String| {
            faults.add(&format!("{path}.{key}"), rule, &value.into());
        };
        if self.max_rto < self.min_rto {
            fault("max_rto", format!("must be >= min_rto ({})", self.min_rto), self.max_rto.to_string());
        }
        if self.packet_bytes() > 65_535 {
            fault("mss", "must leave room for the headers in 65535 bytes".into(), self.mss.to_string());
        }
        if self.ack_every > 1 && self.ack_delay >= self.min_rto {
            fault(
                "ack_delay",
                format!("must be below min_rto ({}), or each lone segment times out", self.min_rto),
                self.ack_delay.to_string(),
            );
        }
        let below_one = |size: Size| self.bytes(size) < self.mss.as_u64();
        let windows = [
            ("initial_window", Some(self.initial_window)),
            ("receive_window", self.receive_window),
            ("cwnd_max", self.cwnd_max),
            ("cwnd_floor", Some(self.cwnd_floor)),
        ];
        for (key, size) in windows {
            if let Some(size) = size.filter(|s| below_one(*s)) {
                fault(key, format!("must hold at least one segment of {}", self.mss), size.to_string());
            }
        }
        // A window is filled at once, so one without bound would never be.
        let filled = [
            ("initial_window", self.initial_window),
            ("cwnd_floor", self.cwnd_floor),
            ("ssthresh_floor", self.ssthresh_floor),
        ];
        for (key, size) in filled {
            if self.bytes(size) > MAX_WINDOW {
                fault(key, "must be <= 1GiB, TCP's largest window (RFC 7323 s.2.3)".into(), size.to_string());
            }
        }
    }

    /// `size` in bytes of payload.
    pub fn bytes(&self, size: Size) -> u64 {
        match size {
            Size::Bytes(bytes) => bytes.as_u64(),
            Size::Packets(packets) => packets.saturating_mul(self.mss.as_u64()),
        }
    }

    /// Bytes of headers on each packet.
    pub fn header_bytes(&self) -> u64 {
        // RFC 7323 s.3.2: ten bytes, padded to twelve.
        self.header.as_u64() + if self.timestamps { 12 } else { 0 }
    }

    /// Bytes of a full packet on the wire.
    pub fn packet_bytes(&self) -> u64 {
        self.mss.as_u64() + self.header_bytes()
    }
}

/// The settings in the form the transport works with.
#[derive(Debug, Clone)]
pub struct Config {
    /// As read.
    pub settings: TransportSettings,
    /// Congestion control.
    pub cc: Algorithm,
    /// For the congestion control.
    pub rules: WindowRules,
    /// Bytes of headers on each packet.
    pub header: u16,
    /// Receive window in bytes.
    pub receive_window: u64,
    /// Data packets are ECN-capable.
    pub ecn: bool,
    /// How the receiver reports marks.
    pub echo: EchoMode,
}

impl Config {
    /// Works out what follows from the settings.
    pub fn new(transport: &Transport) -> Self {
        let s = &transport.settings;
        let bytes = |size: Option<Size>| size.map_or(f64::INFINITY, |size| s.bytes(size) as f64);
        let per_packet = transport.cc.ecn() == EcnUse::PerPacket;
        let initial_window = s.bytes(s.initial_window) as f64;
        Config {
            rules: WindowRules {
                mss: s.mss.as_u64(),
                initial_window,
                initial_ssthresh: bytes(s.initial_ssthresh),
                growth: s.growth,
                slow_start_limit: s.slow_start_limit,
                cwnd_floor: s.bytes(s.cwnd_floor) as f64,
                ssthresh_floor: s.bytes(s.ssthresh_floor) as f64,
                cwnd_max: bytes(s.cwnd_max),
                restart_window: initial_window,
            },
            header: s.header_bytes() as u16,
            receive_window: s.receive_window.map_or(u64::MAX, |size| s.bytes(size)),
            ecn: match s.ecn {
                EcnMode::On => true,
                EcnMode::Off => false,
                EcnMode::Auto => per_packet,
            },
            echo: match s.echo {
                EchoMode::Auto if per_packet => EchoMode::PerPacket,
                EchoMode::Auto => EchoMode::UntilCwr,
                set => set,
            },
            cc: transport.cc.clone(),
            settings: s.clone(),
        }
    }
}
