//! A small fixed part of the soak's driver (`examples/soak`), with the overflow checks of a debug build.
#![allow(dead_code)] // the driver uses the rest

#[path = "../examples/soak/draw.rs"]
mod draw;
#[path = "../examples/soak/expression.rs"]
mod expression;
#[path = "../examples/soak/judge.rs"]
mod judge;
#[path = "../examples/soak/keep.rs"]
mod keep;
#[path = "../examples/soak/laws.rs"]
mod laws;
#[path = "../examples/soak/mutate.rs"]
mod mutate;

use draw::Sections;
use expression::{Expression, Value as Worth, read};
use laws::Laws;
use mutate::Seeds;
use serde_json::json;
use shallows_core::Control;
use shallows_core::events::random::Stream;
use std::path::Path;

const SEED: u64 = 20_261_122;

#[test]
fn random_experiments_keep_their_books_laws_and_bytes() {
    let (sections, laws) = (Sections::read(), Laws::read());
    let (mut legal, mut runs, mut cut) = (0, 0, 0);
    for number in 0..40 {
        let mut chance = Stream::new(SEED, "suite", number);
        let Some((document, mut experiment)) = judge::legal(&sections, &mut chance) else { continue };
        let outcome = judge::judge(&mut experiment, &laws, &mut chance);
        assert!(outcome.found.is_empty(), "{:?}: {document}", outcome.found);
        legal += 1;
        runs += outcome.runs;
        cut += outcome.cut;
    }
    assert!(legal >= 25 && runs >= 60 && cut >= 10, "{legal} {runs} {cut}");
}

/// The faults that the soak found stay mended, also in steps and cut into cells, which `regressions.rs` does not do.
#[test]
fn findings_stay_mended_in_steps_and_cells() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/regressions");
    let laws = Laws::read();
    for entry in std::fs::read_dir(place).expect("a directory") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a readable file");
        let Ok(kept) = serde_json::from_str::<serde_json::Value>(&text) else { continue };
        if kept["kind"] == "run" {
            for number in 0..12 {
                let (mut experiment, _) = judge::checked(&kept["document"]).expect("a legal document");
                let mut chance = Stream::new(SEED, "again", number);
                let outcome = judge::judge(&mut experiment, &laws, &mut chance);
                assert!(outcome.found.is_empty(), "{:?}: {text}", outcome.found);
            }
        }
    }
}

#[test]
fn mutated_documents_get_an_answer() {
    let seeds = Seeds::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments"));
    assert!(seeds.count() >= 30);
    let mut legal = 0;
    for number in 0..300 {
        let text = seeds.draw(&mut Stream::new(SEED, "documents", number));
        let found = mutate::faults(&text, &mut legal);
        assert!(found.is_empty(), "{found:?}: {text}");
    }
    assert!(legal >= 5, "{legal}");
}

/// The laws of a run of 2 ms do not hold of one that claims to have lasted half of that.
#[test]
fn a_broken_law_is_found() {
    let document = json!({"duration": "2ms", "topology": {"kind": "star", "senders": 2, "rate": "1Gbps"},
        "queue": {"kind": "drop-tail", "limit": "20pkt"}, "transport": {"cc": "newreno"},
        "traffic": {"t": {"kind": "bulk", "from": "s*", "to": "r0"}}, "probe": {"queue_trace": "100us"}});
    let mut run = shallows_spec::load(&document.to_string()).expect("a legal document");
    run.run(&Control::new()).expect("the run ends");
    let laws = Laws::read();
    assert_eq!(laws.broken(&run, 2_000_000_000, 0), Vec::<String>::new());
    let found = laws.broken(&run, 1_000_000_000, 0);
    assert!(found.iter().any(|law| law.starts_with("queues: over_ps <= duration_ps")), "{found:?}");
    assert!(found.iter().any(|law| law.starts_with("queue_trace: time_ps <= duration_ps")), "{found:?}");
}

#[test]
fn expressions_follow_sql() {
    let place = |name: &str| {
        Expression::Constant(match name {
            "a" => Worth::Int(5),
            "b" => Worth::Real(2.5),
            _ => Worth::Null,
        })
    };
    for (text, wanted) in [
        ("a = b + b", Worth::Truth(true)),
        ("a - 2 * b < 0.1 AND a >= 5", Worth::Truth(true)),
        ("(a = 5) = (b > 3)", Worth::Truth(false)),
        ("n < 3", Worth::Null),
        ("n < 3 OR a > 4", Worth::Truth(true)),
        ("n < 3 AND a > 4", Worth::Null),
        ("(a > 5) OR (n IS NULL)", Worth::Truth(true)),
        ("ABS(b - a) <= 0.5 * a", Worth::Truth(true)),
    ] {
        assert_eq!(read(text, &place).value(&[], 0), wanted, "{text}");
    }
}

#[test]
fn a_finding_is_made_small() {
    let document = json!({"a": {"b": [1, 2, {"c": "wrong"}], "d": 2}, "e": {"f": 3}});
    let small = keep::smallest(document, 100, &mut |each| each.to_string().contains("wrong"));
    assert_eq!(small, json!({"a": {"b": [{"c": "wrong"}]}}));
}
