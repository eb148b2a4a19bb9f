//! The settings after tc and before the kernel, and the refusals of both.
//!
//! Source: iproute2 6.1, tc/q_red.c (`red_parse_opt`) and tc/tc_red.c; Linux 6.1, include/net/red.h
//! (`red_check_params`, `red_validate_flags`). tc refuses settings from which it cannot compute its
//! constants, and no others: max above limit, a probability above 1 and the like pass it. The
//! kernel refuses thresholds that do not fit in 32 bits with the average's binary places (`>= 32` since
//! 5.12, before `> 32`) and max below min. Its checks of Scell_log (since 5.11) and of the idle table
//! (since 5.12) cannot fail for values from tc, which cuts both below 32.

use super::Settings;
use shallows_units::{Bytes, Rate};

/// The values that tc sends to the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) min: u32,
    pub(super) max: u32,
    pub(super) w_log: u32,
    pub(super) scell_log: u32,
    pub(super) max_p: u32,
    pub(super) stab: Vec<u8>,
}

/// Which setting is refused, and why.
pub(super) type Refusal = (&'static str, String);

impl Settings {
    /// The defaults, calculations and checks of iproute2's `red_parse_opt`, then the kernel's.
    pub(super) fn message(&self) -> Result<Message, Refusal> {
        let whole = |bytes: Bytes| bytes.as_u64() as u32;
        let (limit, avpkt) = (whole(self.limit), whole(self.avpkt));
        let max = match (self.max, self.min) {
            (Some(max), _) => whole(max),
            (None, Some(min)) => whole(min).wrapping_mul(3),
            (None, None) => limit / 4,
        };
        let min = self.min.map_or(max / 3, whole);
        let burst = match self.burst {
            Some(burst) => burst as u32,
            None => min.wrapping_mul(2).wrapping_add(max) / 3u32.wrapping_mul(avpkt).max(1),
        };
        let w_log = eval_ewma(min, burst, avpkt)?;
        eval_p(min, max, self.probability)?;
        let (scell_log, stab) = eval_idle_damping(w_log, avpkt, self.bandwidth)?;
        // Linux red_check_params: the average, scaled by 2^Wlog, must fit in 32 bits.
        for (name, bytes) in [("min", min), ("max", max)] {
            let bits = 32 - bytes.leading_zeros();
            if bits + w_log >= 32 {
                let rule = format!(
                    "must be less than 2^{}: Linux 6.1 refuses thresholds that do not fit in 32 bits with \
                     the average's {w_log} binary places (red_check_params), burst being {burst}",
                    31 - w_log
                );
                return Err((name, rule));
            }
        }
        if self.nodrop && !self.ecn {
            // Linux red_validate_flags.
            return Err(("nodrop", "needs ecn: Linux 6.1 refuses it without (red_validate_flags)".into()));
        }
        let max_p = (self.probability * 4_294_967_296.0) as u32;
        // Linux red_set_parms: without max_P, the power of two that tc computed; ours is never 0 but
        // for a probability below 2^-32.
        Ok(Message { min, max, w_log, scell_log, max_p: max_p.max(1), stab })
    }
}

/// iproute2 `tc_red_eval_ewma`: the largest weight 2^-Wlog with which a burst that meets an empty queue
/// does not lift the average above min: burst + 1 - min / avpkt <= (1 - (1 - W)^burst) / W.
pub(super) fn eval_ewma(min: u32, burst: u32, avpkt: u32) -> Result<u32, Refusal> {
    let a = f64::from(burst) + 1.0 - f64::from(min) / f64::from(avpkt);
    if a < 1.0 {
        let least = min.div_ceil(avpkt);
        let rule = format!(
            "must be >= min / avpkt, {least}: \
             tc (iproute2 6.1) fails to calculate the EWMA constant"
        );
        return Err(("burst", rule));
    }
    (1..32)
        .find(|w_log| {
            let w = 1.0 / f64::from(1u32 << w_log);
            a <= (1.0 - libm::pow(1.0 - w, f64::from(burst))) / w
        })
        .ok_or_else(|| {
            ("burst", "is too large for min: tc (iproute2 6.1) fails to calculate the EWMA constant".into())
        })
}

/// iproute2 `tc_red_eval_P`: Plog. The kernel uses max_P instead, but a failure here refuses the settings.
pub(super) fn eval_p(min: u32, max: u32, probability: f64) -> Result<u32, Refusal> {
    if max == min {
        return Ok(0);
    }
    if max < min {
        return Err((
            "max",
            format!("must be >= min, {min}B: tc (iproute2 6.1) fails to calculate the probability"),
        ));
    }
    let mut share = probability / f64::from(max - min);
    for p_log in 0..32 {
        if share > 1.0 {
            return Ok(p_log);
        }
        share *= 2.0;
    }
    let rule = "must be more than (max - min) / 2^31: tc (iproute2 6.1) fails to calculate the probability";
    Err(("probability", rule.into()))
}

/// iproute2 `tc_red_eval_idle_damping`: Scell_log, and a table of -ln(1 - W) x time / transmission time.
///
/// tc counts time in ticks of 64 ns (/proc/net/psched) where the kernel, since 2.6.39, looks the table up
/// by microseconds: the average decays 15.6 times slower than Floyd and Jacobson's. Kept.
pub(super) fn eval_idle_damping(w_log: u32, avpkt: u32, bandwidth: Rate) -> Result<(u32, Vec<u8>), Refusal> {
    let bytes_a_second = bandwidth.as_bps() / 8;
    // iproute2 tc_calc_xmittime: whole microseconds, then whole ticks.
    let micros = 1e6 * f64::from(avpkt) / bytes_a_second as f64;
    let ticks = f64::from((f64::from(micros as u32) * 15.625) as u32);
    let l_w = -libm::log(1.0 - 1.0 / f64::from(1u32 << w_log)) / ticks;
    let longest = 31.0 / l_w;
    let Some(scell_log) = (0..32).find(|log| longest / f64::from(1u32 << log) < 512.0) else {
        let rule = "is too low for avpkt: tc (iproute2 6.1) fails to calculate the idle damping table";
        return Err(("bandwidth", rule.into()));
    };
    let cell = |i: u32| {
        let value = f64::from(i << scell_log) * l_w;
        // In C the number is cut to 8 bits before it is limited; beyond 31 bits x86 gives 0.
        let byte = if value < 2_147_483_648.0 { value as u32 as u8 } else { 0 };
        byte.min(31)
    };
    let stab = (0..256)
        .map(|i| {
            if i == 0 {
                0
            } else if i == 255 {
                31
            } else {
                cell(i)
            }
        })
        .collect();
    Ok((scell_log, stab))
}
