package column

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stoadb/stoa/column/readmetest"
)

var update = flag.Bool("update", false, "rewrite the tables of README.md")

func TestReadmeTablesAreCurrent(t *testing.T) {
	readmetest.Table(t, *update, "columns", columnTable())
	readmetest.Table(t, *update, "tuning", tuningTable())
}

func columnTable() string {
	var b strings.Builder
	b.WriteString("| # | Family | Holds | Key | Leaves the node |\n|---|---|---|---|---|\n")
	for c := range All {
		s := c.Spec()
		fmt.Fprintf(&b, "| %d | `%s` | %s | %s | %s |\n", c, s.Name, s.Holds, s.Key, pick(s.NodeLocal, "no", "may"))
	}
	return b.String()
}

func tuningTable() string {
	var b strings.Builder
	b.WriteString("| Family | Prefix filter | Memtable bloom | Compression | Write buffer | Blob files from | Last-level filter |\n|---|---|---|---|---|---|---|\n")
	for c := range All {
		s := c.Spec()
		prefix, blobs := "", ""
		if s.PrefixBytes > 0 {
			prefix = fmt.Sprintf("%d bytes", s.PrefixBytes)
		}
		if s.BlobFiles {
			blobs = fmt.Sprintf("%d KiB", s.MinBlob/kib)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %d MiB | %s | %s |\n", s.Name, prefix, pick(s.MemtableBloom, "yes", ""),
			compressionNames[s.Compression], s.WriteBuffer/mib, blobs, pick(s.FiltersForHits, "no", "yes"))
	}
	return b.String()
}

var compressionNames = map[Compression]string{LZ4: "LZ4", LZ4ThenZSTD: "LZ4, ZSTD at the bottom", NoCompression: "none"}

func pick(yes bool, then, otherwise string) string {
	if yes {
		return then
	}
	return otherwise
}
