//! One entropy value for all packets, as queue pairs of today have it.

use super::Choice;
use crate::events::random::Stream;
use shallows_units::Time;

/// The rule at work.
#[derive(Debug, Clone)]
pub struct Rule;

impl Choice for Rule {
    fn new(_values: u32, _random: &mut Stream) -> Self {
        Rule
    }

    fn next(&mut self, _window: u64, _now: Time, _random: &mut Stream) -> u32 {
        0
    }
}
