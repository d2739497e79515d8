package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJSONHasNumbersWhereItCounts holds the README's rule for the JSON of commands:
// places in an order and stamps are decimal strings, and so are the fields of the
// schema that are u64; what a command counts or measures is a number.
func TestJSONHasNumbersWhereItCounts(t *testing.T) {
	places := []string{"seq", "sequence", "first_sequence", "last_sequence", "synced_sequence", "revision", "created_revision", "application_revision",
		"members_revision", "number", "first", "last", "from", "delivered", "ack_floor", "token", "floor", "arrival", "nonce", "time"}
	schema := []string{"from_version", "to_version", "total", "completed", "failed"} // of GroupUpgradeValue
	tag := regexp.MustCompile("(u?int\\d*)\\s+`json:\"([a-z_]+)(,string)?")
	var files []string
	for _, pattern := range []string{"*.go", "internal/*/*.go", "../inspect/*.go"} {
		more, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, more...)
	}
	seen := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range tag.FindAllStringSubmatch(string(text), -1) {
			if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "dump.go" { // whose lines are a format
				continue
			}
			seen++
			known := slices.Contains(places, m[2]) || slices.Contains(schema, m[2])
			if m[1] == "uint64" && !(filepath.Base(file) == "verify.go" && !strings.Contains(file, "inspect/") && m[2] == "total") { // progress, which is counted
				require.Equal(t, known, m[3] != "", "%s: %s", file, m[2])
			} else {
				require.Empty(t, m[3], "%s: %s", file, m[2])
			}
		}
	}
	require.Greater(t, seen, 60)
}
