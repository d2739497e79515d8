package cli

import (
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/stoadb/stoa/engine/rocks"
)

// Version is what version prints with --json.
type Version struct {
	Version  string    `json:"version"`
	Commit   string    `json:"commit"` // empty if not built from a repository
	Modified bool      `json:"modified"`
	Date     time.Time `json:"date,omitzero"` // of the commit, in UTC
	Go       string    `json:"go"`
	Platform string    `json:"platform"`
	RocksDB  string    `json:"rocksdb"` // empty in a build without it
}

// BuildVersion returns what this program was built of.
func BuildVersion() Version {
	v := Version{
		Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, RocksDB: rocks.Library(),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		case "vcs.time":
			v.Date, _ = time.Parse(time.RFC3339, s.Value)
		}
	}
	return v
}

// Source returns the commit that the program was built of, and whether something was
// changed beside it; empty if it was not built from a repository.
func (v Version) Source() string {
	if v.Commit != "" && v.Modified {
		return v.Commit + " and changes"
	}
	return v.Commit
}

// Write writes the version for people, a line for each part.
func (v Version) Write(w io.Writer) {
	commit, rocks := v.Source(), v.RocksDB
	if commit == "" {
		commit = "unknown"
	}
	if rocks == "" {
		rocks = "none: this build has no cgo"
	}
	var t Table
	t.Add("stoa", v.Version)
	t.Add("commit", commit)
	if !v.Date.IsZero() {
		t.Add("date", v.Date.Format(time.RFC3339))
	}
	t.Add("go", v.Go+" "+v.Platform)
	t.Add("rocksdb", rocks)
	t.Write(w, "")
}
