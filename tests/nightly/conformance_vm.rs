//! Every filesystem with every engine in guests with the host's clock. A layer is a part by itself:
//! `make nightly PART=conformance_vm::raid5`.

on_each_layer!(Host);
