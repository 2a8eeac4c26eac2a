//! Every filesystem with every engine in guests with a clock of their own. A layer is a part by itself:
//! `make nightly PART=conformance_vm::raid5`.

on_each_layer!(Guest);
