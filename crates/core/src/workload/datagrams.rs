//! Datagrams: each sender sends packets by a law of time and size, whatever becomes of them.
//!
//! Sources: on and off times that are exponential, Paxson and Floyd 1995 (IEEE/ACM ToN 3(3)) for their limits; times with a Pareto
//! distribution, Willinger et al. 1997 (IEEE/ACM ToN 5(1)): sums of many such sources are self-similar.
//! The law works at the sender (`transport/datagram`), so that the load itself only opens sockets.

use super::ends::{Ends, Pair, pairs};
use super::{BuildCx, Expected, Sends, WorkCx, Workload};
use crate::events::random::Stream;
use crate::params::{Code, ParamType, Row, Rule};
use crate::sizes::Sizes;
use crate::transport::datagram::{Due, Emission, Emitter, PROFILE};
use shallows_units::{Bytes, Rate, Span, Time};
use std::sync::Arc;

crate::choices! {
    /// The times between datagrams of a sender that sends.
    pub enum Gaps {
        /// All alike: each has the time that its bytes take at the rate.
        Even = "even",
        /// Exponential with the same mean: a Poisson process of packets.
        Exponential = "exponential",
    }
}

crate::choices! {
    /// How long a sender sends and is silent, where it does both.
    pub enum Periods {
        /// As long as their means.
        Constant = "constant",
        /// Exponential.
        Exponential = "exponential",
        /// Pareto, of the same mean.
        Pareto = "pareto",
    }
}

crate::params! {
    /// One datagram of a trace.
    pub struct TraceRow {
        /// When it is sent, counted from `start`.
        at: Span = required, "", "the user's trace";
        /// Its payload.
        bytes: Bytes = required, "[1B, ]", "the user's trace";
    }
}

crate::params! {
    /// Datagrams. Each sender sends packets without repair and without acknowledgements (UDP; unreliable datagrams of RoCEv2): at a
    /// rate, with pauses, or from a trace. The table `datagrams` counts what arrived and what was lost, with delays and jitter.
    pub struct Settings, with ends: Ends {
        /// Payload of each datagram, or "none" where `sizes` or a trace says it.
        bytes: Option<Bytes> = "none", "[1B, ]", "either this or `sizes`";
        /// Sizes of the datagrams, or "none".
        sizes: Option<Sizes> = "none", "", "either this or `bytes`";
        /// Payload sent in a second, while the sender sends; or "none".
        rate: Option<Rate> = "none", "", "either this or `every`";
        /// Mean time from one datagram to the next, while the sender sends; or "none".
        every: Option<Span> = "none", "(0s, ]", "either this or `rate`";
        /// The times between datagrams. Even ones follow the size with `rate`, so that the rate is exact at each instant.
        gaps: Gaps = "even", "", "a constant bit rate";
        /// Mean time for which a sender sends, or "none" for no pauses.
        on: Option<Span> = "none", "(0s, 100000s]", "no pauses";
        /// Mean time for which it is then silent.
        off: Option<Span> = "none", "(0s, 100000s]", "no pauses";
        /// How long it sends and is silent.
        periods: Periods = "exponential", "", "a Markov source; Brady 1969 for speech";
        /// Shape of the Pareto distribution of these times.
        shape: f64 = 1.5, "(1, 10]", "Willinger 1997: between 1 and 2, where the variance is infinite; ns-2's Pareto source: 1.5";
        /// When the first sender begins.
        start: Span = "0s", "", "at once";
        /// How much later each further sender begins.
        stagger: Span = "0s", "", "together";
        /// Each beginning is moved by a random time below this.
        jitter: Span = "0s", "", "none; random phases want one";
        /// When senders end, or "none".
        stop: Option<Span> = "none", "", "as long as the run lasts";
        /// Datagrams of each sender, or "none" for no end.
        count: Option<u64> = "none", "[1, ]", "as long as the run lasts";
        /// Name of the file that the trace came from.
        name: String = "", "", "recorded with the result";
        /// A trace that each sender sends once; filled in from the named file. It stands in place of sizes, rates and pauses.
        trace: Vec<Row<TraceRow>> = [], "", "none";
    }
    facts {
        example: r#"{"from": "s*", "to": "r0", "bytes": "1200B", "rate": "100Mbps", "count": 50}"#,
        fills: &["datagrams"],
        transport: PROFILE,
    }
}

/// The load at work.
pub struct Load {
    pairs: Vec<Pair>,
    law: Arc<Law>,
    begun: bool,
}

impl Load {
    /// Ready to run.
    pub fn build(settings: &Settings, cx: &mut BuildCx<'_>) -> Option<Self> {
        let before = cx.faults.0.len();
        let pairs = pairs(&settings.ends, cx);
        let most = cx.payload;
        let too_large = |bytes: u64| {
            (bytes > most).then(|| {
                Code::TooMany
                    .rule(format!("must be <= {most} bytes, the transport's mtu: a datagram is one packet"))
            })
        };
        let source = if settings.trace.is_empty() {
            rates(settings, cx, too_large)
        } else {
            trace(settings, cx, too_large)
        };
        if settings.stop.is_some_and(|stop| stop <= settings.start) {
            let rule = Code::Conflict.rule(format!("must be after start ({})", settings.start));
            cx.fault("stop", rule, settings.stop.show());
        }
        let (pairs, source) = (pairs?, source.filter(|_| cx.faults.0.len() == before)?);
        let law = Law {
            source,
            settings: settings.clone(),
            seed: cx.seed,
            path: cx.path.into(),
            duration: cx.duration,
        };
        Some(Load { pairs, law: Arc::new(law), begun: false })
    }
}

/// The laws of times and sizes; faults are recorded.
fn rates(
    settings: &Settings,
    cx: &mut BuildCx<'_>,
    too_large: impl Fn(u64) -> Option<Rule>,
) -> Option<Source> {
    let sizes = match (settings.bytes, &settings.sizes) {
        (Some(bytes), None) => Some(Sizes::fixed(bytes)),
        (None, Some(sizes)) => Some(sizes.clone()),
        _ => {
            cx.fault(
                "bytes",
                Code::Conflict.rule("needs exactly one of `bytes` and `sizes`, or a trace"),
                settings.bytes.show(),
            );
            None
        }
    };
    if let Some(rule) = sizes.as_ref().and_then(|sizes| too_large(sizes.largest())) {
        let (key, value) = if settings.bytes.is_some() {
            ("bytes", settings.bytes.show())
        } else {
            ("sizes", settings.sizes.show())
        };
        cx.fault(key, rule, value);
    }
    let pace = match (settings.rate, settings.every) {
        (Some(rate), None) => Some(Pace::Rate(rate)),
        (None, Some(every)) => Some(Pace::Every(every)),
        _ => {
            cx.fault(
                "rate",
                Code::Conflict.rule("needs exactly one of `rate` and `every`, or a trace"),
                settings.rate.show(),
            );
            None
        }
    };
    let pauses = match (settings.on, settings.off) {
        (None, None) => None,
        (Some(on), Some(off)) => Some((on, off)),
        (on, _) => {
            let (missing, written) = if on.is_some() { ("off", "on") } else { ("on", "off") };
            cx.fault(
                missing,
                Code::Missing.rule(format!("is required beside `{written}`")),
                serde_json::Value::Null,
            );
            None
        }
    };
    Some(Source::Law { sizes: sizes?, pace: pace?, pauses })
}

/// The datagrams of a trace; faults are recorded.
fn trace(
    settings: &Settings,
    cx: &mut BuildCx<'_>,
    too_large: impl Fn(u64) -> Option<Rule>,
) -> Option<Source> {
    let absent = [
        ("bytes", settings.bytes.is_some(), settings.bytes.show()),
        ("sizes", settings.sizes.is_some(), settings.sizes.show()),
        ("rate", settings.rate.is_some(), settings.rate.show()),
        ("every", settings.every.is_some(), settings.every.show()),
        ("on", settings.on.is_some(), settings.on.show()),
        ("off", settings.off.is_some(), settings.off.show()),
    ];
    for (key, _, value) in absent.into_iter().filter(|(_, written, _)| *written) {
        cx.fault(key, Code::Conflict.rule("must be left out: the trace says times and sizes"), value);
    }
    let mut before = Span::ZERO;
    for (place, Row(row)) in settings.trace.iter().enumerate() {
        if row.at < before {
            let rule = Code::WrongForm.rule(format!("must not be before the row above ({before})"));
            cx.fault(&format!("trace.{place}.at"), rule, row.at.show());
            return None;
        }
        if let Some(rule) = too_large(row.bytes.as_u64()) {
            cx.fault(&format!("trace.{place}.bytes"), rule, row.bytes.show());
            return None;
        }
        before = row.at;
    }
    Some(Source::Trace(settings.trace.iter().map(|Row(row)| (row.at, row.bytes.as_u64() as u16)).collect()))
}

impl Workload for Load {
    fn is_random(&self) -> bool {
        let s = &self.law.settings;
        let varies = match &self.law.source {
            Source::Trace(_) => false,
            Source::Law { sizes, pauses, .. } => {
                s.gaps == Gaps::Exponential
                    || pauses.is_some() && s.periods != Periods::Constant
                    || !matches!(sizes, Sizes::Fixed(_))
            }
        };
        varies || s.jitter > Span::ZERO
    }

    fn sends(&self) -> Sends {
        let (packet, rate) = match &self.law.source {
            Source::Trace(rows) => {
                let bytes: u64 = rows.iter().map(|(_, bytes)| u64::from(*bytes)).sum();
                let last = rows.last().map_or(Span::ZERO, |(at, _)| *at);
                (bytes / (rows.len() as u64).max(1), rate_of(bytes, last))
            }
            Source::Law { sizes, pace, .. } => {
                let mean = sizes.mean() as u64;
                let rate = match pace {
                    Pace::Rate(rate) => *rate,
                    Pace::Every(span) => rate_of(mean, *span),
                };
                (mean, rate)
            }
        };
        Sends { rate: Some(rate), packet: Some(packet), ..Sends::between(self.pairs.iter().copied()) }
    }

    fn expects(&self, _duration: Span) -> Expected {
        let n = self.pairs.len() as u64;
        Expected { at_once: n, in_all: n, messages: 0, bytes: None }
    }

    fn emission(&self) -> Option<Arc<dyn Emission>> {
        Some(self.law.clone())
    }

    fn wake(&mut self, cx: &mut WorkCx<'_>) -> Option<Time> {
        if !std::mem::replace(&mut self.begun, true) {
            for (pair, ends) in (0..).zip(&self.pairs) {
                if cx.stopped() {
                    return None;
                }
                cx.emit(*ends, pair);
            }
        }
        None
    }
}

/// The rate of so many bytes in so much time.
fn rate_of(bytes: u64, time: Span) -> Rate {
    Rate::bps((bytes as f64 * 8.0 / time.as_secs_f64().max(1e-12)) as u64)
}

/// The times between a sender's datagrams.
#[derive(Debug, Clone, Copy)]
enum Pace {
    /// By the bytes of the one before.
    Rate(Rate),
    /// Alike for all sizes.
    Every(Span),
}

/// Where times and sizes come from.
#[derive(Debug)]
enum Source {
    /// From laws, with pauses of these means or without.
    Law { sizes: Sizes, pace: Pace, pauses: Option<(Span, Span)> },
    /// From a list.
    Trace(Arc<[(Span, u16)]>),
}

/// The law of all senders of a load.
#[derive(Debug)]
struct Law {
    source: Source,
    settings: Settings,
    seed: u64,
    path: String,
    duration: Span,
}

impl Emission for Law {
    fn start(&self, pair: u64) -> Box<dyn Emitter> {
        let s = &self.settings;
        // Times, sizes and pauses are drawn from streams of their own, so that a change of one keeps the others.
        let stream = |what: u64| Stream::new(self.seed, &self.path, pair * 4 + what);
        let begin = Time::ZERO + s.start + s.stagger * pair + stream(0).within(s.jitter);
        let end = Time::ZERO + s.stop.unwrap_or(self.duration).min(self.duration);
        let left = s.count.unwrap_or(u64::MAX);
        match &self.source {
            Source::Trace(rows) => {
                let rows = rows.clone();
                Box::new(Listed { rows, begin, end, place: 0, most: left })
            }
            Source::Law { sizes, pace, pauses } => {
                let periods = pauses.map(|(on, off)| Pauses {
                    periods: s.periods,
                    means: (on, off),
                    shape: s.shape,
                    random: stream(3),
                    until: begin,
                });
                let periods = periods.map(|mut pauses| {
                    let first = pauses.draw(pauses.means.0);
                    pauses.until += first;
                    pauses
                });
                Box::new(Steady {
                    at: begin,
                    end,
                    left,
                    sizes: sizes.clone(),
                    pace: *pace,
                    gaps: s.gaps,
                    random: [stream(1), stream(2)],
                    pauses: periods,
                })
            }
        }
    }
}

/// The datagrams of a trace.
struct Listed {
    rows: Arc<[(Span, u16)]>,
    begin: Time,
    end: Time,
    place: usize,
    most: u64,
}

impl Emitter for Listed {
    fn next(&mut self) -> Option<Due> {
        let (after, bytes) = *self.rows.get(self.place).filter(|_| (self.place as u64) < self.most)?;
        self.place += 1;
        Some(Due { at: self.begin + after, bytes }).filter(|due| due.at < self.end)
    }
}

/// Times of sending and of silence.
struct Pauses {
    periods: Periods,
    means: (Span, Span),
    shape: f64,
    random: Stream,
    /// The present time of sending ends.
    until: Time,
}

impl Pauses {
    /// A time of this mean.
    fn draw(&mut self, mean: Span) -> Span {
        match self.periods {
            Periods::Constant => mean,
            Periods::Exponential => self.random.exponential(mean),
            Periods::Pareto => {
                // Inversion of the distribution function 1 - (least / x)^shape, whose mean is least shape / (shape - 1).
                let least = mean.as_ps() as f64 * (self.shape - 1.0) / self.shape;
                Span::ps((least / libm::pow(1.0 - self.random.unit(), 1.0 / self.shape)).min(1e18) as u64)
            }
        }
    }

    /// Where a time `at` lies that counts times of sending alone: pauses before it move it, unless it is at or after `end`.
    fn place(&mut self, mut at: Time, end: Time) -> Time {
        let (on, off) = self.means;
        while at >= self.until && at < end {
            let (pause, next) = (self.draw(off), self.draw(on));
            at += pause;
            self.until = self.until + pause + next;
        }
        at
    }
}

/// Datagrams by laws.
struct Steady {
    /// When the next one is due.
    at: Time,
    /// None is due from then on.
    end: Time,
    /// Datagrams that are left.
    left: u64,
    sizes: Sizes,
    pace: Pace,
    gaps: Gaps,
    /// For gaps, and for sizes.
    random: [Stream; 2],
    pauses: Option<Pauses>,
}

impl Emitter for Steady {
    fn next(&mut self) -> Option<Due> {
        if self.at >= self.end || self.left == 0 {
            return None;
        }
        self.left -= 1;
        let bytes = self.sizes.draw(&mut self.random[1]);
        let due = Due { at: self.at, bytes: bytes as u16 };
        let mean = match self.pace {
            Pace::Rate(rate) => rate.transmit(Bytes(bytes)),
            Pace::Every(every) => every,
        };
        let gap = match self.gaps {
            Gaps::Even => mean,
            Gaps::Exponential => self.random[0].exponential(mean),
        };
        self.at += gap.max(Span::ps(1));
        if let Some(pauses) = &mut self.pauses {
            self.at = pauses.place(self.at, self.end);
        }
        Some(due)
    }
}
