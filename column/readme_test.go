package column

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the tables of README.md")

func TestReadmeTablesAreCurrent(t *testing.T) {
	requireTable(t, "columns", columnTable())
	requireTable(t, "tuning", tuningTable())
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

// requireTable demands that README.md has the table between the markers of that
// name, or with -update puts it there.
func requireTable(t *testing.T, name, table string) {
	src, err := os.ReadFile("README.md")
	require.NoError(t, err)
	begin, end := "<!-- begin "+name+": go test ./column -update -->\n", "<!-- end "+name+" -->"
	head, rest, ok := strings.Cut(string(src), begin)
	require.True(t, ok, "no marker of %s", name)
	old, tail, ok := strings.Cut(rest, end)
	require.True(t, ok, "no end of %s", name)
	if *update {
		require.NoError(t, os.WriteFile("README.md", []byte(head+begin+table+end+tail), 0o644))
		return
	}
	require.Equal(t, table, old, "run: go test ./column -update")
}
