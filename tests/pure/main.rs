//! What needs neither root nor another program: plans, scripted trials, reports, stored runs, the rules of the house.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod campaign;
mod cite;
mod compare;
mod completions;
mod configuration;
mod extras;
mod forged;
mod honest;
mod imports;
mod links;
mod looks;
mod losses;
mod merging;
mod noise;
mod order;
mod report;
mod reproduce;
mod schemas;
mod scripted;
mod sentences;
mod setups;
mod shards;
#[path = "../support/mod.rs"]
mod support;
mod tidy;
mod together;

// What noise/late.rs finds in the project's own root.
#[allow(unused_imports, reason = "named by late.rs alone, as the root of the project")]
use fsderby::schema;
