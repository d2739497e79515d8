package diskfile

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// File is a numbered file of a directory.
type File struct {
	Path   string
	Number uint64
}

// Files returns the files of dir whose names are a number and ext, as ".log",
// the lowest first.
func Files(dir, ext string) ([]File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), ext)
		n, err := strconv.ParseUint(digits, 10, 64)
		if ok && err == nil && e.Type().IsRegular() {
			files = append(files, File{filepath.Join(dir, e.Name()), n})
		}
	}
	slices.SortFunc(files, func(a, b File) int { return int(int64(a.Number) - int64(b.Number)) })
	return files, nil
}
