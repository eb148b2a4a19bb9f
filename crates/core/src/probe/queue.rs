//! Exact, time-weighted record of one queue.

use super::histogram::{Histogram, LengthHistogram};
use super::waits::WaitCounts;
use crate::events::fetch::fetch;
use crate::packet::{Flags, Packet};
use shallows_units::{Span, Time};
use std::collections::BTreeMap;

/// Lengths below this have their times in a record's first two cache lines, the first three of them in the first.
const SHORT: usize = 11;

/// How long the queue stood at each length, and how long packets waited in it. Every packet changes it, so it takes
/// five cache lines and no more. A packet that finds the queue empty, as most do, needs the first one alone.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct QueueRecord {
    /// Integral of the bytes held, in byte ps.
    pub byte_time: u128,
    since: Time,
    /// Packets that did not wait.
    unqueued: u64,
    /// Most bytes held.
    pub max_bytes: u64,
    /// Time in ps spent at each length below [`SHORT`].
    short: [u64; SHORT],
    // The third line.
    /// Sum of the waits in ps.
    pub wait_sum: u128,
    /// The end of the run.
    until: Time,
    /// Statistics that few runs ask for.
    detail: Option<Box<Detail>>,
    /// Time in ps spent at each other length in packets.
    long: LengthHistogram,
    /// Waits in ps until transmission began, of the packets that waited. Most of it is the last two lines.
    queued: WaitCounts,
}

/// Each departure, or each change.
#[derive(Debug, Default)]
struct Detail {
    /// Departures that left each length behind.
    at_dequeue: Option<LengthHistogram>,
    /// Every change of length.
    changes: Option<Vec<(Time, u64, u64)>>,
    /// Most rows that `changes` may hold.
    max_rows: usize,
    /// By connection and direction, when asked for.
    shares: Option<BTreeMap<(u32, bool), Share>>,
}

/// The packets of one connection in one direction at a port.
#[derive(Debug, Clone, Copy, Default)]
pub struct Share {
    /// Packets whose transmission began, or is known to begin.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their waits in ps.
    pub wait: u64,
    /// The longest of them.
    pub longest: u64,
}

impl QueueRecord {
    /// Nothing recorded yet of a run that lasts until `until`.
    pub fn new(at_dequeue: bool, changes: bool, shares: bool, max_rows: usize, until: Time) -> Self {
        let detail = || Detail {
            at_dequeue: at_dequeue.then(LengthHistogram::default),
            changes: changes.then(Vec::new),
            shares: shares.then(BTreeMap::new),
            max_rows,
        };
        let detail = (at_dequeue || changes || shares).then(|| Box::new(detail()));
        QueueRecord { detail, until, ..QueueRecord::default() }
    }

    /// `packet` waits `wait` until its transmission begins, at `begin`.
    #[inline]
    pub fn shares(&mut self, packet: &Packet, begin: Time, wait: Span) {
        if let Some(detail) = &mut self.detail
            && begin < self.until
            && !packet.is_pause()
        {
            detail.shared(packet, wait);
        }
    }

    /// By connection and direction (there, back) their packets here, when asked for.
    pub fn each_share(&self) -> impl Iterator<Item = (u32, bool, Share)> + '_ {
        let shares = self.detail.as_ref().and_then(|detail| detail.shares.as_ref());
        shares.into_iter().flatten().map(|((flow, back), share)| (*flow, *back, *share))
    }

    /// Departures that left each length behind, when asked for.
    pub fn at_dequeue(&self) -> Option<&LengthHistogram> {
        self.detail.as_ref().and_then(|detail| detail.at_dequeue.as_ref())
    }

    /// Every change of length, when traced so.
    pub fn changes(&self) -> &[(Time, u64, u64)] {
        self.detail.as_ref().and_then(|detail| detail.changes.as_deref()).unwrap_or(&[])
    }

    /// Time in ps spent at each length in packets, as [`Histogram::rows`].
    pub fn time_rows(&self) -> Vec<(u64, u64, u64)> {
        let short = (0..).zip(self.short).filter(|(_, time)| *time > 0);
        let mut rows: Vec<_> = short.map(|(length, time)| (length, length + 1, time)).collect();
        rows.extend(self.long.rows());
        rows
    }

    /// Waits in ps until transmission began, as [`Histogram::rows`].
    pub fn wait_rows(&self) -> Vec<(u64, u64, u64)> {
        if self.queued.is_empty() {
            return if self.unqueued > 0 { vec![(0, 1, self.unqueued)] } else { vec![] };
        }
        let mut all = self.queued.all();
        all.add_many(0, self.unqueued);
        all.rows()
    }

    /// Asks for its own lines: for the first, or for all where packets stand in the queue.
    #[inline(always)]
    pub fn foresee(&self, stands: bool) {
        fetch(self, if stands { 5 } else { 1 });
    }

    /// The queue stood at `packets` and `bytes` until `now`.
    #[inline]
    pub fn stood(&mut self, packets: u64, bytes: u64, now: Time) {
        let span = (now - self.since).as_ps();
        self.since = now;
        match self.short.get_mut(packets as usize) {
            Some(time) => *time += span,
            None => self.long.add(packets, span),
        }
        self.byte_time += u128::from(bytes) * u128::from(span);
    }

    /// `packets` and `bytes` stand from `now` on, for any reason but a departure: a packet came, or some were dropped.
    #[inline]
    pub fn became(&mut self, packets: u64, bytes: u64, now: Time) {
        self.max_bytes = self.max_bytes.max(bytes);
        if let Some(detail) = &mut self.detail {
            detail.changed(packets, bytes, now);
        }
    }

    /// A packet departed; `packets` and `bytes` remain.
    #[inline]
    pub fn left(&mut self, packets: u64, bytes: u64, now: Time) {
        if let Some(detail) = &mut self.detail {
            if let Some(lengths) = &mut detail.at_dequeue {
                lengths.add(packets, 1);
            }
            detail.changed(packets, bytes, now);
        }
    }

    /// A packet waited `wait` for its transmission to begin.
    #[inline(always)]
    pub fn waited(&mut self, wait: Span) {
        if wait == Span::ZERO {
            self.unqueued += 1;
            return;
        }
        self.wait_sum += u128::from(wait.as_ps());
        self.queued.add(wait.as_ps());
    }

    /// A packet will have waited `wait` when its transmission begins: known beforehand, and counted if it does begin.
    #[inline(always)]
    pub fn waits_until(&mut self, begin: Time, wait: Span) {
        // The present is before the end, and needs no look at it.
        if wait == Span::ZERO || begin < self.until {
            self.waited(wait);
        }
    }

    /// Forgets all but the traces: the warm-up ends at `now` with `bytes` held.
    pub fn restart(&mut self, bytes: u64, now: Time) {
        self.long.clear();
        self.queued.clear();
        (self.short, self.unqueued) = ([0; SHORT], 0);
        if let Some(lengths) = self.detail.as_mut().and_then(|detail| detail.at_dequeue.as_mut()) {
            lengths.clear();
        }
        if let Some(shares) = self.detail.as_mut().and_then(|detail| detail.shares.as_mut()) {
            shares.clear();
        }
        (self.wait_sum, self.byte_time) = (0, 0);
        self.max_bytes = bytes;
        self.since = now;
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        let detail = self.detail.as_ref().map_or(0, |detail| detail.memory());
        size_of::<Self>() + self.long.memory() + self.queued.memory() + detail
    }
}

impl Detail {
    #[cold]
    fn changed(&mut self, packets: u64, bytes: u64, now: Time) {
        if let Some(rows) = &mut self.changes
            && rows.len() <= self.max_rows
        {
            rows.push((now, packets, bytes));
        }
    }

    #[cold]
    fn shared(&mut self, packet: &Packet, wait: Span) {
        let Some(shares) = &mut self.shares else { return };
        let share = shares.entry((packet.flow, packet.flags.any(Flags::REVERSE))).or_default();
        share.packets += 1;
        share.bytes += u64::from(packet.size);
        share.wait += wait.as_ps();
        share.longest = share.longest.max(wait.as_ps());
    }

    fn memory(&self) -> usize {
        let shares = self.shares.as_ref().map_or(0, |all| all.len() * size_of::<((u32, bool), Share)>());
        let lengths = self.at_dequeue.as_ref().map_or(0, LengthHistogram::memory);
        let changes = self.changes.as_ref().map_or(0, |rows| rows.capacity() * size_of::<(Time, u64, u64)>());
        size_of::<Self>() + lengths + changes + shares
    }
}
