//! The engine: events in order of time, and a run from its experiment to its tables.

pub mod build;
pub mod control;
mod inner_tables;
mod live;
mod packet_table;
pub mod results;

use crate::events::{Event, Source};
use crate::hosts::flows::{Hosts, MAX_FLOWS, Opener};
use crate::net::Net;
use crate::net::port::Service;
use crate::packet::Packet;
use crate::probe::settings::ProbeSettings;
use crate::probe::traces::{Clock, PortRow, QueueRow};
use crate::workload::{WorkCx, Workload};
pub use control::{Control, RunError};
use shallows_units::{Span, Time};

/// A load, and when it is to wake.
pub struct Load {
    /// What it sends.
    pub work: Box<dyn Workload>,
    /// When it will be woken.
    wake_at: Time,
    source: Source,
}

/// A run: built from an [`crate::Experiment`], run once, read as tables.
pub struct Simulation {
    net: Net,
    hosts: Hosts,
    loads: Vec<Load>,
    names: results::Names,
    probes: ProbeSettings,
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
    events: u64,
    begun: bool,
    warm: bool,
    /// What passed each port before the warm-up ended; empty until then.
    before_warmup: Vec<live::Passed>,
    finished: bool,
}

impl Simulation {
    /// Runs to the end. `control` cancels it and tells how far it is, from another thread.
    pub fn run(&mut self, control: &Control) -> Result<(), RunError> {
        self.advance(Time::MAX, control).map(drop)
    }

    /// Runs until `until`, before the events of that time, or to the end; returns whether it has ended.
    /// Any number of stops leave the results as they are.
    pub fn advance(&mut self, until: Time, control: &Control) -> Result<bool, RunError> {
        if self.finished || self.begun && until <= self.net.now {
            return Ok(self.finished);
        }
        self.stop_at = until;
        if !self.begun {
            self.begun = true;
            for load in 0..self.loads.len() as u32 {
                self.wake(load);
            }
        }
        self.pause(control)?;
        loop {
            let Some((at, event)) = self.net.events.pop() else {
                if self.jump(self.pause_at, control)? {
                    return Ok(self.finished);
                }
                continue;
            };
            if at >= self.pause_at {
                self.net.events.unpop();
                if self.jump(self.pause_at, control)? {
                    return Ok(self.finished);
                }
                continue;
            }
            self.net.now = at;
            self.events += 1;
            match event {
                Event::Wire(port) => {
                    if let Some(packet) = self.net.land(port) {
                        self.deliver(&packet);
                    }
                }
                Event::Port(port) => self.net.depart(port),
                Event::Sender(flow) => self.hosts.on_sender_timer(flow, &mut self.net),
                Event::Receiver(flow) => self.hosts.on_receiver_timer(flow, &mut self.net),
                Event::Load(load) => self.wake_due(load),
                Event::Tick(port) => self.net.tick(port),
                Event::Stray(place) => {
                    if let Some(packet) = self.net.land_stray(place) {
                        self.deliver(&packet);
                    }
                }
            }
        }
    }

    #[inline]
    fn deliver(&mut self, packet: &Packet) {
        self.hosts.on_packet(packet, &mut self.net);
        if !self.hosts.done.is_empty() {
            self.tell_loads();
        }
    }

    // ---- loads ----

    fn wake_due(&mut self, number: u32) {
        self.loads[number as usize].wake_at = Time::MAX;
        self.wake(number);
    }

    fn wake(&mut self, number: u32) {
        let load = &mut self.loads[number as usize];
        let opener = Opener { load: number as u16 };
        let wanted = load.work.wake(&mut WorkCx { hosts: &mut self.hosts, net: &mut self.net, opener });
        self.wake_later(number, wanted);
    }

    fn wake_later(&mut self, number: u32, wanted: Option<Time>) {
        let load = &mut self.loads[number as usize];
        if let Some(at) = wanted
            && at < load.wake_at
        {
            load.wake_at = at;
            self.net.events.schedule(load.source, at);
        }
    }

    #[cold]
    fn tell_loads(&mut self) {
        while let Some((number, done)) = self.hosts.done.pop_front() {
            let load = &mut self.loads[number as usize];
            let opener = Opener { load: number };
            let mut cx = WorkCx { hosts: &mut self.hosts, net: &mut self.net, opener };
            let wanted = load.work.on_message(&done, &mut cx);
            self.wake_later(u32::from(number), wanted);
        }
    }

    // ---- pauses: warm-up, traces, end ----

    /// Whether the loop returns now.
    fn jump(&mut self, to: Time, control: &Control) -> Result<bool, RunError> {
        self.net.now = to;
        self.pause(control)?;
        Ok(self.finished || to >= self.stop_at)
    }

    /// Does what is due now and sets the next pause.
    fn pause(&mut self, control: &Control) -> Result<(), RunError> {
        let now = self.net.now;
        if !self.warm && now >= self.warmup {
            self.warm = true;
            self.keep_warmup();
            self.net.ports.iter_mut().for_each(|port| port.restart(now));
            self.hosts.restart(&self.net);
        }
        if self.queue_clock.due(now) {
            self.sample_queues();
        }
        if self.port_clock.due(now) {
            self.sample_ports();
        }
        if self.flow_clock.due(now) {
            self.hosts.trace_all(now);
        }
        self.check(control)?;
        if now >= self.duration {
            self.net.ports.iter_mut().for_each(|port| port.sync(now));
            self.hosts.finish(&self.net);
            self.finished = true;
            return Ok(());
        }
        let tick = now + self.progress_every;
        let next_trace = self.queue_clock.next.min(self.port_clock.next).min(self.flow_clock.next);
        let warm_at = if self.warm { Time::MAX } else { self.warmup };
        self.pause_at = tick.min(next_trace).min(warm_at).min(self.duration).min(self.stop_at);
        Ok(())
    }

    fn check(&self, control: &Control) -> Result<(), RunError> {
        control.report(self.net.now.as_ps() as f64 / self.duration.as_ps() as f64);
        if control.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        if self.hosts.overflowed {
            return Err(RunError::TooManyFlows(MAX_FLOWS));
        }
        let changes = |p: &crate::net::port::Port| {
            p.record.as_ref().and_then(|r| r.changes.as_ref()).map_or(0, Vec::len)
        };
        let by_change =
            if self.traces_changes() { self.net.ports.iter().map(changes).max().unwrap_or(0) } else { 0 };
        let longest =
            self.queue_rows.len().max(self.port_rows.len()).max(self.hosts.trace_rows.len()).max(by_change);
        let longest = longest.max(self.net.tapped.len());
        if longest as u64 > self.probes.trace_rows {
            return Err(RunError::TraceTooLong(self.probes.trace_rows));
        }
        Ok(())
    }

    fn traces_changes(&self) -> bool {
        self.probes.queue_trace == crate::probe::TraceWhen::Change
    }

    fn sample_queues(&mut self) {
        let now = self.net.now;
        for port in &self.traced_ports {
            let queue = &mut self.net.ports[*port as usize];
            queue.settle(now);
            let (packets, bytes) = queue.held();
            self.queue_rows.push(QueueRow { time: now, port: *port, packets, bytes });
        }
    }

    fn sample_ports(&mut self) {
        let time = self.net.now;
        for port in &self.traced_ports {
            let Some(arrivals) = &mut self.net.ports[*port as usize].arrivals else { continue };
            for (class, arrivals) in arrivals.iter_mut().enumerate() {
                let arrivals = std::mem::take(arrivals);
                self.port_rows.push(PortRow { time, port: *port, class: class as u32, arrivals });
            }
        }
    }

    // ---- books ----

    /// Packets over the whole run, and whether the books balance.
    pub fn books(&self) -> Books {
        let totals = self.net.totals;
        Books {
            sent: totals.sent,
            duplicated: totals.duplicated,
            delivered: totals.delivered,
            dropped: totals.dropped,
            in_flight: self.net.in_flight(),
            hops: totals.hops,
            events: self.events,
        }
    }

    /// The network, for tests.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// The connections, for tests.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Replaces every discipline that decides at arrival by its two-event twin; call before running.
    pub fn schedule_departures(&mut self) {
        use crate::net::port::Scheduled;
        use crate::queue::parts::fifo::Fifo;
        for (i, port) in (0..).zip(&mut self.net.ports) {
            if let Service::Arrival(admission) = &port.service {
                let disc = Box::new(Fifo::new(admission.clone(), port.rate));
                let mut scheduled = Scheduled::new(disc);
                scheduled.source = self.net.events.add(Event::Port(i));
                port.service = Service::Departure(Box::new(scheduled));
                port.prepare();
            }
        }
    }
}

/// Packets over a whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
