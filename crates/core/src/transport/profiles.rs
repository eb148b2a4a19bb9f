//! The profiles, which set all of TCP's settings at once, and the `[transport]` table: TCP's, that of queue pairs, NDP's, ExpressPass's,
//! Homa's, Ultra Ethernet's, or that of datagrams.

use super::datagram::{self, DatagramSettings};
use super::expresspass::settings::Unmetered;
use super::expresspass::{self, ExpressPassSettings};
use super::homa::{self, HomaSettings};
use super::ndp::{self, NdpSettings};
use super::roce::{self, RoceSettings};
use super::settings::TransportSettings;
use super::uec::{self, UecSettings};
use crate::cc::Algorithm;
use crate::params::{Code, Component, Facts, Faults, Param, Params, Table};
use crate::port_control::MOST_BYTES;
use serde_json::{Map, Value, json};

/// A profile: its name, its meaning, and the settings in which it differs from the defaults.
pub struct Profile {
    /// Name in the file.
    pub name: &'static str,
    /// Its meaning.
    pub doc: &'static str,
    /// Discipline of its hosts' ports where `[nic]` is not written.
    pub nic: &'static str,
    /// Settings that differ from the defaults above.
    pub settings: fn() -> Value,
}

/// All profiles.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "datacentre",
        doc: "The RFCs' algorithms with the timers of a data centre: minimum RTO 10 ms, no delayed acknowledgements, no Nagle. Hosts serve their flows in turn, with TCP small queues.",
        nic: "fq",
        settings: || json!({}),
    },
    Profile {
        name: "rfc",
        doc: "The RFCs' defaults: minimum RTO 1 s, an acknowledgement every second segment or 200 ms, Nagle. No RFC asks a host to schedule its own packets or to bound them: its port is drop-tail.",
        nic: "drop-tail",
        settings: || json!({"min_rto": "1s", "ack_every": 2, "ack_delay": "200ms", "nagle": true, "small_queues": "none"}),
    },
    Profile {
        name: "linux",
        doc: "Linux's constants and habits, as far as settings reach: timestamps, quick acknowledgements, proportional rate reduction, RACK and loss probes, minimum RTO 200 ms. Hosts serve their flows in turn (sch_fq), with TCP small queues.",
        nic: "fq",
        settings: || {
            json!({
                "mss": "1448B", "timestamps": true, "min_rto": "200ms", "max_rto": "120s", "ack_every": 2, "ack_delay": "40ms",
                "quick_acks": 16, "ack_pushed": true, "prr": true, "prr_on_ecn": true, "cwnd_floor": "2pkt", "slow_start_limit": 1e6,
                "ece_growth": "round", "nagle": false, "ect_on_control": "needed", "clock_grain": "1us",
                "loss_detection": "rack", "tail_loss_probe": true, "timer_grain": "1ms", "timer_slack": "2ms",
                "arithmetic": "linux", "growth": "delivered", "idle_halves": true, "ecn_acks": "linux", "ecn_fallback": true, "lost_syns": 2,
                "app_limit_checks": "writes",
            })
        },
    },
    Profile {
        name: "ns2",
        doc: "The ns-2 TCP of the DCTCP and xDCTCP inputs: window 2 at the start, 1256 at most, growth by counting acknowledgements, 10 ms clock, minimum RTO 200 ms, Nagle. A host's link has ns-2's DropTail queue.",
        nic: "drop-tail",
        settings: || {
            json!({
                "opening": "established", "initial_window": "2pkt", "cwnd_max": "1256pkt", "receive_window": "1256pkt", "growth": "acks", "slow_start_limit": 1.0,
                "validate_cwnd": false, "idle_restart": false, "min_rto": "200ms", "clock_grain": "10ms", "nagle": true,
                "ece_growth": "first", "limited_transmit": false, "pipe": "sack1", "initial_rto": "3s", "small_queues": "none",
                "lost_syns": "none",
            })
        },
    },
    Profile {
        name: "pfabric",
        doc: "The minimal transport of pFabric (Alizadeh 2013, s.4.3), beside cc = \"pfabric\" and the discipline of that name: timeouts of three round trips of the empty path without backing off, by which alone losses are found.",
        nic: "fq",
        settings: || {
            json!({
                "rto_rtts": 3.0, "rto_backoff": 1, "max_timeouts": 60, "dup_acks": 10000, "limited_transmit": false,
                "lost_syns": "none",
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
    /// Its own settings, if it is not TCP; `settings` then says what both have in common.
    pub other: Other,
}

/// The settings of another transport than TCP.
#[derive(Debug, Clone, PartialEq)]
pub enum Other {
    /// It is TCP.
    None,
    /// Queue pairs.
    Roce(RoceSettings),
    /// NDP.
    Ndp(NdpSettings),
    /// ExpressPass.
    ExpressPass(ExpressPassSettings),
    /// Homa.
    Homa(HomaSettings),
    /// Ultra Ethernet's.
    Uec(UecSettings),
    /// Datagrams.
    Datagrams(DatagramSettings),
}

/// The profiles of other transports than TCP.
const OTHERS: [&str; 6] =
    [roce::PROFILE, ndp::PROFILE, expresspass::PROFILE, homa::PROFILE, uec::PROFILE, datagram::PROFILE];

/// Faults of the settings of another transport than TCP beside its control.
type CheckOther<S> = fn(&S, &str, Option<&Algorithm>, &mut Faults);
/// The settings of each transport, by the profile that chooses it: all others choose TCP.
fn settings_of(profile: Option<&Value>) -> (&'static str, &'static [Param]) {
    match profile {
        Some(name) if name == roce::PROFILE => (roce::PROFILE, RoceSettings::declared()),
        Some(name) if name == ndp::PROFILE => (ndp::PROFILE, NdpSettings::declared()),
        Some(name) if name == expresspass::PROFILE => (expresspass::PROFILE, ExpressPassSettings::declared()),
        Some(name) if name == homa::PROFILE => (homa::PROFILE, HomaSettings::declared()),
        Some(name) if name == uec::PROFILE => (uec::PROFILE, UecSettings::declared()),
        Some(name) if name == datagram::PROFILE => (datagram::PROFILE, DatagramSettings::declared()),
        _ => ("", TransportSettings::declared()),
    }
}

fn declares(list: &[Param], key: &str) -> bool {
    list.iter().any(|param| param.name == key)
}

impl Transport {
    /// A load's table over the common one. Where it chooses another transport, the settings that the common one's alone has
    /// stay behind.
    pub fn over(common: &Map<String, Value>, own: &Map<String, Value>) -> Map<String, Value> {
        let mut merged = common.clone();
        if let Some(profile) = own.get("profile") {
            let ((before, old), (after, new)) =
                (settings_of(common.get("profile")), settings_of(Some(profile)));
            merged.retain(|key, _| before == after || !declares(old, key) || declares(new, key));
        }
        merged.extend(own.clone());
        merged
    }

    /// Reads a `[transport]` table.
    pub fn read(table: &mut Table<'_>, written: &Map<String, Value>) -> Option<Transport> {
        let mut names: Vec<&'static str> = PROFILES.iter().map(|p| p.name).collect();
        names.extend(OTHERS);
        let other = OTHERS.into_iter().find(|other| written.get("profile").is_some_and(|name| name == other));
        let profile = match table.raw("profile") {
            _ if other.is_some() => None,
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
                let rule = Code::WrongType.rule(format!("must name a profile: {}", names.join(", ")));
                table.faults.add(&path, rule, other);
                None
            }
        };
        let cc = match table.raw("cc") {
            Some(Value::Object(map)) => {
                let mut inner = Table::new(&table.at("cc"), map, table.faults).with(table.plugins);
                let before = inner.faults.0.len();
                let cc = Algorithm::read(&mut inner);
                if cc.is_some() {
                    inner.finish();
                }
                if let Some(cc) = cc.as_ref().filter(|_| table.faults.0.len() == before) {
                    cc.check(&table.at("cc"), table.faults);
                }
                cc
            }
            other => {
                let path = table.at("cc");
                let code = if other.is_none() { Code::Missing } else { Code::WrongType };
                let rule = code.rule("must name a congestion control");
                table.faults.add(&path, rule, other.unwrap_or(&Value::Null));
                None
            }
        };
        if let Some(profile) = other {
            let control = cc.as_ref();
            let (settings, other) = match profile {
                roce::PROFILE => {
                    let own = Self::read_other(table, written, control, "queue pairs", RoceSettings::check);
                    (own.common(), Other::Roce(own))
                }
                ndp::PROFILE => {
                    let own = Self::read_other(table, written, control, "NDP", NdpSettings::check);
                    (own.common(), Other::Ndp(own))
                }
                expresspass::PROFILE => {
                    let check = ExpressPassSettings::check;
                    let own = Self::read_other(table, written, control, "ExpressPass", check);
                    (own.common(), Other::ExpressPass(own))
                }
                homa::PROFILE => {
                    let own = Self::read_other(table, written, control, "Homa", HomaSettings::check);
                    (own.common(), Other::Homa(own))
                }
                uec::PROFILE => {
                    let own = Self::read_other(table, written, control, "Ultra Ethernet", UecSettings::check);
                    (own.common(), Other::Uec(own))
                }
                _ => {
                    let own = Self::read_other(table, written, control, "datagrams", DatagramSettings::check);
                    (own.common(), Other::Datagrams(own))
                }
            };
            return Some(Transport { profile, settings, cc: cc?, other });
        }
        let profile = profile.unwrap_or(&PROFILES[0]);
        let mut merged = match (profile.settings)() {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let tcp = TransportSettings::declared();
        let others = OTHERS.map(|profile| settings_of(Some(&profile.into())));
        let before = table.faults.0.len();
        for (key, value) in written.iter().filter(|(key, _)| *key != "cc" && *key != "profile") {
            let theirs = others.iter().filter(|(_, list)| !declares(tcp, key) && declares(list, key));
            let profiles: Vec<String> = theirs.map(|(profile, _)| format!("\"{profile}\"")).collect();
            if profiles.is_empty() {
                merged.insert(key.clone(), value.clone());
            } else {
                let rule = format!("is a setting of profile = {}, and this is TCP", profiles.join(" or "));
                table.faults.add(&table.at(key), Code::UnknownKey.rule(rule), value);
            }
        }
        let mut overlay = Table::new(&table.path, &merged, table.faults);
        let settings = TransportSettings::read(&mut overlay);
        overlay.finish();
        if table.faults.0.len() == before {
            settings.check(&table.path, cc.as_ref().is_some_and(|cc| cc.protocol().is_some()), table.faults);
            if let Some(cc) = &cc {
                settings.check_cap(&table.path, cc, table.faults);
                settings.check_resume(&table.path, cc, table.faults);
            }
        }
        Some(Transport { profile: profile.name, settings, cc: cc?, other: Other::None })
    }

    /// Reads a `[transport]` table whose profile is that of another transport than TCP, of which it `has` the ends.
    fn read_other<S: Params>(
        table: &mut Table<'_>,
        written: &Map<String, Value>,
        cc: Option<&Algorithm>,
        has: &str,
        check: CheckOther<S>,
    ) -> S {
        let before = table.faults.0.len();
        let tcp = TransportSettings::declared();
        let list = S::declared();
        let profile = written.get("profile").and_then(Value::as_str).unwrap_or_default();
        let mut own = written.clone();
        own.retain(|key, value| {
            let both = ["cc", "profile"].contains(&key.as_str());
            let foreign = declares(tcp, key) && !declares(list, key);
            if foreign {
                let rule = format!("is a setting of TCP, and profile = \"{profile}\" has {has}");
                let rule = Code::UnknownKey.rule(rule);
                table.faults.add(&format!("{}.{key}", table.path), rule, value);
            }
            !both && !foreign
        });
        let mut inner = Table::new(&table.path, &own, table.faults);
        let settings = S::read(&mut inner);
        inner.finish();
        if table.faults.0.len() == before {
            check(&settings, &table.path, cc, table.faults);
        }
        settings
    }

    /// Whether it is TCP.
    pub fn is_tcp(&self) -> bool {
        self.other == Other::None
    }

    /// Name of the congestion control, for tables: datagrams have none.
    pub fn control(&self) -> &str {
        if matches!(self.other, Other::Datagrams(_)) { "none" } else { self.cc.kind() }
    }

    /// Connections between a sender and a receiver in place of one.
    pub fn qps(&self) -> u64 {
        self.roce().map_or(1, |roce| roce.qps)
    }

    /// Settings of queue pairs, if it has such.
    pub fn roce(&self) -> Option<&RoceSettings> {
        match &self.other {
            Other::Roce(roce) => Some(roce),
            _ => None,
        }
    }

    /// Settings of NDP, if it is that.
    pub fn ndp(&self) -> Option<&NdpSettings> {
        match &self.other {
            Other::Ndp(ndp) => Some(ndp),
            _ => None,
        }
    }

    /// The rules of ExpressPass, or its defaults.
    pub fn expresspass(&self) -> expresspass::Rules {
        match &self.other {
            Other::ExpressPass(own) => expresspass::Rules::new(own),
            _ => expresspass::Rules::new(&ExpressPassSettings::defaults()),
        }
    }

    /// Its credits must be metered by every switch.
    pub fn needs_meters(&self) -> bool {
        matches!(&self.other, Other::ExpressPass(own) if own.unmetered == Unmetered::Refused)
    }

    /// Settings of Homa, if it is that.
    pub fn homa(&self) -> Option<&HomaSettings> {
        match &self.other {
            Other::Homa(homa) => Some(homa),
            _ => None,
        }
    }

    /// Settings of Ultra Ethernet's, if it is that.
    pub fn uec(&self) -> Option<&UecSettings> {
        match &self.other {
            Other::Uec(uec) => Some(uec),
            _ => None,
        }
    }

    /// Priority and bytes of the largest packets of each kind.
    pub fn largest_frames(&self) -> Vec<(u64, u64)> {
        let s = &self.settings;
        let explicit = self.cc.protocol().is_some();
        if let Some(roce) = self.roce() {
            return roce.largest_frames(explicit).into();
        }
        let more = if explicit { MOST_BYTES } else { 0 };
        if self.homa().is_some() {
            return (0..=s.priority).map(|level| (level, s.packet_bytes())).collect();
        }
        let acks = s.ack_priority.unwrap_or(s.priority);
        let data = (0..=s.demote_at.len() as u64)
            .map(|falls| (s.priority.saturating_sub(falls), s.packet_bytes() + more));
        data.chain([(acks, s.header_bytes() + more)]).collect()
    }

    /// The discipline of its host's port where `[nic]` is not written.
    pub fn nic(&self) -> Value {
        match self.other {
            Other::Ndp(_) => return NdpSettings::nic(),
            Other::ExpressPass(_) => return ExpressPassSettings::nic(),
            Other::Homa(_) => return HomaSettings::nic(),
            Other::Uec(_) => return UecSettings::nic(),
            Other::Datagrams(_) => return "fq".into(), // Linux's sch_fq serves UDP's flows too
            Other::None | Other::Roce(_) => {}
        }
        let profile = PROFILES.iter().find(|profile| profile.name == self.profile);
        profile.map_or("drop-tail", |profile| profile.nic).into()
    }

    /// Every setting, in canonical form.
    pub fn show(&self) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("profile".into(), self.profile.into());
        map.insert("cc".into(), Value::Object(self.cc.show()));
        match &self.other {
            Other::None => self.settings.show(&mut map),
            Other::Roce(roce) => roce.show(&mut map),
            Other::Ndp(ndp) => ndp.show(&mut map),
            Other::ExpressPass(own) => own.show(&mut map),
            Other::Homa(homa) => homa.show(&mut map),
            Other::Uec(uec) => uec.show(&mut map),
            Other::Datagrams(datagrams) => datagrams.show(&mut map),
        }
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
        PROFILES
            .iter()
            .map(|p| Component {
                name: p.name,
                doc: p.doc,
                params: changed(p),
                backend: None,
                facts: Facts::NONE,
            })
            .chain([
                RoceSettings::component(),
                NdpSettings::component(),
                ExpressPassSettings::component(),
                HomaSettings::component(),
                UecSettings::component(),
                DatagramSettings::component(),
            ])
            .collect()
    }
}

#[cfg(test)]
#[path = "profiles/tests.rs"]
mod tests;
