//! A sender's congestion window over time: the bytes that its algorithm last gave, and their integral.
//!
//! The integral is charged with the old window up to the instant at which the window moves. So both stand in one
//! type, and nothing outside of it can move the one without the other.

use super::settings::MAX_WINDOW;
use crate::cc::{AnyCc, CongestionControl, Cx, WindowRules};
use shallows_units::{Span, Time};

/// The congestion control and its window, asked for after each call that may move it: an acknowledgement needs it four
/// times.
pub struct Window {
    cc: AnyCc,
    bytes: u64,
    /// When the integral was last brought up.
    counted_at: Time,
    /// Integral of the window in byte ps.
    integral: u128,
}

/// The window of `cc`, held to TCP's largest (RFC 7323 s.2.3), whatever a plug-in says.
#[inline(always)]
fn asked(cc: &AnyCc) -> u64 {
    cc.cwnd().as_u64().min(MAX_WINDOW)
}

impl Window {
    /// The window that `cc` begins with.
    pub(super) fn new(cc: AnyCc, now: Time) -> Self {
        Window { bytes: asked(&cc), cc, counted_at: now, integral: 0 }
    }

    /// The congestion control, to be asked and not to be moved.
    #[inline]
    pub fn cc(&self) -> &AnyCc {
        &self.cc
    }

    /// The window in bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The window, if it bounds anything: none at TCP's largest, for which controls without a window ask.
    pub fn bound(&self) -> Option<u64> {
        Some(self.bytes).filter(|bytes| *bytes < MAX_WINDOW)
    }

    /// The mean of a window with this integral over a time, if it bounded anything in it.
    pub fn mean(integral: u128, over: Span) -> Option<f64> {
        let mean = (over > Span::ZERO).then(|| integral as f64 / over.as_ps() as f64);
        mean.filter(|bytes| *bytes < MAX_WINDOW as f64)
    }

    /// Brings the integral up to `now` and gives it, in byte ps.
    #[inline(always)]
    pub fn count(&mut self, now: Time) -> u128 {
        let span = (now - self.counted_at).as_ps();
        self.integral += u128::from(self.bytes) * u128::from(span);
        self.counted_at = now;
        self.integral
    }

    /// Charges the time until `now` with the window as it was, then asks for the present one.
    #[inline(always)]
    fn refresh(&mut self, now: Time) {
        self.count(now);
        self.bytes = asked(&self.cc);
    }

    /// Counts from `now` on.
    pub(super) fn restart(&mut self, now: Time) {
        (self.integral, self.counted_at) = (0, now);
    }

    /// Lets the congestion control act. No other way leads to the calls that may move the window.
    #[inline(always)]
    pub(super) fn with_cc<R>(
        &mut self,
        rules: &WindowRules,
        now: Time,
        act: impl FnOnce(&mut AnyCc, &Cx<'_>) -> R,
    ) -> R {
        let answer = act(&mut self.cc, &Cx { now, rules });
        self.refresh(now);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{Ack, Congestion};
    use shallows_units::Bytes;

    struct Boundless;

    impl CongestionControl for Boundless {
        fn on_ack(&mut self, _: &Ack, _: &Cx<'_>) {}
        fn on_congestion(&mut self, _: Congestion, _: u64, _: &Cx<'_>) {}
        fn cwnd(&self) -> Bytes {
            Bytes(u64::MAX)
        }
    }

    /// RFC 7323 s.2.3: 2^14 times 2^16. A window without bound would also make its integral overflow in time.
    #[test]
    fn no_window_is_larger_than_tcps_largest() {
        let mut window = Window::new(AnyCc::Custom(Box::new(Boundless)), Time::ZERO);
        assert_eq!(window.bytes(), 1 << 30);
        let integral = window.count(Time::ZERO + Span::ps(3));
        assert_eq!(integral, 3 << 30);
        assert_eq!((window.bound(), Window::mean(integral, Span::ps(3))), (None, None));
    }
}
