//! Credit of receivers (RCCC): a destination grants the rate of its link to all sources that have something to send.
//!
//! Source: Ultra Ethernet Specification 1.0.3 s.3.6.14 (p. 399): optional, alone or beside NSCC; a source sends while its credit is above
//! zero, and states how much it wants. The rest is the consortium's simulator (`ultraethernet/uet-htsim`, 40ccb05, uec.cpp): credit is
//! counted in units of 256 bytes; a pull grants four full packets or what is wanted, if that is less, and pulls leave so that these fill
//! 0.99 of the receiver's link; a source begins with 1.5 bandwidth-delay products, which its first answer takes away; it wants the least
//! of its backlog, 1.5 products, and its window and a packet, without the credit that it has, divided by the other flows that send from its
//! card; a source that wants nothing gets up to 1.5 products unasked, after all others. The turns of a host's flows are in `hosts/pulls.rs`.
//!
//! Ours, where the sources leave it open: credit is bounded to 1.5 products for each source; a source that has data, no credit, and
//! nothing under way asks by a header alone, at once if its receiver knows of no want, and else after the packets' timer, which doubles
//! each time. The simulator asks once. A pull that is lost would be the last then.
//! Left out: the control of the pacer's rate in an oversubscribed fabric.

use super::wire::UNIT;
use shallows_units::{Bytes, Rate, Span, Time};

/// Full packets that a pull grants at most.
const GRANT: u64 = 4;
/// Bandwidth-delay products of the first credit, and of the most that a source wants or gets unasked, in halves.
const HALVES: u64 = 3;

/// Most doublings of the time after which a source asks again.
const MOST_DOUBLINGS: u32 = 6;

/// 1.5 times what `rate` sends in `base`.
fn most(rate: Rate, base: Span) -> u64 {
    let bits = u128::from(rate.as_bps()) * u128::from(base.as_ps()) / 1_000_000_000_000;
    (bits as u64 / 8).saturating_mul(HALVES) / 2
}

/// Flows of a card whose port has work for `before`, if it sends a full packet in `one`. Each flow has one packet in the port, so that
/// whole packets are flows; one that is half out counts, and a header alone does not.
pub fn flows_before(before: Span, one: Span) -> u64 {
    let one = one.as_ps().max(1);
    (before.as_ps() + one / 2) / one
}

/// The bytes that a source wants to send.
#[derive(Debug, Clone, Copy)]
pub struct Want {
    /// Bytes that wait, headers included.
    pub backlog: u64,
    /// The window of the sender's control.
    pub window: u64,
    /// Bytes of a full packet.
    pub packet: u64,
    /// Other flows of the card that send.
    pub others: u64,
}

/// The credit of a source.
#[derive(Debug, Clone)]
pub struct Purse {
    /// Bytes that may leave; a packet may leave while they are above zero, so that they fall below.
    credit: i64,
    /// No answer has come.
    speculates: bool,
    most: u64,
    base: Span,
    /// Units granted since the beginning, as far as it is known.
    granted: u64,
    /// Units that were asked for last, counted as those, and when.
    asked: u64,
    asked_at: Time,
    /// Headers that asked since credit came last.
    headers: u32,
}

impl Purse {
    /// At the start of a flow, over a path with this rate and round trip.
    pub fn new(rate: Rate, base: Span, packet: u64) -> Self {
        let most = most(rate, base).max(packet);
        let credit = most as i64;
        Purse { credit, speculates: true, most, base, granted: 0, asked: 0, asked_at: Time::ZERO, headers: 0 }
    }

    /// A packet may leave.
    pub fn allows(&self) -> bool {
        self.credit > 0
    }

    /// A packet of `size` bytes leaves, behind which a source wants this: what it tells its receiver.
    pub fn spend(&mut self, size: u64, want: Want, now: Time) -> u64 {
        self.credit -= size as i64;
        self.ask(want, now)
    }

    /// The units that a source wants in all, told now.
    pub fn ask(&mut self, want: Want, now: Time) -> u64 {
        let Want { backlog, window, packet, others } = want;
        let bounded = backlog.min(self.most).min(window.saturating_add(packet)) as i64;
        let least = if self.speculates && backlog > 0 { packet as i64 } else { 0 };
        let bytes = (bounded - self.credit).max(least).max(0) as u64;
        let units = (bytes / others.max(1)).div_ceil(UNIT);
        (self.asked, self.asked_at) = (self.asked.max(self.granted + units), now);
        self.asked
    }

    /// A header alone asks now: the units that a source wants in all.
    pub fn ask_alone(&mut self, want: Want, now: Time) -> u64 {
        self.headers += 1;
        self.ask(want, now)
    }

    /// An answer has come, with the units granted so far, or 0 where it does not name them.
    pub fn on_answer(&mut self, granted: u64) {
        if self.speculates {
            (self.speculates, self.credit) = (false, 0);
        }
        let new = granted.saturating_sub(self.granted);
        self.granted += new;
        self.credit += (new * UNIT) as i64;
        self.headers = if new > 0 { 0 } else { self.headers };
    }

    /// When a source that has data, and nothing under way, asks by a header alone.
    pub fn asks_at(&self, patience: Span) -> Time {
        match (self.allows(), self.asked > self.granted) {
            (true, _) => Time::MAX,
            (false, true) => self.asked_at + patience * (1 << self.headers.clamp(1, MOST_DOUBLINGS + 1) >> 1),
            (false, false) => self.asked_at + self.base,
        }
    }
}

/// The place of a flow among those that its host pulls from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// It stands in no queue.
    Nowhere,
    /// Among those that want credit.
    Active,
    /// Among those that want none, and may get some.
    Idle,
}

/// The credit that a destination grants to one source.
#[derive(Debug, Clone)]
pub struct Grants {
    /// Units granted since the beginning.
    pub granted: u64,
    /// Units that the source wants, counted as those.
    wanted: u64,
    /// Units that it may get unasked.
    unasked: u64,
    /// Units of a pull, at most.
    one: u64,
    /// Its place among the flows of its host.
    pub waits: Waits,
    /// Time of so many units on 0.99 of the receiver's link.
    time: Span,
}

impl Grants {
    /// At the end of a link of `rate`, and of a path with this round trip; full packets have so many bytes.
    pub fn new(rate: Rate, base: Span, packet: u64) -> Self {
        let one = (GRANT * packet).div_ceil(UNIT);
        let time = rate.transmit(Bytes(one * UNIT));
        Grants {
            granted: 0,
            wanted: 0,
            unasked: most(rate, base).div_ceil(UNIT),
            one,
            waits: Waits::Nowhere,
            time: Span::ps((u128::from(time.as_ps()) * 100 / 99) as u64),
        }
    }

    /// The source has stated its want.
    pub fn on_want(&mut self, units: u64) {
        self.wanted = self.wanted.max(units);
    }

    /// The queue in which it is to stand.
    pub fn place(&self) -> Waits {
        if self.granted < self.wanted {
            Waits::Active
        } else if self.granted + self.one <= self.wanted + self.unasked {
            Waits::Idle
        } else {
            Waits::Nowhere
        }
    }

    /// A pull leaves; how long the host's next one waits. It grants a source no more than that wants, or a whole pull unasked.
    pub fn pull(&mut self) -> Span {
        let wanted = self.wanted.saturating_sub(self.granted);
        let units = if wanted > 0 { wanted.min(self.one) } else { self.one };
        self.granted += units;
        Span::ps((u128::from(self.time.as_ps()) * u128::from(units) / u128::from(self.one)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate::gbps(100);
    /// 150 000 bytes are a bandwidth-delay product.
    const BASE: Span = Span::us(12);

    fn want(backlog: u64, window: u64) -> Want {
        Want { backlog, window, packet: 4160, others: 0 }
    }

    /// A source sends 1.5 products unasked, while its credit is above zero; the first answer takes away what is left, and the credit counts from
    /// there.
    #[test]
    fn the_first_credit_ends_with_the_first_answer() {
        let mut purse = Purse::new(RATE, BASE, 4160);
        let mut sent = 0;
        while purse.allows() {
            purse.spend(4160, want(1 << 40, u64::MAX), Time::ZERO);
            sent += 1;
        }
        assert_eq!(sent, 225_000u64.div_ceil(4160));
        purse.on_answer(0);
        assert_eq!(purse.credit, 0);
        purse.on_answer(65);
        assert_eq!(purse.credit, 65 * 256);
        // An older answer, or the same, changes nothing.
        purse.on_answer(65);
        purse.on_answer(60);
        assert_eq!(purse.credit, 65 * 256);
        let mut early = Purse::new(RATE, BASE, 4160);
        early.on_answer(1);
        assert_eq!(early.credit, 256);
    }

    /// The least of backlog, 1.5 products, and window and packet, without the credit that there is; in whole units.
    #[test]
    fn a_want_is_bounded_and_counts_the_credit() {
        for (backlog, window, bytes) in [
            (10_000, u64::MAX, 10_000),
            (1 << 40, u64::MAX, 225_000),
            (1 << 40, 50_000, 54_160),
            (0, 50_000, 0),
        ] {
            let mut purse = Purse::new(RATE, BASE, 4160);
            purse.on_answer(100);
            let units = purse.ask(want(backlog, window), Time::ZERO);
            let more = (bytes as i64 - 25_600).max(0) as u64;
            assert_eq!(units, 100 + more.div_ceil(256), "{backlog} {window}");
        }
        // Flows of one card share what one of them may want; a single other one takes nothing.
        for (others, units) in [(0, 879), (1, 879), (2, 440), (10, 88)] {
            let mut purse = Purse::new(RATE, BASE, 4160);
            purse.on_answer(0);
            assert_eq!(purse.ask(Want { others, ..want(1 << 40, u64::MAX) }, Time::ZERO), units);
        }
        // Before the first answer a source with a backlog wants a packet at least.
        let mut purse = Purse::new(RATE, BASE, 4160);
        assert_eq!(purse.ask(want(1, u64::MAX), Time::ZERO), 4160u64.div_ceil(256));
        assert_eq!(purse.ask(want(0, u64::MAX), Time::ZERO), 4160u64.div_ceil(256), "never less than before");
    }

    /// Nine flows that each have a packet in the port are nine, from the moment at which the first half of the first has left its
    /// port on; 64 bytes of headers behind them are no flow.
    #[test]
    fn packets_before_it_are_the_other_flows_of_a_card() {
        let (full, header) = (RATE.transmit(Bytes(4160)), RATE.transmit(Bytes(64)));
        assert_eq!([flows_before(Span::ZERO, full), flows_before(header, full)], [0, 0]);
        assert_eq!([flows_before(full * 9, full), flows_before(full * 9 + header, full)], [9, 9]);
        let half = Span::ps(full.as_ps() / 2);
        assert_eq!(flows_before(full * 8 + half, full), 9);
        assert_eq!(flows_before(full * 8 + half - Span::ps(1), full), 8);
        // A rate so high that a packet takes no time.
        assert_eq!(flows_before(Span::ps(3), Span::ZERO), 3);
    }

    /// With credit it need not ask. Its receiver knows a want or does not.
    #[test]
    fn a_source_without_credit_asks() {
        let (now, patience) = (Time::ZERO + Span::us(50), Span::ms(1));
        let mut purse = Purse::new(RATE, BASE, 4160);
        assert_eq!(purse.asks_at(patience), Time::MAX);
        purse.on_answer(0);
        assert_eq!(purse.asks_at(patience), Time::ZERO + BASE);
        purse.ask(want(9000, u64::MAX), now);
        assert_eq!(purse.asks_at(patience), now + patience);
        for factor in [1, 2, 4, 8, 16, 32, 64, 64] {
            purse.ask_alone(want(9000, u64::MAX), now);
            assert_eq!(purse.asks_at(patience), now + patience * factor);
        }
        purse.on_answer(36);
        assert_eq!(purse.asks_at(patience), Time::MAX);
    }

    /// Four packets a pull, or what is wanted, at 0.99 of the link's rate; unasked 1.5 products at most.
    #[test]
    fn a_destination_grants_what_is_wanted_and_a_little_unasked() {
        let mut grants = Grants::new(RATE, BASE, 4160);
        assert_eq!(grants.one, 65);
        assert_eq!(grants.time, Span::ps(65 * 256 * 80 * 100 / 99));
        grants.on_want(100);
        grants.on_want(90);
        assert_eq!(grants.place(), Waits::Active);
        assert_eq!(grants.pull(), grants.time);
        assert_eq!(grants.pull(), Span::ps(grants.time.as_ps() * 35 / 65));
        assert_eq!((grants.granted, grants.place()), (100, Waits::Idle));
        let mut unasked = 0;
        while grants.place() == Waits::Idle {
            grants.pull();
            unasked += 1;
        }
        assert_eq!(unasked, 879 / 65);
        assert_eq!(grants.place(), Waits::Nowhere);
        grants.on_want(grants.granted + 1);
        assert_eq!(grants.place(), Waits::Active);
    }
}
