//! Deadlines of messages: the time after its writing in which a message is useful.
//!
//! Source: Wilson et al., SIGCOMM 2011 (D3), s.2; Vamanan et al., SIGCOMM 2012 (D2TCP), s.2.1. A deadline
//! counts from the write to the last byte in order at the receiver, as completion times do.
//! Left out: giving up a message whose deadline has passed.

use crate::events::random::Stream;
use crate::params::{Code, Faults, ParamType};
use shallows_units::Span;

crate::params! {
    /// Every message has the same time.
    pub struct Fixed {
        /// Time from write to delivery.
        span: Span = required, "(0s, 100000s]", "the user's application";
    }
}

crate::params! {
    /// Times between two bounds, all equally likely.
    pub struct Uniform {
        /// Shortest time.
        min: Span = required, "(0s, 100000s]", "the user's application";
        /// Longest time.
        max: Span = required, "(0s, 100000s]", "the user's application";
    }
}

crate::params! {
    /// Exponentially distributed times, none below a least one: many tight, few loose.
    pub struct Exponential {
        /// Mean before the least time is applied.
        mean: Span = required, "(0s, 100000s]", "the user's application";
        /// Least time, which stands in for all shorter ones.
        min: Span = "1us", "(0s, 100000s]", "next to none";
    }
}

crate::components! {
    /// A distribution of deadlines.
    pub enum Deadlines, "deadline" {
        "fixed" => Fixed(Fixed),
        "uniform" => Uniform(Uniform),
        "exponential" => Exponential(Exponential),
    }
}

crate::nested! {
    Deadlines,
    Deadlines::Fixed(Fixed { span: Span::ms(1) }),
    "must be a table such as { kind = \"fixed\", span = \"20ms\" }, or \"none\""
}

impl Deadlines {
    fn check(&self, path: &str, faults: &mut Faults) {
        if let Deadlines::Uniform(s) = self
            && s.max < s.min
        {
            let rule = Code::Conflict.rule(format!("must be >= min ({})", s.min));
            faults.add(&format!("{path}.max"), rule, &s.max.show());
        }
    }
}

impl Deadlines {
    /// The time that a message has; at least 1 ps.
    pub fn draw(&self, random: &mut Stream) -> Span {
        match self {
            Deadlines::Fixed(s) => s.span,
            Deadlines::Uniform(s) => s.min + random.within(s.max - s.min + Span::ps(1)),
            Deadlines::Exponential(s) => random.exponential(s.mean).max(s.min),
        }
    }
}

/// The deadlines of one load at work: its distribution, if it has one, and random numbers for it alone,
/// so that setting a deadline moves no arrival.
pub struct DeadlineSource {
    deadlines: Option<Deadlines>,
    random: Stream,
}

impl DeadlineSource {
    /// Index of the stream among a load's own.
    const STREAM: u64 = u64::MAX - 1;

    /// Deadlines of the load that is being built.
    pub fn new(deadlines: &Option<Deadlines>, cx: &super::BuildCx<'_>) -> Self {
        DeadlineSource { deadlines: deadlines.clone(), random: cx.random(Self::STREAM) }
    }

    /// The next message's time, where messages have one.
    pub fn draw(&mut self) -> Option<Span> {
        self.deadlines.as_ref().map(|deadlines| deadlines.draw(&mut self.random))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use serde_json::json;

    fn read(value: Value) -> (Option<Option<Deadlines>>, Vec<String>) {
        let mut faults = Faults::default();
        let read = <Option<Deadlines> as ParamType>::read(&value, "deadline", &mut faults);
        (read, faults.0.iter().map(ToString::to_string).collect())
    }

    /// Means of many draws, within five standard errors of the distribution's own.
    #[test]
    fn draws_have_the_mean() {
        let least = 0.5f64;
        // Exponential of mean 1 with all below `least` set to it: least + exp(-least).
        let floored = least + libm::exp(-least);
        for (value, mean, sd) in [
            (json!({"kind": "fixed", "span": "20ms"}), 20.0, 0.0),
            (json!({"kind": "uniform", "min": "5ms", "max": "25ms"}), 15.0, 20.0 / 12f64.sqrt()),
            (json!({"kind": "exponential", "mean": "20ms"}), 20.0, 20.0),
            (json!({"kind": "exponential", "mean": "1ms", "min": "500us"}), floored, 1.0),
        ] {
            let deadlines = read(value.clone()).0.unwrap().unwrap();
            let mut random = Stream::new(5, "deadlines", 0);
            let n = 100_000;
            let sum: f64 = (0..n).map(|_| deadlines.draw(&mut random).as_secs_f64() * 1e3).sum();
            let found = sum / f64::from(n);
            assert!((found - mean).abs() <= 5.0 * sd / f64::from(n).sqrt() + 1e-9, "{value}: {found}");
        }
    }

    #[test]
    fn faults_stand_at_their_place() {
        assert_eq!(read(json!("none")), (Some(None), vec![]));
        assert_eq!(
            read(json!({"kind": "uniform", "min": "5ms", "max": "1ms"})).1,
            ["deadline.max: must be >= min (5ms), got \"1ms\""]
        );
        assert_eq!(read(json!({"kind": "fixed"})).1, ["deadline.span: is required: a time such as \"25us\""]);
        assert_eq!(
            read(json!("20ms")).1,
            [
                "deadline: must be a table such as { kind = \"fixed\", span = \"20ms\" }, or \"none\", got \"20ms\""
            ]
        );
    }
}
