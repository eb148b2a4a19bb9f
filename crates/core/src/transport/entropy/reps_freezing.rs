//! REPS with freezing: after a timeout the values known to work are used again and again for a while.
//!
//! Source: uet-htsim 40ccb05, buffer_reps.cpp: a timeout freezes the eight last values for 10 ms; then they are forgotten, and
//! sixteen packets take random values. Without trimming each full queue would cause a timeout, so that it needs trimming.

use super::reps::Ring;
use super::{Choice, Met};
use crate::events::random::Stream;
use shallows_units::{Span, Time};

/// For so long the values are frozen.
const FROZEN: Span = Span::ms(10);
/// Packets that then take random values.
const EXPLORING: u64 = 16;

/// The rule at work.
#[derive(Debug, Clone)]
pub struct Rule {
    values: u32,
    ring: Ring,
    until: Option<Time>,
    exploring: u64,
}

impl Choice for Rule {
    fn new(values: u32, _random: &mut Stream) -> Self {
        Rule { values, ring: Ring::default(), until: None, exploring: 0 }
    }

    fn next(&mut self, _window: u64, now: Time, random: &mut Stream) -> u32 {
        if self.until.is_some_and(|until| now >= until) {
            (self.until, self.ring, self.exploring) = (None, Ring::default(), EXPLORING);
        }
        let recycled = if self.exploring > 0 {
            self.exploring -= 1;
            None
        } else if self.until.is_some() {
            self.ring.reuse()
        } else {
            self.ring.take()
        };
        recycled.unwrap_or_else(|| random.below(self.values.into()) as u32)
    }

    fn on_feedback(&mut self, value: u32, met: Met, now: Time) {
        match met {
            Met::Nothing if self.until.is_none() => self.ring.put(value),
            Met::Timeout if self.until.is_none() && self.exploring == 0 => self.until = Some(now + FROZEN),
            _ => {}
        }
    }
}
