package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/stoadb/stoa/cmd/inspect"
)

// WriteFacts writes what is known of a store without reading it.
func WriteFacts(w io.Writer, f inspect.Facts) {
	var t Table
	t.Add("store", f.Where+" ("+f.How+")")
	t.Add("schema", fmt.Sprint(f.Schema))
	if f.NodeID != "" {
		t.Add("node id", f.NodeID)
	}
	t.Add("sequence", fmt.Sprint(f.Sequence))
	closed := "clean"
	if !f.Clean {
		closed = "unclean, or in use"
	}
	t.Add("last close", closed)
	switch {
	case f.Opened:
		t.Add("secrets", "sealed, and opened with their key")
	case f.Sealed:
		t.Add("secrets", "sealed, and their key was not given")
	}
	if f.Unfinished != "" {
		t.Add("not whole", "it is what "+f.Unfinished+" has left")
	}
	if f.Lost > 0 {
		t.Add("lost", Count(f.Lost, "change")+" that had been on disk")
	}
	if f.Cut != "" {
		t.Add("lost", f.Cut)
	}
	for _, found := range slices.Concat(f.Unlisted, f.Logs) {
		t.Add("lost", found)
	}
	for _, left := range f.Left {
		t.Add("left", left)
	}
	for _, kept := range f.Kept {
		t.Add("kept", kept+", which a start after a power loss has left")
	}
	for _, u := range f.Unknown {
		t.Add("unknown", u)
	}
	for _, note := range f.Notes {
		t.Add("recovery", note)
	}
	for _, problem := range f.Problems {
		t.Add("problem", problem)
	}
	t.Write(w, "")
}
