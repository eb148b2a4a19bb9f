use super::*;
use crate::net::pfc::watchdog::{Watchdog, WatchdogAction};

fn at(us: u64) -> Time {
    Time::ZERO + Span::us(us)
}

/// A port of 10 Gb/s, where a quantum takes 51.2 ns, that may be paused in priorities 3 and 4.
fn port(watchdog: Option<Watchdog>) -> Pausing {
    Pausing::new(Rate::gbps(10), 0b1_1000, Span::ZERO, watchdog)
}

fn frame(names: u8, pauses: u8, quanta: u16) -> Frame {
    Frame { names, pauses, quanta }
}

#[test]
fn a_frame_travels_as_it_is() {
    for sent in [frame(0b1000, 0b1000, 65535), frame(0xff, 0x0f, 1), frame(1, 0, 0)] {
        assert_eq!(Frame::of(&sent.packet()), sent);
        assert_eq!((sent.packet().size, sent.packet().is_pause()), (84, true));
    }
}

/// A pause of 1000 quanta lasts 51.2 us, counted anew by each frame; a frame with time 0 ends it at once.
#[test]
fn a_pause_runs_out_is_renewed_and_ends() {
    let mut pausing = port(None);
    pausing.apply(frame(0b1000, 0b1000, 1000), at(0));
    assert_eq!(pausing.paused(), 0b1000);
    assert_eq!(pausing.next(), Time::ZERO + Span::ns(51_200));
    pausing.apply(frame(0b1000, 0b1000, 1000), at(40));
    pausing.catch_up(at(90));
    assert_eq!(pausing.paused(), 0b1000, "renewed: until 91.2 us");
    pausing.catch_up(at(92));
    assert_eq!(pausing.paused(), 0);
    assert_eq!(pausing.record(3, at(92)), (1, Span::us(92)));
    pausing.apply(frame(0b1_1000, 0b1_1000, 1000), at(100));
    pausing.apply(frame(0b1000, 0, 1000), at(110));
    assert_eq!(pausing.paused(), 0b1_0000, "the other priority stays paused");
    assert_eq!(pausing.record(3, at(120)), (2, Span::us(102)));
    assert_eq!(pausing.record(4, at(120)), (1, Span::us(20)), "the present pause counts");
}

/// Edge case (f) of the usual errors: frames about priorities without flow control change nothing.
#[test]
fn other_priorities_are_never_paused() {
    let mut pausing = port(None);
    pausing.apply(frame(0xff, 0xff, 65535), at(0));
    assert_eq!(pausing.paused(), 0b1_1000);
}

fn dog(action: WatchdogAction, restoration: Option<Span>) -> Watchdog {
    Watchdog { detection: Span::us(300), restoration, action }
}

#[test]
fn the_watchdog_waits_for_a_long_pause() {
    let mut pausing = port(Some(dog(WatchdogAction::Flush, None)));
    pausing.apply(frame(0b1000, 0b1000, 65535), at(0));
    pausing.apply(frame(0b1000, 0b1000, 65535), at(200));
    assert_eq!(pausing.watchdog_due(at(299)), None);
    assert_eq!((pausing.watchdog_due(at(300)), pausing.watchdog_due(at(301))), (Some(3), None));
    pausing.apply(frame(0b1000, 0, 0), at(400));
    pausing.apply(frame(0b1000, 0b1000, 65535), at(500));
    assert_eq!((pausing.watchdog_due(at(700)), pausing.watchdog_due(at(800))), (None, Some(3)));
}

#[test]
fn the_warm_up_forgets_what_was() {
    let mut pausing = port(None);
    pausing.apply(frame(0b1000, 0b1000, 65535), at(0));
    pausing.restart(at(10));
    assert_eq!(pausing.record(3, at(15)), (0, Span::us(5)));
}

/// Paused from 0, a storm at 300 us. Each frame begins the 100 us of quiet anew: the last one comes at 450 us, so the storm ends at
/// 550 us. Its pause still lasts (65535 quanta are 3.4 ms), and the patience of 300 us begins again.
#[test]
fn a_storm_lasts_until_no_frame_has_come_for_the_restoration_time() {
    let mut pausing = port(Some(dog(WatchdogAction::Drop, Some(Span::us(100)))));
    pausing.apply(frame(0b1_1000, 0b1000, 65535), at(0));
    assert_eq!((pausing.next(), pausing.drops(3)), (at(300), false));
    assert_eq!((pausing.watchdog_due(at(300)), pausing.watchdog_due(at(300))), (Some(3), None));
    assert_eq!((pausing.drops(3), pausing.drops(4)), (true, false), "each priority has its own");
    assert_eq!(pausing.next(), at(400));
    pausing.apply(frame(0b1000, 0b1000, 65535), at(380));
    pausing.apply(frame(0b1_0000, 0b1_0000, 100), at(400));
    pausing.apply(frame(0b1000, 0b1000, 65535), at(450));
    pausing.catch_up(at(549));
    assert_eq!((pausing.watchdog_due(at(549)), pausing.drops(3)), (None, true));
    assert_eq!((pausing.watchdog_due(at(550)), pausing.drops(3)), (None, false));
    assert_eq!((pausing.watched(3).storms, pausing.watched(3).restored), (1, 1));
    assert_eq!(pausing.next(), at(850));
    assert_eq!((pausing.watchdog_due(at(850)), pausing.watched(3).storms), (Some(3), 2));
}

/// A port that forwards obeys no pause of the stormed priority, nothing is dropped, and without a restoration time it never obeys again.
#[test]
fn a_port_that_forwards_obeys_no_pause() {
    let mut pausing = port(Some(dog(WatchdogAction::Forward, None)));
    pausing.apply(frame(0b1_1000, 0b1_1000, 65535), at(0));
    pausing.apply(frame(0b1_0000, 0, 0), at(100));
    pausing.apply(frame(0b1_0000, 0b1_0000, 65535), at(200));
    assert_eq!((pausing.watchdog_due(at(300)), pausing.paused(), pausing.drops(3)), (None, 0b1_0000, false));
    assert_eq!((pausing.watched(3).storms, pausing.watched(4).storms), (1, 0));
    assert_eq!(pausing.record(3, at(400)), (1, Span::us(400)), "its peer pauses it all the same");
    pausing.reset(at(3000));
    assert_eq!((pausing.next(), pausing.paused()), (Time::MAX, 0), "a link that fails ends the storm");
}

/// A peer that holds the priority sends frames without end: the quiet begins with the release.
#[test]
fn a_peer_that_holds_is_never_quiet() {
    let mut pausing = port(Some(dog(WatchdogAction::Drop, Some(Span::us(100)))));
    pausing.hold(0b1000, at(0));
    assert_eq!(pausing.watchdog_due(at(300)), Some(3));
    assert_eq!(pausing.next(), Time::MAX);
    pausing.hold(0, at(1000));
    assert_eq!(pausing.next(), at(1100));
    assert_eq!((pausing.watchdog_due(at(1100)), pausing.watched(3).restored), (None, 1));
}
