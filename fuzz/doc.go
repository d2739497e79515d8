// Package fuzz has the fuzz targets for whole inputs: the bytes of batches and
// pages as they come over a socket, and sequences of operations that every
// engine must answer alike.
//
// README.md lists the targets, what each demands, and how to run them. Targets
// of a single type live with the type.
package fuzz
