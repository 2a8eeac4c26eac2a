//! Draws conclusions from records: metrics, validity, comparisons, findings. Pure: measures nothing and prints nothing.

pub mod alike;
pub mod capacity;
pub mod changes;
pub mod clients;
pub mod compression;
pub mod condition;
pub mod corners;
pub mod cpu;
pub mod criteria;
pub mod dataset;
pub mod drive;
pub mod elapsed;
pub mod ensemble;
pub mod entrant;
pub mod evidence;
pub mod floor;
mod interference;
pub mod latencies;
pub mod losses;
pub mod metrics;
pub mod order;
pub mod over_time;
pub mod range;
pub mod recommendation;
pub mod recommended;
pub mod robust;
pub mod rounds;
mod spans;
mod standing_in;
pub mod stationary;
pub mod steps;
#[cfg(test)]
mod tests;
pub mod untested;
pub mod validity;
pub mod verdict;
pub mod weighing;
