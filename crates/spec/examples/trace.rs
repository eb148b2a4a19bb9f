use shallows_core::Control;
use shallows_core::probe::ColumnData;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut s = shallows_spec::load(&std::fs::read_to_string(&a[1]).unwrap()).unwrap();
    s.run(&Control::new()).unwrap();
    for t in s.tables().iter().filter(|t| t.name == a[2]) {
        let n = t.columns[0].data.len();
        for i in 0..n {
            let row: Vec<String> = t
                .columns
                .iter()
                .map(|c| match &c.data {
                    ColumnData::U64(v) => v[i].to_string(),
                    ColumnData::U32(v) => v[i].to_string(),
                    ColumnData::F64(v) => format!("{:.2}", v[i]),
                    ColumnData::Str { dictionary, codes } => dictionary[codes[i] as usize].clone(),
                })
                .collect();
            println!("{}", row.join(" "));
        }
    }
}
