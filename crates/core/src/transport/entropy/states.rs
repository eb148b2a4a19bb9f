//! Random values among those that are good; congestion passes a value over once, and a value that lost a packet rests until a probe has come
//! back by it.
//!
//! Source: MRC 1.0 (OCP, 2026), by third-party notes on it, not by its text: values are good; to be skipped once, after a mark or a packet that
//! was trimmed before the last hop; or assumed bad after a timeout, until a probe's clean answer makes them good and a marked one
//! makes them to be skipped; or denied, which a controller says and nothing that packets meet changes. The choice is pseudo-random.
//! Ours, where the notes leave it open: where all values that are not denied are assumed bad, any of them is taken.
//! Each plane of a card has an equal share of the values (`transport/uec/card.rs`).
//! Left out: a receiver's word that a value is always to be skipped, since the notes do not say when it says so; and values that stand by to
//! take the place of bad ones: all values are in use from the beginning.

use super::{Choice, Met};
use crate::events::random::Stream;
use shallows_units::Time;

/// The state of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    Skip,
    AssumedBad,
    /// By the controller, from the beginning.
    Denied,
}

/// The rule at work.
#[derive(Debug, Clone)]
pub struct Rule {
    states: Vec<State>,
    /// Values that are assumed bad, in the order in which they became so.
    bad: Vec<u32>,
}

impl Choice for Rule {
    fn new(values: u32, _random: &mut Stream) -> Self {
        Rule { states: vec![State::Good; values as usize], bad: vec![] }
    }

    fn next(&mut self, _window: u64, _now: Time, random: &mut Stream) -> u32 {
        let count = self.states.len();
        let drawn = random.below(count as u64) as usize;
        // From the drawn one on: so that a draw costs one random number, whatever the states.
        let mut value = drawn;
        for _ in 0..2 * count {
            match self.states[value] {
                State::Good => return value as u32,
                State::Skip => self.states[value] = State::Good,
                State::AssumedBad | State::Denied => {}
            }
            value = (value + 1) % count;
        }
        let turns = (0..count).map(|turn| (drawn + turn) % count);
        turns.into_iter().find(|value| self.states[*value] != State::Denied).unwrap_or(drawn) as u32
    }

    fn on_feedback(&mut self, value: u32, met: Met, _now: Time) {
        let state = &mut self.states[value as usize];
        *state = match (met, *state) {
            (Met::Timeout, State::AssumedBad | State::Denied) => return,
            (Met::Timeout, _) => {
                self.bad.push(value);
                State::AssumedBad
            }
            (Met::Mark | Met::Trim, State::Good) => State::Skip,
            (_, state) => state,
        };
    }

    fn deny(&mut self, value: u32) {
        self.states[value as usize] = State::Denied;
    }

    fn to_probe(&mut self) -> Option<u32> {
        let value = *self.bad.first()?;
        self.bad.rotate_left(1); // the next one is another
        Some(value)
    }

    fn awaits_probes(&self) -> bool {
        !self.bad.is_empty()
    }

    fn on_probe(&mut self, value: u32, marked: bool) {
        self.bad.retain(|bad| *bad != value);
        self.states[value as usize] = if marked { State::Skip } else { State::Good };
    }
}
