//! Trimming: a full queue cuts payloads off, and the headers overtake all data.
//!
//! Source: Handley et al. 2017, "Re-architecting datacenter networks and stacks for low latency and high performance" (SIGCOMM;
//! NDP) s.3.1, with the constants of the authors' simulator (`Broadcom/csg-htsim`, 841d9e7). Data packets wait in a short
//! queue, and in another one the headers of trimmed packets with all that receivers send. A data packet that finds its queue
//! full is trimmed, or the newest of the queue in its place: with a fixed choice, senders in lockstep would lose always or never.
//! Headers without room go back to their senders, once.
//! Only packets whose transport asks for it are trimmed; others are dropped where there is no room.
//!
//! Ultra Ethernet's switches mark before they trim, and trim later at the last hop (UE 1.0.3 p. 418): `kmin`, `kmax` and `last_hop_room`.
//! Data are marked as they leave, by what stays behind them (`ultraethernet/uet-htsim`, 40ccb05, compositequeue.cpp).
//! A packet trimmed at the port to its destination says so. Trimmed packets may have a class of their own with a part of the bandwidth
//! (`trimmed_share`).
//!
//! Left out: trimming of the packet in transmission.

use super::drop_tail::check_limit;
use super::{Backlog, DropWhy, Place, QueueCx, QueueDisc};
use crate::events::random::Stream;
use crate::packet::{Flags, Packet};
use crate::params::{Code, Faults, ParamType};
use crate::queue::parts::gauge::Level;
use crate::queue::parts::held::Held;
use shallows_units::{Bytes, Size};

crate::choices! {
    /// The fate of headers without room.
    pub enum Excess {
        /// They go back to their senders, once.
        Return = "return",
        /// They are dropped.
        Drop = "drop",
    }
}

crate::params! {
    /// Trimming (NDP). A full queue cuts payloads off, and headers overtake all data. Packets of transports that do not ask for it
    /// are dropped.
    pub struct Settings {
        /// Most data that the queue may hold, in bytes or packets, or "none": then nothing is trimmed.
        limit: Option<Size> = "8pkt", "[1pkt, ]", "Handley 2017 s.3.1: eight packets";
        /// Most data at a switch's port to a host, or "none": as elsewhere.
        last_hop_room: Option<Size> = "none", "[1pkt, ]", "none: Handley 2017; UE 1.0.3 p. 418: 1.5 bandwidth-delay products, and 1 elsewhere";
        /// Data behind a leaving packet above which it may be marked, or "none": nothing is.
        kmin: Option<Bytes> = "none", "", "none: Handley 2017; UE 1.0.3 p. 418: 0.2 of a bandwidth-delay product";
        /// Data behind a leaving packet from which on each is marked, beside kmin. In between the probability rises linearly.
        kmax: Option<Bytes> = "none", "[1B, ]", "none: Handley 2017; UE 1.0.3 p. 418: 0.8 of a bandwidth-delay product";
        /// Most headers that wait, in bytes or packets, or "none".
        header_limit: Option<Size> = "72KB", "[1pkt, ]", "Handley 2017 s.3.1: the memory of eight packets of 9000 bytes; its authors' simulator: twice that";
        /// Whether the packet being transmitted counts as held.
        count_in_service: bool = true, "", "the authors' simulator: a packet leaves the queue when it has been sent";
        /// Probability that the newest data packet in the queue is trimmed in place of the arriving one.
        newest: f64 = 0.5, "[0, 1]", "Handley 2017 s.3.1: one half, against phase effects";
        /// Headers that are sent for each data packet while both wait, or "none": headers always go first.
        headers_per_packet: Option<u64> = 10, "[1, ]", "Handley 2017 s.3.1: ten, so that headers never starve data; the authors' simulator: 100 000";
        /// Most of the bandwidth that trimmed packets get while data wait, in a class of their own behind answers; or "none": they are
        /// headers as others.
        trimmed_share: Option<f64> = "none", "(0, 1)", "none: Handley 2017; UE 1.0.3 p. 418: one half at most, or a quarter by weights";
        /// Bytes that are left of a trimmed packet.
        header: Bytes = "64B", "[1B, 9000B]", "Handley 2017; the authors' simulator";
        /// The fate of headers without room.
        excess: Excess = "return", "", "Handley 2017 s.3.2.4: return to sender";
    }
}

impl Settings {
    /// Settings that contradict each other.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        check_limit(self.limit, path, faults);
        if self.last_hop_room.is_some() && self.limit.is_none() {
            let rule =
                Code::Conflict.rule("must be \"none\" beside limit = \"none\", by which nothing is trimmed");
            faults.add(&format!("{path}.last_hop_room"), rule, &self.last_hop_room.show());
        }
        match (self.kmin, self.kmax) {
            (Some(kmin), Some(kmax)) if kmax < kmin => {
                faults.add(
                    &format!("{path}.kmax"),
                    Code::Conflict.rule("must be at least kmin"),
                    &self.kmax.show(),
                );
            }
            (Some(_), None) => {
                let rule =
                    Code::Missing.rule("must be written beside kmin: from there on each packet is marked");
                faults.add(&format!("{path}.kmax"), rule, &self.kmax.show());
            }
            (None, Some(_)) => {
                let rule =
                    Code::Missing.rule("must be written beside kmax: from there on packets may be marked");
                faults.add(&format!("{path}.kmin"), rule, &self.kmin.show());
            }
            _ => {}
        }
        if self.header_limit == Some(Size::Bytes(Bytes(0))) {
            let rule = Code::OutOfRange.rule("must be > 0B, or \"none\"");
            faults.add(&format!("{path}.header_limit"), rule, &"0B".into());
        }
    }
}

/// The discipline at work.
#[derive(Debug, Clone)]
pub struct Discipline {
    data: Held,
    headers: Held,
    /// Trimmed packets, where they have a class of their own, with the weight of a byte of data in theirs.
    trimmed: Held,
    weight: Option<f64>,
    /// Bytes that they may send before data, since these went first.
    earned: f64,
    limits: [Level; 2],
    counts_serving: bool,
    newest: f64,
    /// Headers sent since the last data packet, and how many may be while data wait.
    in_row: u64,
    most_in_row: u64,
    header: u16,
    /// Marks are drawn between these.
    ramp: Option<(f64, f64)>,
    last_hop: bool,
    returns: bool,
    /// The class of the packet being transmitted.
    sends: Class,
    random: Stream,
}

/// Classes of packets, each with a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Data,
    Header,
    Trimmed,
}

/// It waits among the headers: trimmed, from a receiver, or of the class of control.
fn is_header(packet: &Packet) -> bool {
    packet.flags.any(Flags::REVERSE) || packet.trimmed() || packet.is_control()
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, place: Place) -> Self {
        let here = if place.last_hop { settings.last_hop_room } else { None };
        let limit = here.or(settings.limit);
        let ramp = settings.kmin.zip(settings.kmax);
        Discipline {
            data: Held::default(),
            headers: Held::default(),
            trimmed: Held::default(),
            weight: settings.trimmed_share.map(|share| share / (1.0 - share)),
            earned: 0.0,
            limits: [limit, settings.header_limit].map(Level::new),
            counts_serving: settings.count_in_service,
            newest: settings.newest,
            in_row: 0,
            most_in_row: settings.headers_per_packet.unwrap_or(u64::MAX),
            header: settings.header.as_u64() as u16,
            ramp: ramp.map(|(kmin, kmax)| (kmin.as_u64() as f64, kmax.as_u64() as f64)),
            last_hop: place.last_hop,
            returns: settings.excess == Excess::Return,
            sends: Class::Header,
            random: place.random,
        }
    }

    /// Whether a packet of `size` bytes fits into one of the queues, when `less` bytes leave the data before.
    fn fits(&self, class: Class, size: u16, less: u16, cx: &QueueCx<'_>) -> bool {
        let (held, limit) = match class {
            Class::Data => (&self.data, self.limits[0]),
            Class::Header => (&self.headers, self.limits[1]),
            Class::Trimmed => (&self.trimmed, self.limits[1]),
        };
        let serving = if self.counts_serving && self.sends == class { cx.serving } else { 0 };
        let packets = held.packets() + u64::from(serving > 0) + 1 - u64::from(less > 0);
        !limit.is_below((packets, held.bytes() + serving + u64::from(size) - u64::from(less)))
    }

    /// A data packet finds no room: the packet to trim, the newest in the queue having made room where it is that.
    fn victim(&mut self, packet: Packet, cx: &QueueCx<'_>) -> Packet {
        let newest = self.data.newest().filter(|newest| newest.flags.any(Flags::TRIMMABLE));
        let Some(size) = newest.map(|newest| newest.size) else { return packet };
        // The draw comes first, so that sizes do not shift later ones.
        if !self.random.chance(self.newest) || !self.fits(Class::Data, packet.size, size, cx) {
            return packet;
        }
        let newest = self.data.pop_newest().expect("just seen");
        self.data.push(packet);
        newest
    }

    /// The next packet of data, marked as what stays behind it says.
    fn pop_data(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let mut packet = self.data.pop()?;
        if let Some((kmin, kmax)) = self.ramp {
            let behind = self.data.bytes() as f64;
            let marks =
                behind >= kmax || behind > kmin && self.random.chance((behind - kmin) / (kmax - kmin));
            if marks {
                cx.mark(&mut packet);
            }
        }
        Some(packet)
    }

    fn take_header(&mut self, packet: Packet, cx: &mut QueueCx<'_>) {
        let own = self.weight.is_some() && packet.trimmed() && !packet.flags.any(Flags::REVERSE);
        let class = if own { Class::Trimmed } else { Class::Header };
        if self.fits(class, packet.size, 0, cx) {
            let queue = if own { &mut self.trimmed } else { &mut self.headers };
            queue.push(packet);
        } else if self.returns && packet.trimmed() && !packet.flags.any(Flags::REVERSE) {
            cx.drop(packet, DropWhy::Returned);
        } else {
            cx.drop(packet, DropWhy::Full);
        }
    }
}

impl QueueDisc for Discipline {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut QueueCx<'_>) {
        packet.at = cx.now;
        if is_header(&packet) {
            return self.take_header(packet, cx);
        }
        if self.fits(Class::Data, packet.size, 0, cx) {
            return self.data.push(packet);
        }
        if !packet.flags.any(Flags::TRIMMABLE) {
            return cx.drop(packet, DropWhy::Full);
        }
        let mut victim = self.victim(packet, cx);
        cx.trim(&mut victim, self.header);
        victim.flags = victim.flags.with_if(Flags::LAST_HOP, self.last_hop);
        self.take_header(victim, cx);
    }

    fn dequeue(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let others = !self.data.is_empty() || !self.trimmed.is_empty();
        self.sends = if !(self.headers.is_empty() || self.in_row >= self.most_in_row && others) {
            Class::Header
        } else if self.trimmed.is_empty() || !self.data.is_empty() && self.earned < f64::from(self.header) {
            Class::Data
        } else {
            Class::Trimmed
        };
        if self.sends == Class::Header {
            self.in_row += 1;
            return self.headers.pop();
        }
        self.in_row = 0;
        if self.sends == Class::Data {
            let waits = !self.trimmed.is_empty();
            let packet = self.pop_data(cx);
            let size = packet.as_ref().map_or(0.0, |packet| f64::from(packet.size));
            self.earned = if waits { self.earned + size * self.weight.unwrap_or_default() } else { 0.0 };
            return packet;
        }
        let packet = self.trimmed.pop();
        let size = packet.as_ref().map_or(0.0, |packet| f64::from(packet.size));
        self.earned = (self.earned - size).max(0.0);
        packet
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.data.packets() + self.headers.packets() + self.trimmed.packets(),
            bytes: self.data.bytes() + self.headers.bytes() + self.trimmed.bytes(),
            ..Backlog::default()
        }
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("data_packets", self.data.packets() as f64);
        put("header_packets", (self.headers.packets() + self.trimmed.packets()) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::tests::place;
    use shallows_units::Time;

    /// A data packet that may be trimmed.
    fn data(seq: u64) -> Packet {
        Packet { seq, flags: Flags::TRIMMABLE, ..packet(9000) }
    }

    /// The fates of `arrivals` at a port that sends nothing meanwhile: what leaves then, in order, as (seq, size); and
    /// what was given up.
    #[allow(clippy::type_complexity)]
    fn run(settings: Settings, arrivals: &[Packet]) -> (Vec<(u64, u16)>, Vec<(u64, DropWhy)>, u64) {
        let mut disc = Discipline::new(&settings, place());
        let (mut gone, mut trims, mut out) = (vec![], 0, vec![]);
        for arrival in arrivals {
            let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut gone);
            disc.enqueue(*arrival, &mut cx);
            trims += u64::from(cx.trimmed().is_some());
        }
        let mut unused = vec![];
        while let Some(packet) = disc.dequeue(&mut QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut unused)) {
            out.push((packet.seq, packet.size));
        }
        assert_eq!(disc.backlog(), Backlog::default());
        (out, gone.iter().map(|(packet, why)| (packet.seq, *why)).collect(), trims)
    }

    fn with(change: impl FnOnce(&mut Settings)) -> Settings {
        let mut settings = Settings::defaults();
        change(&mut settings);
        settings
    }

    /// Handley 2017 s.3.1, by hand: of eleven packets eight stay whole, three go ahead of them as headers.
    #[test]
    fn headers_of_what_does_not_fit_overtake_the_data() {
        let arrivals: Vec<Packet> = (0..11).map(data).collect();
        let (out, gone, trims) = run(with(|s| s.newest = 0.0), &arrivals);
        let whole = |seqs: std::ops::Range<u64>| seqs.map(|seq| (seq, 9000));
        let headers = (8..11).map(|seq| (seq, 64));
        assert_eq!(out, headers.chain(whole(0..8)).collect::<Vec<_>>());
        assert_eq!((gone, trims), (vec![], 3));
        // The newest makes room for each: 7, 8 and 9 are cut, 10 stays.
        let (out, _, _) = run(with(|s| s.newest = 1.0), &arrivals);
        let headers = (7..10).map(|seq| (seq, 64));
        assert_eq!(out, headers.chain(whole(0..7)).chain([(10, 9000)]).collect::<Vec<_>>());
    }

    /// A fair coin decides between the two: binomial with p = 1/2 of 4000, five standard deviations of 31.6.
    #[test]
    fn a_coin_decides_which_packet_is_trimmed() {
        let arrivals: Vec<Packet> = (0..4008).map(data).collect();
        let (out, _, trims) = run(with(|s| s.header_limit = None), &arrivals);
        assert_eq!(trims, 4000);
        // The arriving one was trimmed where the header's number is that of its arrival.
        let arriving =
            out.iter().filter(|(_, size)| *size == 64).zip(8..).filter(|((seq, _), at)| seq == at).count();
        assert!((arriving as i64 - 2000).abs() < 158, "{arriving}");
    }

    /// Ten headers, then a packet of data, while both wait.
    #[test]
    fn headers_never_starve_data() {
        let arrivals: Vec<Packet> = (0..33).map(data).collect();
        let (out, _, _) = run(with(|s| s.newest = 0.0), &arrivals);
        let places: Vec<usize> =
            out.iter().enumerate().filter(|(_, (_, size))| *size == 9000).map(|(i, _)| i).collect();
        assert_eq!(places[..3], [10, 21, 27], "25 headers wait");
        let (out, _, _) = run(with(|s| (s.newest, s.headers_per_packet) = (0.0, None)), &arrivals);
        assert!(out[..25].iter().all(|(_, size)| *size == 64));
    }

    /// In a class of their own, with a quarter of the bandwidth: a data packet of 9000 bytes earns them 3000, which 46 headers of 64 bytes
    /// take, and the next two 47 each. Answers and headers of the class of control go before both.
    #[test]
    fn trimmed_packets_may_have_a_part_of_the_bandwidth() {
        let mut arrivals: Vec<Packet> = (0..208).map(data).collect();
        arrivals.push(Packet { seq: 900, flags: Flags::REVERSE.with(Flags::ACK), ..packet(64) });
        arrivals.push(Packet { seq: 901, flags: Flags::PROBE.with(Flags::LAST_HOP), ..packet(64) });
        let quarter =
            |s: &mut Settings| (s.newest, s.trimmed_share, s.header_limit) = (0.0, Some(0.25), None);
        let (out, gone, trims) = run(with(quarter), &arrivals);
        assert_eq!((out.len(), gone.len(), trims), (210, 0, 200));
        assert_eq!([out[0].0, out[1].0], [900, 901]);
        let places: Vec<usize> =
            out.iter().enumerate().filter(|(_, (_, size))| *size == 9000).map(|(place, _)| place).collect();
        // 3000, then 3056 and 3048 bytes: the rest stays.
        assert_eq!(places[..4], [2, 49, 97, 145]);
        assert_eq!(places.len(), 8);
        // Their queue has a limit of its own.
        let few = |s: &mut Settings| {
            quarter(s);
            (s.header_limit, s.excess) = (Some(Size::Packets(3)), Excess::Drop);
        };
        let (_, gone, _) = run(with(few), &arrivals);
        assert_eq!(gone.len(), 197);
        assert!(gone.iter().all(|(_, why)| *why == DropWhy::Full));
    }

    /// Two of five headers fit; the others go back, or are dropped. A header that comes back and finds no room is dropped.
    #[test]
    fn headers_without_room_return_once() {
        let mut arrivals: Vec<Packet> = (0..13).map(data).collect();
        let returning = Flags::TRIMMABLE.with(Flags::PROBE).with(Flags::REVERSE);
        arrivals.push(Packet { flags: returning, ..packet(64) });
        let few = |s: &mut Settings| (s.newest, s.header_limit) = (0.0, Some(Size::Packets(2)));
        let (_, gone, trims) = run(with(few), &arrivals);
        let back = |seq| (seq, DropWhy::Returned);
        assert_eq!((gone, trims), (vec![back(10), back(11), back(12), (0, DropWhy::Full)], 5));
        let drops = |s: &mut Settings| {
            few(s);
            s.excess = Excess::Drop;
        };
        let (_, gone, _) = run(with(drops), &arrivals);
        assert!(gone.iter().all(|(_, why)| *why == DropWhy::Full), "{gone:?}");
    }

    /// TCP's data is dropped at a full queue, and its acknowledgements wait among the headers.
    #[test]
    fn other_transports_are_dropped() {
        let mut arrivals: Vec<Packet> = (0..9).map(|seq| Packet { seq, ..packet(1500) }).collect();
        arrivals.push(Packet { seq: 9, flags: Flags::REVERSE.with(Flags::ACK), ..packet(40) });
        let (out, gone, trims) = run(Settings::defaults(), &arrivals);
        assert_eq!((out[0], out.len()), ((9, 40), 9));
        assert_eq!((gone, trims), (vec![(8, DropWhy::Full)], 0));
    }

    /// In bytes, a small packet makes no room for a large one.
    #[test]
    fn a_small_packet_makes_no_room_for_a_large_one() {
        let small = Packet { seq: 1, flags: Flags::TRIMMABLE, ..packet(500) };
        let settings = with(|s| (s.newest, s.limit) = (1.0, Some(Size::Bytes(Bytes(10_000)))));
        let (out, _, _) = run(settings, &[data(0), small, data(2)]);
        assert_eq!(out, [(2, 64), (0, 9000), (1, 500)]);
    }
}
