// Package clients holds what clients in other languages are made of: python, typescript and
// rust have one each, conformance.json what all of them answer alike, and this package's tests
// write, and compare, what is generated of the protocol and of the schema.
//
//	go test ./rpc/clients -update
//
// writes it anew. README.md says how the clients are tested.
package clients
