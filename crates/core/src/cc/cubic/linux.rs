//! CUBIC as Linux counts it: whole segments, a clock of milliseconds, 410 / 1024 for C and 717 / 1024 for beta.
//!
//! Source: Linux 7.2 tcp_cubic.c (`bictcp_update`, `cubictcp_recalc_ssthresh`, `cubictcp_state`) and tcp_cong.c
//! (`tcp_cong_avoid_ai`, `tcp_slow_start`). One difference shows where round trips are short: the increment is computed
//! again only when the window has moved or 31 ms have passed, so that a reduced window stands still for that long.
//! Left out: the table behind its cube root (0.2 %).

use crate::cc::{Ack, Cx, Window};
use shallows_units::Time;

const HZ: u64 = 1000;
/// `bic_scale` x 10: C in 1/1024.
const C: u64 = 410;
/// beta in 1/1024.
const BETA: u64 = 717;
/// `beta_scale`: 8 (1024 + beta) / 3 / (1024 - beta), each quotient cut.
const FRIENDLY: u64 = 8 * (1024 + BETA) / 3 / (1024 - BETA);
/// `cube_factor`: 2^40 / C, for K in 1/1024 s.
const CUBE_FACTOR: u64 = (1 << 40) / C;

/// struct bictcp, and `snd_cwnd_cnt`. Windows are in segments, times in milliseconds.
#[derive(Debug, Clone, Default)]
pub struct Kernel {
    /// Acknowledged segments for each that the window grows.
    cnt: u64,
    last_max: u64,
    last_cwnd: u64,
    last_time: u64,
    origin: u64,
    k: u64,
    delay_min_us: u64,
    epoch: Option<u64>,
    ack_cnt: u64,
    tcp_cwnd: u64,
    credit: u64,
}

impl Kernel {
    /// cubictcp_acked, cubictcp_cong_avoid.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack, cx: &Cx<'_>) {
        let (now, mss) = (jiffies(cx.now), cx.rules.mss);
        let after_epoch = self.epoch.is_none_or(|epoch| now - epoch >= HZ);
        if let Some(rtt) = ack.rtt.filter(|_| after_epoch) {
            let rtt = (rtt.as_ps() / 1_000_000).max(1);
            self.delay_min_us = if self.delay_min_us == 0 { rtt } else { self.delay_min_us.min(rtt) };
        }
        if !ack.may_grow {
            return;
        }
        let mut acked = (cx.rules.counted(ack) as u64).div_ceil(mss);
        let mut cwnd = window.cwnd as u64 / mss;
        if window.cwnd < window.ssthresh {
            // tcp_slow_start: the rest beyond ssthresh counts there.
            let most = (window.ssthresh / mss as f64).min(1e15) as u64;
            let grown = (cwnd + acked).min(most.max(cwnd));
            acked -= grown - cwnd;
            cwnd = grown;
        }
        if acked > 0 {
            self.update(cwnd, acked, now);
            cwnd = self.grow(cwnd, acked);
        }
        window.cwnd = ((cwnd * mss) as f64).min(cx.rules.cwnd_max);
    }

    /// bictcp_update.
    fn update(&mut self, cwnd: u64, acked: u64, now: u64) {
        self.ack_cnt += acked;
        if self.last_cwnd == cwnd && now - self.last_time <= HZ / 32 {
            return;
        }
        if self.epoch.is_none() || now != self.last_time {
            self.last_cwnd = cwnd;
            self.last_time = now;
            self.aim(cwnd, acked, now);
        }
        let delta = (cwnd * FRIENDLY) >> 3;
        while self.ack_cnt > delta {
            self.ack_cnt -= delta;
            self.tcp_cwnd += 1;
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
        self.cnt = self.cnt.max(2); // at most 1.5 times a round trip
    }

    fn aim(&mut self, cwnd: u64, acked: u64, now: u64) {
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => {
                self.epoch = Some(now);
                (self.ack_cnt, self.tcp_cwnd) = (acked, cwnd);
                let below = self.last_max.saturating_sub(cwnd);
                self.k = libm::floor(libm::cbrt((CUBE_FACTOR * below) as f64)) as u64;
                self.origin = self.last_max.max(cwnd);
                now
            }
        };
        // usecs_to_jiffies rounds up.
        let t = ((now - epoch + self.delay_min_us.div_ceil(1_000_000 / HZ)) << 10) / HZ;
        let away = u128::from(t.abs_diff(self.k));
        let delta = ((u128::from(C) * away * away * away) >> 40) as u64;
        let target = if t < self.k { self.origin.saturating_sub(delta) } else { self.origin + delta };
        self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max == 0 {
            self.cnt = self.cnt.min(20); // 5 % a round trip where nothing is known
        }
    }

    /// tcp_cong_avoid_ai; the window after it.
    fn grow(&mut self, cwnd: u64, acked: u64) -> u64 {
        let mut grown = cwnd;
        if self.credit >= self.cnt {
            self.credit = 0;
            grown += 1;
        }
        self.credit += acked;
        if self.credit >= self.cnt {
            grown += self.credit / self.cnt;
            self.credit %= self.cnt;
        }
        grown
    }

    /// cubictcp_recalc_ssthresh: sets window and threshold. After a timeout (`forget`) nothing else is kept.
    pub fn reduce(&mut self, window: &mut Window, fast_convergence: bool, forget: bool, cx: &Cx<'_>) {
        let mss = cx.rules.mss;
        let cwnd = window.cwnd as u64 / mss;
        let making_room = cwnd < self.last_max && fast_convergence;
        self.last_max = if making_room { cwnd * (1024 + BETA) / 2048 } else { cwnd };
        self.epoch = None;
        self.credit = 0;
        window.shrink((cwnd * BETA / 1024 * mss) as f64, cx);
        if forget {
            *self = Kernel::default(); // cubictcp_state
            window.cwnd = mss as f64;
        }
    }

    /// cubictcp_cwnd_event_tx_start: the time since data were last sent is not part of t.
    pub fn transmit_start(&mut self, last_sent: Time, now: Time) {
        let moved = |epoch: u64| (epoch + jiffies(now) - jiffies(last_sent)).min(jiffies(now));
        self.epoch = self.epoch.map(moved);
    }
}

fn jiffies(at: Time) -> u64 {
    at.as_ps() / (1_000_000_000_000 / HZ)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::cubic::{Control, Settings};
    use crate::cc::parts::window::Arithmetic;
    use crate::cc::parts::window::tests::{ack, rules};
    use crate::cc::{Congestion, CongestionControl, FlowInfo, WindowRules};
    use crate::params::Params;
    use shallows_units::Span;

    fn linux() -> WindowRules {
        WindowRules { arithmetic: Arithmetic::Linux, cwnd_floor: 2000.0, ..rules() }
    }

    /// A window of acknowledgements each millisecond, up to `until` ms; windows in segments at its ends.
    fn windows(kernel: &mut Kernel, window: &mut Window, until: u64) -> Vec<u64> {
        let rules = linux();
        (1..=until)
            .map(|ms| {
                for _ in 0..window.cwnd as u64 / 1000 {
                    let ack = crate::cc::Ack { rtt: Some(Span::ms(1)), ..ack(1000) };
                    kernel.on_ack(window, &ack, &Cx { now: Time::ZERO + Span::ms(ms), rules: &rules });
                }
                window.cwnd as u64 / 1000
            })
            .collect()
    }

    fn reduced(segments: u64) -> (Kernel, Window) {
        let rules = linux();
        let mut window = Window::new(&rules);
        window.cwnd = (segments * 1000) as f64;
        let mut kernel = Kernel::default();
        kernel.reduce(&mut window, true, false, &Cx { now: Time::ZERO, rules: &rules });
        (kernel, window)
    }

    #[test]
    fn constants_are_the_kernels() {
        assert_eq!((FRIENDLY, CUBE_FACTOR), (15, 2_681_735_677));
        let (_, window) = reduced(100);
        assert_eq!((window.cwnd, window.ssthresh), (70_000.0, 70_000.0)); // 100 x 717 / 1024 = 70.02
    }

    /// K of 30 segments below: cbrt(30 x 2681735677) = 4316.5, cut: 4.215 s.
    #[test]
    fn k_is_in_1024ths_of_a_second() {
        let (mut kernel, mut window) = reduced(100);
        windows(&mut kernel, &mut window, 1);
        assert_eq!((kernel.k, kernel.origin), (4316, 100));
    }

    /// 26 segments at 1 ms: 18 after a reduction. At its first acknowledgement t = 1 ms and K = 2.8 s, and C (K - t)^3
    /// is 7.99, cut to 7: the target is 19, reached within the round trip. Then it is the window, cnt is 1900,
    /// and nothing changes that for 31 ms, in which 570 are acknowledged. By then Reno's window has grown by
    /// one for each 19 x 15 / 8 = 35 of them, and the window follows.
    #[test]
    fn a_reduced_window_stands_for_31_ms_where_round_trips_are_short() {
        let (mut kernel, mut window) = reduced(26);
        let all = windows(&mut kernel, &mut window, 60);
        assert!(all[..33].iter().all(|w| *w == 19), "{all:?}");
        assert!(all[40] > 25, "{all:?}");
    }

    /// Fast convergence: 18 x (1024 + 717) / 2048 = 15 below a last maximum of 26.
    #[test]
    fn a_window_below_the_last_makes_room() {
        let (mut kernel, mut window) = reduced(26);
        let rules = linux();
        kernel.reduce(&mut window, true, false, &Cx { now: Time::ZERO, rules: &rules });
        assert_eq!((kernel.last_max, window.cwnd), (15, 12_000.0));
        kernel.reduce(&mut window, true, true, &Cx { now: Time::ZERO, rules: &rules });
        assert_eq!((kernel.last_max, window.cwnd, window.ssthresh), (0, 1000.0, 8000.0));
    }

    /// cubictcp_cwnd_event_tx_start: the epoch moves by the idle time in whole jiffies, from 10.9 to 1010.1 ms a thousand. So t = 1012 - 1001
    /// + 1 ms at the next acknowledgement, as at 12 ms without the idle time, and cnt is that of the same place of the curve.
    #[test]
    fn an_idle_time_moves_the_epoch() {
        let at = |us: u64| Time::ZERO + Span::us(us);
        let acked = |kernel: &mut Kernel, window: &mut Window, ms: u64| {
            let ack = crate::cc::Ack { rtt: Some(Span::ms(1)), ..ack(1000) };
            kernel.on_ack(window, &ack, &Cx { now: at(1000 * ms), rules: &linux() });
        };
        let [mut idle, mut busy] = [reduced(1000), reduced(1000)];
        for (kernel, window) in [&mut idle, &mut busy] {
            kernel.transmit_start(at(0), at(500));
            assert_eq!(kernel.epoch, None, "none has begun");
            acked(kernel, window, 1);
            assert_eq!(kernel.epoch, Some(1));
            kernel.last_cwnd = 0; // both compute the increment again
        }
        idle.0.transmit_start(at(10_900), at(1_010_100));
        assert_eq!(idle.0.epoch, Some(1001));
        acked(&mut idle.0, &mut idle.1, 1012);
        acked(&mut busy.0, &mut busy.1, 12);
        assert_eq!((idle.0.cnt, idle.1.cwnd), (busy.0.cnt, busy.1.cwnd));
    }

    /// The time since the last sending counts, also where data were acknowledged since then; the epoch stays in the past.
    #[test]
    fn an_epoch_moves_by_the_time_since_data_were_sent() {
        let rules = linux();
        let at = |ms| Cx { now: Time::ZERO + Span::ms(ms), rules: &rules };
        let mut control = Control::start(&Settings::defaults(), &FlowInfo::default(), &at(0));
        control.on_congestion(Congestion::Loss, 10_000, &at(0));
        control.on_ack(&ack(1000), &at(7));
        control.on_ack(&ack(1000), &at(20));
        for (sent, now, moved) in [(15, 25, 17), (25, 5025, 5017), (5000, 5030, 5030), (5030, 5030, 5030)] {
            control.on_transmit_start(Time::ZERO + Span::ms(sent), &at(now));
            assert_eq!(control.kernel.as_ref().expect("Linux's").epoch, Some(moved));
        }
    }
}
