//! Numbers that fall due at times, for loads that send by a schedule.

use super::WorkCx;
use shallows_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Numbers by the times at which they fall due; of equal times the least number first.
#[derive(Default)]
pub struct Due(BinaryHeap<Reverse<(Time, usize)>>);

impl Due {
    /// `number` falls due at `at`.
    pub fn push(&mut self, at: Time, number: usize) {
        self.0.push(Reverse((at, number)));
    }

    /// When the next falls due.
    pub fn next_at(&self) -> Option<Time> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// The next one that is due, and since when; else when the load is to be woken, which is never once the run stops.
    pub fn take(&mut self, cx: &WorkCx<'_>) -> Result<(Time, usize), Option<Time>> {
        let Some(at) = self.next_at().filter(|_| !cx.stopped()) else { return Err(None) };
        if at > cx.now() {
            return Err(Some(at));
        }
        self.0.pop().map(|Reverse(due)| due).ok_or(None)
    }
}
