//! CoDel: packets are dropped or marked at departure when all have waited longer than a target for an
//! interval, ever faster until one has not.
//!
//! Source: RFC 8289 s.5, whose pseudocode this follows line by line. Two points that the RFC leaves open, marking
//! instead of dropping and the marking threshold, are as in Linux 6.1 (`codel_dequeue` of codel_impl.h).
//! Target and interval are the RFC's for the Internet; RFC 8289 appendix A says how to choose them for a
//! data centre.
//!
//! Left out: Linux's time unit of 1.024 us; its largest packet, which is learned from the traffic.

use super::drop_tail::{self, check_limit};
use super::{Backlog, DropWhy, Place, QueueCx, QueueDisc};
use crate::packet::Packet;
use crate::params::Faults;
use crate::queue::parts::gauge::Measure;
use crate::queue::parts::held::Held;
use shallows_units::{Bytes, Size, Span, Time};

crate::choices! {
    /// How the control law's square root is taken.
    pub enum Root {
        /// In floating point, correctly rounded.
        Exact = "exact",
        /// One Newton step a drop on 16 bits, as in Linux.
        Newton = "newton",
    }
}

/// Settings of a discipline whose queues obey [`Law`]: its own, the law's six, each with its meaning and source, and
/// the rest.
macro_rules! under_codel {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident { $($own:tt)* }
        law {
            $(#[doc = $of_target:literal])* target: $target:literal;
            $(#[doc = $of_interval:literal])* interval: $interval:literal;
            ecn: $ecn:literal;
            ce_threshold: $ce_threshold:literal;
            $(#[doc = $of_max_packet:literal])* max_packet;
        }
        rest { $($rest:tt)* }
        linux { $( $habit:literal: $value:literal; )* }
    ) => {
        $crate::params! {
            $(#[doc = $doc])*
            pub struct $name {
                $($own)*
                $(#[doc = $of_target])*
                target: Span = "5ms", "", $target;
                $(#[doc = $of_interval])*
                interval: Span = "100ms", "[1ps, ]", $interval;
                /// Whether ECN-capable packets are marked instead of dropped.
                ecn: bool = true, "", $ecn;
                /// Wait above which every ECN-capable packet is marked at once, or "none".
                ce_threshold: Option<Span> = "none", "", $ce_threshold;
                $(#[doc = $of_max_packet])*
                max_packet: Bytes = "1500B", "", "RFC 8289 s.5.3: the interface's MTU";
                /// How the control law's square root is taken.
                root: $crate::queue::codel::Root = "exact", "", "RFC 8289 s.5.6";
                $($rest)*
            }
        }

        impl $name {
            /// Settings that a profile of the transport changes if the file does not say otherwise.
            pub fn habits(profile: &str) -> &'static [$crate::queue::Habit] {
                match profile {
                    "linux" => &[("root", "newton"), $( ($habit, $value), )*],
                    _ => &[],
                }
            }

            /// The settings of the control law.
            fn rules(&self) -> $crate::queue::codel::Rules {
                let Self { target, interval, ecn, ce_threshold, max_packet, root, .. } = *self;
                let max_packet = max_packet.as_u64();
                $crate::queue::codel::Rules { target, interval, ecn, ce_threshold, max_packet, root }
            }
        }
    };
}
pub(crate) use under_codel;

under_codel! {
    /// CoDel. Packets are dropped or marked at departure when all have waited longer than a target
    /// for an interval.
    pub struct Settings {
        /// Most that the queue may hold, in bytes or packets, or "none".
        limit: Option<Size> = "1000pkt", "[1pkt, ]", "Linux sch_codel";
    }
    law {
        /// Wait that may last.
        target: "RFC 8289 s.4.4";
        /// How long the wait may stay above the target before the first drop: the longest usual
        /// round-trip time.
        interval: "RFC 8289 s.4.3";
        ecn: "RFC 8289 s.1 allows it; false in Linux sch_codel";
        ce_threshold: "Linux sch_codel; RFC 8290 s.5.2.7";
        /// Largest packet: nothing is dropped when no more than this is left.
        max_packet;
    }
    rest {
        /// Whether the packet being transmitted counts as held against the limit.
        count_in_service: bool = true, "", "a switch's buffer holds a packet until its last bit has left";
    }
    linux {}
}

impl Settings {
    /// Settings that contradict each other.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        check_limit(self.limit, path, faults);
    }
}

/// The settings of the control law; the same for all queues of a discipline.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Wait that may last.
    pub target: Span,
    /// How long it may stay above the target.
    pub interval: Span,
    /// ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Wait above which every ECN-capable packet is marked.
    pub ce_threshold: Option<Span>,
    /// Nothing is dropped when no more than this is left.
    pub max_packet: u64,
    /// How the square root is taken.
    pub root: Root,
}

/// One queue's law: the state of RFC 8289 s.5.2.
#[derive(Debug, Clone)]
pub struct Law {
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
    /// 1 / sqrt(count), scaled by 2^16, for [`Root::Newton`].
    inverse_root: u16,
}

impl Default for Law {
    fn default() -> Self {
        Law {
            first_above: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            inverse_root: u16::MAX,
        }
    }
}

impl Law {
    /// In drop state.
    pub fn is_dropping(&self) -> bool {
        self.dropping
    }

    /// Drops since drop state began, or its initial count.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// RFC 8289 s.5.5 `dequeue`: the next packet of `held` to transmit, after drops and marks. `beside` are the bytes
    /// outside `held` that count as left when the law asks whether an MTU's worth is.
    pub fn dequeue(
        &mut self,
        held: &mut Held,
        beside: u64,
        rules: &Rules,
        cx: &mut QueueCx<'_>,
    ) -> Option<Packet> {
        let now = cx.now;
        let (mut packet, mut ok_to_drop) = self.take(held, beside, rules, now);
        if self.dropping {
            // "sojourn time below TARGET - leave drop state"
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.add_drop(rules);
                // Linux: a marked packet ends the loop, and the next mark is scheduled.
                if mark(&mut packet, rules, cx) {
                    self.drop_next = self.control_law(self.drop_next, rules);
                    break;
                }
                drop_it(packet.take(), cx);
                (packet, ok_to_drop) = self.take(held, beside, rules, now);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next, rules);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            if !mark(&mut packet, rules, cx) {
                drop_it(packet.take(), cx);
                (packet, _) = self.take(held, beside, rules, now);
            }
            self.dropping = true;
            // "If min went above TARGET close to when it last went below, assume that the drop rate that
            // controlled the queue on the last cycle is a good starting point": the RFC's Linux version.
            let delta = self.count.wrapping_sub(self.last_count);
            let recent =
                now.saturating_sub(self.drop_next) < Span::ps(rules.interval.as_ps().saturating_mul(16));
            if delta > 1 && recent {
                self.count = delta;
                self.newton_step();
            } else {
                self.count = 1;
                self.inverse_root = u16::MAX;
            }
            self.drop_next = self.control_law(now, rules);
            self.last_count = self.count;
        }
        // Linux: `ldelay` after `ce_threshold`.
        if let (Some(out), Some(threshold)) = (&mut packet, rules.ce_threshold)
            && now - out.at > threshold
        {
            cx.mark(out);
        }
        packet
    }

    /// RFC 8289 s.5.6 `dodequeue`: the packet at the head, and whether it may be dropped.
    fn take(&mut self, held: &mut Held, beside: u64, rules: &Rules, now: Time) -> (Option<Packet>, bool) {
        let Some(packet) = held.pop() else {
            self.first_above = None;
            return (None, false);
        };
        if now - packet.at < rules.target || held.bytes() + beside <= rules.max_packet {
            // "went below - stay below for at least INTERVAL"
            self.first_above = None;
            return (Some(packet), false);
        }
        let first = *self.first_above.get_or_insert(now + rules.interval);
        // The interval that has just begun has not passed.
        (Some(packet), now >= first)
    }

    fn add_drop(&mut self, rules: &Rules) {
        self.count = self.count.saturating_add(1);
        if rules.root == Root::Newton {
            self.newton_step();
        }
    }

    /// Linux `codel_Newton_step`: x' = x (3 - count x^2) / 2, on numbers scaled by 2^32.
    fn newton_step(&mut self) {
        let x = u64::from(self.inverse_root) << 16;
        let square = (x * x) >> 32;
        let value = (3u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square)) >> 2;
        self.inverse_root = (value.wrapping_mul(x) >> 31 >> 16) as u16;
    }

    /// RFC 8289 s.5.6 `control_law`: t + INTERVAL / sqrt(count).
    fn control_law(&self, t: Time, rules: &Rules) -> Time {
        let interval = rules.interval.as_ps();
        let step = match rules.root {
            Root::Exact => (interval as f64 / f64::from(self.count.max(1)).sqrt()) as u64,
            Root::Newton => ((u128::from(interval) * u128::from(self.inverse_root)) >> 16) as u64,
        };
        t + Span::ps(step)
    }
}

fn mark(packet: &mut Option<Packet>, rules: &Rules, cx: &mut QueueCx<'_>) -> bool {
    rules.ecn && packet.as_mut().is_some_and(|packet| cx.mark(packet))
}

fn drop_it(packet: Option<Packet>, cx: &mut QueueCx<'_>) {
    if let Some(packet) = packet {
        cx.drop(packet, DropWhy::Aqm);
    }
}

/// The discipline at work.
#[derive(Debug, Clone)]
pub struct Discipline {
    tail: drop_tail::Discipline,
    rules: Rules,
    law: Law,
    held: Held,
    /// Wait of the last packet sent.
    wait: Span,
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, place: Place) -> Self {
        let Settings { limit, count_in_service, .. } = *settings;
        let tail = drop_tail::Settings { limit, count_in_service, measure: Measure::After };
        Discipline {
            tail: drop_tail::Discipline::new(&tail, place),
            rules: settings.rules(),
            law: Law::default(),
            held: Held::default(),
            wait: Span::ZERO,
        }
    }
}

impl QueueDisc for Discipline {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut QueueCx<'_>) {
        // RFC 8289 s.5.4: arrivals at a full buffer are dropped, and not counted by the law.
        if self.tail.is_full(self.tail.gauge().read(self.held.with_serving(cx.serving), packet.size)) {
            return cx.drop(packet, DropWhy::Full);
        }
        packet.at = cx.now;
        self.held.push(packet);
    }

    fn dequeue(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let packet = self.law.dequeue(&mut self.held, 0, &self.rules, cx)?;
        self.wait = cx.now - packet.at;
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.held.backlog()
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("wait_s", self.wait.as_secs_f64());
        put("count", f64::from(self.law.count));
        put("dropping", f64::from(u8::from(self.law.dropping)));
    }
}

#[cfg(test)]
mod tests;
