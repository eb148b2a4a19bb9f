//! Choosing paths at the sender: the entropy value of each packet, from which switches hash its path. One rule, one file.
//!
//! A rule learns what the packets with each value met: nothing, a mark, a cut, or nothing came back.
//! Source: Ultra Ethernet Specification 1.0.3 s.3.6.16, which asks for a choice without knowledge or by feedback among 64 to 256 values;
//! the rules are those of the consortium's simulator (`ultraethernet/uet-htsim`, 40ccb05, uec_mp.cpp, buffer_reps.cpp).
//! Its `bitmap` takes each timeout for one of value 0; here it is that of the packet.

use crate::events::random::Stream;
use shallows_units::Time;
use std::sync::Arc;

/// The experience of a packet on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    /// It came whole and without a mark.
    Nothing,
    /// It was marked, or trimmed at the last hop.
    Mark,
    /// It was trimmed before the last hop.
    Trim,
    /// No answer came.
    Timeout,
}

/// The values of a load's connections, and how they choose among them.
#[derive(Debug, Clone)]
pub struct Values {
    /// The rule of choice.
    pub rule: Entropy,
    /// How many there are.
    pub count: u32,
    /// Those that no packet carries, in their order.
    pub denied: Arc<[u32]>,
}

impl Values {
    /// The first one from `value` on that packets may carry and `is_usable`, in turn; where there is none, one that they may carry.
    pub fn turn(&self, value: u32, is_usable: impl Fn(u32) -> bool) -> u32 {
        let turns = (0..self.count).map(|turn| (value + turn) % self.count);
        let mut allowed = turns.filter(|value| self.denied.binary_search(value).is_err());
        allowed.clone().find(|value| is_usable(*value)).or_else(|| allowed.next()).unwrap_or(value)
    }
}

/// A rule at work in one connection.
pub trait Choice {
    /// Among `values` entropy values, a power of two.
    fn new(values: u32, random: &mut Stream) -> Self;
    /// The value of the packet that leaves, when `window` packets may be under way.
    fn next(&mut self, window: u64, now: Time, random: &mut Stream) -> u32;
    /// A packet with `value` met this.
    fn on_feedback(&mut self, _value: u32, _met: Met, _now: Time) {}
    /// No packet may carry this value. A rule that does not know the word has none such: the checker holds that.
    fn deny(&mut self, _value: u32) {}
    /// A value whose path a probe is to find good again. The sender asks each time that one may leave.
    fn to_probe(&mut self) -> Option<u32> {
        None
    }
    /// It waits for such a probe.
    fn awaits_probes(&self) -> bool {
        false
    }
    /// A probe with `value` has come back.
    fn on_probe(&mut self, _value: u32, _marked: bool) {}
}

/// The list of rules: `"name" => Variant(file)` adds one.
macro_rules! choices_of_entropy {
    ( $( $(#[doc = $doc:literal])* $word:literal => $variant:ident($file:ident) ),* $(,)? ) => {
        $( pub mod $file; )*

        $crate::choices! {
            /// How the entropy value of each packet is chosen.
            pub enum Entropy { $( $(#[doc = $doc])* $variant = $word ),* }
        }

        #[derive(Debug, Clone)]
        enum Rule { $( $variant($file::Rule) ),* }

        impl Rule {
            fn new(entropy: Entropy, values: u32, random: &mut Stream) -> Self {
                match entropy { $( Entropy::$variant => Rule::$variant(Choice::new(values, random)) ),* }
            }
        }

        macro_rules! each {
            ($on:expr, $rule:ident => $call:expr) => {
                match $on { $( Rule::$variant($rule) => $call ),* }
            };
        }
    };
}

choices_of_entropy! {
    /// One value for all packets: a connection keeps to a path.
    "single" => Single(single),
    /// All values in turn, in an order that is drawn anew each round.
    "oblivious" => Oblivious(oblivious),
    /// In turn, and values that met congestion are passed over for a while.
    "bitmap" => Bitmap(bitmap),
    /// Recycled: values that met nothing are used again, the oldest of the last eight first; else a random one (REPS).
    "reps" => Reps(reps),
    /// As "reps". After a timeout the last eight are used again and again for 10 ms.
    "reps-freezing" => RepsFreezing(reps_freezing),
    /// Recycled without a bound, after a first window of all values in turn.
    "reps-legacy" => RepsLegacy(reps_legacy),
    /// Recycled without a bound while there are such values, else as "bitmap".
    "mixed" => Mixed(mixed),
    /// Random among good ones. Congestion passes a value over once; after a timeout it rests until a probe has come back by it.
    "states" => States(states),
}

/// Any rule with its random numbers.
#[derive(Debug, Clone)]
pub struct AnyChoice(Box<(Rule, Stream)>);

impl AnyChoice {
    /// The rule of a connection, which its `label` tells apart in this run: that follows from the run's seed.
    pub fn new(values: &Values, (label, flow): (u32, u32)) -> Self {
        let mut random = Stream::new(label.into(), "entropy", flow.into());
        let mut rule = Rule::new(values.rule, values.count, &mut random);
        values.denied.iter().for_each(|value| each!(&mut rule, rule => rule.deny(*value)));
        AnyChoice(Box::new((rule, random)))
    }

    /// The value of the packet that leaves, when `window` packets may be under way.
    pub fn next(&mut self, window: u64, now: Time) -> u32 {
        let (rule, random) = &mut *self.0;
        each!(rule, rule => rule.next(window, now, random))
    }

    /// A packet with `value` met this.
    pub fn on_feedback(&mut self, value: u32, met: Met, now: Time) {
        each!(&mut self.0.0, rule => rule.on_feedback(value, met, now));
    }

    /// A value whose path a probe is to find good again.
    pub fn to_probe(&mut self) -> Option<u32> {
        each!(&mut self.0.0, rule => rule.to_probe())
    }

    /// The rule waits for such a probe.
    pub fn awaits_probes(&self) -> bool {
        each!(&self.0.0, rule => rule.awaits_probes())
    }

    /// A probe with `value` has come back.
    pub fn on_probe(&mut self, value: u32, marked: bool) {
        each!(&mut self.0.0, rule => rule.on_probe(value, marked));
    }
}

#[cfg(test)]
mod tests;
