//! Every filesystem with every engine in guests of `vm`. A layer is a part by itself:
//! `make nightly PART=conformance_vm::raid5`.

on_each_layer!("vm");
