//! Exact, time-weighted record of one queue.

use super::histogram::{LengthHistogram, TimeHistogram};
use shallows_units::{Span, Time};

/// How long the queue stood at each length, and how long packets waited in it.
#[derive(Debug, Default)]
pub struct QueueRecord {
    /// Time in ps spent at each length in packets.
    pub time_at: LengthHistogram,
    /// Departures that left each length behind, when asked for.
    pub at_dequeue: Option<LengthHistogram>,
    /// Waits in ps until transmission began.
    pub waits: TimeHistogram,
    /// Sum of the waits in ps.
    pub wait_sum: u128,
    /// Number of the waits.
    pub wait_count: u64,
    /// Integral of the bytes held, in byte ps.
    pub byte_time: u128,
    /// Most bytes held.
    pub max_bytes: u64,
    /// Every change of length, when traced so.
    pub changes: Option<Vec<(Time, u64, u64)>>,
    /// Most rows that `changes` may hold.
    pub max_rows: usize,
    /// `at_dequeue` or `changes` is kept, which few runs ask for.
    in_detail: bool,
    since: Time,
    /// The end of the run.
    until: Time,
}

impl QueueRecord {
    /// Nothing recorded yet of a run that lasts until `until`.
    pub fn new(at_dequeue: bool, changes: bool, max_rows: usize, until: Time) -> Self {
        QueueRecord {
            at_dequeue: at_dequeue.then(LengthHistogram::default),
            changes: changes.then(Vec::new),
            max_rows,
            in_detail: at_dequeue || changes,
            until,
            ..QueueRecord::default()
        }
    }

    /// The queue stood at `packets` and `bytes` until `now`.
    #[inline]
    pub fn stood(&mut self, packets: u64, bytes: u64, now: Time) {
        let span = (now - self.since).as_ps();
        self.since = now;
        self.time_at.add(packets, span);
        self.byte_time += u128::from(bytes) * u128::from(span);
    }

    /// `packets` and `bytes` stand from `now` on, for any reason but a departure: a packet came, or some were dropped.
    #[inline]
    pub fn became(&mut self, packets: u64, bytes: u64, now: Time) {
        self.max_bytes = self.max_bytes.max(bytes);
        if self.in_detail {
            self.changed(packets, bytes, now);
        }
    }

    /// A packet departed; `packets` and `bytes` remain.
    #[inline]
    pub fn left(&mut self, packets: u64, bytes: u64, now: Time) {
        if self.in_detail {
            if let Some(lengths) = &mut self.at_dequeue {
                lengths.add(packets, 1);
            }
            self.changed(packets, bytes, now);
        }
    }

    #[cold]
    fn changed(&mut self, packets: u64, bytes: u64, now: Time) {
        if let Some(rows) = &mut self.changes
            && rows.len() <= self.max_rows
        {
            rows.push((now, packets, bytes));
        }
    }

    /// A packet waited `wait` for its transmission to begin.
    #[inline]
    pub fn waited(&mut self, wait: Span) {
        self.waits.add(wait.as_ps());
        self.wait_sum += u128::from(wait.as_ps());
        self.wait_count += 1;
    }

    /// A packet will have waited `wait` when its transmission begins: known beforehand, and counted if it does begin.
    #[inline]
    pub fn waits_until(&mut self, begin: Time, wait: Span) {
        if begin < self.until {
            self.waited(wait);
        }
    }

    /// Forgets all but the traces: the warm-up ends at `now` with `bytes` held.
    pub fn restart(&mut self, bytes: u64, now: Time) {
        self.time_at.clear();
        self.waits.clear();
        if let Some(lengths) = &mut self.at_dequeue {
            lengths.clear();
        }
        (self.wait_sum, self.wait_count, self.byte_time) = (0, 0, 0);
        self.max_bytes = bytes;
        self.since = now;
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        let lengths = self.time_at.memory() + self.at_dequeue.as_ref().map_or(0, LengthHistogram::memory);
        let changes = self.changes.as_ref().map_or(0, |rows| rows.capacity() * size_of::<(Time, u64, u64)>());
        size_of::<Self>() + lengths + self.waits.memory() + changes
    }
}
