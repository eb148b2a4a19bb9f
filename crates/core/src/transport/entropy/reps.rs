//! REPS: an entropy value whose packet met nothing is used again, once. Without such a value a packet takes a random one.
//!
//! Source: uet-htsim 40ccb05, buffer_reps.cpp: the last eight values that came back unmarked, the oldest fresh one first.
//! Left out: freezing, which `reps-freezing` has.

use super::{Choice, Met};
use crate::events::random::Stream;
use shallows_units::Time;

/// Values that are remembered.
const PLACES: usize = 8;

/// The last values that met nothing, and which of them have not been used again.
#[derive(Debug, Clone, Default)]
pub(super) struct Ring {
    places: [u32; PLACES],
    filled: usize,
    /// Where the next value goes, and how many before it are fresh.
    at: usize,
    fresh: usize,
    /// The next one while all are used again whatever their age.
    reused: usize,
}

impl Ring {
    pub(super) fn put(&mut self, value: u32) {
        self.places[self.at] = value;
        self.at = (self.at + 1) % PLACES;
        self.filled = (self.filled + 1).min(PLACES);
        self.fresh = (self.fresh + 1).min(PLACES);
    }

    /// The oldest fresh value.
    pub(super) fn take(&mut self) -> Option<u32> {
        let place = (self.at + PLACES - self.fresh) % PLACES;
        self.fresh = self.fresh.checked_sub(1)?;
        Some(self.places[place])
    }

    /// The values in turn, used or not.
    pub(super) fn reuse(&mut self) -> Option<u32> {
        let place = self.reused.checked_rem(self.filled)?;
        self.reused = place + 1;
        Some(self.places[place])
    }
}

/// The rule at work.
#[derive(Debug, Clone)]
pub struct Rule {
    values: u32,
    ring: Ring,
}

impl Choice for Rule {
    fn new(values: u32, _random: &mut Stream) -> Self {
        Rule { values, ring: Ring::default() }
    }

    fn next(&mut self, _window: u64, _now: Time, random: &mut Stream) -> u32 {
        self.ring.take().unwrap_or_else(|| random.below(self.values.into()) as u32)
    }

    fn on_feedback(&mut self, value: u32, met: Met, _now: Time) {
        if met == Met::Nothing {
            self.ring.put(value);
        }
    }
}
