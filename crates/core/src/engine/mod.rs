//! The engine: events in order of time, and a run from its experiment to its tables.

mod build;
pub mod cells;
pub mod check;
pub mod control;
mod deadlock;
pub mod error;
mod limits;
mod live;
mod pauses;
pub mod tables;
pub mod timeline;

use crate::events::Source;
use crate::experiment::Deadlocks;
use crate::hosts::cell::Cell;
use crate::hosts::connections::{Connections, Opener, Roster};
use crate::net::port::Port;
use crate::net::port::chain::Store;
use crate::net::{Directory, Network};
use crate::probe::settings::ProbeSettings;
use crate::probe::traces::{Clock, LossRow, PacketRow, PortRow, QueueRow};
use crate::workload::{WorkCx, Workload};
use cells::Effort;
use cells::partition::Partition;
pub use control::Control;
pub use error::{Deadlock, RunError};
use live::Passed;
use shallows_units::{Index, Span, Time};
use std::sync::{Mutex, PoisonError, RwLock};
use tables::Names;
use timeline::Timeline;

/// A load, and when it is to wake.
pub struct Load {
    /// The source of its data.
    pub work: Box<dyn Workload>,
    /// When it will be woken.
    wake_at: Time,
    source: Source,
}

/// A run: built from an [`crate::Experiment`], run once, read as tables.
pub struct Simulation {
    cells: Vec<Cell>,
    directory: Directory,
    roster: Roster,
    /// By link: its port's cell and place there.
    places: Vec<(u32, u32)>,
    partition: Partition,
    /// Threads that work the cells.
    threads: usize,
    effort: Effort,
    loads: Vec<Load>,
    names: Names,
    /// Notes on the experiment for a reader of the results.
    notes: Vec<String>,
    probes: ProbeSettings,
    now: Time,
    duration: Time,
    warmup: Time,
    /// Ports that the traces cover.
    traced_ports: Vec<u32>,
    queue_clock: Clock,
    port_clock: Clock,
    flow_clock: Clock,
    queue_rows: Vec<QueueRow>,
    port_rows: Vec<PortRow>,
    /// The loop stops at this time to look at clocks, warm-up and end.
    pause_at: Time,
    /// The loop returns at this time.
    stop_at: Time,
    progress_every: Span,
    begun: bool,
    warm: bool,
    /// The traffic of each port before the warm-up ended; empty until then.
    before_warmup: Vec<Passed>,
    /// Packets that left tapped ports.
    tapped: Vec<PacketRow>,
    /// Packets that ports lost, if the run is to be audited.
    losses: Vec<LossRow>,
    /// Changes of links.
    timeline: Timeline,
    /// By link the one back along its cable, where flow control needs it; else empty.
    backs: Vec<Index>,
    /// The end of a deadlock.
    deadlock_mode: Deadlocks,
    /// Deadlocks that did not end the run; one at a time.
    deadlocks: Vec<Deadlock>,
    /// The most bytes of memory that the run may hold.
    memory: Option<u64>,
    finished: bool,
}

/// The cells at work, and the data that they read.
struct SharedCells {
    cells: Vec<Mutex<Cell>>,
    directory: RwLock<Directory>,
}

impl Simulation {
    /// So many threads work the cells; the results are the same bytes.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads.clamp(1, self.cells.len());
    }

    /// Into how many cells the network is cut.
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Runs to the end. `control` cancels it and shows its progress, from another thread.
    pub fn run(&mut self, control: &Control) -> Result<(), RunError> {
        self.advance(Time::MAX, control).map(drop)
    }

    /// Runs until `until`, before the events of that time, or to the end; returns whether it has ended.
    /// Any number of stops leave the results as they are.
    pub fn advance(&mut self, until: Time, control: &Control) -> Result<bool, RunError> {
        if self.finished || self.begun && until <= self.now {
            return Ok(self.finished);
        }
        self.stop_at = until;
        self.roster.cancelled = control.flag();
        let cells = std::mem::take(&mut self.cells).into_iter().map(Mutex::new).collect();
        let shared = SharedCells { cells, directory: RwLock::new(std::mem::take(&mut self.directory)) };
        let partition = self.partition.clone();
        let result = match &partition.whole {
            Some(_) => self.run_single(&shared, control),
            None => self.run_cells(&shared, &partition, control),
        };
        let whole = |cell: Mutex<Cell>| cell.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.cells = shared.cells.into_iter().map(whole).collect();
        self.directory = shared.directory.into_inner().unwrap_or_else(PoisonError::into_inner);
        result.map(|()| self.finished)
    }

    /// The connections at a time.
    fn connections<'a>(roster: &'a mut Roster, shared: &'a SharedCells, now: Time) -> Connections<'a> {
        Connections { cells: &shared.cells, directory: &shared.directory, roster, now }
    }

    /// Wakes a load; returns the time of its next wake, if that is sooner than its pending one.
    fn wake(&mut self, number: u32, shared: &SharedCells, now: Time) -> Option<Time> {
        let connections = Self::connections(&mut self.roster, shared, now);
        let load = &mut self.loads[number as usize];
        load.wake_at = Time::MAX;
        let wanted = load.work.wake(&mut WorkCx { connections, opener: Opener { load: number as u16 } });
        load.sooner(wanted)
    }

    // ---- books ----

    /// Every port, in the order of the network's links.
    pub fn ports(&self) -> impl Iterator<Item = &Port> + '_ {
        self.places.iter().map(|(cell, place)| &self.cells[*cell as usize].network.ports[*place as usize])
    }

    /// The packets of the cell in which port `number` is.
    fn store(&self, number: usize) -> &Store {
        &self.cells[self.places[number].0 as usize].network.store
    }

    /// Packets over the whole run, and whether the books balance.
    pub fn books(&self) -> Books {
        let mut books = Books::default();
        for cell in &self.cells {
            let totals = cell.network.totals;
            books.sent += totals.sent;
            books.duplicated += totals.duplicated;
            books.delivered += totals.delivered;
            books.dropped += totals.dropped;
            books.in_flight += cell.network.in_flight() + cell.later.len() as u64;
            books.hops += totals.hops;
            books.events += cell.handled;
        }
        books
    }

    /// Packets under way as the connections' ends count them, for tests.
    pub fn outstanding(&self) -> u64 {
        let standing = (0..).zip(&self.directory.connections).filter(|(id, _)| self.roster.stands(*id));
        let under_way = standing.map(|(_, connection)| {
            let ((cell, sender), (other, receiver)) = (connection.sender, connection.receiver);
            let sending = &self.cells[cell as usize].hosts.senders[sender as usize];
            let receiving = &self.cells[other as usize].hosts.receivers[receiver as usize];
            sending.under_way(receiving)
        });
        under_way.sum()
    }

    /// The network, or its first cell's part, for tests.
    pub fn net(&self) -> &Network {
        &self.cells[0].network
    }

    /// Whether a load wants to know of deliveries, for tests.
    pub fn listens(&self) -> bool {
        self.cells.iter().any(|cell| cell.hosts.loads.iter().any(|load| load.listens))
    }

    /// Whether the seed draws the times of a load, for tests.
    pub fn is_random(&self) -> bool {
        self.loads.iter().any(|load| load.work.is_random())
    }

    /// The connections, for tests.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// Replaces every discipline that decides at arrival by its two-event twin; call before running.
    pub fn schedule_departures(&mut self) {
        self.cells.iter_mut().for_each(|cell| cell.network.schedule_departures());
    }
}

impl Load {
    /// The time to wake, if it is sooner than the pending one.
    fn sooner(&mut self, wanted: Option<Time>) -> Option<Time> {
        let at = wanted.filter(|at| *at < self.wake_at)?;
        self.wake_at = at;
        Some(at)
    }
}

/// Packets over a whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Books {
    /// Handed to a NIC.
    pub sent: u64,
    /// Made by injected faults.
    pub duplicated: u64,
    /// Handed to a host.
    pub delivered: u64,
    /// Dropped anywhere.
    pub dropped: u64,
    /// In queues and on wires.
    pub in_flight: u64,
    /// Packets that reached the far end of a wire.
    pub hops: u64,
    /// Events handled.
    pub events: u64,
}

impl Books {
    /// Sent and duplicated = delivered, dropped and in flight.
    pub fn balance(&self) -> bool {
        self.sent + self.duplicated == self.delivered + self.dropped + self.in_flight
    }
}
