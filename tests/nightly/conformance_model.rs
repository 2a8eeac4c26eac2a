//! Every filesystem with every engine in guests with a virtual clock. A layer is a part by itself:
//! `make nightly PART=conformance_model::raid5`.

on_each_layer!(Virtual);
