//! The sender's scoreboard of SACK, and the next segment to send (RFC 6675).

use super::ranges::Ranges;

/// The scoreboard of one flow.
#[derive(Debug, Clone, Default)]
pub struct Scoreboard {
    sacked: Ranges,
    /// Bytes sacked now.
    bytes: u64,
}

/// How far a recovery has sent again.
#[derive(Debug, Clone, Default)]
pub struct Resent {
    /// One beyond the highest byte retransmitted (RFC 6675 `HighRxt`).
    pub high_rxt: u64,
    /// One beyond RFC 6675 `RescueRxt`: a rescue waits until more than this is acknowledged.
    pub rescue: u64,
}

impl Resent {
    /// A recovery sent its first segment again, up to `beyond`. RFC 6675 s.5 step 4.3 sets both marks there, "to
    /// prevent repeated retransmission of the same data or a premature rescue retransmission".
    pub fn first(beyond: u64) -> Resent {
        Resent { high_rxt: beyond, rescue: beyond }
    }

    /// Everything below `beyond` is acknowledged or sent again.
    pub fn reach(&mut self, beyond: u64) {
        self.high_rxt = self.high_rxt.max(beyond);
    }

    /// The bytes below `beyond` that [`Scoreboard::next`] found are sent, in a recovery up to `recovery_point`.
    pub fn on_send(&mut self, found: Next, beyond: u64, recovery_point: u64) {
        match found {
            Next::Again(..) => self.reach(beyond),
            Next::Rescue(..) => self.rescue = recovery_point,
            Next::New => {}
        }
    }
}

/// The answer of RFC 6675 `NextSeg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Send again from the first number up to the second.
    Again(u64, u64),
    /// Send the last segment again, in case the tail was lost. SACK may still report holes before it.
    Rescue(u64, u64),
    /// Send new data.
    New,
}

impl Scoreboard {
    /// Nothing is sacked.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// Bytes sacked.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Calls `f` with each part of `[first, beyond)` that is not sacked.
    pub fn each_gap(&self, first: u64, beyond: u64, f: impl FnMut(u64, u64)) {
        self.sacked.each_gap(first, beyond, f);
    }

    /// Takes the SACK blocks of an acknowledgement of `una`; returns the bytes newly sacked.
    pub fn update(&mut self, blocks: &[(u64, u64)], una: u64, high: u64) -> u64 {
        let mut new = 0;
        for (first, beyond) in blocks {
            new += self.sacked.add((*first).max(una), (*beyond).min(high));
        }
        self.bytes += new;
        new
    }

    /// Everything below `una` is acknowledged; returns how much of it had been sacked before.
    pub fn advance(&mut self, una: u64) -> u64 {
        let known = self.sacked.cut_below(una);
        self.bytes -= known;
        known
    }

    /// Forgets all (a receiver may renege: RFC 2018 s.8).
    pub fn clear(&mut self) {
        *self = Scoreboard::default();
    }

    /// The holes from `una` up to the highest sacked byte, lowest first, each with whether it is lost.
    ///
    /// RFC 6675 `IsLost`: `dup_thresh` sacked ranges lie above it, or more than `dup_thresh - 1`
    /// segments' bytes are sacked above it.
    fn holes(&self, una: u64, dup_thresh: u64, mss: u64) -> impl Iterator<Item = (u64, u64, bool)> + '_ {
        let mut from = una;
        let (mut ranges, mut bytes) = (self.sacked.iter().count() as u64, self.bytes);
        self.sacked.iter().map(move |(first, beyond)| {
            let lost = ranges >= dup_thresh || bytes > (dup_thresh - 1) * mss;
            let hole = (from, first, lost);
            from = beyond;
            ranges -= 1;
            bytes -= beyond - first;
            hole
        })
    }

    /// RFC 6675 `IsLost(una)`.
    pub fn first_is_lost(&self, una: u64, dup_thresh: u64, mss: u64) -> bool {
        self.holes(una, dup_thresh, mss).next().is_some_and(|(first, beyond, lost)| lost && first < beyond)
    }

    /// RFC 6675 `SetPipe`: bytes thought to be in the network, of `[una, high)`; those below `high_rxt` went again.
    pub fn pipe(&self, una: u64, high: u64, high_rxt: u64, dup_thresh: u64, mss: u64) -> u64 {
        let mut pipe = high - self.sacked.end().unwrap_or(una).max(una);
        for (first, beyond, lost) in self.holes(una, dup_thresh, mss) {
            if !lost {
                pipe += beyond - first;
            }
            pipe += high_rxt.clamp(first, beyond) - first; // sent again
        }
        pipe
    }

    /// RFC 6675 `NextSeg`, in recovery up to `recovery_point`; `new_data` tells whether there is
    /// something never sent that the receive window allows.
    pub fn next(
        &self,
        una: u64,
        recovery_point: u64,
        resent: &Resent,
        dup_thresh: u64,
        mss: u64,
        new_data: bool,
    ) -> Option<Next> {
        let end = self.sacked.end().unwrap_or(una);
        let mut unsure = None;
        for (first, beyond, lost) in self.holes(una, dup_thresh, mss) {
            let from = first.max(resent.high_rxt);
            if from < beyond {
                if lost {
                    return Some(Next::Again(from, beyond)); // rule 1
                }
                unsure.get_or_insert(Next::Again(from, beyond));
            }
        }
        if new_data {
            return Some(Next::New); // rule 2
        }
        if unsure.is_some() {
            return unsure; // rule 3
        }
        // Rule 4: once a recovery, the last segment. "HighRxt MUST NOT be updated."
        if una > resent.rescue && end < recovery_point {
            let from = end.max(recovery_point.saturating_sub(mss)).max(resent.high_rxt);
            return (from < recovery_point).then_some(Next::Rescue(from, recovery_point));
        }
        None
    }

    /// The range from `from` that is not sacked: skips sacked bytes; ends at the next sacked one.
    pub fn gap_from(&self, from: u64) -> (u64, u64) {
        let first = self.sacked.holding(from).map_or(from, |r| r.1);
        (first, self.sacked.next_above(first).unwrap_or(u64::MAX))
    }

    /// Sacked bytes below `edge`.
    pub fn bytes_below(&self, edge: u64) -> u64 {
        self.sacked.iter().map(|(a, b)| b.min(edge).saturating_sub(a)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Ten segments of 1000 bytes, of which `segments` (counted from 1) are sacked.
    fn board(segments: &[u64]) -> Scoreboard {
        let mut board = Scoreboard::default();
        for n in segments {
            board.update(&[((n - 1) * MSS, n * MSS)], 0, 10 * MSS);
        }
        board
    }

    /// As ns-3's tcp-tx-buffer-test.cc asserts: loss shows after three sacked segments above.
    // req: RFC6675 s4 SHOULD scoreboard
    #[test]
    fn three_sacked_segments_tell_of_a_loss() {
        assert!(!board(&[2, 3]).first_is_lost(0, 3, MSS));
        assert!(board(&[2, 3, 4]).first_is_lost(0, 3, MSS));
        assert!(board(&[2, 4, 6]).first_is_lost(0, 3, MSS));
    }

    // req: RFC6675 s4 SHOULD scoreboard
    // req: RFC6675 s4 MUST pipe
    // req: RFC6675 s4 MUST next-lost
    #[test]
    fn pipe_counts_what_is_neither_sacked_nor_lost() {
        // Segments 6, 7, 8 sacked: 1 to 5 lost, 9 and 10 under way.
        let board = board(&[6, 7, 8]);
        for (high_rxt, pipe) in [(0, 2 * MSS), (2 * MSS, 4 * MSS)] {
            let resent = Resent::first(high_rxt);
            assert_eq!(board.pipe(0, 10 * MSS, high_rxt, 3, MSS), pipe);
            assert_eq!(board.next(0, 10 * MSS, &resent, 3, MSS, false), Some(Next::Again(high_rxt, 5 * MSS)));
        }
    }

    // req: RFC6675 s4 MUST next-new
    // req: RFC6675 s4 SHOULD next-unsure
    // req: RFC6675 s4 SHOULD next-rescue
    // req: RFC6675 s4 MUST next-nothing
    // req: RFC6675 s4 MUST rescue-keeps-highrxt
    // req: RFC6675 s5 MUST set-highrxt
    #[test]
    fn after_the_lost_ones_comes_new_data_then_the_unsure_then_the_rescue() {
        let board = board(&[2, 9]); // one sacked range above 3..8: not lost
        let next = |resent: &Resent, una, new_data| board.next(una, 10 * MSS, resent, 3, MSS, new_data);
        let mut resent = Resent::first(MSS);
        assert_eq!(next(&resent, 0, true), Some(Next::New));
        assert_eq!(next(&resent, 0, false), Some(Next::Again(2 * MSS, 8 * MSS)));
        resent.reach(8 * MSS);
        assert_eq!(next(&resent, 0, false), None); // premature: nothing is acknowledged since the recovery began
        assert_eq!(next(&resent, MSS, false), None); // RescueRxt is its last byte, and HighACK is not above it
        let rescue = Next::Rescue(9 * MSS, 10 * MSS);
        assert_eq!(next(&resent, 2 * MSS, false), Some(rescue));
        resent.on_send(rescue, 10 * MSS, 10 * MSS);
        assert_eq!(
            (resent.high_rxt, resent.rescue, next(&resent, 2 * MSS, false)),
            (8 * MSS, 10 * MSS, None)
        );
    }

    /// A partial acknowledgement can leave nothing sacked: rules 2 and 4 ask for no SACK.
    // req: RFC6675 s4 MUST next-new
    // req: RFC6675 s4 SHOULD next-rescue
    #[test]
    fn new_data_and_the_rescue_go_with_nothing_sacked() {
        let (board, resent) = (Scoreboard::default(), Resent::first(MSS));
        let next = |new_data| board.next(9 * MSS, 10 * MSS, &resent, 3, MSS, new_data);
        assert_eq!(next(true), Some(Next::New));
        assert_eq!(next(false), Some(Next::Rescue(9 * MSS, 10 * MSS)));
    }

    // req: RFC6675 s5 MUST update
    #[test]
    fn blocks_outside_the_window_are_ignored() {
        let mut board = Scoreboard::default();
        assert_eq!(board.update(&[(0, 500), (9000, 12_000)], 1000, 10_000), 1000);
        assert_eq!(board.bytes(), 1000);
        assert_eq!(board.advance(9500), 500);
        assert_eq!(board.bytes(), 500);
    }
}
