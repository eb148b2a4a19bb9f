//! Limits that hold while a run goes on: its memory, and a request to stop.

use crate::engine::control::Control;
use crate::engine::error::{Held, RunError};
use crate::engine::{SharedCells, Simulation};
use crate::hosts::connections::{MAX_FLOWS, done, locked};
use crate::hosts::facts::MessageRow;
use crate::hosts::records::FlowRow;
use crate::net::port::chain::SLOT_BYTES;
use shallows_units::Time;

/// A cell has up to twice as many slots as packets.
const PACKET_BYTES: u64 = 2 * SLOT_BYTES as u64;

impl Simulation {
    /// Tells how far the run is, and whether it has to end: it was cancelled, or it holds too much. Called at each
    /// pause, every few thousand events, and where a load was stopped in its work.
    pub(super) fn check_limits(
        &self,
        shared: &SharedCells,
        control: &Control,
        now: Time,
    ) -> Result<(), RunError> {
        control.report(now.as_ps() as f64 / self.duration.as_ps() as f64);
        if control.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        if self.roster.overflowed {
            return Err(RunError::TooManyFlows(MAX_FLOWS));
        }
        let Some(most) = self.memory else { return Ok(()) };
        let held = self.held(shared);
        let bytes: u64 = held.iter().map(|held| held.bytes).sum();
        if (bytes > most || self.roster.overfull)
            && let Some(largest) = held.into_iter().max_by_key(|held| held.bytes)
        {
            return Err(RunError::TooMuchHeld { held: largest, bytes, most });
        }
        for cell in &shared.cells {
            locked(cell).network.room = (most - bytes) / PACKET_BYTES + 1;
        }
        Ok(())
    }

    /// The items of the run whose number grows with time.
    fn held(&self, shared: &SharedCells) -> [Held; 4] {
        let (mut packets, mut rows) = (0i64, self.roster.message_rows.len());
        for cell in &shared.cells {
            let cell = locked(cell);
            let totals = cell.network.totals;
            // A packet may enter in one cell and leave in another.
            packets += (totals.sent + totals.duplicated) as i64 - (totals.delivered + totals.dropped) as i64;
            rows += cell.hosts.message_rows.len();
        }
        let (packets, done) = (packets.max(0) as u64, done(&shared.cells));
        let flow_rows = self.roster.flow_rows.len();
        let row_bytes = rows * size_of::<MessageRow>() + flow_rows * size_of::<FlowRow>();
        let held = |what, count, bytes, cure| Held { what, count, bytes, cure };
        [
            held(
                "packets that wait or travel",
                packets,
                packets * PACKET_BYTES,
                "limit the queues (queue.limit, nic.limit) or the windows, or send less",
            ),
            held(
                "messages that are not delivered",
                self.roster.announced - done,
                self.roster.message_bytes(done),
                "write fewer messages: the load exceeds the network's capacity",
            ),
            held(
                "connections at once",
                self.roster.places() as u64,
                self.roster.bytes(),
                "open fewer connections: the load exceeds the network's capacity",
            ),
            held(
                "rows of results",
                (rows + flow_rows) as u64,
                row_bytes as u64,
                "make the run shorter, or the messages fewer and larger",
            ),
        ]
    }
}
