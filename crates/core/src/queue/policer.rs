//! Policer: a meter of tokens lets packets of a rate and a burst through; what exceeds it is marked or dropped, and nothing waits for
//! the meter. A drop-tail queue stands behind it.
//!
//! Sources: RFC 2697 (single-rate three-colour marker) s.3.2 and RFC 2698 (two-rate) s.3.2, both colour-blind. A plain token bucket is
//! RFC 2697 with an excess burst of 0 (s.3).
//! Deviations: bytes are those on the wire, where the RFCs count those of the IP packet; a colour decides at once, by ECN's mark or
//! a drop, where the RFCs write it into the DS field for other nodes.
//! Left out: colour-aware meters; a meter for each flow or class, but for priorities, whose lanes have each their own.

use super::drop_tail::{self, check_limit};
use super::{Admission, Backlog, DropWhy, Place, Verdict};
use crate::packet::Packet;
use crate::params::{Code, Faults, ParamType};
use serde_json::Value;
use shallows_units::{Bytes, Rate, Size, Time};

crate::choices! {
    /// The meter.
    pub enum Meter {
        /// One bucket: a packet is green or red.
        TokenBucket = "token-bucket",
        /// RFC 2697: a second bucket takes what the first has too much, and makes packets yellow.
        SrTcm = "srtcm",
        /// RFC 2698: a peak rate decides about red, the committed rate about yellow.
        TrTcm = "trtcm",
    }
}

crate::choices! {
    /// The fate of a packet by its colour.
    pub enum Fate {
        /// It passes as it is.
        Pass = "pass",
        /// It is marked CE; if red and not ECN-capable it is dropped, if yellow it passes.
        Mark = "mark",
        /// It is dropped.
        Drop = "drop",
    }
}

crate::params! {
    /// Policer. Packets within a rate and a burst pass, the others are marked or dropped; then a drop-tail queue.
    pub struct Settings {
        /// Committed rate, in bytes on the wire.
        rate: Rate = required, "", "the user's contract";
        /// Committed burst: the bytes that may come at once.
        burst: Bytes = required, "[1B, 1TB]", "the user's contract; RFC 2697 s.3: at least the largest packet";
        /// The meter.
        meter: Meter = "token-bucket", "", "Linux act_police, most routers' default";
        /// With srtcm: excess burst.
        excess_burst: Option<Bytes> = "none", "[1B, 1TB]", "RFC 2697";
        /// With trtcm: peak rate, at least the committed one.
        peak_rate: Option<Rate> = "none", "", "RFC 2698";
        /// With trtcm: peak burst.
        peak_burst: Option<Bytes> = "none", "[1B, 1TB]", "RFC 2698";
        /// The fate of red packets.
        red: Fate = "drop", "", "RFC 2697 s.1: red packets may be discarded";
        /// The fate of yellow packets.
        yellow: Fate = "pass", "", "RFC 2697 s.1: yellow ones are best effort";
        /// Most that the queue behind may hold, in bytes or packets, or "none".
        limit: Option<Size> = "250pkt", "[1pkt, ]", "as drop-tail";
    }
    facts {
        example: r#"{"rate": "20Gbps", "burst": "1MB"}"#,
    }
}

impl Settings {
    /// Settings that contradict each other.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        check_limit(self.limit, path, faults);
        let mut fault = |key: &str, code: Code, rule: String, value: Value| {
            faults.add(&format!("{path}.{key}"), code.rule(rule), &value);
        };
        let written = [
            ("excess_burst", self.excess_burst.map(|bytes| bytes.show()), Meter::SrTcm),
            ("peak_rate", self.peak_rate.map(|rate| rate.show()), Meter::TrTcm),
            ("peak_burst", self.peak_burst.map(|bytes| bytes.show()), Meter::TrTcm),
        ];
        for (key, value, meter) in written {
            match value {
                Some(value) if meter != self.meter => {
                    let rule = format!("changes nothing: it belongs to meter = {}", meter.show());
                    fault(key, Code::Conflict, rule, value);
                }
                None if meter == self.meter => {
                    let rule = format!("is required with meter = {}", meter.show());
                    fault(key, Code::Missing, rule, Value::Null);
                }
                _ => {}
            }
        }
        if self.peak_rate.is_some_and(|peak| peak < self.rate) {
            let rule = format!("must be at least the committed rate ({})", self.rate);
            fault("peak_rate", Code::Conflict, rule, self.peak_rate.show());
        }
        if self.meter == Meter::TokenBucket && self.yellow != Fate::Pass {
            let rule = "changes nothing: a token bucket makes no packet yellow".to_owned();
            fault("yellow", Code::Conflict, rule, self.yellow.show());
        }
        if self.red == Fate::Pass {
            let rule = "must be \"drop\" or \"mark\", or the meter changes nothing".to_owned();
            fault("red", Code::Conflict, rule, self.red.show());
        }
    }
}

/// A token is a bit at one bit a second for a picosecond: 8e12 of them are a byte.
const BYTE: u128 = 8_000_000_000_000;

/// A bucket of tokens.
#[derive(Debug, Clone)]
struct Bucket {
    /// Tokens that come in a picosecond.
    rate: u128,
    most: u128,
    tokens: u128,
}

impl Bucket {
    /// A full bucket.
    fn new(rate: Rate, burst: Bytes) -> Self {
        let most = u128::from(burst.as_u64()) * BYTE;
        Bucket { rate: rate.as_bps().into(), most, tokens: most }
    }

    /// Tokens of so long a time come in; returns those for which there is no room.
    fn fill(&mut self, ps: u64) -> u128 {
        self.add(self.rate * u128::from(ps))
    }

    fn add(&mut self, tokens: u128) -> u128 {
        let all = self.tokens + tokens;
        self.tokens = all.min(self.most);
        all - self.tokens
    }

    fn has(&self, size: u128) -> bool {
        self.tokens >= size
    }
}

/// The colour that a meter gives a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colour {
    Green,
    Yellow,
    Red,
}

/// The discipline at work; the meter stands apart, so that ports without one are no larger.
#[derive(Debug, Clone)]
pub struct Discipline {
    tail: drop_tail::Discipline,
    meter: Box<Buckets>,
}

/// A meter at work.
#[derive(Debug, Clone)]
struct Buckets {
    meter: Meter,
    committed: Bucket,
    /// The excess bucket (RFC 2697), or that of the peak (RFC 2698).
    second: Bucket,
    filled_at: Time,
    red: Fate,
    yellow: Fate,
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, place: Place) -> Self {
        let tail = drop_tail::Settings { limit: settings.limit, ..crate::params::Params::defaults() };
        let none = Bytes(0);
        let second = match settings.meter {
            Meter::TokenBucket => Bucket::new(settings.rate, none),
            Meter::SrTcm => Bucket::new(settings.rate, settings.excess_burst.unwrap_or(none)),
            Meter::TrTcm => {
                Bucket::new(settings.peak_rate.unwrap_or(settings.rate), settings.peak_burst.unwrap_or(none))
            }
        };
        let meter = Buckets {
            meter: settings.meter,
            committed: Bucket::new(settings.rate, settings.burst),
            second,
            filled_at: Time::ZERO,
            red: settings.red,
            yellow: settings.yellow,
        };
        Discipline { tail: drop_tail::Discipline::new(&tail, place), meter: Box::new(meter) }
    }
}

impl Buckets {
    /// The colour of a packet of so many bytes that comes at `now`.
    fn colour(&mut self, size: u16, now: Time) -> Colour {
        let ps = (now - self.filled_at).as_ps();
        self.filled_at = now;
        let size = u128::from(size) * BYTE;
        let over = self.committed.fill(ps);
        if self.meter == Meter::TrTcm {
            self.second.fill(ps);
            // RFC 2698 s.3.2: red packets take nothing, yellow ones from the peak's bucket alone.
            if !self.second.has(size) {
                return Colour::Red;
            }
            self.second.tokens -= size;
            if !self.committed.has(size) {
                return Colour::Yellow;
            }
            self.committed.tokens -= size;
            return Colour::Green;
        }
        // RFC 2697 s.3.2: the excess bucket gets the tokens that the committed one cannot take.
        self.second.add(over);
        for (bucket, colour) in [(&mut self.committed, Colour::Green), (&mut self.second, Colour::Yellow)] {
            if bucket.has(size) {
                bucket.tokens -= size;
                return colour;
            }
        }
        Colour::Red
    }
}

impl Admission for Discipline {
    fn admit(&mut self, packet: &Packet, backlog: Backlog, now: Time) -> Verdict {
        let colour = self.meter.colour(packet.size, now);
        let fate = match colour {
            Colour::Green => Fate::Pass,
            Colour::Yellow => self.meter.yellow,
            Colour::Red => self.meter.red,
        };
        let marks = match fate {
            Fate::Drop => return Verdict::Drop(DropWhy::Aqm),
            Fate::Mark if colour == Colour::Red && !packet.ecn_capable() => {
                return Verdict::Drop(DropWhy::Aqm);
            }
            Fate::Mark => packet.ecn_capable(),
            Fate::Pass => false,
        };
        let tail = self.tail.admit(packet, backlog, now);
        if tail == Verdict::Pass && marks { Verdict::Mark } else { tail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;
    use crate::packet::tests::packet;
    use crate::params::{Params, Table};
    use crate::queue::tests::place;
    use shallows_units::Span;

    fn settings(text: &str) -> (Settings, Faults) {
        let mut faults = Faults::default();
        let value: Value = serde_json::from_str(text).unwrap();
        let settings = Settings::read(&mut Table::new("queue", value.as_object().unwrap(), &mut faults));
        settings.check("queue", &mut faults);
        (settings, faults)
    }

    /// Colours of packets of 1000 bytes at these times in us.
    fn colours(text: &str, times: &[u64]) -> String {
        let (settings, faults) = settings(text);
        assert!(faults.0.is_empty(), "{:?}", faults.0);
        let mut meter = Discipline::new(&settings, place());
        let name = |colour| match colour {
            Colour::Green => 'g',
            Colour::Yellow => 'y',
            Colour::Red => 'r',
        };
        times.iter().map(|us| name(meter.meter.colour(1000, Time::ZERO + Span::us(*us)))).collect()
    }

    /// 8 Mb/s are 1000 bytes a millisecond. Two at once, then one as soon as a whole packet's tokens are there.
    #[test]
    fn a_token_bucket_lets_its_burst_and_then_its_rate_through() {
        let bucket = r#"{"rate": "8Mbps", "burst": "2000B"}"#;
        assert_eq!(colours(bucket, &[0, 0, 0, 999, 1000, 1001, 9000, 9000, 9000]), "ggrrgrggr");
    }

    /// RFC 2697: the second bucket fills with what the first has no room for, 1000 bytes in the fifth and sixth millisecond.
    #[test]
    fn one_rate_and_two_bursts() {
        let meter = r#"{"rate": "8Mbps", "burst": "1000B", "meter": "srtcm", "excess_burst": "2000B"}"#;
        assert_eq!(colours(meter, &[0, 0, 0, 0]), "gyyr");
        assert_eq!(colours(meter, &[0, 0, 0, 0, 2000, 2000, 2000]), "gyyrgyr");
    }

    /// RFC 2698: red above 16 Mb/s, yellow above 8. Red takes no tokens.
    #[test]
    fn two_rates() {
        let meter = r#"{"rate": "8Mbps", "burst": "1000B", "meter": "trtcm", "peak_rate": "16Mbps", "peak_burst": "1000B"}"#;
        assert_eq!(colours(meter, &[0, 0, 500, 1000, 1500, 2000]), "gryg".to_owned() + "yg");
    }

    #[test]
    fn red_is_marked_or_dropped() {
        let fates = |text: &str, flags: Flags| {
            let mut policer = Discipline::new(&settings(text).0, place());
            let packet = Packet { flags, ..packet(1000) };
            [(); 2].map(|()| policer.admit(&packet, Backlog::default(), Time::ZERO))
        };
        let drops = r#"{"rate": "8Mbps", "burst": "1000B"}"#;
        let marks = r#"{"rate": "8Mbps", "burst": "1000B", "red": "mark"}"#;
        assert_eq!(fates(drops, Flags::ECT0), [Verdict::Pass, Verdict::Drop(DropWhy::Aqm)]);
        assert_eq!(fates(marks, Flags::ECT0), [Verdict::Pass, Verdict::Mark]);
        assert_eq!(fates(marks, Flags::default()), [Verdict::Pass, Verdict::Drop(DropWhy::Aqm)]);
    }

    #[test]
    fn settings_of_other_meters_are_refused() {
        for (text, path) in [
            (r#"{"rate": "8Mbps", "burst": "1KB", "peak_rate": "9Mbps"}"#, "queue.peak_rate"),
            (r#"{"rate": "8Mbps", "burst": "1KB", "meter": "srtcm"}"#, "queue.excess_burst"),
            (r#"{"rate": "8Mbps", "burst": "1KB", "yellow": "mark"}"#, "queue.yellow"),
            (r#"{"rate": "8Mbps", "burst": "1KB", "red": "pass"}"#, "queue.red"),
        ] {
            assert_eq!(settings(text).1.0[0].path, path, "{text}");
        }
    }
}
