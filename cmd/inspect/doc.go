// Package inspect looks at stores as tools do: it opens them without changing
// them, and says what is in them, whether it is right, and what differs.
//
// Start at Source, which is a store on disk or behind a socket; Survey, Verify,
// Hash, Diff and Export take one. README.md has the codes of findings and the
// formats of what is written. Package main of cmd/stoa is the command line.
package inspect
