//! The sending end of Ultra Ethernet's transport: a window, an entropy value for each packet, and a timer for each.
//!
//! Source: as `mod.rs`; UE 1.0.3 s.3.6.13.5 for what may be sent and what asks for an answer, s.3.5 for timers.

use super::card::Card;
use super::credit::{Purse, Want, flows_before};
use super::round_trips::RoundTrips;
use super::sleek::Sleek;
use super::wire::{ASKS, AT_LAST_HOP, CONTROL, MAP, MARK, PROBE, PULL, Report, UNIT, is_nack, want};
use crate::cc::{Ack, CongestionControl, FlowInfo, MessageInfo, Trim};
use crate::net::Net;
use crate::packet::{Extension, Flags, NONE, Packet};
use crate::transport::cutting::Cutting;
use crate::transport::entropy::{AnyChoice, Met};
use crate::transport::half::{Half, TakesTurns, Turn};
use crate::transport::ranges::Ranges;
use crate::transport::{Config, State};
use shallows_units::{Bytes, Rate, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// A packet without an answer.
#[derive(Debug, Clone, Copy)]
struct Sent {
    /// When it was handed to the port: its answer has that time.
    stamp: Time,
    /// It goes again then.
    due: Time,
    payload: u64,
    entropy: u32,
    timeouts: u64,
    /// How often it was sent before.
    before: u64,
}

/// A packet that waits to be sent again.
#[derive(Debug, Clone, Copy)]
struct Again {
    payload: u64,
    timeouts: u64,
    before: u64,
}

/// The sending end. Its statistics count NACKs that came as recoveries, and marks as reductions.
pub struct UecSender {
    /// The part that all transports have in common.
    pub half: Half,
    /// Its turn at the host's port.
    pub(in crate::transport) turn: Turn,
    /// Next byte that has never been sent.
    next: u64,
    cutting: Cutting,
    /// Arrived beyond `una`.
    arrived: Ranges,
    /// Sent and not yet answered, by first byte.
    unanswered: BTreeMap<u64, Sent>,
    /// When each of them goes again.
    dues: BTreeSet<(Time, u64)>,
    /// To be sent again, by first byte.
    again: BTreeMap<u64, Again>,
    /// Bytes in flight, headers included, as answers tell them: rounded up, so that they may fall below zero.
    inflight: i64,
    /// Units that the receiver had received by its last answer.
    units: u64,
    round_end: u64,
    paths: AnyChoice,
    /// The probe by which a value may become good again: the value, and when it left; and when the next one may leave.
    path_probe: Option<(u32, Time)>,
    path_probe_at: Time,
    sleek: Option<Sleek>,
    /// Credit of the receiver, where it gives some.
    purse: Option<Purse>,
    /// A header alone asks for credit then.
    asks_at: Time,
    times: RoundTrips,
    /// The card's rate: that of its port, or of all that lead to the destination.
    line: Rate,
    /// Its ports, where it has several and values choose among them.
    card: Option<Card>,
    /// Headers that carry values in turn, since no packet's value is theirs.
    headers: u32,
}

impl UecSender {
    /// A connection that has sent nothing.
    pub fn new(flow: u32, label: u32, info: &FlowInfo<'_>, config: &Config, now: Time) -> Self {
        let half = Half::new(flow, label, info, config, now);
        UecSender {
            sleek: config.uec.sleek.then(|| Sleek::new(half.window.bytes())),
            purse: (config.uec.credit)
                .then(|| Purse::new(info.path.line_rate, info.path.base_rtt, config.packet)),
            asks_at: Time::MAX,
            times: RoundTrips::new(info, config),
            half,
            turn: Turn::default(),
            next: 0,
            cutting: Cutting::default(),
            arrived: Ranges::default(),
            unanswered: BTreeMap::new(),
            dues: BTreeSet::new(),
            again: BTreeMap::new(),
            inflight: 0,
            units: 0,
            round_end: 0,
            path_probe: None,
            path_probe_at: Time::ZERO,
            paths: AnyChoice::new(&config.uec.entropy, (label, flow)),
            line: info.path.line_rate,
            card: None,
            headers: 0,
        }
    }

    // ---- the application ----

    /// The application is about to write a message.
    pub fn announce(&mut self, message: &MessageInfo, config: &Config, now: Time) {
        self.cutting.announce(message.end);
        self.half.announce(message, config, now);
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64, config: &Config, net: &mut Net) {
        let several =
            config.uec.chooses_paths() && net.ports(self.half.flow, false, self.half.label).is_some();
        if several && self.card.is_none() {
            self.card = Some(Card::default());
        }
        self.half.write(bytes);
        self.pump(config, net);
    }

    /// Bytes in flight, as the window counts them.
    pub fn flight(&self) -> u64 {
        self.inflight.max(0) as u64
    }

    /// Bytes known to have arrived beyond the acknowledgement.
    pub fn sacked(&self) -> u64 {
        self.arrived.bytes()
    }

    /// Smoothed round-trip time, if there is one.
    pub fn srtt(&self) -> Option<Span> {
        self.times.smoothed.known()
    }

    // ---- answers ----

    /// An answer, or a packet of its own that came back.
    #[inline(never)]
    pub fn on_packet(&mut self, packet: &Packet, about: Option<Extension>, config: &Config, net: &mut Net) {
        if self.half.state != State::Established {
            return;
        }
        if let Some(purse) = &mut self.purse {
            purse.on_answer(about.map_or(0, |about| Report::of(&about).granted));
        }
        if packet.flags.any(PULL) {
            return self.pump(config, net);
        }
        self.times.start.answered(self.half.written - self.half.una);
        if packet.trimmed() || is_nack(packet) {
            self.on_nack(packet, config, net.now);
        } else if let Some(about) = about {
            self.on_ack(packet, &Report::of(&about), config, net.now);
        }
        self.pump(config, net);
    }

    /// Takes the packet at `seq` off those without an answer.
    fn take(&mut self, seq: u64) -> Option<Sent> {
        let sent = self.unanswered.remove(&seq)?;
        self.dues.remove(&(sent.due, seq));
        Some(sent)
    }

    /// The packet came without its payload. One whose sending was given up by then, or that was sent again since, is not counted twice.
    fn on_nack(&mut self, packet: &Packet, config: &Config, now: Time) {
        let is_it = |sent: &&Sent| sent.stamp == packet.stamp;
        if self.unanswered.get(&packet.seq).filter(is_it).is_none() {
            return;
        }
        let Some(sent) = self.take(packet.seq) else { return };
        self.half.counts.fast_recoveries += 1;
        let bytes = sent.payload + u64::from(config.header);
        self.inflight -= bytes as i64;
        let last = packet.flags.any(AT_LAST_HOP) && !packet.trimmed();
        // UE 1.0.3 s.3.6.16: what the last hop trims says nothing about the path.
        let met = if last { Met::Mark } else { Met::Trim };
        self.paths.on_feedback(sent.entropy, met, now);
        self.again.insert(
            packet.seq,
            Again { payload: sent.payload, timeouts: sent.timeouts, before: sent.before + 1 },
        );
        // Where receivers give credit, they bound what comes over the last hop themselves (p. 399).
        let counts = !last || self.purse.is_none();
        let trim = Trim { bytes, sample: Some(now - packet.stamp), flight: self.inflight, counts };
        self.half.window.with_cc(&config.rules, now, |cc, cx| cc.on_trim(&trim, cx));
    }

    fn on_ack(&mut self, packet: &Packet, report: &Report, config: &Config, now: Time) {
        let (marked, flight) = (packet.flags.any(MARK), self.inflight);
        let probe = report.about.0 == report.about.1;
        let new = report.units.saturating_sub(self.units) * UNIT;
        self.units = self.units.max(report.units);
        self.inflight -= new as i64;
        // Step 2 of s.3.6.13.5: of a packet sent once or twice, the last time.
        let again = packet.flags.any(Flags::RETRANSMITTED);
        let sent =
            self.unanswered.get(&report.about.0).copied().filter(|sent| sent.stamp == packet.stamp && !probe);
        let sample = sent.filter(|sent| sent.before == u64::from(again)).map(|_| now - packet.stamp);
        if let Some(sent) = sent {
            self.paths.on_feedback(sent.entropy, if marked { Met::Mark } else { Met::Nothing }, now);
        }
        self.card.iter_mut().for_each(|card| card.peer = report.down);
        self.half.counts.ecn_reductions += u64::from(marked);
        let before = self.half.una;
        self.learn(packet.seq, report, config);
        if let Some(sample) = sample {
            self.times.smoothed.sample(sample, &config.settings);
        }
        self.half.counts.acks += 1;
        self.half.counts.srtt_sum += u128::from(self.times.smoothed.srtt().as_ps());
        let round_ended = self.half.una > self.round_end;
        if round_ended {
            self.round_end = self.next;
        }
        let ack = Ack {
            acked: self.half.una - before,
            delivered: new,
            ece: marked,
            marked: if marked { new } else { 0 },
            round_ended,
            may_grow: true,
            after_timeout: false,
            rtt: sample,
            srtt: self.times.smoothed.srtt(),
            flight: flight.max(0) as u64,
            sent: self.next,
        };
        self.half.window.with_cc(&config.rules, now, |cc, cx| cc.on_ack(&ack, cx));
        if let Some((value, _)) = self.path_probe.take_if(|(_, stamp)| probe && *stamp == packet.stamp) {
            self.paths.on_probe(value, marked);
        }
        if probe && let Some(round_trip) = self.times.start.measured(packet.stamp, now) {
            self.half.window.with_cc(&config.rules, now, |cc, cx| cc.on_base_rtt(round_trip, cx));
        }
        self.recover(report.ahead, probe.then(|| now - packet.stamp), config, now);
    }

    /// Begins the recovery that an acknowledgement asks for where SLEEK is on; `probe` is the round trip of a probe's answer.
    fn recover(&mut self, ahead: u64, probe: Option<Span>, config: &Config, now: Time) {
        let Some((sleek, (base, target))) = self.sleek.as_mut().zip(self.half.window.cc().delays()) else {
            return;
        };
        let (una, window) = (self.half.una, self.half.window.bytes());
        let early = probe.is_some_and(|round_trip| round_trip < base + target);
        sleek.on_ack(una, self.next, (ahead, config.rules.mss), window, early);
        sleek.arm(now, (base, target), una < self.next, self.next < self.half.written);
        let Some((first, beyond)) = sleek.range(una, window) else { return };
        sleek.repaired = beyond;
        let lost: Vec<u64> = self.unanswered.range(first..beyond).map(|(seq, _)| *seq).collect();
        for seq in lost {
            let Some(sent) = self.take(seq) else { continue };
            self.inflight -= (sent.payload + u64::from(config.header)) as i64;
            let (timeouts, before) = (sent.timeouts, sent.before + 1);
            self.again.insert(seq, Again { payload: sent.payload, timeouts, before });
        }
    }

    /// A header alone asks what is there.
    fn probe(&mut self, config: &Config, net: &mut Net) {
        let Some((sleek, (base, _))) = self.sleek.as_mut().zip(self.half.window.cc().delays()) else {
            return;
        };
        sleek.probe_at = net.now + base * 5;
        self.half.counts.packets += 1;
        let (size, now) = (config.header, net.now);
        let mut packet = self.half.packet(self.half.una, (size, PROBE), NONE, now);
        let value = self.turns_of_headers(config, net);
        let link = self.hand(&mut packet, value, net);
        self.taken(size, link, net);
    }

    /// The value of a header that is about no value: the values in turn where a port or a path would depend on it else.
    fn turns_of_headers(&mut self, config: &Config, net: &Net) -> Option<u32> {
        let spread = self.card.is_some() || net.directory.routing.structured && config.uec.chooses_paths();
        if !spread {
            return None;
        }
        // The next one whose port is up, if there is one.
        let is_up =
            |value: u32| self.card.as_ref().is_none_or(|card| card.ports() == 0 || !card.is_down(value));
        let value = config.uec.entropy.turn(self.headers, is_up);
        self.headers = (value + 1) % config.uec.entropy.count;
        Some(value)
    }

    /// Hands a packet with this value to the card; the link of its port where there are several.
    fn hand(&mut self, packet: &mut Packet, value: Option<u32>, net: &mut Net) -> Option<u32> {
        let routing = &net.directory.routing;
        let Some((card, value)) = self.card.as_mut().zip(value) else {
            if let Some(value) = value {
                packet.label = routing.with_entropy(packet.label, value);
            }
            net.send(packet);
            return None;
        };
        packet.label = routing.with_plane(packet.label, value, card.ports());
        let link = card.link(value);
        net.send_by(link, packet);
        Some(link)
    }

    /// A packet of `size` bytes was handed to the card, by the port at `link` where there are several: the next one's turn.
    fn taken(&mut self, size: u16, link: Option<u32>, net: &mut Net) {
        match (&mut self.card, link) {
            (Some(card), Some(link)) => {
                card.taken(self.half.flow, link, size, net);
                self.turn.at = card.first_room();
            }
            _ => self.turn.taken(self.half.flow, size, self.line, net),
        }
    }

    /// A header alone in the class of control, which may ask for credit; its answer reports what is there.
    fn control(&mut self, extension: u32, entropy: Option<u32>, config: &Config, net: &mut Net) {
        self.half.counts.packets += 1;
        let (size, now) = (config.header, net.now);
        let mut packet = self.half.packet(self.half.una, (size, PROBE.with(CONTROL)), extension, now);
        let entropy = entropy.or_else(|| self.turns_of_headers(config, net));
        let link = self.hand(&mut packet, entropy, net);
        self.taken(size, link, net);
    }

    /// The bytes that wait to be sent, for the receiver that gives credit; behind a packet by the port at `link` where there are several.
    fn want(&self, link: Option<u32>, config: &Config, net: &Net) -> Want {
        let packet = config.rules.mss + config.rules.overhead;
        let fresh = self.half.written.saturating_sub(self.next);
        let fresh =
            fresh.saturating_add(fresh.div_ceil(config.rules.mss).saturating_mul(config.rules.overhead));
        // More than a window of them is bounded anyway.
        let again = self.again.values().take(4096);
        let again: u64 = again.map(|again| again.payload + config.rules.overhead).sum();
        let (before, rate) =
            link.map_or_else(|| (net.sent_by(self.half.flow) - net.now, self.line), |link| net.work_at(link));
        let others = flows_before(before, rate.transmit(Bytes(packet)));
        Want { backlog: fresh.saturating_add(again), window: self.half.window.bytes(), packet, others }
    }

    /// Asks for credit if it is time, and notes when it will be.
    fn ask(&mut self, config: &Config, net: &mut Net) {
        self.asks_at = Time::MAX;
        if !self.unanswered.is_empty() {
            return; // what is under way says it
        }
        let link = self.card.as_ref().filter(|card| card.ports() > 0).map(|card| card.link(self.headers));
        let want = self.want(link, config, net);
        let Some(purse) = self.purse.as_mut().filter(|_| want.backlog > 0) else { return };
        let (patience, now) = (config.uec.timeout, net.now);
        if purse.asks_at(patience) <= now && self.turn.at <= now {
            let extension = net.extensions.put(&super::wire::want(purse.ask_alone(want, now)));
            self.control(extension, None, config, net);
        }
        self.asks_at = self.purse.as_ref().map_or(Time::MAX, |purse| purse.asks_at(patience));
    }

    /// Notes what the receiver has: all below `una`, the packet that it answers, and what the map shows.
    fn learn(&mut self, una: u64, report: &Report, config: &Config) {
        let mtu = config.rules.mss;
        if report.about.0 < report.about.1 {
            self.arrive(report.about.0, report.about.1, config);
        }
        if report.map != 0 {
            let shown = |seq: u64, payload: u64| report.shows((seq, seq + payload), mtu);
            let within = report.base..report.base + MAP * mtu;
            let waiting = self.again.range(within.clone()).map(|(seq, again)| (*seq, again.payload));
            let there = self.unanswered.range(within).map(|(seq, sent)| (*seq, sent.payload));
            let there: Vec<(u64, u64)> =
                there.chain(waiting).filter(|(seq, payload)| shown(*seq, *payload)).collect();
            for (seq, payload) in there {
                self.arrive(seq, seq + payload, config);
            }
        }
        if una <= self.half.una {
            return;
        }
        let there: Vec<u64> = self.unanswered.range(..una).map(|(seq, _)| *seq).collect();
        for seq in there {
            self.take(seq);
        }
        let waiting: Vec<u64> = self.again.range(..una).map(|(seq, _)| *seq).collect();
        for seq in waiting {
            self.forget(seq, config);
        }
        self.half.una = una;
        self.cutting.acknowledge(una, mtu);
        self.arrived.cut_below(una);
    }

    /// Bytes from `first` to `beyond`, a packet, are there.
    fn arrive(&mut self, first: u64, beyond: u64, config: &Config) {
        if beyond > self.half.una {
            self.arrived.add(first.max(self.half.una), beyond);
        }
        self.take(first);
        self.forget(first, config);
    }

    /// A packet that was given up has come after all: it left the flight twice, by that and by the receiver's count.
    fn forget(&mut self, seq: u64, config: &Config) {
        if let Some(again) = self.again.remove(&seq) {
            self.inflight += (again.payload + u64::from(config.header)) as i64;
        }
    }

    // ---- sending ----

    /// The packet to be sent next: its first byte, its payload, and what is known of it if it was sent before.
    fn next_packet(&mut self, config: &Config) -> Option<(u64, u64, Option<Again>)> {
        if let Some((seq, again)) = self.again.first_key_value() {
            return Some((*seq, again.payload, Some(*again)));
        }
        let seq = self.next;
        if seq >= self.half.written {
            return None;
        }
        let payload = config.rules.mss.min(self.cutting.message_of(seq).1 - seq).min(self.half.written - seq);
        Some((seq, payload, None))
    }

    /// The packet that the window lets out.
    fn allowed(&mut self, config: &Config) -> Option<(u64, u64, Option<Again>)> {
        let (seq, payload, again) = self.next_packet(config)?;
        let counted = if config.uec.full { config.rules.mss } else { payload } + config.rules.overhead;
        let free = again.is_some() && self.sleek.is_some_and(|sleek| sleek.recovers());
        let window = i64::try_from(self.half.window.bytes()).unwrap_or(i64::MAX);
        let fits = free || self.inflight + counted as i64 <= window;
        let credited = self.purse.as_ref().is_none_or(Purse::allows);
        (fits && credited).then_some((seq, payload, again))
    }

    /// The value of the next packet; nothing where its card has no room for one.
    fn value(&mut self, config: &Config, now: Time) -> Option<u32> {
        let mtu = config.rules.mss + config.rules.overhead;
        let packets = (self.half.window.bytes().min(i64::MAX as u64 / 2) / mtu).max(1);
        let UecSender { card, paths, .. } = self;
        match card {
            Some(card) => card.value(now, || paths.next(packets, now)),
            None => Some(paths.next(packets, now)),
        }
    }

    fn emit(
        &mut self,
        (seq, payload, again): (u64, u64, Option<Again>),
        entropy: u32,
        config: &Config,
        net: &mut Net,
    ) {
        let now = net.now;
        let beyond = seq + payload;
        let mtu = (config.rules.mss + config.rules.overhead) as i64;
        let size = config.header + payload as u16;
        self.inflight += i64::from(size);
        match again {
            Some(_) => _ = self.again.remove(&seq),
            None => self.next = beyond,
        }
        let window = i64::try_from(self.half.window.bytes()).unwrap_or(i64::MAX / 2);
        let nothing_behind = self.again.is_empty() && self.next >= self.half.written;
        self.half.counts.packets += 1;
        self.half.counts.retransmissions += u64::from(again.is_some());
        let link = self.card.as_ref().map(|card| card.link(entropy));
        let behind = self.purse.is_some().then(|| self.want(link, config, net));
        let extension = match self.purse.as_mut().zip(behind) {
            Some((purse, behind)) => net.extensions.put(&want(purse.spend(size.into(), behind, now))),
            None => NONE,
        };
        // A sender that may send no more asks, whether a window or credit stops it (uet-htsim 40ccb05, uec.cpp, for credit).
        let asks = window - self.inflight < mtu
            || window < config.uec.ack_bytes as i64
            || nothing_behind
            || again.is_some()
            || self.purse.as_ref().is_some_and(|purse| !purse.allows());
        let flags = Flags::TRIMMABLE
            .with_if(config.ect, config.ecn)
            .with_if(ASKS, asks)
            .with_if(Flags::RETRANSMITTED, again.is_some());
        let mut packet = self.half.packet(seq, (size, flags), extension, now);
        // A connection with one value keeps to the path of its hash where values name paths: that of the value would be everyone's.
        let named = config.uec.chooses_paths() || !net.directory.routing.structured;
        let link = self.hand(&mut packet, named.then_some(entropy), net);
        let left = link.map_or_else(|| net.sent_by(self.half.flow), |link| now + net.work_at(link).0);
        self.taken(size, link, net);
        let again = again.unwrap_or(Again { payload, timeouts: 0, before: 0 });
        let due = left + config.uec.timer(again.timeouts);
        let (timeouts, before) = (again.timeouts, again.before);
        self.unanswered.insert(seq, Sent { stamp: now, due, payload, entropy, timeouts, before });
        self.dues.insert((due, seq));
        if let Some((sleek, delays)) = self.sleek.as_mut().zip(self.half.window.cc().delays())
            && sleek.probe_at == Time::MAX
        {
            sleek.arm(left, delays, true, self.next < self.half.written);
        }
    }
}

impl TakesTurns for UecSender {
    fn parts(&self) -> (&Half, Turn) {
        let probe_at = self.sleek.map_or(Time::MAX, |sleek| sleek.probe_at).min(self.asks_at);
        let probe_at = if self.times.start.is_due() { self.turn.at } else { probe_at };
        let rests = self.paths.awaits_probes() && self.half.una < self.half.written;
        let probe_at = if rests { probe_at.min(self.path_probe_at) } else { probe_at };
        if probe_at == Time::MAX || self.half.state != State::Established {
            return (&self.half, self.turn);
        }
        let at = if self.turn.waits { self.turn.at } else { Time::MAX };
        (&self.half, Turn { at: at.min(probe_at.max(self.turn.at)), waits: true })
    }

    /// Sends the next packet if it may go now; one alone stands in the host's port, so that the flows of a host take turns there.
    fn pump(&mut self, config: &Config, net: &mut Net) {
        if self.half.state != State::Established {
            return;
        }
        if let Some(card) = &mut self.card
            && let Some(links) = net.ports(self.half.flow, false, self.half.label)
        {
            card.look(self.half.flow, links, config.uec.port_status, net);
            self.turn.at = card.first_room();
        }
        if self.turn.at <= net.now && self.sleek.is_some_and(|sleek| sleek.probe_at <= net.now) {
            self.probe(config, net);
        }
        if self.turn.at <= net.now
            && self.path_probe_at <= net.now
            && self.half.una < self.half.written
            && let Some(value) = self.paths.to_probe()
        {
            self.path_probe = Some((value, net.now));
            self.path_probe_at = net.now + config.uec.timeout;
            self.control(NONE, Some(value), config, net);
        }
        if self.turn.at <= net.now && self.times.start.is_due() {
            self.times.start.leaves(net.now);
            self.control(NONE, None, config, net);
        }
        // One port has room for one packet, and several for as many.
        while self.turn.at <= net.now
            && let Some(packet) = self.allowed(config)
        {
            match self.value(config, net.now) {
                Some(value) => self.emit(packet, value, config, net),
                None => self.turn.at = self.card.as_ref().map_or(Time::MAX, |card| card.room_at(net.now)),
            }
        }
        if self.purse.is_some() {
            self.ask(config, net);
        }
        self.turn.waits = self.allowed(config).is_some();
        self.half.rto_at = self.dues.first().map_or(Time::MAX, |(due, _)| *due);
    }

    #[cold]
    fn on_timeout(&mut self, config: &Config, now: Time) {
        self.half.counts.timeouts += 1;
        while let Some((_, seq)) = self.dues.first().copied().filter(|(due, _)| *due <= now) {
            let Some(sent) = self.take(seq) else { break };
            if sent.timeouts >= config.uec.retries {
                self.half.state = State::Failed;
                (self.half.rto_at, self.turn.waits) = (Time::MAX, false);
                return;
            }
            let bytes = sent.payload + u64::from(config.header);
            self.inflight -= bytes as i64;
            self.paths.on_feedback(sent.entropy, Met::Timeout, now);
            self.card.iter_mut().for_each(|card| card.forget(sent.entropy));
            let (timeouts, before) = (sent.timeouts + 1, sent.before + 1);
            self.again.insert(seq, Again { payload: sent.payload, timeouts, before });
            self.half.window.with_cc(&config.rules, now, |cc, cx| cc.on_lost_packet(bytes, cx));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Faults, Table};
    use crate::transport::Transport;
    use crate::transport::uec::wire::NACK;
    use serde_json::{Value, json};

    const MTU: u64 = 4096;
    /// With 64 bytes of headers, as windows count it.
    const FULL: i64 = 4160;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::us(us)
    }

    /// A sender of ten full packets. The first three left at 1, 2 and 3 us, with timers of 1 ms.
    fn sender(changes: Value) -> (UecSender, Config) {
        let mut map = json!({"profile": "uec", "cc": {"kind": "nscc"}}).as_object().expect("a table").clone();
        map.extend(changes.as_object().expect("a table").clone());
        let mut faults = Faults::default();
        let transport = Transport::read(&mut Table::new("transport", &map, &mut faults), &map.clone());
        let config = Config::new(&transport.expect("no fault"));
        let mut sender = UecSender::new(0, 0, &FlowInfo::default(), &config, Time::ZERO);
        (sender.half.state, sender.half.written) = (State::Established, 10 * MTU);
        for n in 0..3 {
            let (stamp, due) = (us(n + 1), us(n + 1001));
            let sent = Sent { stamp, due, payload: MTU, entropy: 5, timeouts: 0, before: 0 };
            sender.unanswered.insert(n * MTU, sent);
            sender.dues.insert((due, n * MTU));
        }
        (sender.next, sender.inflight) = (3 * MTU, 3 * FULL);
        (sender, config)
    }

    const NO_REPORT: Report =
        Report { about: (0, 0), units: 0, base: 0, map: 0, ahead: 0, granted: 0, down: 0 };

    /// Numbers of the packets without an answer, of those that go again, and full packets in flight.
    fn state(sender: &UecSender) -> (Vec<u64>, Vec<u64>, i64) {
        let numbers = |seqs: Vec<u64>| seqs.iter().map(|seq| seq / MTU).collect();
        assert_eq!(sender.dues.len(), sender.unanswered.len());
        let unanswered = numbers(sender.unanswered.keys().copied().collect());
        let again = numbers(sender.again.keys().copied().collect());
        assert_eq!(sender.inflight % FULL, 0);
        (unanswered, again, sender.inflight / FULL)
    }

    /// UE 1.0.3 s.3.6.13.5: a packet that was trimmed leaves the flight and goes again. A report about another sending of it counts no more, and none
    /// counts twice.
    #[test]
    fn a_trimmed_packet_leaves_the_flight_once() {
        let (mut sender, config) = sender(json!({}));
        let flags = NACK.with(Flags::REVERSE);
        for (stamp, want) in [
            (us(1), (vec![0, 1, 2], vec![], 3)),
            (us(2), (vec![0, 2], vec![1], 2)),
            (us(2), (vec![0, 2], vec![1], 2)),
        ] {
            let packet = Packet { stamp, ..sender.half.packet(MTU, (64, flags), NONE, us(9)) };
            sender.on_nack(&packet, &config, us(9));
            assert_eq!(state(&sender), want);
        }
        assert_eq!((sender.half.counts.fast_recoveries, sender.again[&MTU].before), (1, 1));
        assert_eq!(sender.next_packet(&config).map(|(seq, payload, _)| (seq, payload)), Some((MTU, MTU)));
    }

    /// S.3.5: an answer has a cumulative number, the packet that it is about, and a map of 64 packets. A packet that was given up and has come after
    /// all left the flight twice, by that and by the receiver's count.
    #[test]
    fn an_answer_shows_what_is_there() {
        let learned = |una: u64, report: Report| {
            let (mut sender, config) = sender(json!({}));
            for n in [3, 4] {
                sender.again.insert(n * MTU, Again { payload: MTU, timeouts: 0, before: 1 });
            }
            sender.next = 5 * MTU;
            sender.learn(una * MTU, &report, &config);
            (state(&sender), sender.sacked() / MTU, sender.half.una / MTU)
        };
        assert_eq!(learned(0, NO_REPORT), ((vec![0, 1, 2], vec![3, 4], 3), 0, 0));
        assert_eq!(learned(2, NO_REPORT), ((vec![2], vec![3, 4], 3), 0, 2));
        assert_eq!(learned(4, NO_REPORT), ((vec![], vec![4], 4), 0, 4));
        let about = |n: u64| Report { about: (n * MTU, (n + 1) * MTU), ..NO_REPORT };
        assert_eq!(learned(0, about(1)), ((vec![0, 2], vec![3, 4], 3), 1, 0));
        assert_eq!(learned(0, about(3)), ((vec![0, 1, 2], vec![4], 4), 1, 0));
        assert_eq!(learned(2, about(1)), ((vec![2], vec![3, 4], 3), 0, 2));
        let map = |base: u64, map: u64| Report { base: base * MTU, map, ..NO_REPORT };
        assert_eq!(learned(1, map(1, 0b110)), ((vec![1], vec![4], 4), 2, 1));
        assert_eq!(learned(0, map(2, 0b101)), ((vec![0, 1], vec![3], 4), 2, 0));
    }

    /// Step 2 of s.3.6.13.5: a packet measures the round trip when its answer is about the sending that the sender knows: not sent again, or once
    /// and that answer says so. A probe measures none.
    #[test]
    fn a_round_trip_is_measured_where_the_sending_is_known() {
        for (before, again, stamp, about, measures) in [
            (0, false, 1, (0, MTU), true),
            (0, true, 1, (0, MTU), false),
            (1, true, 1, (0, MTU), true),
            (1, false, 1, (0, MTU), false),
            (2, true, 1, (0, MTU), false),
            (0, false, 2, (0, MTU), false),
            (0, false, 1, (0, 0), false),
        ] {
            let (mut sender, config) = sender(json!({}));
            sender.unanswered.get_mut(&0).expect("sent").before = before;
            let flags = Flags::ACK.with(Flags::REVERSE).with_if(Flags::RETRANSMITTED, again);
            let packet = Packet { stamp: us(stamp), ..sender.half.packet(0, (64, flags), NONE, us(9)) };
            sender.on_ack(&packet, &Report { about, ..NO_REPORT }, &config, us(21));
            assert_eq!(sender.srtt(), measures.then_some(Span::us(20)), "{before} {again} {stamp}");
        }
    }

    /// S.3.6.13: the flight shrinks by what the receiver has counted, in units of 256 bytes, of which an older answer says nothing new. It may fall
    /// below zero, since units are rounded up.
    #[test]
    fn received_units_leave_the_flight() {
        let (mut sender, config) = sender(json!({}));
        let flags = Flags::ACK.with(Flags::REVERSE);
        for (units, marked, inflight) in
            [(33, true, 12_480 - 8448), (20, false, 12_480 - 8448), (50, false, -320)]
        {
            let packet = sender.half.packet(0, (64, flags.with_if(MARK, marked)), NONE, us(9));
            sender.on_ack(&packet, &Report { units, ..NO_REPORT }, &config, us(21));
            assert_eq!((sender.inflight, sender.flight()), (inflight, inflight.max(0) as u64));
        }
        assert_eq!((sender.half.counts.acks, sender.half.counts.ecn_reductions), (3, 1));
    }

    /// S.3.6.13.5: a packet leaves while inflight + MTU <= cwnd, headers counted; with `room = "own"` it needs its own bytes alone. Repairs of SLEEK need
    /// none.
    #[test]
    fn a_packet_needs_room_in_the_window() {
        let allowed = |changes: Value, left: i64, last: u64| {
            let (mut sender, config) = sender(changes);
            sender.next = 10 * MTU - last;
            sender.inflight = sender.half.window.bytes() as i64 - left;
            let allowed = sender.allowed(&config);
            assert!(allowed.is_none_or(
                |(seq, payload, again)| (seq, payload) == (10 * MTU - last, last) && again.is_none()
            ));
            allowed.is_some()
        };
        for last in [MTU, 100] {
            assert_eq!([FULL, FULL - 1].map(|left| allowed(json!({}), left, last)), [true, false]);
        }
        assert_eq!([164, 163].map(|left| allowed(json!({"room": "own"}), left, 100)), [true, false]);
        assert!(!allowed(json!({}), FULL, 0), "nothing is left to send");
        for recovery in ["timers", "sleek"] {
            let (mut sender, config) = sender(json!({"recovery": recovery, "untrimmed": "allowed"}));
            sender.again.insert(0, Again { payload: MTU, timeouts: 0, before: 1 });
            sender.inflight = sender.half.window.bytes() as i64;
            assert!(sender.allowed(&config).is_none());
            if let Some(sleek) = &mut sender.sleek {
                sleek.on_ack(0, 3 * MTU, (0, MTU), MTU, true);
                assert!(sleek.recovers());
            }
            assert_eq!(sender.allowed(&config).is_some(), recovery == "sleek");
        }
    }

    /// SLEEK's probe waits three base round trips while data waits, and a base round trip with the target where all has been sent. Where
    /// all is acknowledged it does not leave. A probe's answer is early below base and target, and begins recovery.
    #[test]
    fn sleek_probes_while_answers_are_awaited() {
        let sleek = |una: u64, written: u64, probe: Option<Span>| {
            let (mut sender, config) = sender(json!({"recovery": "sleek", "untrimmed": "allowed"}));
            (sender.half.una, sender.half.written) = (una * MTU, written * MTU);
            sender.recover(0, probe, &config, us(50));
            let sleek = sender.sleek.expect("it is on");
            (sleek.probe_at, sleek.recovers())
        };
        let (base, target) = sender(json!({})).0.half.window.cc().delays().expect("NSCC has delays");
        assert!(base > Span::ZERO && target > Span::ZERO);
        assert_eq!([0, 2].map(|una| sleek(una, 10, None)), [(us(50) + base * 3, false); 2]);
        assert_eq!(sleek(2, 3, None), (us(50) + base + target, false));
        assert_eq!([3, 10].map(|written| sleek(3, written, None)), [(Time::MAX, false); 2]);
        let edge = base + target;
        assert_eq!([edge, edge - Span::ps(1)].map(|probe| sleek(0, 10, Some(probe)).1), [false, true]);
    }

    /// S.3.5: what has no answer when its timer is over goes again, and leaves the flight. The sixth timeout of a packet ends the connection.
    #[test]
    fn timers_of_packets_expire_one_by_one() {
        for (now, want) in [
            (us(1000), (vec![0, 1, 2], vec![], 3)),
            (us(1001), (vec![1, 2], vec![0], 2)),
            (us(1002), (vec![2], vec![0, 1], 1)),
        ] {
            let (mut sender, config) = sender(json!({}));
            sender.on_timeout(&config, now);
            assert_eq!(state(&sender), want);
            assert!(sender.again.values().all(|again| (again.timeouts, again.before) == (1, 1)));
            assert_eq!(sender.half.counts.timeouts, 1);
        }
        for (timeouts, ends) in [(4, State::Established), (5, State::Failed)] {
            let (mut sender, config) = sender(json!({}));
            sender.unanswered.get_mut(&0).expect("sent").timeouts = timeouts;
            sender.on_timeout(&config, us(1001));
            assert_eq!(sender.half.state, ends);
        }
    }

    /// A header that asks for credit waits for its time and for room in the port; data that waits goes as soon as there is room.
    #[test]
    fn a_header_alone_wakes_the_sender_when_the_port_has_room() {
        for (waits, port, asks, wakes) in [
            (false, 3, None, None),
            (true, 3, None, Some(3)),
            (false, 3, Some(5), Some(5)),
            (false, 7, Some(5), Some(7)),
            (true, 3, Some(5), Some(3)),
            (true, 7, Some(5), Some(7)),
        ] {
            let (mut sender, _) = sender(json!({}));
            (sender.turn.waits, sender.turn.at) = (waits, us(port));
            sender.asks_at = asks.map_or(Time::MAX, us);
            let turn = sender.parts().1;
            assert_eq!(turn.waits.then_some(turn.at), wakes.map(us), "{waits} {port} {asks:?}");
            sender.half.state = State::Failed;
            assert_eq!(sender.parts().1.waits, waits);
        }
    }
}
