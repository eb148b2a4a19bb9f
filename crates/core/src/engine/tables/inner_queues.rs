//! The tables of queues inside a discipline; `docs/reference/tables.md` lists them with their columns.

use crate::engine::Simulation;
use crate::engine::tables::mean;
use crate::net::port::Service;
use crate::probe::histogram::Histogram;
use crate::probe::inner::{InnerCell, InnerRecord};
use crate::probe::{TableBuilder, TableData};
use crate::queue::{Admission, DropWhy};
use std::collections::BTreeMap;

/// One inner queue's place in the tables.
struct InnerQueue<'a> {
    port: u32,
    name: u32,
    record: &'a InnerRecord,
}

impl Simulation {
    /// Every inner queue that saw a packet, and the distinct names of all.
    fn inner_queues(&self) -> (Vec<InnerQueue<'_>>, Vec<String>) {
        let mut found = vec![];
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        for (port, of) in (0u32..).zip(self.ports()) {
            let Some(scheduled) = of.service.scheduled() else { continue };
            let (Some(records), Some(queues)) = (&scheduled.inner, scheduled.disc.inner()) else { continue };
            for (i, record) in records.queues() {
                let next = numbers.len() as u32;
                let name = *numbers.entry(queues.name(i)).or_insert(next);
                found.push(InnerQueue { port, name, record });
            }
        }
        let mut names = vec![String::new(); numbers.len()];
        numbers.into_iter().for_each(|(name, i)| names[i as usize] = name);
        (found, names)
    }

    /// Packets that each inner queue took of each class.
    pub(in crate::engine) fn inner_table(&self) -> TableData {
        let (queues, names) = self.inner_queues();
        let kinds = ["data".to_string(), "ack".to_string()];
        type Row<'a> = (&'a InnerQueue<'a>, u32, &'a InnerCell);
        let rows: Vec<Row<'_>> = queues
            .iter()
            .flat_map(|q| (0u32..).zip(&q.record.cells).map(move |(i, cell)| (q, i, cell)))
            .filter(|(_, _, cell)| cell.packets_in > 0)
            .collect();
        let here = || DropWhy::ALL.into_iter().filter(|why| !why.on_wire());
        let wait = |q: f64| move |r: &Row<'_>| r.2.waits.all().quantile(q);
        TableBuilder::new("inner_queues", &rows)
            .words("port", &self.names.ports, |r| r.0.port)
            .words("queue", &names, |r| r.0.name)
            .words("class", &self.classes(), |r| r.1 / 2)
            .words("what", &kinds, |r| r.1 % 2)
            .u64("packets_in", |r| r.2.packets_in)
            .u64("packets_out", |r| r.2.packets_out)
            .u64("packets_held", |r| r.2.held)
            .u64("bytes_in", |r| r.2.bytes_in)
            .u64("drops", |r| here().map(|why| r.2.drops[why as usize]).sum())
            .each_u64(here(), DropWhy::column, |r, why| r.2.drops[why as usize])
            .u64("marks", |r| r.2.marks)
            .maybe_f64("mean_wait_ps", |r| mean(r.2.wait_sum, r.2.packets_out))
            .maybe_f64("p50_wait_ps", wait(0.5))
            .maybe_f64("p95_wait_ps", wait(0.95))
            .maybe_f64("p99_wait_ps", wait(0.99))
            .done()
    }

    /// The length that departures from each inner queue left behind there.
    pub(in crate::engine) fn inner_histogram(&self) -> TableData {
        let (queues, names) = self.inner_queues();
        let rows: Vec<(&InnerQueue<'_>, u64, u64)> = queues
            .iter()
            .flat_map(|q| q.record.at_dequeue.rows().into_iter().map(move |(low, _, count)| (q, low, count)))
            .collect();
        TableBuilder::new("inner_histogram", &rows)
            .words("port", &self.names.ports, |r| r.0.port)
            .words("queue", &names, |r| r.0.name)
            .u64("packets", |r| r.1)
            .u64("at_dequeue", |r| r.2)
            .done()
    }

    /// The distinct coupling factors of the ports' disciplines, in order: the root of the classic probability is the
    /// scalable one over this.
    pub(in crate::engine) fn coupling_factors(&self) -> Vec<f64> {
        let mut factors = vec![];
        for port in self.ports() {
            let mut put = |name: &'static str, value: f64| {
                if name == "coupling" && !factors.contains(&value) {
                    factors.push(value);
                }
            };
            match &port.service {
                Service::Arrival(admission) => admission.observe(&mut put),
                Service::Lined(lined) => lined.behind.disc.observe(&mut put),
                Service::Departure(scheduled) => scheduled.disc.observe(&mut put),
            }
        }
        factors.sort_by(f64::total_cmp);
        factors
    }
}
