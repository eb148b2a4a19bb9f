//! The rate of a flow's credits.
//!
//! Source: the authors' simulator (github.com/kaist-ina/ns2-xpass, `credit_feedback_control`). Once an update period, a round trip, the receiver
//! looks at the share of its credits that were dropped. The target is an eighth of the rate's distance to that which fills the link. At most the target:
//! the rate moves by the weight w towards the link's, and from the second such period in a row on w grows by 0.05 before. Above: the rate
//! falls to what passed and the target beyond it, if that is less, and w is halved. The rate is at least a credit a round trip.
//!
//! `control = "algorithm-1"` is that of Cho et al. 2017 s.3.2 (compared with kalsasdf/inet, `xpassCore.cc`). Its target t is fixed. At most t: the rate moves by w towards C (1 + t), and from the
//! second increase in a row on w goes half way to its maximum before. Above: the rate falls to rate (1 - loss) (1 + t), and w is halved. So a flow alone
//! ends at C (1 + t), of which the port drops t / (1 + t), and its queue of credits is nearly always full. Credits of a second flow then find no room
//! about half the time, those of the first, which are evenly spaced, hardly ever.

use super::settings::Rules;

/// Growth of the weight in the authors' simulator.
const STEP: f64 = 0.05;
/// The target's part of the distance to the link's rate there (`target_loss_scaling_`).
const SCALING: f64 = 0.125;

/// The control of one flow. Rates are in credits a second.
#[derive(Debug, Clone, Copy)]
pub struct Feedback {
    /// The present rate.
    pub rate: f64,
    /// How far an increase goes.
    pub w: f64,
    /// The rate of credits that fills the receiver's link.
    most: f64,
    /// The period before was an increase.
    grew: bool,
}

/// The news of a period about credits.
#[derive(Debug, Clone, Copy)]
pub struct Period {
    /// Those that were dropped.
    pub dropped: u64,
    /// All of them.
    pub total: u64,
    /// Its length in seconds.
    pub seconds: f64,
    /// The round trip in seconds.
    pub round_trip: f64,
}

impl Feedback {
    /// At the first rate, at a link that `most` credits a second fill.
    pub fn new(most: f64, rules: &Rules) -> Self {
        Feedback { rate: rules.first_rate * most, w: rules.w_first, most, grew: false }
    }

    /// A period is over.
    pub fn update(&mut self, period: Period, rules: &Rules) {
        let loss = period.dropped as f64 / period.total as f64;
        let grows = if rules.algorithm1 {
            self.by_algorithm1(loss, rules)
        } else {
            self.by_simulator(loss, period, rules)
        };
        if !grows {
            self.w = (self.w / 2.0).max(rules.w_min);
        }
        self.grew = grows;
        self.rate = self.rate.max(1.0 / period.round_trip.max(f64::MIN_POSITIVE));
    }

    /// Cho 2017, algorithm 1. Whether the rate grows.
    fn by_algorithm1(&mut self, loss: f64, rules: &Rules) -> bool {
        let beyond = 1.0 + rules.target_loss;
        if loss > rules.target_loss {
            self.rate = self.rate * (1.0 - loss) * beyond;
            return false;
        }
        if self.grew {
            self.w = (self.w + rules.w_max) / 2.0;
        }
        self.rate = (1.0 - self.w) * self.rate + self.w * self.most * beyond;
        true
    }

    /// The authors' simulator. Whether the rate grows.
    fn by_simulator(&mut self, loss: f64, period: Period, rules: &Rules) -> bool {
        let target = (1.0 - self.rate / self.most) * SCALING;
        if loss > target {
            let passed = (period.total - period.dropped) as f64 / period.seconds.max(f64::MIN_POSITIVE);
            self.rate = self.rate.min(passed * (1.0 + target));
            return false;
        }
        if self.grew {
            self.w = (self.w + STEP).min(rules.w_max);
        }
        self.rate = (self.w * self.most + (1.0 - self.w) * self.rate).min(self.most);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use crate::transport::expresspass::ExpressPassSettings;

    fn rules(first_rate: f64, w_first: f64) -> Rules {
        Rules { first_rate, w_first, algorithm1: true, ..Rules::new(&ExpressPassSettings::defaults()) }
    }

    /// A period of 1 s with such losses.
    fn lost(dropped: u64, total: u64) -> Period {
        Period { dropped, total, seconds: 1.0, round_trip: 1e9 }
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    }

    /// Algorithm 1 by hand, with 1/2 for the first rate and w: 0.5, then 0.5 0.5 + 0.5 1.1 = 0.8, 0.95, 1.025, 1.0625; the sum's limit is 1.1.
    #[test]
    fn a_flow_alone_reaches_its_link_in_three_periods() {
        let rules = rules(0.5, 0.5);
        let mut one = Feedback::new(1.0, &rules);
        for expected in [0.8, 0.95, 1.025, 1.0625] {
            one.update(lost(0, 10), &rules);
            close(one.rate, expected);
        }
        (0..60).for_each(|_| one.update(lost(1, 11), &rules));
        close(one.rate, 1.1);
        assert!(
            1.0 - 1.0 / 1.1 < rules.target_loss,
            "it keeps its rate though the port drops what is too much"
        );
    }

    /// By hand from w = 1/16: the first increase keeps w, the next ones move it half way to 1/2.
    #[test]
    fn w_grows_with_increases_in_a_row_and_is_halved_by_losses() {
        let rules = rules(0.5, 0.0625);
        let mut one = Feedback::new(1.0, &rules);
        for (w, rate) in [
            (0.0625, 0.5 * 0.9375 + 1.1 * 0.0625),
            (0.28125, 0.5375 * 0.71875 + 1.1 * 0.28125),
            (0.390625, 0.695703125 * 0.609375 + 1.1 * 0.390625),
        ] {
            one.update(lost(0, 5), &rules);
            close(one.w, w);
            close(one.rate, rate);
        }
        // Half of them dropped: to half of the rate and a tenth beyond it.
        let before = one.rate;
        one.update(lost(5, 10), &rules);
        close(one.rate, before * 0.55);
        close(one.w, 0.1953125);
        // An increase behind a decrease keeps w.
        one.update(lost(0, 10), &rules);
        close(one.w, 0.1953125);
        (0..20).for_each(|_| one.update(Period { round_trip: 4.0, ..lost(9, 10) }, &rules));
        close(one.w, 0.01);
        close(one.rate, 0.25);
    }

    /// Two flows at a port that lets one credit's rate through and drops from both alike end at equal rates (Cho 2017 s.4): from any two
    /// rates, the sum's loss is about the target and the difference shrinks with each decrease and increase.
    #[test]
    fn two_flows_become_equal() {
        let rules = rules(0.5, 0.5);
        let mut flows = [0.05, 1.0].map(|rate| Feedback { rate, ..Feedback::new(1.0, &rules) });
        let mut losses = vec![];
        for period in 0..200 {
            let sum: f64 = flows.iter().map(|flow| flow.rate).sum();
            let loss = (1.0 - 1.0 / sum).max(0.0);
            let of_thousand = (loss * 1e6) as u64;
            flows.iter_mut().for_each(|flow| flow.update(lost(of_thousand, 1_000_000), &rules));
            if period >= 100 {
                losses.push(loss);
            }
        }
        assert!((flows[0].rate - flows[1].rate).abs() < 0.01, "{flows:?}");
        let mean = losses.iter().sum::<f64>() / losses.len() as f64;
        assert!((mean - rules.target_loss).abs() < 0.03, "{mean}");
    }

    /// The authors' simulator by hand: w stays for the first increase and then grows by 0.05, and the rate moves by it towards the link's.
    #[test]
    fn the_simulators_weight_grows_by_steps() {
        let rules = Rules { algorithm1: false, ..rules(0.5, 0.0625) };
        let mut one = Feedback::new(100.0, &rules);
        let mut left = 50.0;
        for w in [0.0625, 0.1125, 0.1625, 0.2125] {
            one.update(lost(0, 10), &rules);
            left *= 1.0 - w;
            close(one.w, w);
            assert!((one.rate - (100.0 - left)).abs() < 1e-9, "{one:?}");
        }
        // In a second 60 of 80 credits passed, more than an eighth of the distance was dropped: 60 and the target beyond them.
        let target = (1.0 - one.rate / 100.0) / 8.0;
        one.update(lost(20, 80), &rules);
        assert!((one.rate - 60.0 * (1.0 + target)).abs() < 1e-9, "{one:?}");
        close(one.w, 0.10625);
        // More may pass than the rate, since it was sent before: no decrease raises it.
        let before = one.rate;
        one.update(lost(40, 200), &rules);
        close(one.rate, before);
        (0..60).for_each(|_| one.update(lost(0, 10), &rules));
        close(one.w, 0.5);
        assert!(one.rate <= 100.0 && one.rate > 99.9, "{one:?}");
    }
}
