//! IRN's sender: which packets are lost, and sent again one by one.
//!
//! Source: Mittal et al. 2018, "Revisiting Network Support for RDMA" (SIGCOMM) s.3.1, with the reading of
//! `conweave-project/conweave-ns3` (236a801). The first NACK or timeout begins a recovery: the oldest packet goes again, then
//! each with a later one known to have arrived. A packet goes again once; a retransmission that is lost too waits for the
//! timer. A recovery ends when all that had been sent at its begin is acknowledged.
//! By that rule a lost tail costs a timeout for each of its packets. conweave goes back to the acknowledgement at a timeout and
//! so pays one: `timeout_resends = "all"` then takes every packet without an answer for lost.
//! Not taken over from that code: any plain acknowledgement ends a recovery, and only the first hole is sent again.
//! One packet is never sent again by a second recovery while the first one's may still come.
//! Left out: RETH in every packet, by which a card places what comes out of order.

use crate::transport::ranges::Ranges;

/// The sender's knowledge of what arrived, and how far it has sent again.
#[derive(Debug, Default)]
pub struct Selective {
    /// Arrived beyond the acknowledgement.
    arrived: Ranges,
    /// A recovery ends when this is acknowledged.
    until: Option<u64>,
    /// All holes below have been sent again.
    resent: u64,
    /// All below goes again, whatever arrived behind it: the timer has expired.
    lost: u64,
}

impl Selective {
    /// Everything below `una` is acknowledged.
    pub fn advance(&mut self, una: u64) {
        if !self.arrived.is_empty() {
            self.arrived.cut_below(una);
        }
        self.resent = self.resent.max(una);
        self.until = self.until.filter(|until| una < *until);
    }

    /// A NACK: `[first, beyond)` arrived beyond a gap, and `high` is one beyond all that was sent. Whether a recovery begins,
    /// and how many bytes it is the first to report.
    pub fn on_nack(&mut self, first: u64, beyond: u64, una: u64, high: u64) -> (bool, u64) {
        let new = self.arrived.add(first.max(una), beyond.min(high));
        let begins = self.until.is_none();
        if begins {
            self.until = Some(high);
        }
        (begins, new)
    }

    /// The timer has expired: all holes from `una` on are sent again. The oldest packet is taken for lost, or `all` are.
    pub fn on_timeout(&mut self, una: u64, high: u64, all: bool) {
        self.until = Some(high);
        self.resent = una;
        self.lost = if all { high } else { una + 1 };
    }

    /// The packet to send again now, where there is one: its first byte, and where what arrived begins behind it, if anything
    /// did.
    pub fn next_lost(&self, una: u64) -> Option<(u64, Option<u64>)> {
        self.until?;
        let mut at = self.resent.max(una);
        if let Some((_, beyond)) = self.arrived.holding(at) {
            at = beyond;
        }
        match self.arrived.next_above(at) {
            Some(end) => Some((at, Some(end))),
            None => (at < self.lost).then_some((at, None)),
        }
    }

    /// A packet up to `beyond` has been sent again.
    pub fn on_resend(&mut self, beyond: u64) {
        self.resent = beyond;
    }

    /// Bytes known to have arrived beyond the acknowledgement.
    pub fn arrived(&self) -> u64 {
        self.arrived.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends all again that may go, in packets of 1000 bytes: their numbers.
    fn resend(sender: &mut Selective, una: u64) -> Vec<u64> {
        let mut sent = vec![];
        while let Some((at, end)) = sender.next_lost(una) {
            let beyond = end.unwrap_or(u64::MAX).min(at + 1000);
            sender.on_resend(beyond);
            sent.push(at / 1000);
        }
        sent
    }

    /// Ten packets of 1000 bytes, of which 0, 3 and 4 are lost: each goes again once, in order, as soon as a later one has
    /// come; the timer sends them once more.
    #[test]
    fn each_hole_goes_again_once_and_again_after_a_timeout() {
        let mut sender = Selective::default();
        assert_eq!(resend(&mut sender, 0), [0; 0]);
        assert_eq!(sender.on_nack(1000, 2000, 0, 10_000), (true, 1000));
        assert_eq!(resend(&mut sender, 0), [0]);
        assert_eq!(sender.on_nack(2000, 3000, 0, 10_000), (false, 1000));
        assert_eq!(resend(&mut sender, 0), [0; 0]);
        assert_eq!(sender.on_nack(5000, 6000, 0, 10_000), (false, 1000));
        assert_eq!(resend(&mut sender, 0), [3, 4]);
        assert_eq!(sender.on_nack(5000, 6000, 0, 10_000), (false, 0));
        sender.advance(3000);
        assert_eq!((sender.arrived(), resend(&mut sender, 3000)), (1000, vec![]));
        sender.on_timeout(3000, 10_000, false);
        assert_eq!(resend(&mut sender, 3000), [3, 4]);
        sender.advance(10_000);
        assert_eq!((sender.arrived(), sender.until), (0, None));
    }

    /// The last packets of a message are lost: nothing later can arrive, and the timer alone brings them back. One at a time,
    /// or all at once.
    #[test]
    fn a_lost_tail_waits_for_the_timer() {
        for (all, want) in [(false, vec![7]), (true, vec![7, 9])] {
            let mut sender = Selective::default();
            sender.advance(7000);
            assert_eq!(resend(&mut sender, 7000), [0; 0]);
            // The packet between has come, and its answer alone arrived.
            sender.arrived.add(8000, 9000);
            sender.on_timeout(7000, 10_000, all);
            assert_eq!(resend(&mut sender, 7000)[..1], want[..1]);
            sender.advance(9000);
            sender.on_timeout(9000, 10_000, all);
            assert_eq!(sender.next_lost(9000), Some((9000, None)));
            let mut whole = Selective::default();
            whole.arrived.add(8000, 9000);
            whole.on_timeout(7000, 10_000, all);
            let mut sent = vec![];
            while let Some((at, _)) = whole.next_lost(7000) {
                whole.on_resend(at + 1000);
                sent.push(at / 1000);
                assert!(sent.len() < 4);
            }
            assert_eq!(sent, want);
        }
    }

    /// Packet 0 is lost, and 12, which was sent while it was repaired. The recovery ends when 0 has come; what 13 and 14
    /// report then begins another, which sends 12 no second time.
    #[test]
    fn a_second_recovery_sends_nothing_that_the_first_has_sent() {
        let mut sender = Selective::default();
        assert!(sender.on_nack(1000, 10_000, 0, 10_000).0);
        assert_eq!(resend(&mut sender, 0), [0]);
        assert!(!sender.on_nack(13_000, 14_000, 0, 15_000).0);
        assert_eq!(resend(&mut sender, 0), [10, 11, 12]);
        sender.advance(12_000);
        assert_eq!(sender.until, None);
        assert!(sender.on_nack(14_000, 15_000, 12_000, 15_000).0);
        assert_eq!(resend(&mut sender, 12_000), [0; 0]);
        sender.on_timeout(12_000, 15_000, false);
        assert_eq!(resend(&mut sender, 12_000), [12]);
    }
}
