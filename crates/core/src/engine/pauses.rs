//! The pauses of a run: the warm-up's end, changes of links, traces at intervals, limits, progress, the end.

use crate::engine::{Control, RunError, SharedCells, Simulation};
use crate::hosts::cell::Cell;
use crate::hosts::connections::locked;
use crate::hosts::facts::{Acked, MessageRow};
use crate::net::Network;
use crate::net::port::Port;
use crate::probe::TraceWhen;
use crate::probe::traces::{PortRow, QueueRow};
use shallows_units::Time;
use std::sync::{Mutex, PoisonError};

impl Simulation {
    /// Does all that is due now and sets the next pause.
    pub(super) fn pause(&mut self, shared: &SharedCells, control: &Control) -> Result<(), RunError> {
        let now = self.now;
        if !self.warm && now >= self.warmup {
            self.warm = true;
            self.keep_warmup(shared);
            each_network(shared, self.threads, |network| network.restart(now));
            Self::connections(&mut self.roster, shared, now).restart();
        }
        self.change_links(shared);
        if self.queue_clock.due(now) {
            self.sample_queues(shared);
        }
        if self.port_clock.due(now) {
            self.sample_ports(shared);
        }
        if self.flow_clock.due(now) {
            Self::connections(&mut self.roster, shared, now).trace_all();
        }
        self.check(shared, control)?;
        if now >= self.duration {
            each_network(shared, self.threads, |network| network.sync(now));
            Self::connections(&mut self.roster, shared, now).finish();
            self.gather(shared);
            self.finished = true;
            return Ok(());
        }
        // Several cells look at progress without a pause, which would cut a window short.
        let tick = if self.partition.whole.is_some() { now + self.progress_every } else { Time::MAX };
        let next_trace = self.queue_clock.next.min(self.port_clock.next).min(self.flow_clock.next);
        let warm_at = if self.warm { Time::MAX } else { self.warmup };
        let change = self.timeline.next_at();
        self.pause_at = tick.min(next_trace).min(warm_at).min(change).min(self.duration).min(self.stop_at);
        Ok(())
    }

    /// Brings together the records that cells kept apart, in an order that does not depend on the cells.
    fn gather(&mut self, shared: &SharedCells) {
        let roster = &mut self.roster;
        let mut acked: Vec<Acked> = vec![];
        let directory = shared.directory.read().unwrap_or_else(PoisonError::into_inner);
        for cell in &shared.cells {
            let mut cell = locked(cell);
            acked.append(&mut cell.hosts.acked);
            cell.network.tap_wires(&directory);
            roster.message_rows.append(&mut cell.hosts.message_rows);
            roster.trace_rows.append(&mut cell.hosts.trace_rows);
            self.tapped.append(&mut cell.network.tapped);
            self.losses.append(&mut cell.network.losses.take().unwrap_or_default());
            if roster.waits.is_empty() {
                roster.waits = std::mem::take(&mut cell.hosts.waits);
            } else {
                roster.waits.iter_mut().zip(&cell.hosts.waits).for_each(|(all, own)| all.add(own));
            }
        }
        acked.sort_unstable();
        for row in &mut roster.message_rows {
            let found = acked.binary_search_by_key(&(row.flow, row.end), |acked| (acked.flow, acked.end));
            row.acked = found.ok().map(|place| acked[place].at);
        }
        if shared.cells.len() > 1 {
            let at = |row: &MessageRow| row.ended.unwrap_or(Time::MAX);
            roster.message_rows.sort_by_key(|row| (at(row), row.flow, row.started));
            roster.trace_rows.sort_by_key(|row| (row.time, row.flow));
            self.tapped.sort_by_key(|row| (row.landed.unwrap_or(Time::MAX), row.port));
            self.losses.sort_by_key(|row| (row.time, row.port));
        }
    }

    pub(super) fn check(&mut self, shared: &SharedCells, control: &Control) -> Result<(), RunError> {
        self.check_limits(shared, control, self.now)?;
        self.look_for_deadlock(shared)?;
        let changes = |p: &Port| p.record.as_ref().map_or(0, |r| r.changes().len());
        let (mut tapped, mut lost, mut traced, mut by_change) = (0, 0, self.roster.trace_rows.len(), 0);
        for cell in &shared.cells {
            let cell = locked(cell);
            tapped += cell.network.tapped.len();
            lost += cell.network.losses.as_ref().map_or(0, Vec::len);
            traced += cell.hosts.trace_rows.len();
            if self.probes.queue_trace == TraceWhen::Change {
                by_change = cell.network.ports.iter().map(changes).max().unwrap_or(0).max(by_change);
            }
        }
        let sampled = self.queue_rows.len().max(self.port_rows.len());
        let longest = sampled.max(traced).max(by_change).max(tapped).max(lost);
        if longest as u64 > self.probes.trace_rows {
            return Err(RunError::TraceTooLong(self.probes.trace_rows));
        }
        Ok(())
    }

    fn sample_queues(&mut self, shared: &SharedCells) {
        let time = self.now;
        for port in &self.traced_ports {
            let (cell, place) = self.places[*port as usize];
            let network = &mut locked(&shared.cells[cell as usize]).network;
            let queue = &mut network.ports[place as usize];
            queue.settle(time, &network.store);
            let (packets, bytes) = queue.held();
            self.queue_rows.push(QueueRow { time, port: *port, packets, bytes });
        }
    }

    fn sample_ports(&mut self, shared: &SharedCells) {
        let time = self.now;
        for port in &self.traced_ports {
            let (cell, place) = self.places[*port as usize];
            let traced = &mut locked(&shared.cells[cell as usize]).network.ports[place as usize].arrivals;
            for (class, arrivals) in traced.iter_mut().flatten().enumerate() {
                let arrivals = std::mem::take(arrivals);
                self.port_rows.push(PortRow { time, port: *port, class: class as u32, arrivals });
            }
        }
    }
}

/// Does the same to each cell's part of the network, in so many threads.
fn each_network(shared: &SharedCells, threads: usize, act: impl Fn(&mut Network) + Sync) {
    let work = |cells: &[Mutex<Cell>]| cells.iter().for_each(|cell| act(&mut locked(cell).network));
    if threads == 1 {
        return work(&shared.cells);
    }
    std::thread::scope(|scope| {
        for cells in shared.cells.chunks(shared.cells.len().div_ceil(threads)) {
            scope.spawn(|| work(cells));
        }
    });
}
