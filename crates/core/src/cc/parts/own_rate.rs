//! The common part of senders that find their rate themselves and begin at that of their network card, as RDMA
//! cards do (DCQCN, TIMELY).

use crate::cc::{Cx, FlowInfo};
use shallows_units::{Bytes, Rate, Span};

/// A rate on the wire, and the window over it, if there is one.
#[derive(Debug, Clone)]
pub struct OwnRate {
    /// In bit/s.
    bps: f64,
    least: f64,
    most: f64,
    /// A window of the rate times so many seconds; 0 for none.
    window_rtt: f32,
    mss: u32,
    /// Most window in bytes.
    cwnd_max: u64,
}

impl OwnRate {
    /// At the rate of the flow's network card, or at `first`.
    pub fn new(
        first: Option<Rate>,
        least: Rate,
        window_rtt: Option<Span>,
        flow: &FlowInfo<'_>,
        cx: &Cx<'_>,
    ) -> Self {
        let most = flow.path.line_rate.as_bps() as f64;
        let bps = first.map_or(most, |rate| rate.as_bps() as f64);
        let mut own = OwnRate {
            bps,
            least: (least.as_bps() as f64).min(most),
            most,
            window_rtt: window_rtt.map_or(0.0, |rtt| rtt.as_secs_f64() as f32),
            mss: cx.rules.mss as u32,
            cwnd_max: cx.rules.cwnd_max.min((1u64 << 40) as f64) as u64,
        };
        own.set(bps);
        own
    }

    /// In bit/s.
    pub fn bps(&self) -> f64 {
        self.bps
    }

    /// The card's rate in bit/s.
    pub fn most(&self) -> f64 {
        self.most
    }

    /// Sets the rate, held between the least one and the card's.
    pub fn set(&mut self, bps: f64) {
        self.bps = bps.clamp(self.least, self.most);
    }

    /// Bytes that may be in flight: HPCC's simulator, "var_win", with a segment at least.
    pub fn cwnd(&self) -> Bytes {
        let bytes = match self.window_rtt {
            0.0 => self.cwnd_max,
            rtt => self.cwnd_max.min((self.bps / 8.0 * f64::from(rtt)) as u64),
        };
        Bytes(bytes.max(u64::from(self.mss)))
    }

    /// As the transport paces.
    pub fn rate(&self) -> Option<Rate> {
        Some(Rate::bps((self.bps as u64).max(1)))
    }
}

/// The part of [`crate::cc::CongestionControl`] that a field `own` of type [`OwnRate`] answers.
macro_rules! by_own_rate {
    () => {
        #[inline]
        fn cwnd(&self) -> shallows_units::Bytes {
            self.own.cwnd()
        }

        #[inline]
        fn pacing_rate(&self) -> Option<shallows_units::Rate> {
            self.own.rate()
        }
    };
}
pub(crate) use by_own_rate;
