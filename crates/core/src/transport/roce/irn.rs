//! IRN's sender: which packets are lost, and sent again one by one.
//!
//! Source: Mittal et al. 2018, "Revisiting Network Support for RDMA" (SIGCOMM) s.3.1, with the reading of
//! `conweave-project/conweave-ns3` (236a801). The first NACK or timeout begins a recovery: the oldest packet goes again, then
//! each with a later one known to have arrived. A packet goes again once; a retransmission that is lost too waits for the
//! timer. A recovery ends when all that had been sent at its begin is acknowledged.
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
    /// The oldest packet goes again, whatever arrived: the timer has expired.
    at_once: bool,
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

    /// The timer has expired: all holes from `una` on are sent again.
    pub fn on_timeout(&mut self, una: u64, high: u64) {
        self.until = Some(high);
        self.resent = una;
        self.at_once = true;
    }

    /// The packet to send again now, where there is one: its first byte, and where what arrived begins behind it.
    pub fn next_lost(&self, una: u64) -> Option<(u64, u64)> {
        self.until?;
        let mut at = self.resent.max(una);
        if let Some((_, beyond)) = self.arrived.holding(at) {
            at = beyond;
        }
        match self.arrived.next_above(at) {
            Some(end) => Some((at, end)),
            None if self.at_once && at == una => Some((una, u64::MAX)),
            None => None,
        }
    }

    /// A packet up to `beyond` has been sent again.
    pub fn on_resend(&mut self, beyond: u64) {
        self.resent = beyond;
        self.at_once = false;
    }

    /// Bytes known to have arrived beyond the acknowledgement.
    pub fn arrived(&self) -> u64 {
        self.arrived.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten packets of 1000 bytes, of which 0, 3 and 4 are lost: each goes again once, in order, as soon as a later one has
    /// come; the timer sends them once more.
    #[test]
    fn each_hole_goes_again_once_and_again_after_a_timeout() {
        let mut sender = Selective::default();
        let resend = |sender: &mut Selective, una: u64| {
            let mut sent = vec![];
            while let Some((at, end)) = sender.next_lost(una) {
                let beyond = end.min(at + 1000);
                sender.on_resend(beyond);
                sent.push(at / 1000);
            }
            sent
        };
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
        sender.on_timeout(3000, 10_000);
        assert_eq!(resend(&mut sender, 3000), [3, 4]);
        sender.advance(10_000);
        assert_eq!((sender.arrived(), sender.until), (0, None));
    }

    /// The last packet of a message is lost: nothing later can arrive, and the timer alone brings it back.
    #[test]
    fn a_lost_tail_waits_for_the_timer() {
        let mut sender = Selective::default();
        sender.advance(9000);
        assert_eq!(sender.next_lost(9000), None);
        sender.on_timeout(9000, 10_000);
        assert_eq!(sender.next_lost(9000), Some((9000, u64::MAX)));
        sender.on_resend(10_000);
        assert_eq!(sender.next_lost(9000), None);
    }
}
