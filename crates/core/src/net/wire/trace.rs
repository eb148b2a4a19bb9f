//! A link whose rate follows a trace, without an event for each change.
//!
//! Sources: Netravali et al. 2015, "Mahimahi: Accurate Record-and-Replay for HTTP" (USENIX ATC) s.4.2, for times at which a packet may
//! leave; tables of times and rates, as measurements of mobile networks have them.
//! The bits that the link can carry until a time are a sum of pieces with one rate each. A packet is transmitted from when it is
//! at the transmitter until its bits have passed; what the link could carry while it has none is lost, as in Mahimahi.
//! Deviation: the opportunities of a millisecond, the grain of Mahimahi's files, are spread evenly over it, and a packet takes as much
//! of them as it has bytes. Mahimahi lets a packet leave at the instant of an opportunity.

use crate::params::{Code, Faults, ParamType, Row};
use shallows_units::{Bytes, Rate, Span, Time};

crate::params! {
    /// A rate from a time on.
    pub struct RatePoint {
        /// When, counted from the start of the run; the first is 0.
        at: Span = required, "[0s, 100000s]", "the user's measurement";
        /// Rate from then on, or "none" for a link that carries nothing.
        rate: Option<Rate> = required, "", "the user's measurement";
    }
}

crate::params! {
    /// Rates from given times on.
    pub struct Rates {
        /// Name of the file that the rates came from.
        name: String = "", "", "recorded with the result";
        /// Times and rates; filled in from the named file.
        points: Vec<Row<RatePoint>> = required, "", "the user's measurement";
        /// Time after which the trace begins again, or "none": the last rate stays.
        period: Option<Span> = "none", "(0s, 100000s]", "once";
    }
}

crate::params! {
    /// Times at which so many bytes may leave (Mahimahi). The trace begins again after its last time.
    pub struct Opportunities {
        /// Name of the file that the times came from.
        name: String = "", "", "recorded with the result";
        /// Milliseconds since the start, rising; one that stands twice is two opportunities. Filled in from the named file.
        at: Vec<u64> = required, "[0, 100000000]", "the user's measurement";
        /// Bytes that leave at each.
        bytes: Bytes = "1504B", "[1B, 1MB]", "Mahimahi: a packet of 1500 bytes and 4 of its own";
    }
}

crate::components! {
    /// A trace of a link.
    pub enum LinkTrace, "trace of a link" {
        "rates" => Rates(Rates),
        "opportunities" => Opportunities(Opportunities),
    }
}

crate::nested! {
    LinkTrace,
    LinkTrace::Rates(Rates { name: String::new(), points: vec![], period: None }),
    "must be a table such as { kind = \"opportunities\", name = \"cellular.up\" }"
}

impl LinkTrace {
    fn check(&self, path: &str, faults: &mut Faults) {
        match self {
            LinkTrace::Rates(rates) => rates.check(path, faults),
            LinkTrace::Opportunities(times) => {
                let falls = times.at.windows(2).position(|pair| pair[1] < pair[0]);
                if let Some(place) = falls {
                    let rule = Code::WrongForm.rule("must not be before the time above");
                    faults.add(&format!("{path}.at.{}", place + 1), rule, &times.at[place + 1].into());
                } else if times.at.last().is_none_or(|last| *last == 0) {
                    let rule = Code::WrongForm.rule("must end after 0 ms: the trace begins again then");
                    faults.add(&format!("{path}.at"), rule, &times.at.show());
                }
            }
        }
    }

    /// The pieces of one rate each, and the time after which they begin again.
    pub fn pieces(&self) -> (Vec<(Time, u64)>, Option<Span>) {
        match self {
            LinkTrace::Rates(rates) => {
                let piece = |Row(point): &Row<RatePoint>| (Time::ZERO + point.at, point.bps());
                (rates.points.iter().map(piece).collect(), rates.period)
            }
            LinkTrace::Opportunities(times) => {
                // One opportunity at n ms may be used in the millisecond before it.
                let mut pieces: Vec<(Time, u64)> = vec![];
                let mut put = |at: u64, rate: u64| {
                    let at = Time::ZERO + Span::ms(1) * at;
                    match pieces.last_mut() {
                        Some(last) if last.0 == at => last.1 = rate,
                        Some(last) if last.1 == rate => {}
                        _ => pieces.push((at, rate)),
                    }
                };
                put(0, 0);
                for same in times.at.chunk_by(|one, other| one.max(&1) == other.max(&1)) {
                    let at = same[0].max(1);
                    put(at - 1, same.len() as u64 * times.bytes.as_u64() * 8 * 1000);
                    put(at, 0);
                }
                (pieces, times.at.last().map(|last| Span::ms(1) * *last))
            }
        }
    }

    /// The highest rate; nothing if there is none above zero.
    pub fn highest(&self) -> Option<Rate> {
        self.pieces().0.into_iter().map(|(_, rate)| rate).max().filter(|rate| *rate > 0).map(Rate::bps)
    }
}

impl RatePoint {
    fn bps(&self) -> u64 {
        self.rate.map_or(0, Rate::as_bps)
    }
}

impl Rates {
    fn check(&self, path: &str, faults: &mut Faults) {
        let mut fault = |key: &str, rule: &str, value: serde_json::Value| {
            faults.add(&format!("{path}.{key}"), Code::WrongForm.rule(rule), &value);
        };
        let Some((Row(first), Row(last))) = self.points.first().zip(self.points.last()) else {
            return fault("points", "must have a point at least", serde_json::json!([]));
        };
        if first.at > Span::ZERO {
            fault("points.0.at", "must be 0: the link has a rate from the start", first.at.show());
        }
        let places = self.points.windows(2).position(|pair| pair[1].0.at <= pair[0].0.at);
        if let Some(place) = places {
            let at = self.points[place + 1].0.at.show();
            fault(&format!("points.{}.at", place + 1), "must be after the point above", at);
        }
        match self.period {
            Some(period) if period <= last.at => {
                fault("period", "must be after the last point", period.show());
            }
            None if last.bps() == 0 => {
                let rule = "must be above zero at the end, unless a period lets the trace begin again";
                fault("points", rule, last.rate.show());
            }
            Some(_) if self.points.iter().all(|Row(point)| point.bps() == 0) => {
                fault("points", "must have a rate above zero", last.rate.show());
            }
            _ => {}
        }
    }
}

/// Bits in units of a bit a second for a picosecond: 1e12 of them are a bit.
const BIT: u128 = 1_000_000_000_000;

/// The trace of one link at work.
#[derive(Debug)]
pub struct Follower {
    /// When each piece begins, its rate in bit/s, and the units that all before it carry.
    pieces: Vec<(Time, u64, u128)>,
    /// Length of the trace and all units of it, if it begins again.
    again: Option<(Span, u128)>,
}

impl Follower {
    /// Ready to follow `trace`, which has no faults.
    pub fn new(trace: &LinkTrace) -> Self {
        let (listed, period) = trace.pieces();
        let mut pieces = vec![];
        let mut sum = 0;
        for (place, (at, rate)) in listed.iter().enumerate() {
            pieces.push((*at, *rate, sum));
            let next = listed.get(place + 1).map(|next| next.0);
            let end = next.or_else(|| period.map(|period| Time::ZERO + period));
            sum += end.map_or(0, |end| u128::from((end - *at).as_ps()) * u128::from(*rate));
        }
        Follower { pieces, again: period.map(|period| (period, sum)) }
    }

    /// Units that the link can carry until `at`.
    fn until(&self, at: Time) -> u128 {
        let (mut at, mut sum) = (at, 0);
        if let Some((period, all)) = self.again {
            sum = u128::from(at.as_ps() / period.as_ps()) * all;
            at = Time::ZERO + Span::ps(at.as_ps() % period.as_ps());
        }
        let (begin, rate, before) = self.pieces[self.pieces.partition_point(|piece| piece.0 <= at) - 1];
        sum + before + u128::from((at - begin).as_ps()) * u128::from(rate)
    }

    /// How long a packet of so many bytes takes whose transmission begins at `now`.
    pub fn transmission(&self, size: u16, now: Time) -> Span {
        let wanted = self.until(now) + u128::from(size) * 8 * BIT;
        let (mut rest, mut begun) = (wanted, 0);
        if let Some((period, all)) = self.again {
            // The last unit lies in the period before one that begins with nothing to carry.
            let periods = (wanted - 1) / all;
            rest = wanted - periods * all;
            begun = u64::try_from(periods).unwrap_or(u64::MAX).saturating_mul(period.as_ps());
        }
        let (begin, rate, before) = self.pieces[self.pieces.partition_point(|piece| piece.2 < rest) - 1];
        let within = (rest - before).div_ceil(u128::from(rate.max(1)));
        let end =
            begun.saturating_add(begin.as_ps()).saturating_add(u64::try_from(within).unwrap_or(u64::MAX));
        Span::ps(end.saturating_sub(now.as_ps()).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> LinkTrace {
        let mut faults = Faults::default();
        <LinkTrace as ParamType>::read(&serde_json::from_str(text).unwrap(), "trace", &mut faults)
            .unwrap_or_else(|| panic!("{:?}", faults.0))
    }

    fn us(n: u64) -> Time {
        Time::ZERO + Span::us(n)
    }

    /// 1 Mb/s for a millisecond, nothing for one, 8 Mb/s from then on: 125 bytes take 1 ms of the first.
    #[test]
    fn a_packet_takes_the_rates_that_it_meets() {
        let trace = read(
            r#"{"kind": "rates", "points": [{"at": "0s", "rate": "1Mbps"}, {"at": "1ms", "rate": "none"}, {"at": "2ms", "rate": "8Mbps"}]}"#,
        );
        let link = Follower::new(&trace);
        assert_eq!(link.transmission(125, us(0)), Span::ms(1));
        // Half in the first millisecond, none in the second, and 62.5 bytes at 8 Mb/s.
        assert_eq!(link.transmission(125, us(500)), Span::ps(500_000_000 + 1_000_000_000 + 62_500_000));
        assert_eq!(link.transmission(1000, us(1500)), Span::us(500 + 1000));
        assert_eq!(link.transmission(1000, us(90_000)), Span::ms(1));
        assert_eq!(trace.highest(), Some(Rate::bps(8_000_000)));
    }

    /// A period of 10 ms carries 1250 bytes, all in its second half.
    #[test]
    fn a_trace_begins_again() {
        let link = Follower::new(&read(
            r#"{"kind": "rates", "period": "10ms", "points": [{"at": "0s", "rate": "none"}, {"at": "5ms", "rate": "2Mbps"}]}"#,
        ));
        assert_eq!(link.transmission(1250, us(0)), Span::ms(10));
        assert_eq!(link.transmission(1251, us(0)), Span::us(15_000 + 4));
        assert_eq!(link.transmission(2500, us(7_500)), Span::us(20_000));
        assert_eq!(link.transmission(1250, us(1_000_000_000)), Span::ms(10));
    }

    /// Opportunities at 2, 2 and 5 ms: two packets in the second millisecond, one in the fifth, and so on from 5 ms.
    #[test]
    fn opportunities_are_those_of_their_millisecond() {
        let trace = read(r#"{"kind": "opportunities", "at": [2, 2, 5]}"#);
        let link = Follower::new(&trace);
        assert_eq!(trace.highest(), Some(Rate::bps(2 * 1504 * 8 * 1000)));
        assert_eq!(link.transmission(1504, us(0)), Span::us(1500));
        assert_eq!(link.transmission(1504, us(1500)), Span::us(500));
        assert_eq!(link.transmission(1504, us(2000)), Span::us(3000));
        assert_eq!(link.transmission(1504, us(5000)), Span::us(1500));
        assert_eq!(link.transmission(752, us(3000)), Span::us(1500));
    }

    #[test]
    fn what_no_link_can_follow_is_refused() {
        let rates = |points: &str, more: &str| format!(r#"{{"kind": "rates", {more} "points": {points}}}"#);
        let opportunities = |at: &str| format!(r#"{{"kind": "opportunities", "at": {at}}}"#);
        let two =
            |at: &str| format!(r#"[{{"at": "0s", "rate": "1Mbps"}}, {{"at": "{at}", "rate": "2Mbps"}}]"#);
        let never = r#"[{"at": "0s", "rate": "none"}]"#;
        for (text, path, got) in [
            (rates("[]", ""), "trace.points", "[]"),
            (rates(r#"[{"at": "1ms", "rate": "1Mbps"}]"#, ""), "trace.points.0.at", "\"1ms\""),
            (rates(&two("0s"), ""), "trace.points.1.at", "\"0s\""),
            (rates(never, ""), "trace.points", "\"none\""),
            (rates(never, r#""period": "1s","#), "trace.points", "\"none\""),
            (rates(&two("2ms"), r#""period": "1ms","#), "trace.period", "\"1ms\""),
            (rates(&two("2ms"), r#""period": "2ms","#), "trace.period", "\"2ms\""),
            (opportunities("[3, 2]"), "trace.at.1", "2"),
            (opportunities("[1, 5, 5, 4, 3]"), "trace.at.3", "4"),
            (opportunities("[0]"), "trace.at", "[0]"),
        ] {
            let mut faults = Faults::default();
            let read =
                <LinkTrace as ParamType>::read(&serde_json::from_str(&text).unwrap(), "trace", &mut faults);
            assert!(read.is_none(), "{text}");
            assert_eq!(faults.0[0].path, path, "{text}");
            let said = faults.0[0].to_string();
            assert!(said.ends_with(&format!("got {got}")), "{said}");
        }
    }
}
