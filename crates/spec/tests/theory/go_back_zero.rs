//! go-back-0 over RoCEv2 against its closed forms: a loss sends the whole message again, which counts when its packets came in a
//! row.

use crate::bench::{LINE, MS, Run, close, near, run, with};
use crate::roce::{ACK, FULL, message};
use serde_json::{Value, json};

/// Packets that leave from a lost one on until its NAK is there, which the next one causes.
fn wasted() -> u64 {
    let packet = LINE.transmission(FULL);
    (LINE.one_way(FULL) + LINE.one_way(ACK) + packet).div_ceil(packet)
}

/// Messages of `packets` full packets, one behind the other on one queue pair, until the run ends.
fn stream(packets: u64, repair: &str, duration: u64, port: Value) -> Run {
    let interval = format!("{}ps", wasted() * LINE.transmission(FULL));
    let mut document = message(1, json!({"repair": repair, "nak_interval": interval}), json!({}));
    document["traffic"] = json!({"x": {
        "kind": "messages", "from": "s0", "to": "r0", "bytes": format!("{}B", packets * 1000), "interval": "1ns",
        "count": duration / LINE.transmission(FULL) / packets + 1, "connection": "persistent",
    }});
    let changes = json!({"duration": format!("{duration}ps"), "port": {"s0->switch": port}});
    let done = run(with(document, changes));
    assert_eq!(done.flow("timeouts"), 0.0);
    assert_eq!(done.simulation.books().dropped as f64, done.flow("drops"));
    done
}

/// Messages that came whole.
fn whole(done: &Run) -> u64 {
    done.column("messages", "end_ps").iter().filter(|end| !end.is_nan()).count() as u64
}

/// The eleventh of 400 packets is lost: ten came before it and count no more. Everything sent until the NAK comes goes again.
/// Exact. The last one lost is found by the timer, and all of them go again. A lost last answer loses nothing: the message
/// had come whole, and the answer to its first packet says so.
#[test]
fn a_loss_sends_the_message_again() {
    let packet = LINE.transmission(FULL);
    let transport = json!({"repair": "go-back-0", "timeout": "4ms"});
    let lost = |port: &str, numbers: &[u64]| {
        message(400, transport.clone(), json!({"port": {port: {"drop_packets": numbers}}}))
    };
    let done = run(lost("s0->switch", &[11]));
    let again = 10 + wasted();
    assert_eq!(done.flow("retransmissions"), again as f64);
    assert_eq!([done.flow("fast_recoveries"), done.flow("timeouts"), done.flow("drops")], [1.0, 0.0, 1.0]);
    assert_eq!(done.fct(), [packet * (400 + again + 1) + 2 * LINE.delay]);
    // The second attempt is lost at its twelfth packet, and is another loss.
    let twice = run(lost("s0->switch", &[11, 10 + wasted() + 12]));
    assert_eq!([twice.flow("fast_recoveries"), twice.flow("timeouts")], [2.0, 0.0]);
    assert_eq!(twice.fct(), [packet * (400 + again + 11 + wasted() + 1) + 2 * LINE.delay]);
    let tail = run(lost("s0->switch", &[400]));
    assert_eq!([tail.flow("timeouts"), tail.flow("retransmissions")], [1.0, 400.0]);
    assert_eq!(tail.flow("delivered_bytes"), 400_000.0);
    let answer = run(lost("r0->switch", &[400]));
    let away = LINE.one_way(FULL) + LINE.one_way(ACK);
    assert_eq!(
        [answer.flow("timeouts"), answer.flow("retransmissions")],
        [1.0, away.div_ceil(packet) as f64]
    );
    assert_eq!(answer.flow("delivered_bytes"), 400_000.0);
    assert_eq!(answer.fct(), [packet * 401 + 2 * LINE.delay]);
}

/// Independent loss p: a message of n packets needs n successes in a row. An attempt that fails costs the packets before the lost
/// one, and the w that leave until its NAK is there. With q = (1 - p)^n a message takes 1 / q - 1 attempts more, and
/// (1 / q - 1) (1 / p + w - 1) packets in all. A failure costs w to w + n of them, so that its spread is below its mean: 4
/// standard errors of their number. go-back-N loses w alone, and does not depend on n.
#[test]
fn efficiency_under_random_loss_falls_with_the_message() {
    let (p, duration) = (1.0_f64 / 256.0, 300 * MS);
    for packets in [16u64, 64, 256] {
        let done = stream(packets, "go-back-0", duration, json!({"loss": p}));
        let failures = libm::pow(1.0 - p, packets as f64).recip() - 1.0;
        let each = failures * (1.0 / p + wasted() as f64 - 1.0);
        let sent = (duration / LINE.transmission(FULL)) as f64;
        let slack = 4.0 * (2.0 / (sent / each * failures)).sqrt() * (1.0 - packets as f64 / each);
        close(&format!("{packets} packets"), whole(&done) as f64 / (sent / each), 1.0, slack);
        // In the books a message counts whole or not at all.
        assert_eq!(done.flow("delivered_bytes"), (whole(&done) * packets * 1000) as f64);
    }
}

/// Guo et al. 2016 (SIGCOMM) lost each 256th packet: no message of 4 MB ever came whole with go-back-0, and go-back-N carried
/// them. Shorter messages come whole where all their packets fit between two losses, in the number that counting gives.
#[test]
fn periodic_loss_is_a_livelock_for_long_messages() {
    let duration = 60 * MS;
    let sent = duration / LINE.transmission(FULL);
    let numbers: Vec<u64> = (1..=sent / 256).map(|number| number * 256).collect();
    let came = |packets: u64, repair: &str| {
        whole(&stream(packets, repair, duration, json!({"drop_packets": numbers})))
    };
    for packets in [256, 4096] {
        assert_eq!(came(packets, "go-back-0"), 0, "{packets}");
    }
    assert!(came(4096, "go-back-n") >= 8);
    for packets in [10, 100] {
        let (mut messages, mut at, mut in_a_row) = (0, 0, 0);
        while at < sent {
            at += 1;
            in_a_row += 1;
            if at % 256 == 0 {
                (at, in_a_row) = (at - 1 + wasted(), 0);
            } else if in_a_row == packets {
                (messages, in_a_row) = (messages + 1, 0);
            }
        }
        // The last ones are still on the wire.
        let under_way = (LINE.one_way(FULL) / LINE.transmission(FULL) / packets + 1) as f64;
        near(&format!("{packets} packets"), came(packets, "go-back-0") as f64, messages as f64, under_way);
    }
}

/// A load without an end would never count, and IRN's settings are not its.
#[test]
fn a_message_without_an_end_is_refused() {
    let faults = |transport: Value, changes: Value| {
        let document = message(1, with(json!({"repair": "go-back-0"}), transport), changes);
        let experiment = shallows_spec::parse(&document.to_string());
        let found = experiment.and_then(|experiment| experiment.check().map(drop).map_err(|faults| faults.0));
        found.err().unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(faults(json!({}), json!({})), Vec::<String>::new());
    for (transport, changes, path) in [
        (json!({}), json!({"traffic": {"x": {"bytes": "none"}}}), "traffic.x.bytes: must be a size"),
        (json!({"rto_low": "1ms"}), json!({}), "transport.rto_low: changes nothing"),
    ] {
        let found = faults(transport, changes);
        assert!(found.len() == 1 && found[0].starts_with(path), "{path}: {found:?}");
    }
}
