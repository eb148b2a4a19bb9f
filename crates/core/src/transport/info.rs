//! A sender's state in the names and units of Linux's `struct tcp_info` (include/uapi/linux/tcp.h), for those who look at
//! it from outside.

use super::config::Config;
use super::detection::LossDetection;
use super::recovery::Recovery;
use super::sender::Sender;
use crate::cc::CongestionControl;
use shallows_units::Span;

/// Linux `TCP_INFINITE_SSTHRESH`: no threshold.
const INFINITE: u64 = 0x7fff_ffff;
/// Linux `tcp_max_reordering`.
const MOST_REORDERING: u64 = 300;

/// Linux `enum tcp_ca_state`, by number.
pub const CA_STATES: [&str; 5] =
    ["TCP_CA_Open", "TCP_CA_Disorder", "TCP_CA_CWR", "TCP_CA_Recovery", "TCP_CA_Loss"];

fn us(span: Span) -> u64 {
    span.as_ps() / 1_000_000
}

impl Sender {
    /// Each value that `tcp_get_info` reports and a sender here knows. Windows and counts are in segments, times in us.
    pub fn info(&self, config: &Config) -> Vec<(&'static str, u64)> {
        let mss = config.rules.mss;
        let threshold = self.half.window.cc().ssthresh().filter(|bytes| bytes.is_finite());
        let mut all = vec![
            ("tcpi_ca_state", self.ca_state()),
            ("tcpi_snd_mss", mss),
            ("tcpi_snd_cwnd", self.window_as_linux(config) / mss),
            ("tcpi_snd_ssthresh", threshold.map_or(INFINITE, |bytes| bytes as u64 / mss)),
            ("tcpi_rtt", us(self.rtt.srtt())),
            ("tcpi_rttvar", us(self.rtt.rttvar())),
            ("tcpi_rto", us(self.rtt.rto(&config.settings))),
            ("tcpi_retransmits", self.rtt.timeouts),
            ("tcpi_total_retrans", self.half.counts.retransmissions),
            ("tcpi_bytes_acked", self.half.una.min(self.half.written)),
            ("tcpi_notsent_bytes", self.half.written.saturating_sub(self.high)),
            ("tcpi_snd_wnd", config.receive_window),
        ];
        if let LossDetection::Time(rack) = &self.losses {
            let [lost, retrans] = rack.lost_and_resent();
            let overtaken = rack.overtaken().div_ceil(mss).min(MOST_REORDERING);
            all.extend([
                ("tcpi_unacked", rack.outstanding()),
                ("tcpi_sacked", rack.sacked_segments()),
                ("tcpi_lost", lost),
                ("tcpi_retrans", retrans),
                ("tcpi_reordering", overtaken.max(config.settings.dup_acks)),
                ("tcpi_min_rtt", us(rack.least_rtt())),
            ]);
        }
        all
    }

    /// The number in [`CA_STATES`].
    fn ca_state(&self) -> u64 {
        match &self.recovery {
            Recovery::Open if self.board.is_empty() && self.losses.dup_acks() == 0 => 0,
            Recovery::Open => 1,
            Recovery::Reducing(_) => 2,
            Recovery::Fast(_) => 3,
            Recovery::AfterTimeout { .. } => 4,
        }
    }

    /// tcp_cwnd_reduction: while a window is reduced in proportion, it is the data in flight and what may be sent now.
    fn window_as_linux(&self, config: &Config) -> u64 {
        match self.recovery {
            Recovery::Reducing(_) | Recovery::Fast(_) => self.send_window(config),
            Recovery::Open | Recovery::AfterTimeout { .. } => self.half.window.bytes(),
        }
    }
}
