//! Every filesystem with every engine in guests of `model:hdd-16tb`. A layer is a part by itself:
//! `make nightly PART=conformance_model::raid5`.

on_each_layer!("model:hdd-16tb");
