// Package blob keeps binary data of up to 4 GiB under its SHA-256 in the Blobs column
// of an engine: in chunks of 1 MiB behind a manifest that is written last. It streams in
// bounded memory, stores the same content once, and finds and heals damage.
//
// [Open] makes a [Store] of an engine. [Store.Put] takes content in, [Store.Read] gives
// it out, [Store.Verify] proves that it is what its id says; [Store.Sweep] removes what
// an earlier process left of broken uploads. README.md has the bytes of the rows, and
// what holds for uploads, readers and repairs.
package blob
