//! Runs one document (JSON, resolved or not) from Rust and prints its books and queues:
//! `cargo run --release -p shallows-spec --example run -- experiment.json`.

use shallows_core::Control;
use shallows_core::probe::ColumnData;

fn main() {
    let path = std::env::args().nth(1).expect("usage: run EXPERIMENT.json");
    let document = std::fs::read_to_string(&path).expect("a readable file");
    let mut simulation = shallows_spec::load(&document).unwrap_or_else(|faults| {
        faults.iter().for_each(|fault| eprintln!("{fault}"));
        std::process::exit(2);
    });
    let begin = std::time::Instant::now();
    simulation.run(&Control::new()).expect("the run ends");
    let wall = begin.elapsed().as_secs_f64();
    let books = simulation.books();
    println!("{books:?} balance={}", books.balance());
    println!("{:.3} s wall, {:.1} million packet-hops/s", wall, books.hops as f64 / wall / 1e6);
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
