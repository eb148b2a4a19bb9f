//! The cells of two sides work in turn, each through two lookaheads at once.
//!
//! Where every wire between cells joins two sides, a side gets packets from the other alone. Once that one has worked until
//! a time, all is known that lands within a lookahead more; the side itself has stayed a lookahead behind. So it
//! works through two at once, and its memory comes into the caches half as often as if all cells worked in each window.
//! Cells without such a division all work in every turn, through one lookahead.

use crate::engine::cells::partition::Partition;
use crate::hosts::window::LONGEST;
use shallows_units::{Bytes, Rate, Span, Time};

/// Data that the fastest link sends in the longest window, some forty packets. More of them push one another out of the
/// caches before their turn comes.
const FULL_WINDOW: Bytes = Bytes(60_000);

/// The cells that work in each turn. Turns have numbers 0 and 1, one after the other.
pub(super) struct Sides {
    /// By turn: the cells that work.
    pub cells: [Vec<u32>; 2],
    /// They are not the same.
    pub apart: bool,
}

impl Sides {
    /// The sides of `partition`, or one for both turns: pauses of flow control are looked for across cells, which
    /// must have reached the same time for that.
    pub fn new(partition: &Partition, flow_control: bool) -> Self {
        let apart = !flow_control && !partition.sides.is_empty();
        let of = |turn: u8| {
            (0..partition.cells).filter(|cell| !apart || partition.sides[*cell as usize] == turn).collect()
        };
        Sides { cells: [of(0), of(1)], apart }
    }

    /// The lookahead that cells use of the one they have, where the `fastest` link sends at that rate. Results do not
    /// depend on it.
    pub fn step(&self, lookahead: Span, fastest: Option<Rate>) -> Span {
        let longest = fastest.map_or(LONGEST, |rate| rate.transmit(FULL_WINDOW)).min(LONGEST);
        lookahead.min(if self.apart { longest / 2 } else { longest })
    }
}

/// How far the cells have come.
pub(super) struct Clocks {
    /// By turn: its cells have worked until then.
    reached: [Time; 2],
    apart: bool,
    /// Whose turn it is.
    pub turn: usize,
}

impl Clocks {
    /// All cells are at `now`.
    pub fn new(sides: &Sides, now: Time) -> Self {
        Clocks { reached: [now; 2], apart: sides.apart, turn: 0 }
    }

    /// Begin and end of this turn's window, which ends by `latest`.
    pub fn window(&self, lookahead: Span, latest: Time) -> (Time, Time) {
        let until = (self.reached[1 - self.turn] + lookahead).min(latest);
        (self.reached[self.turn], until)
    }

    /// The cells of this turn have worked until `until`.
    pub fn advance(&mut self, until: Time) {
        self.reached[self.turn] = until;
        self.turn = 1 - self.turn;
        if !self.apart {
            self.reached[self.turn] = until;
        }
    }

    /// All cells have come so far.
    pub fn all(&self) -> Time {
        self.reached[0].min(self.reached[1])
    }

    /// Nothing happens before `at`: goes on from there, if no cell has come farther.
    pub fn skip(&mut self, at: Time) {
        if at > self.reached[0].max(self.reached[1]) {
            self.reached = [at; 2];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 60 kB take 4.8 us at 100 Gb/s and 48 us at 10 Gb/s; two sides go through two steps at once.
    #[test]
    fn a_window_holds_no_more_than_forty_packets_of_a_link() {
        let sides = |apart| Sides { cells: [vec![], vec![]], apart };
        let step = |apart: bool, lookahead, rate| sides(apart).step(lookahead, Some(Rate::gbps(rate)));
        assert_eq!([true, false].map(|apart| step(apart, Span::us(10), 100).as_ps()), [2_400_000, 4_800_000]);
        assert_eq!(step(true, Span::us(10), 10), Span::us(10));
        assert_eq!(sides(true).step(Span::s(1), None), LONGEST / 2);
    }
}
