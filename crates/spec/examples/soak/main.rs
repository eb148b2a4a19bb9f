//! The quick part of the soak: random legal experiments and mutated documents, without Python around them.
//!
//! `cargo run --profile checked -p shallows-spec --example soak -- runs|documents SEED [FROM] [COUNT]` prints what
//! it found, counts and costs; `judge SEED FILE` judges a kept finding again. The same seed and numbers draw the same cases; with a COUNT of 1 the case is
//! shown. `make soak-core` runs both; `make soak` is the rest.

mod draw;
mod expression;
mod judge;
mod keep;
mod laws;
mod mutate;

use draw::Sections;
use judge::{Outcome, catch_panics, checked, judge, legal};
use laws::Laws;
use mutate::Seeds;
use serde_json::Value;
use shallows_core::events::random::Stream;
use std::path::Path;
use std::time::Instant;

/// A report is printed after so much CPU time.
const REPORT_S: f64 = 60.0;
/// A single run of more CPU time is named, with its cost per event.
const SLOW_S: f64 = 1.0;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| words.get(place).and_then(|word| word.parse::<u64>().ok());
    let usage = "usage: soak runs|documents SEED [FROM] [COUNT]";
    let (part, seed) = (words.first().expect(usage), number(1).expect(usage));
    let (from, count) = (number(2).unwrap_or(0), number(3).unwrap_or(u64::MAX));
    catch_panics();
    let wrong = match part.as_str() {
        "judge" => again(Path::new(&words[2]), seed),
        "runs" => runs(seed, from, count),
        "documents" => documents(seed, from, count),
        _ => panic!("{usage}"),
    };
    std::process::exit(i32::from(wrong > 0));
}

/// Random experiments `from` to `from + count` of a seed; returns how many were wrong.
fn runs(seed: u64, from: u64, count: u64) -> u64 {
    let (sections, laws) = (Sections::read(), Laws::read());
    let (mut all, mut experiments, mut drawn, mut wrong) = (Outcome::default(), 0u64, 0u64, 0);
    let mut report_at = cpu_s() + REPORT_S;
    let mut report = |all: &Outcome, drawn: u64, experiments: u64, wrong: u64, last: bool| {
        if last || cpu_s() > report_at {
            report_at = cpu_s() + REPORT_S;
            println!(
                "runs of seed {seed}: {drawn} drawn from {from}, {experiments} legal, {} runs ({} in several cells), \
                 {} ended in words, {} events, {wrong} wrong, {:.0} s of CPU time",
                all.runs,
                all.cut,
                all.ended,
                all.events,
                cpu_s()
            );
        }
    };
    for number in from..from.saturating_add(count) {
        let mut chance = Stream::new(seed, "runs", number);
        drawn += 1;
        let Some((document, mut experiment)) = legal(&sections, &mut chance) else { continue };
        experiments += 1;
        if count == 1 {
            println!("{document}");
        }
        let begun = cpu_s();
        let outcome = judge(&mut experiment, &laws, &mut chance);
        let took = cpu_s() - begun;
        if took > SLOW_S {
            let each_us = 1e6 * took / outcome.events.max(1) as f64;
            println!(
                "SLOW: run {number} of seed {seed}: {took:.2} s of CPU time, {} runs, {} events, {each_us:.2} us an event",
                outcome.runs, outcome.events
            );
        }
        if !outcome.found.is_empty() {
            wrong += 1;
            println!("FOUND by run {number} of seed {seed}: {}", outcome.found.join("; "));
            println!("kept in {}", kept(document, &outcome.found, &laws, seed).display());
        }
        all.runs += outcome.runs;
        all.cut += outcome.cut;
        all.ended += outcome.ended;
        all.events += outcome.events;
        report(&all, drawn, experiments, wrong, false);
    }
    report(&all, drawn, experiments, wrong, true);
    wrong
}

/// Judges a kept finding again; returns whether it is still wrong.
fn again(path: &Path, seed: u64) -> u64 {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let kept: Value = serde_json::from_str(&text).expect("JSON");
    let laws = Laws::read();
    let mut wrong = 0;
    for number in 0..8 {
        let (mut experiment, _) = checked(&kept["document"]).expect("a legal document");
        let outcome = judge(&mut experiment, &laws, &mut Stream::new(seed, "again", number));
        wrong += u64::from(!outcome.found.is_empty());
        outcome.found.iter().for_each(|found| println!("{found}"));
    }
    println!("{}: wrong in {wrong} of 8", path.display());
    wrong
}

/// Makes a finding small and writes it with every default in place.
fn kept(document: Value, found: &[String], laws: &Laws, seed: u64) -> std::path::PathBuf {
    let mut is_wrong = |smaller: &Value| {
        let Ok((mut experiment, _)) = checked(smaller) else { return false };
        let ways = (0..3).map(|number| Stream::new(seed, "smaller", number));
        ways.into_iter().any(|mut chance| !judge(&mut experiment, laws, &mut chance).found.is_empty())
    };
    let small = keep::smallest(document, 200, &mut is_wrong);
    let answer: Value = serde_json::from_str(&shallows_spec::check(&small.to_string())).expect("JSON");
    keep::keep("run", found, &answer["experiment"])
}

/// Mutated documents `from` to `from + count` of a seed; returns how many were wrong.
fn documents(seed: u64, from: u64, count: u64) -> u64 {
    let seeds = Seeds::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments"));
    let (mut legal, mut wrong, mut report_at) = (0, 0, cpu_s() + REPORT_S);
    let report = |number: u64, legal: u64, wrong: u64| {
        let (done, took) = (number - from, cpu_s());
        println!(
            "documents of seed {seed}: {done} from {from}, {legal} legal, of {} experiments, {wrong} wrong, {took:.0} s of CPU \
             time, {:.1} us each",
            seeds.count(),
            1e6 * took / done.max(1) as f64
        );
    };
    for number in from..from.saturating_add(count) {
        let text = seeds.draw(&mut Stream::new(seed, "documents", number));
        if count == 1 {
            println!("{text}");
        }
        let begun = Instant::now();
        let found = mutate::faults(&text, &mut legal);
        // Asking for CPU time costs as much as a tenth of a document, so that it is asked again where the clock says much.
        if begun.elapsed().as_secs_f64() > SLOW_S {
            let begun = cpu_s();
            mutate::faults(&text, &mut 0);
            let took = cpu_s() - begun;
            if took > SLOW_S {
                println!("SLOW: document {number} of seed {seed}: {took:.2} s of CPU time: {text}");
            }
        }
        if !found.is_empty() {
            wrong += 1;
            println!("FOUND by document {number} of seed {seed}: {}", found.join("; "));
            println!("kept in {}", keep::keep("check", &found, &text.into()).display());
        }
        if number % 1000 == 0 && cpu_s() > report_at {
            report_at = cpu_s() + REPORT_S;
            report(number + 1, legal, wrong);
        }
    }
    report(from.saturating_add(count), legal, wrong);
    wrong
}

/// CPU time of this process in seconds, where the system tells it.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}
