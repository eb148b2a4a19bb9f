use super::*;
use crate::cc::WindowRules;
use crate::cc::parts::window::tests::{ack, cx, rules};
use crate::params::Params;

fn start(bytes: u64, rules: &WindowRules) -> Control {
    let settings = Settings { hold: 0.0, ..Settings::defaults() };
    Control::start(&settings, &FlowInfo { bytes: Some(bytes), ..FlowInfo::default() }, &cx(rules))
}

fn header(load: f32, highest: u8) -> Feedback {
    Feedback::Sdc(Header { load, quantised: false, interval: Span::ZERO, highest, claim: None })
}

fn outgoing(kind: Kind, remaining: u64) -> Outgoing {
    Outgoing { kind, again: false, remaining, srtt: Span::us(100) }
}

/// A round of ten acknowledgements at `us`, each with this echo.
fn round(control: &mut Control, us: u64, load: f32, highest: u8) {
    let rules = rules();
    for _ in 0..10 {
        let cx = Cx { now: Time::ZERO + Span::us(us), rules: &rules };
        control.on_feedback(&header(load, highest), Span::us(100), &cx);
        control.on_ack(&ack(control.cwnd as u64 / 10), &cx);
    }
}

#[test]
fn windows_grow_by_gamma_until_the_first_overload_then_by_alpha() {
    let mut control = start(500_000, &rules());
    control.cwnd = 10_000.0;
    round(&mut control, 100, 0.5, 0);
    assert!((control.cwnd / 10_000.0 - 2.59).abs() < 0.01); // ten steps of a tenth: 1.1^10
    round(&mut control, 300, 1.0, 0);
    let cut = control.cwnd;
    round(&mut control, 500, 0.9, 0);
    assert!((control.cwnd - cut - 500.0).abs() < 25.0, "class C: half a segment of 1000");
}

#[test]
fn an_overload_takes_beta_once_a_round_trip() {
    let mut control = start(20_000, &rules());
    control.cwnd = 100_000.0;
    for (us, left) in [(100, 0.887), (150, 0.887), (199, 0.887), (200, 0.887 * 0.887)] {
        round(&mut control, us, 1.3, 0);
        assert!((control.cwnd / 100_000.0 - left).abs() < 1e-3, "{us} us: {}", control.cwnd);
    }
}

#[test]
fn a_flow_graduates_as_it_drains_and_tells_so() {
    let rules = rules();
    let mut control = start(150_000, &rules);
    let mut send = |kind, us: u64, remaining| {
        let cx = Cx { now: Time::ZERO + Span::us(us), rules: &rules };
        let Feedback::Sdc(header) = control.on_send(&outgoing(kind, remaining), &cx) else { unreachable!() };
        header.claim.map(|claim| (claim.from, claim.to))
    };
    assert_eq!(send(Kind::Syn, 0, 0), Some((NO_CLASS, 2)));
    assert_eq!(send(Kind::Data, 10, 150_000), None);
    assert_eq!(send(Kind::Data, 50, 100_000), Some((2, 1)));
    assert_eq!(send(Kind::Data, 60, 50_000), Some((1, 0)));
    assert_eq!(send(Kind::Data, 159, 40_000), None);
    assert_eq!(send(Kind::Data, 160, 40_000), Some((0, 0))); // renewed
    assert_eq!(send(Kind::Fin, 170, 1000), Some((0, NO_CLASS)));
    assert_eq!(send(Kind::Data, 500, 1000), None);
}

/// Thesis s.3.2.1: all classes active, each its own; B and C, as A and C; one alone, as A.
#[test]
fn the_highest_active_class_behaves_as_a() {
    let beta = |bytes, highest| {
        let mut control = start(bytes, &rules());
        control.highest = highest;
        control.behaviour().beta
    };
    let (a, b, c) = (10_000, 80_000, 200_000);
    assert_eq!([beta(a, 0), beta(b, 0), beta(c, 0)], [0.887, 0.538, 0.5]);
    assert_eq!([beta(b, 1), beta(c, 1)], [0.887, 0.5]);
    assert_eq!(beta(c, 2), 0.887);
}

/// With 2 to 5 classes a flow's is the first whose size it does not exceed, and with a fixed mapping none behaves as
/// another; thesis s.3.4.5 and s.5.1, s.3.2.1.
#[test]
fn the_number_of_classes_and_their_mapping_are_settings() {
    let packets = |n| Some(Size::Packets(n));
    let class = |settings: &Settings, segments: u64| {
        let flow = FlowInfo { bytes: Some(1000 * segments), ..FlowInfo::default() };
        Control::start(settings, &flow, &cx(&rules())).class()
    };
    let two = Settings { r_b: None, ..Settings::defaults() };
    assert_eq!([50, 51, 10_000].map(|n| class(&two, n)), [0, 1, 1]);
    let five = Settings { r_c: packets(200), r_d: packets(400), ..Settings::defaults() };
    assert_eq!([50, 100, 200, 400, 401].map(|n| class(&five, n)), [0, 1, 2, 3, 4]);
    let fixed = Settings { mapping: Mapping::Fixed, ..Settings::defaults() };
    let mut control =
        Control::start(&fixed, &FlowInfo { bytes: Some(200_000), ..FlowInfo::default() }, &cx(&rules()));
    control.highest = 2;
    assert_eq!(control.behaviour().beta, 0.5);
    let faults = |settings: Settings| {
        let mut faults = Faults::default();
        settings.check("cc", &mut faults);
        faults.0.iter().map(|fault| fault.path.clone()).collect::<Vec<_>>()
    };
    assert_eq!(faults(five.clone()), [""; 0]);
    assert_eq!(faults(Settings { r_b: None, r_c: packets(200), ..two.clone() }), ["cc.r_c"]);
    assert_eq!(faults(Settings { alpha_d: 0.7, ..five }), ["cc.alpha_d"]);
    assert_eq!(faults(Settings { r_b: packets(10), ..two }), ["cc.r_b"]);
}

/// Eq. (3.18): the defaults give class A ten times and class B twice the throughput of class C.
#[test]
fn the_defaults_have_the_gains_of_the_thesis() {
    let s = Settings::defaults();
    let gain = |alpha: f64, beta: f64| {
        alpha * (1.0 - s.beta_c) * (1.0 + beta) / (s.alpha_c * (1.0 - beta) * (1.0 + s.beta_c))
    };
    assert!((gain(s.alpha_a, s.beta_a) - 10.0).abs() < 0.05);
    assert!((gain(s.alpha_b, s.beta_b) - 2.0).abs() < 0.01);
}
