//! A run in one cell: every event in one queue, and loads that act at once.

use crate::engine::control::Control;
use crate::engine::error::RunError;
use crate::engine::{Floor, Simulation};
use crate::hosts::cell::{Cell, Stop};
use crate::hosts::connections::{Opener, locked};
use crate::net::Commons;
use crate::workload::WorkCx;
use shallows_units::Time;
use std::sync::PoisonError;

impl Simulation {
    /// Runs the only cell until the time to stop, or to the end.
    pub(in crate::engine) fn run_alone(&mut self, floor: &Floor, control: &Control) -> Result<(), RunError> {
        if !self.begun {
            self.begun = true;
            for load in 0..self.loads.len() as u32 {
                self.wake_alone(load, floor, Time::ZERO);
                if self.roster.stopped() {
                    self.heed(floor, control, Time::ZERO)?;
                }
            }
        }
        self.pause(floor, control)?;
        while !self.finished && self.now < self.stop_at {
            let (stop, now) = {
                let commons = floor.commons.read().unwrap_or_else(PoisonError::into_inner);
                run(&mut locked(&floor.cells[0]), &commons, self.pause_at)
            };
            match stop {
                Stop::Reached => {
                    self.now = self.pause_at;
                    locked(&floor.cells[0]).network.now = self.now;
                    self.pause(floor, control)?;
                }
                Stop::Load(load) => self.wake_alone(load, floor, now),
                Stop::News => self.hear(floor, now),
                Stop::Look => {
                    self.hear(floor, now);
                    self.heed(floor, control, now)?;
                }
            }
            if self.roster.stopped() {
                self.heed(floor, control, now)?;
            }
        }
        Ok(())
    }

    fn wake_alone(&mut self, number: u32, floor: &Floor, now: Time) {
        let wanted = self.wake(number, floor, now);
        self.schedule(number, wanted, floor);
    }

    fn schedule(&self, number: u32, wanted: Option<Time>, floor: &Floor) {
        if let Some(at) = wanted {
            locked(&floor.cells[0]).network.events.schedule(self.loads[number as usize].source, at);
        }
    }

    /// Ends connections that are over and tells loads of deliveries.
    #[cold]
    fn hear(&mut self, floor: &Floor, now: Time) {
        loop {
            let (over, done) = {
                let hosts = &mut locked(&floor.cells[0]).hosts;
                hosts.news = false;
                (hosts.over.pop(), hosts.done.pop_front())
            };
            if let Some((_, id)) = over {
                Self::connections(&mut self.roster, floor, now).release_if_over(id);
            }
            if let Some((number, done)) = done {
                let connections = Self::connections(&mut self.roster, floor, now);
                let load = &mut self.loads[number as usize];
                let wanted =
                    load.work.on_message(&done, &mut WorkCx { connections, opener: Opener { load: number } });
                let wanted = load.sooner(wanted);
                self.schedule(number.into(), wanted, floor);
            } else if over.is_none() {
                return;
            }
        }
    }
}

/// Kept apart, so that the loop over events is compiled with nothing around it.
#[inline(never)]
fn run(cell: &mut Cell, commons: &Commons, until: Time) -> (Stop, Time) {
    let stop = cell.run(commons, until);
    (stop, cell.network.now)
}
