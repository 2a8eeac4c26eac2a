//! How an input is drawn: a valid one, changed in a few places; sometimes pure chance.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Inputs are no longer than this, but for the few that are meant to be.
const LONG: usize = 64 << 10;
const VERY_LONG: usize = 1 << 20;
/// Nested deeper than any parser's stack should follow.
const DEEP: usize = 20_000;

/// Where numbers end, and what is no number.
const NUMBERS: &str = "0 -0 1 -1 2 7 10 127 255 256 4095 65536 2147483647 2147483648 4294967295 4294967296 1099511627776 \
    9007199254740993 9223372036854775807 9223372036854775808 18446744073709551615 18446744073709551616 \
    -9223372036854775808 99999999999999999999999999999999 1e308 1e-308 -1e400 0.1 nan inf -inf 0x7f 1_000 007";

/// Bytes that mean something somewhere.
const TEXTS: &str = "\0 \n \r \" ' \\ / .. % = [ ] { } # , : | \u{1b}[31m \u{202e} é 慢 \"\"\" true null <script>alert(1)</script>";
const NO_TEXTS: &[&[u8]] = &[b" ", b"\r\n", b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80"];

/// Draws of one execution.
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// The same for the same seed and execution, so that one input can be made again alone.
    pub fn new(seed: u64, execution: u64) -> Self {
        let mix = seed ^ execution.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Dice(Xoshiro256PlusPlus::seed_from_u64(mix))
    }

    /// A number below `end`, and 0 where there is none.
    pub fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end.max(1) as u64) as usize
    }

    pub fn one<'a, T: ?Sized + AsRef<[U]>, U>(&mut self, of: &'a T) -> &'a U {
        let of = of.as_ref();
        &of[self.below(of.len())]
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.fill_bytes(&mut bytes);
        bytes
    }

    fn extreme(&mut self) -> String {
        let numbers: Vec<&str> = NUMBERS.split(' ').collect();
        (*self.one(&numbers)).to_owned()
    }

    fn text(&mut self) -> Vec<u8> {
        let texts: Vec<&[u8]> = TEXTS.split(' ').map(str::as_bytes).chain(NO_TEXTS.iter().copied()).collect();
        self.one(&texts).to_vec()
    }

    /// One input.
    pub fn input(&mut self, seeds: &[Vec<u8>], words: &[String]) -> Vec<u8> {
        if seeds.is_empty() || self.below(50) == 0 {
            let length = self.below(600);
            return self.bytes(length);
        }
        let mut input = self.one(seeds).clone();
        // Mostly one change, so that what is far inside is reached too.
        let changes = 1 << self.below(5);
        for _ in 0..1 + self.below(changes) {
            self.change(&mut input, seeds, words);
            input.truncate(if input.len() > VERY_LONG { VERY_LONG } else { input.len() });
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[String]) {
        match self.below(24) {
            0 => self.flip(input),
            1 => self.overwrite(input),
            2..=7 => self.number(input),
            8 | 9 => self.line(input, seeds),
            10 | 11 => self.splice(input, seeds),
            12..=15 => self.word(input, words),
            16 => input.truncate(self.below(input.len())),
            17 => self.cut(input),
            18..=20 => {
                let text = self.text();
                self.insert(input, &text);
            }
            21 if self.below(20) == 0 => self.grow(input),
            21 => self.repeat(input),
            _ => self.value(input, words),
        }
    }

    fn insert(&mut self, input: &mut Vec<u8>, text: &[u8]) {
        let at = self.below(input.len() + 1);
        input.splice(at..at, text.iter().copied());
    }

    fn flip(&mut self, input: &mut [u8]) {
        if !input.is_empty() {
            let at = self.below(input.len());
            input[at] ^= 1 << self.below(8);
        }
    }

    /// As numbers in binary formats end.
    fn overwrite(&mut self, input: &mut [u8]) {
        let at = self.below(input.len());
        let width = 1 << self.below(4);
        let byte = *self.one(&[0, 1, 0x7f, 0x80, 0xff]);
        let end = (at + width).min(input.len());
        input[at..end].fill(byte);
    }

    /// Some number of the text becomes another.
    fn number(&mut self, input: &mut Vec<u8>) {
        let digit = |at: usize, input: &[u8]| input.get(at).is_some_and(u8::is_ascii_digit);
        let starts: Vec<usize> =
            (0..input.len()).filter(|at| digit(*at, input) && (*at == 0 || !digit(at - 1, input))).collect();
        if starts.is_empty() {
            return;
        }
        let begin = *self.one(&starts);
        let end = (begin..).find(|at| !digit(*at, input)).unwrap_or(input.len());
        let number = match self.below(4) {
            0 => self.below(100).to_string(),
            _ => self.extreme(),
        };
        input.splice(begin..end, number.bytes());
    }

    /// A line comes twice, goes, moves, or is taken from another input.
    fn line(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let mut lines: Vec<Vec<u8>> = input.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        let (from, to) = (self.below(lines.len()), self.below(lines.len()));
        match self.below(4) {
            0 => lines.insert(to, lines[from].clone()),
            1 => drop(lines.remove(from)),
            2 => lines.swap(from, to),
            _ => {
                let other: Vec<&[u8]> = self.one(seeds).split(|b| *b == b'\n').collect();
                lines.insert(to, self.one(&other).to_vec());
            }
        }
        *input = lines.join(&b'\n');
    }

    fn splice(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let other = self.one(seeds);
        let begin = self.below(other.len());
        let length = self.below((other.len() - begin).min(400));
        let piece = other[begin..begin + length].to_vec();
        self.insert(input, &piece);
    }

    /// A word of the language, put in or in the place of another word.
    fn word(&mut self, input: &mut Vec<u8>, words: &[String]) {
        if words.is_empty() {
            return;
        }
        let word = self.one(words).clone().into_bytes();
        let inside = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        let starts: Vec<usize> = (0..input.len())
            .filter(|at| inside(input[*at]) && (*at == 0 || !inside(input[at - 1])))
            .collect();
        if starts.is_empty() || self.below(4) == 0 {
            return self.insert(input, &word);
        }
        let begin = *self.one(&starts);
        let end = (begin..input.len()).find(|at| !inside(input[*at])).unwrap_or(input.len());
        input.splice(begin..end, word);
    }

    /// What stands behind an equals sign or a colon becomes something else.
    fn value(&mut self, input: &mut Vec<u8>, words: &[String]) {
        let signs: Vec<usize> = (0..input.len()).filter(|at| matches!(input[*at], b'=' | b':')).collect();
        if signs.is_empty() {
            return;
        }
        let begin = self.one(&signs) + 1;
        let stops = |b: u8| matches!(b, b'\n' | b',' | b'}');
        let end = (begin..input.len()).find(|at| stops(input[*at])).unwrap_or(input.len());
        let value = match self.below(6) {
            0 => "[]".to_owned(),
            1 => "{}".to_owned(),
            2 => "\"\"".to_owned(),
            3 if !words.is_empty() => format!("\"{}\"", self.one(words)),
            4 => format!("\"{}\"", self.extreme()),
            _ => self.extreme(),
        };
        input.splice(begin..end, value.bytes());
    }

    fn cut(&mut self, input: &mut Vec<u8>) {
        let begin = self.below(input.len());
        let length = self.below((input.len() - begin).min(64));
        input.drain(begin..begin + length);
    }

    /// A piece comes several times.
    fn repeat(&mut self, input: &mut Vec<u8>) {
        let begin = self.below(input.len());
        let length = self.below((input.len() - begin).min(200));
        let times = 1 + self.below(30);
        let piece = input[begin..begin + length].repeat(times);
        if input.len() + piece.len() < LONG {
            input.splice(begin..begin, piece);
        }
    }

    /// Very long, or very deep.
    fn grow(&mut self, input: &mut Vec<u8>) {
        let deep = [&b"["[..], b"{\"a\":", b"a.", b"{ a = ", b"(", b"[["];
        let piece = match self.below(2) {
            0 => self.one(&deep).repeat(DEEP),
            _ => {
                let length = 1 << self.below(18);
                vec![*self.one(b"a0 \n/\xff"); length]
            }
        };
        self.insert(input, &piece);
    }
}
