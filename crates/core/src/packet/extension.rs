//! Parts that few packets carry, kept apart from them and handed over from cell to cell beside them.

use crate::port_control::Feedback;

/// No extension.
pub const NONE: u32 = u32::MAX;

/// SACK blocks (RFC 2018), newest first, and the header of a protocol in which switches take part.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extension {
    /// `[first, beyond)` byte ranges held beyond the acknowledgement.
    pub sack: [(u64, u64); 4],
    /// How many are in use.
    pub blocks: u8,
    /// The header that switches read and write.
    pub feedback: Feedback,
}

impl Extension {
    /// The blocks in use.
    pub fn sacked(&self) -> &[(u64, u64)] {
        &self.sack[..self.blocks as usize]
    }
}

/// Blocks as they are kept: one cache line. A bound takes 63 bits, and the bits above have the number of blocks in
/// use and whether a header stands beside. Headers are long, and few extensions have one. All ones are a bound that has no
/// end, as that of a READ without one.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line([u64; 8]);

/// The bit above a bound.
const TOP: u32 = 63;
/// A bound of all ones, as it is kept.
const ENDLESS: u64 = (1 << TOP) - 1;

impl Line {
    fn new(extension: &Extension) -> Self {
        let [a, b, c, d] = extension.sack;
        let mut words = [a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1];
        debug_assert!(words.iter().all(|word| *word < ENDLESS || *word == u64::MAX), "no stream is so long");
        words = words.map(|word| word.min(ENDLESS));
        let headed = !matches!(extension.feedback, Feedback::None);
        let bits = u64::from(extension.blocks) | u64::from(headed) << 3;
        (0..4).for_each(|i| words[i] |= bits >> i << TOP);
        Line(words)
    }

    fn has_header(&self) -> bool {
        self.0[3] >> TOP != 0
    }

    fn mark_header(&mut self) {
        self.0[3] |= 1 << TOP;
    }

    /// The extension, with `feedback` as its header.
    fn with(&self, feedback: Feedback) -> Extension {
        let blocks = (0..3).map(|i| (self.0[i] >> TOP) << i).sum::<u64>() as u8;
        let [a, b, c, d, e, f, g, h] = self.0.map(|word| match word & ENDLESS {
            ENDLESS => u64::MAX,
            bound => bound,
        });
        Extension { sack: [(a, b), (c, d), (e, f), (g, h)], blocks, feedback }
    }
}

/// Lines by place, and the headers of those that have one.
#[derive(Debug, Default)]
struct Shelf {
    lines: Vec<Line>,
    headers: Vec<Feedback>,
}

impl Shelf {
    fn header(&self, place: u32) -> Feedback {
        if self.lines[place as usize].has_header() { self.headers[place as usize] } else { Feedback::None }
    }

    /// Puts the header at `place`, whose line says that there is one.
    #[cold]
    fn set_header(&mut self, place: u32, header: Feedback) {
        let place = place as usize;
        if place >= self.headers.len() {
            self.headers.resize(place + 1, Feedback::None);
        }
        self.headers[place] = header;
    }

    /// Puts `line` at `place`, or at the end.
    #[inline(always)]
    fn put(&mut self, place: u32, line: Line) {
        match self.lines.get_mut(place as usize) {
            Some(there) => *there = line,
            None => self.lines.push(line),
        }
    }
}

/// Extensions in a row.
#[derive(Debug, Default)]
pub struct Carried(Shelf);

impl Carried {
    /// Nothing is here.
    pub fn is_empty(&self) -> bool {
        self.0.lines.is_empty()
    }

    /// Takes all away.
    pub fn clear(&mut self) {
        self.0.lines.clear();
    }
}

/// Extensions of the packets under way; places are used again.
#[derive(Debug, Default)]
pub struct Extensions {
    held: Shelf,
    free: Vec<u32>,
}

impl Extensions {
    #[inline(always)]
    fn place(&mut self) -> u32 {
        self.free.pop().unwrap_or(self.held.lines.len() as u32)
    }

    /// Keeps `extension` until [`Extensions::take`].
    pub fn put(&mut self, extension: &Extension) -> u32 {
        let (place, line) = (self.place(), Line::new(extension));
        self.held.put(place, line);
        if line.has_header() {
            self.held.set_header(place, extension.feedback);
        }
        place
    }

    /// Gives back the extension at `place` and frees it.
    pub fn take(&mut self, place: u32) -> Option<Extension> {
        let extension = self.look(place)?;
        self.free.push(place);
        Some(extension)
    }

    /// Moves the extension at `place` to the end of `carried`; returns its place there.
    #[inline(always)]
    pub fn hand_over(&mut self, place: u32, carried: &mut Carried) -> u32 {
        let (line, number) = (self.held.lines[place as usize], carried.0.lines.len() as u32);
        self.free.push(place);
        carried.0.lines.push(line);
        if line.has_header() {
            carried.0.set_header(number, self.held.header(place));
        }
        number
    }

    /// Keeps the one that is number `number` of `carried`; returns its place.
    #[inline(always)]
    pub fn take_over(&mut self, number: u32, carried: &Carried) -> u32 {
        let (line, place) = (carried.0.lines[number as usize], self.place());
        self.held.put(place, line);
        if line.has_header() {
            self.held.set_header(place, carried.0.header(number));
        }
        place
    }

    /// The header that the packet with the extension at `place` carries, if it does.
    pub fn feedback(&mut self, place: u32) -> Option<&mut Feedback> {
        let headed = self.held.lines.get(place as usize)?.has_header();
        if headed { self.held.headers.get_mut(place as usize) } else { None }
    }

    /// Adds a header to the extension at `place`, or makes one with nothing else; returns its place.
    pub fn add_header(&mut self, place: u32, feedback: Feedback) -> u32 {
        let Some(line) = self.held.lines.get_mut(place as usize) else {
            return self.put(&Extension { feedback, ..Extension::default() });
        };
        line.mark_header();
        self.held.set_header(place, feedback);
        place
    }

    /// Keeps a second copy, for a packet duplicated on the wire.
    pub fn copy(&mut self, place: u32) -> u32 {
        match self.look(place) {
            Some(extension) => self.put(&extension),
            None => NONE,
        }
    }

    /// The extension at `place`.
    pub fn look(&self, place: u32) -> Option<Extension> {
        let line = self.held.lines.get(place as usize)?;
        Some(line.with(self.held.header(place)))
    }

    /// Extensions held now.
    pub fn in_use(&self) -> usize {
        self.held.lines.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port_control::hpcc::Header;

    /// An extension comes back as it was put, through another cell too, whatever stood in its place before.
    #[test]
    fn extensions_are_kept() {
        let most = ENDLESS - 1;
        let sack = [(most - 1, most), (5, u64::MAX), (u64::MAX, 3), (0, 1)];
        let header = |path| Feedback::Hpcc(Header { path, ..Header::default() });
        let (mut here, mut there, mut carried) =
            (Extensions::default(), Extensions::default(), Carried::default());
        for round in 0..3 {
            carried.clear();
            let all: Vec<Extension> = (0..10u8)
                .map(|i| {
                    let feedback = if (i + round) % 3 == 0 { header(i) } else { Feedback::None };
                    Extension { sack, blocks: i % 5, feedback }
                })
                .collect();
            let places: Vec<u32> = all.iter().map(|extension| here.put(extension)).collect();
            let numbers: Vec<u32> = places.iter().map(|place| here.hand_over(*place, &mut carried)).collect();
            let places: Vec<u32> = numbers.iter().map(|number| there.take_over(*number, &carried)).collect();
            for (place, extension) in places.into_iter().zip(&all) {
                let copy = there.copy(place);
                for place in [place, copy] {
                    let got = there.take(place).expect("one was put there");
                    assert_eq!(format!("{got:?}"), format!("{extension:?}"));
                }
            }
        }
        assert_eq!((here.in_use(), there.in_use()), (0, 0));
        assert!(here.take(NONE).is_none() && here.feedback(NONE).is_none());
    }

    #[test]
    fn a_header_is_added() {
        let mut held = Extensions::default();
        let place = held.put(&Extension { blocks: 1, ..Extension::default() });
        assert!(held.feedback(place).is_none());
        let header = Feedback::Hpcc(Header { path: 7, ..Header::default() });
        assert_eq!(held.add_header(place, header), place);
        let alone = held.add_header(NONE, header);
        for (place, blocks) in [(place, 1), (alone, 0)] {
            assert!(matches!(held.feedback(place), Some(Feedback::Hpcc(Header { path: 7, .. }))));
            assert_eq!(held.take(place).map(|extension| extension.blocks), Some(blocks));
        }
    }
}
