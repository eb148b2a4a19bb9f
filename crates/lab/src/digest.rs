//! One hash for all tables of a run, equal wherever the same version runs the same experiment.
//!
//! SHA-256 (FIPS 180-4, sections 4 to 6) over a text of bytes that does not depend on how tables are kept:
//! tables and words in the order of their names, numbers in little-endian order. `shallows/tables/digest.py` has the same law
//! for stored runs.

use shallows_core::probe::{Column, ColumnData, TableData};
use std::collections::BTreeSet;

/// FIPS 180-4, section 4.2.2.
#[rustfmt::skip]
const K: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// SHA-256 of bytes that come in parts.
pub struct Sha256 {
    state: [u32; 8],
    block: [u8; 64],
    filled: usize,
    bytes: u64,
}

impl Default for Sha256 {
    fn default() -> Self {
        // FIPS 180-4, section 5.3.3.
        let state =
            [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
        Sha256 { state, block: [0; 64], filled: 0, bytes: 0 }
    }
}

impl Sha256 {
    /// Takes the next bytes.
    pub fn write(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let count = bytes.len().min(64 - self.filled);
            self.block[self.filled..self.filled + count].copy_from_slice(&bytes[..count]);
            (self.filled, bytes) = (self.filled + count, &bytes[count..]);
            if self.filled == 64 {
                self.mix();
                self.filled = 0;
            }
        }
    }

    /// FIPS 180-4, section 6.2.2.
    fn mix(&mut self) {
        let mut w = [0u32; 64];
        for (word, bytes) in w.iter_mut().zip(self.block.chunks_exact(4)) {
            *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        for t in 16..64 {
            let (a, b) = (w[t - 15], w[t - 2]);
            let low = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let high = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            w[t] = w[t - 16].wrapping_add(low).wrapping_add(w[t - 7]).wrapping_add(high);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = self.state;
        for t in 0..64 {
            let high = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let one = h.wrapping_add(high).wrapping_add(choice).wrapping_add(K[t]).wrapping_add(w[t]);
            let low = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let two = low.wrapping_add((a & b) ^ (a & c) ^ (b & c));
            (h, g, f, e) = (g, f, e, d.wrapping_add(one));
            (d, c, b, a) = (c, b, a, one.wrapping_add(two));
        }
        for (sum, more) in self.state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *sum = sum.wrapping_add(more);
        }
    }

    /// The hash in 64 hex digits (padding: FIPS 180-4, section 5.1.1).
    pub fn hex(mut self) -> String {
        let bits = self.bytes * 8;
        self.write(&[0x80]);
        while self.filled != 56 {
            self.write(&[0]);
        }
        self.write(&bits.to_be_bytes());
        self.state.iter().map(|word| format!("{word:08x}")).collect()
    }
}

/// The hash of all tables of a run.
pub fn of_tables(tables: &[TableData]) -> String {
    let mut hash = Sha256::default();
    let mut sorted: Vec<&TableData> = tables.iter().collect();
    sorted.sort_by_key(|table| table.name);
    for table in sorted {
        text(&mut hash, table.name);
        hash.write(&(table.columns.len() as u64).to_le_bytes());
        table.columns.iter().for_each(|each| column(&mut hash, each));
    }
    hash.hex()
}

fn text(hash: &mut Sha256, text: &str) {
    hash.write(&(text.len() as u64).to_le_bytes());
    hash.write(text.as_bytes());
}

fn column(hash: &mut Sha256, column: &Column) {
    text(hash, column.name);
    let (kind, rows) = (
        match column.data {
            ColumnData::U64(_) => "u64",
            ColumnData::U32(_) => "u32",
            ColumnData::F64(_) => "f64",
            ColumnData::Str { .. } => "str",
        },
        column.data.len(),
    );
    text(hash, kind);
    hash.write(&(rows as u64).to_le_bytes());
    match &column.data {
        ColumnData::U64(values) => values.iter().for_each(|v| hash.write(&v.to_le_bytes())),
        ColumnData::U32(values) => values.iter().for_each(|v| hash.write(&v.to_le_bytes())),
        // The bits of a NaN differ between processors.
        ColumnData::F64(values) => {
            values
                .iter()
                .for_each(|v| hash.write(&if v.is_nan() { f64::NAN } else { *v }.to_bits().to_le_bytes()));
        }
        ColumnData::Str { dictionary, codes } => {
            let word = |code: &u32| dictionary[*code as usize].as_str();
            let words: BTreeSet<&str> = codes.iter().map(word).collect();
            hash.write(&(words.len() as u64).to_le_bytes());
            words.iter().for_each(|word| text(hash, word));
            let sorted: Vec<&str> = words.into_iter().collect();
            let places: Vec<u32> = dictionary
                .iter()
                .map(|word| sorted.binary_search(&word.as_str()).map_or(u32::MAX, |place| place as u32))
                .collect();
            codes.iter().for_each(|code| hash.write(&places[*code as usize].to_le_bytes()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha(bytes: &[u8]) -> String {
        let mut hash = Sha256::default();
        bytes.chunks(7).for_each(|part| hash.write(part));
        hash.hex()
    }

    /// The examples of FIPS 180-4 (NIST, "SHA256.pdf"), and the empty text.
    #[test]
    fn the_standards_examples() {
        assert_eq!(sha(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(sha(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let long = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(sha(long), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        assert_eq!(
            sha(&vec![b'a'; 1_000_000]),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        );
    }

    fn table(words: [&str; 2], codes: [u32; 2], number: f64) -> TableData {
        let dictionary = words.map(String::from).to_vec();
        let word = Column {
            name: "w",
            nullable: false,
            data: ColumnData::Str { dictionary, codes: codes.to_vec() },
        };
        let number = Column { name: "x", nullable: true, data: ColumnData::F64(vec![number]) };
        TableData { name: "t", columns: vec![word, number] }
    }

    #[test]
    fn the_order_of_words_and_the_bits_of_nan_are_not_part_of_it() {
        let one = of_tables(&[table(["a", "b"], [0, 1], f64::NAN)]);
        assert_eq!(one, of_tables(&[table(["b", "a"], [1, 0], -f64::NAN)]));
        assert_ne!(one, of_tables(&[table(["a", "b"], [1, 0], f64::NAN)]));
        assert_ne!(one, of_tables(&[table(["a", "b"], [0, 1], 0.0)]));
    }
}
