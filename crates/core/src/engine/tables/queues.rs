//! The tables of the ports' queues.

use crate::engine::Simulation;
use crate::engine::tables::mean;
use crate::net::port::{Port, PortCounts, TrimCounts};
use crate::probe::histogram::{self, Histogram};
use crate::probe::{TableBuilder, TableData};
use crate::queue::DropWhy;
use shallows_units::Rate;
use std::collections::BTreeMap;

/// A row of the table `queues`.
///
/// It holds all that its columns need: each column is a walk over the rows, and the ports of a large network are not in
/// the caches.
struct Summary {
    number: u32,
    is_switch: bool,
    rate: Rate,
    gone: u64,
    drops: [u64; DropWhy::COUNT],
    trimming: TrimCounts,
    counts: PortCounts,
    held: (u64, u64),
    bytes_out: u64,
    lengths: Option<Lengths>,
    mean_bytes: Option<f64>,
    max_bytes: Option<u64>,
    mean_wait: Option<f64>,
    /// Half, 95 and 99 of 100 packets waited no longer.
    waits: [Option<f64>; 3],
    utilisation: f64,
}

/// Statistics of the time at each length.
struct Lengths {
    mean: f64,
    deviation: f64,
    min: u64,
    max: u64,
    /// At 5, 50, 95 and 99 of 100.
    quantiles: [Option<u64>; 4],
}

impl Lengths {
    fn new(rows: &[(u64, u64, u64)]) -> Option<Self> {
        // Each bin counts at its low end, as in the mean. Below 4096 packets it has no other length.
        let lengths: Vec<_> = rows.iter().map(|(low, _, time)| (*low, low + 1, *time)).collect();
        let quantile = |q| histogram::quantile(&lengths, q).map(|length| length as u64);
        Some(Lengths {
            mean: histogram::mean(rows),
            deviation: histogram::deviation(rows),
            min: rows.first()?.0,
            max: rows.last()?.0,
            quantiles: [0.05, 0.5, 0.95, 0.99].map(quantile),
        })
    }
}

impl Simulation {
    pub(in crate::engine) fn queues_table(&self) -> TableData {
        type Row = Summary;
        let rows: Vec<Row> =
            (0u32..).zip(self.ports()).map(|(i, port)| self.queue_summary(i, port)).collect();
        let over = self.now - self.roster.measured_from;
        let lengths = |get: fn(&Lengths) -> f64| move |r: &Row| r.lengths.as_ref().map(get);
        let end = |get: fn(&Lengths) -> u64| move |r: &Row| r.lengths.as_ref().map(get);
        let quantile = |i: usize| move |r: &Row| r.lengths.as_ref().and_then(|l| l.quantiles[i]);
        let wait = |i: usize| move |r: &Row| r.waits[i];
        TableBuilder::new("queues", &rows)
            .words("port", &self.names.ports, |r| r.number)
            .u32("is_switch", |r| r.is_switch.into())
            .u64("rate_bps", |r| r.rate.as_bps())
            .u64("over_ps", |_| over.as_ps())
            .u64("packets_in", |r| r.counts.packets_in)
            .u64("packets_out", |r| r.counts.packets_in - r.gone - r.held.0)
            .u64("packets_held", |r| r.held.0)
            .u64("bytes_in", |r| r.counts.bytes_in)
            .u64("bytes_out", |r| r.bytes_out)
            .u64("bytes_held", |r| r.held.1)
            .u64("drops", |r| r.drops.iter().sum())
            .each_u64(DropWhy::ALL, DropWhy::column, |r, why| r.drops[why as usize])
            .u64("trims", |r| r.trimming.trims)
            .u64("returned", |r| r.trimming.returned)
            .u64("marks", |r| r.counts.marks)
            .maybe_f64("mean_packets", lengths(|l| l.mean))
            .maybe_f64("sd_packets", lengths(|l| l.deviation))
            .maybe_u64("min_packets", end(|l| l.min))
            .maybe_u64("p5_packets", quantile(0))
            .maybe_u64("p50_packets", quantile(1))
            .maybe_u64("p95_packets", quantile(2))
            .maybe_u64("p99_packets", quantile(3))
            .maybe_u64("max_packets", end(|l| l.max))
            .maybe_f64("mean_bytes", |r| r.mean_bytes)
            .maybe_u64("max_bytes", |r| r.max_bytes)
            .maybe_f64("mean_wait_ps", |r| r.mean_wait)
            .maybe_f64("p50_wait_ps", wait(0))
            .maybe_f64("p95_wait_ps", wait(1))
            .maybe_f64("p99_wait_ps", wait(2))
            .f64("utilisation", |r| r.utilisation)
            .done()
    }

    fn queue_summary(&self, number: u32, port: &Port) -> Summary {
        let (counts, held) = (port.counts, port.held());
        let bytes_out = counts.bytes_in - counts.dropped_bytes - held.1;
        let span = (self.now - self.roster.measured_from).as_secs_f64();
        // Whole packets, less the part of the first that was sent before, and the sent part of the next.
        let whole = match port.varying() {
            Some(varying) => varying.sent_for.as_secs_f64(),
            None => bytes_out as f64 * 8.0 / port.rate.as_bps() as f64,
        };
        let busy = whole - counts.early.as_secs_f64()
            + port.in_service(self.now, self.store(number as usize)).as_secs_f64();
        let record = port.record.as_deref();
        let (times, waits) =
            record.map_or_else(Default::default, |record| (record.time_rows(), record.wait_rows()));
        let total = |rows: &[(u64, u64, u64)]| rows.iter().map(|row| row.2).sum();
        Summary {
            number,
            is_switch: port.flags().switch,
            rate: port.rate,
            gone: port.gone(),
            drops: DropWhy::ALL.map(|why| port.drops(why)),
            trimming: port.trimming(),
            counts,
            held,
            bytes_out,
            lengths: Lengths::new(&times),
            mean_bytes: record.and_then(|r| mean(r.byte_time, total(&times))),
            max_bytes: record.map(|r| r.max_bytes),
            mean_wait: match record {
                Some(record) => mean(record.wait_sum, total(&waits)),
                None => self.host_waits(number),
            },
            waits: [0.5, 0.95, 0.99].map(|q| histogram::quantile(&waits, q)),
            // Sums of floating-point numbers are as good as their last digit.
            utilisation: if span > 0.0 { (busy / span).clamp(0.0, 1.0) } else { 0.0 },
        }
    }

    /// Mean wait in a host's port.
    fn host_waits(&self, link: u32) -> Option<f64> {
        let (cell, place) = self.places[link as usize];
        let waits = self.cells[cell as usize].network.host_waits[place as usize];
        mean(waits.sum, waits.packets)
    }

    pub(in crate::engine) fn queue_histogram(&self) -> TableData {
        let mut rows: Vec<(u32, u64, u64, u64)> = vec![];
        for (i, port) in (0u32..).zip(self.ports()) {
            let Some(record) = &port.record else { continue };
            let times = record.time_rows();
            let Some(departures) = record.at_dequeue() else {
                rows.extend(times.into_iter().map(|(low, _, time)| (i, low, time, 0)));
                continue;
            };
            let mut merged: BTreeMap<u64, (u64, u64)> =
                times.into_iter().map(|(low, _, time)| (low, (time, 0))).collect();
            for (low, _, count) in departures.rows() {
                merged.entry(low).or_default().1 = count;
            }
            rows.extend(merged.into_iter().map(|(low, (time, count))| (i, low, time, count)));
        }
        TableBuilder::new("queue_histogram", &rows)
            .words("port", &self.names.ports, |r| r.0)
            .u64("packets", |r| r.1)
            .u64("time_ps", |r| r.2)
            .u64("at_dequeue", |r| r.3)
            .done()
    }
}
