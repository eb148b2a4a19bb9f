//! Runs one document (JSON, resolved or not) from Rust and prints its books and queues:
//! `cargo run --release -p shallows-spec --example run -- experiment.json [threads]`.

use shallows_core::Control;
use shallows_core::probe::ColumnData;

fn main() {
    let path = std::env::args().nth(1).expect("usage: run EXPERIMENT.json [THREADS]");
    let document = std::fs::read_to_string(&path).expect("a readable file");
    let mut simulation = shallows_spec::load(&document).unwrap_or_else(|faults| {
        faults.iter().for_each(|fault| eprintln!("{fault}"));
        std::process::exit(2);
    });
    let threads = std::env::args().nth(2).map_or(1, |n| n.parse().expect("a number of threads"));
    simulation.set_threads(threads);
    let begin = std::time::Instant::now();
    simulation.run(&Control::new()).expect("the run ends");
    let wall = begin.elapsed().as_secs_f64();
    let books = simulation.books();
    println!("{books:?} balance={}", books.balance());
    println!("{:.3} s wall, {:.1} million packet-hops/s", wall, books.hops as f64 / wall / 1e6);
    println!("{:.3} s CPU", cpu());
    println!("{}", simulation.manifest_counts());
    if std::env::args().nth(3).is_some() {
        return;
    }
    for table in simulation.tables().iter().filter(|t| t.name == "flows" || t.name == "queues") {
        println!("{}", table.name);
        for column in &table.columns {
            match &column.data {
                ColumnData::U64(v) => println!("  {} {:?}", column.name, &v[..v.len().min(40)]),
                ColumnData::U32(v) => println!("  {} {:?}", column.name, &v[..v.len().min(40)]),
                ColumnData::F64(v) => println!("  {} {:.4?}", column.name, &v[..v.len().min(40)]),
                ColumnData::Str { dictionary, codes } => {
                    let words: Vec<&str> =
                        codes.iter().take(40).map(|c| dictionary[*c as usize].as_str()).collect();
                    println!("  {} {:?}", column.name, words);
                }
            }
        }
    }
}

/// CPU time of this process in seconds, building included, where the system tells it.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}
