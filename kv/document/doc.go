// Package document works on JSON documents in canonical form (RFC 8785), as bytes:
// [Canonical] makes it, [Merge] applies a merge patch (RFC 7386), a [Path] names a field,
// and [ParseInstant] reads a moment. Nothing here keeps or changes its arguments, but
// results may share memory with them.
//
// Two documents are the same if and only if their canonical forms are, so that what is
// equal is seen by comparing bytes, and what an object has is found without decoding it.
package document
