//! The three ways in which a port queues.

use super::line::Lined;
use super::scheduled::Scheduled;
use crate::queue::{AnyAdmission, QueueDisc};

/// How a port queues.
pub enum Service {
    /// Decides at arrival, serves in order.
    Arrival(AnyAdmission),
    /// Serves a few packets in order of arrival, in the chain; the others wait behind them and are decided at departure.
    Lined(Box<Lined>),
    /// Decides at departure.
    Departure(Box<Scheduled>),
}

impl Service {
    /// The service of a discipline that decides at departure.
    pub fn departure(disc: Box<dyn QueueDisc>) -> Self {
        let line = disc.line();
        let behind = Scheduled::new(disc);
        match line {
            Some(line) => Service::Lined(Box::new(Lined { line, behind })),
            None => Service::Departure(Box::new(behind)),
        }
    }

    /// The discipline that decides at departure, where there is one.
    pub fn scheduled(&self) -> Option<&Scheduled> {
        match self {
            Service::Arrival(_) => None,
            Service::Lined(lined) => Some(&lined.behind),
            Service::Departure(scheduled) => Some(scheduled),
        }
    }

    /// The same, to be changed.
    pub fn scheduled_mut(&mut self) -> Option<&mut Scheduled> {
        match self {
            Service::Arrival(_) => None,
            Service::Lined(lined) => Some(&mut lined.behind),
            Service::Departure(scheduled) => Some(scheduled),
        }
    }
}
