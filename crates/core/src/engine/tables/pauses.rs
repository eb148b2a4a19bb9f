//! The table of flow control: a row for each port and lossless priority.

use crate::engine::Simulation;
use crate::net::pfc::ingress::{Account, Ingress};
use crate::net::pfc::ones;
use crate::net::pfc::watchdog::Watched;
use crate::net::port::Port;
use crate::probe::{TableBuilder, TableData};

/// A row.
struct Row<'a> {
    number: u32,
    port: &'a Port,
    priority: u8,
    count: u64,
    paused: u64,
    watched: Watched,
    ingress: Option<&'a Ingress>,
}

impl Row<'_> {
    /// A value of its account, where there is one.
    fn account(&self, get: impl FnOnce(&Account) -> u64) -> Option<u64> {
        self.ingress.map(|ingress| get(&ingress.accounts[usize::from(self.priority)]))
    }
}

impl Simulation {
    pub(in crate::engine) fn pauses_table(&self) -> TableData {
        let mut rows = vec![];
        for (number, port) in (0..).zip(self.ports()) {
            let Some(pausing) = port.pausing() else { continue };
            for priority in ones(pausing.lossless) {
                let (count, time) = pausing.record(priority, self.now);
                let ingress = pausing.ingress.as_deref();
                rows.push(Row {
                    number,
                    port,
                    priority,
                    count,
                    paused: time.as_ps(),
                    watched: pausing.watched(priority),
                    ingress,
                });
            }
        }
        let over = self.now - self.roster.measured_from;
        TableBuilder::new("pauses", &rows)
            .words("port", &self.names.ports, |r| r.number)
            .u32("is_switch", |r| r.port.flags().switch.into())
            .u32("priority", |r| r.priority.into())
            .u64("over_ps", |_| over.as_ps())
            .u64("paused", |r| r.count)
            .u64("paused_ps", |r| r.paused)
            .u64("storms", |r| r.watched.storms)
            .u64("storms_restored", |r| r.watched.restored)
            .u64("watchdog_drops", |r| r.watched.dropped)
            .maybe_u64("pauses_sent", |r| r.account(|a| a.closings))
            .maybe_u64("frames_sent", |r| r.account(|a| a.frames))
            .maybe_u64("held_bytes", |r| r.account(|a| a.shared + a.headroom))
            .maybe_u64("max_held_bytes", |r| r.account(|a| a.most))
            .maybe_u64("max_headroom_bytes", |r| r.account(|a| a.most_headroom))
            .maybe_u64("headroom_bytes", |r| r.ingress.map(|i| i.law.headroom[usize::from(r.priority)]))
            .done()
    }
}
