package cli

import (
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
)

// Version is what version prints with --json.
type Version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"` // empty if not built from a repository
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	RocksDB  string `json:"rocksdb"` // empty in a build without it
}

// BuildVersion returns what this program was built of.
func BuildVersion() Version {
	v := Version{
		Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
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
		case "CGO_ENABLED":
			if s.Value == "1" {
				v.RocksDB = loadedRocksDB()
			}
		}
	}
	return v
}

// Write writes the version for people, a line for each part.
func (v Version) Write(w io.Writer) {
	commit, rocks := v.Commit, v.RocksDB
	if commit == "" {
		commit = "unknown"
	} else if v.Modified {
		commit += " and changes"
	}
	if rocks == "" {
		rocks = "none: this build has no cgo"
	}
	var t Table
	t.Add("stoa", v.Version)
	t.Add("commit", commit)
	t.Add("go", v.Go+" "+v.Platform)
	t.Add("rocksdb", rocks)
	t.Write(w, "")
}

// loadedRocksDB returns the version of the RocksDB library that this process
// has loaded, which need not be the one that it was built against. Its C API
// does not tell, but the name of the file does; where that can't be seen it is
// "linked".
func loadedRocksDB() string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return "linked"
	}
	if found := regexp.MustCompile(`/librocksdb\.so\.([0-9.]+)`).FindSubmatch(maps); found != nil {
		return string(found[1])
	}
	return "linked"
}
