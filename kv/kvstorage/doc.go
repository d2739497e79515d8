// Package kvstorage is the host.kvStorage capability of RFC 0015 on package kv:
// a store of JSON values for each tenant, with times to live, atomic increment
// and compare-and-swap.
//
// [New] makes a [Storage] of a kv.Store. Its methods are the operations;
// [Storage.Call] takes them as JSON in both vocabularies of the source.
// [document.Canonical] is the form in which values are stored and compared. kv/README.md
// lists what is asked of it, with the test of each.
package kvstorage
