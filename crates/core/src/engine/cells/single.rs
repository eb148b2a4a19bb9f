//! A run in one cell: every event in one queue, and loads that act at once.

use crate::engine::control::Control;
use crate::engine::error::RunError;
use crate::engine::{SharedCells, Simulation};
use crate::hosts::cell::{Cell, Stop};
use crate::hosts::connections::{Opener, locked};
use crate::net::Directory;
use crate::workload::WorkCx;
use shallows_units::Time;
use std::sync::PoisonError;

impl Simulation {
    /// Runs the only cell until the time to stop, or to the end.
    pub(in crate::engine) fn run_single(
        &mut self,
        shared: &SharedCells,
        control: &Control,
    ) -> Result<(), RunError> {
        if !self.begun {
            self.begun = true;
            for load in 0..self.loads.len() as u32 {
                self.wake_load(load, shared, Time::ZERO);
                if self.roster.stopped() {
                    self.check_limits(shared, control, Time::ZERO)?;
                }
            }
        }
        self.pause(shared, control)?;
        while !self.finished && self.now < self.stop_at {
            let (stop, now) = {
                let directory = shared.directory.read().unwrap_or_else(PoisonError::into_inner);
                run(&mut locked(&shared.cells[0]), &directory, self.pause_at)
            };
            match stop {
                Stop::Reached => {
                    self.now = self.pause_at;
                    locked(&shared.cells[0]).network.now = self.now;
                    self.pause(shared, control)?;
                }
                Stop::Load(load) => self.wake_load(load, shared, now),
                Stop::Notices => self.handle_notices(shared, now),
                Stop::Look => {
                    self.handle_notices(shared, now);
                    self.check_limits(shared, control, now)?;
                }
            }
            if self.roster.stopped() {
                self.check_limits(shared, control, now)?;
            }
        }
        Ok(())
    }

    fn wake_load(&mut self, number: u32, shared: &SharedCells, now: Time) {
        let wanted = self.wake(number, shared, now);
        self.schedule(number, wanted, shared);
    }

    fn schedule(&self, number: u32, wanted: Option<Time>, shared: &SharedCells) {
        if let Some(at) = wanted {
            locked(&shared.cells[0]).network.events.schedule(self.loads[number as usize].source, at);
        }
    }

    /// Ends finished connections and informs loads of deliveries.
    #[cold]
    fn handle_notices(&mut self, shared: &SharedCells, now: Time) {
        loop {
            let (idle, done) = {
                let hosts = &mut locked(&shared.cells[0]).hosts;
                hosts.has_notices = false;
                (hosts.idle.pop(), hosts.done.pop_front())
            };
            if let Some((_, id)) = idle {
                Self::connections(&mut self.roster, shared, now).release_if_ended(id);
            }
            if let Some((number, done)) = done {
                let connections = Self::connections(&mut self.roster, shared, now);
                let load = &mut self.loads[number as usize];
                let wanted =
                    load.work.on_message(&done, &mut WorkCx { connections, opener: Opener { load: number } });
                let wanted = load.sooner(wanted);
                self.schedule(number.into(), wanted, shared);
            } else if idle.is_none() {
                return;
            }
        }
    }
}

/// Kept apart, so that the loop over events is compiled with nothing around it.
#[inline(never)]
fn run(cell: &mut Cell, directory: &Directory, until: Time) -> (Stop, Time) {
    let stop = cell.run(directory, until);
    (stop, cell.network.now)
}
