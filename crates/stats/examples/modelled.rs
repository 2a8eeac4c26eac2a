//! Prints how often the rules of a verdict on a modelled disk are right: 1,000 studies per rate, with fixed seeds.

#[allow(clippy::unwrap_used, dead_code, reason = "shared with the tests")]
#[path = "../tests/simulation/rates.rs"]
mod rates;

fn main() {
    for (what, rate) in rates::all(1000) {
        println!("{:>6.1} %  {what}", 100.0 * rate);
    }
}
