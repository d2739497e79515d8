package rocks

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// ErrUnfinished is returned by Open for a store that was being built by a tool that was
// broken off: what is in it is a part.
var ErrUnfinished = errors.New("rocks: the store is not whole")

// buildingName is the file that says in a directory that its store is being built.
const buildingName = "stoa.building"

// maxBuilding is how much of that file is read, in bytes.
const maxBuilding = 4096

// BeginBuilding says in dir, which is there, that its store is not whole: what, for
// people, makes it so. It returns when that is on disk.
func BeginBuilding(dir, what string) error {
	return writeFile(filepath.Join(dir, buildingName), []byte(what+"\n"))
}

// EndBuilding says in dir that its store is whole, which is to be on disk already. It
// returns when that is so.
func EndBuilding(dir string) error {
	if err := os.Remove(filepath.Join(dir, buildingName)); err != nil {
		return err
	}
	return syncDir(dir)
}

// CheckWhole returns ErrUnfinished for a directory whose store is being built, or was
// when that was broken off.
func CheckWhole(dir string) error {
	if what := building(dir); what != "" {
		return unfinished(dir, what)
	}
	return nil
}

// building returns what makes a store of dir; "": nothing, it is whole.
func building(dir string) (what string) {
	path := filepath.Join(dir, buildingName)
	st, err := os.Lstat(path)
	if err != nil {
		return "" // or opening the directory says what it is
	}
	what = "something that was broken off"
	if !st.Mode().IsRegular() {
		return what
	}
	f, err := os.Open(path)
	if err != nil {
		return what
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, maxBuilding)) // what can be read of it is said
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, string(b))
	if text = strings.TrimSpace(text); text != "" {
		what = text
	}
	return what
}

// unfinished is the error of a store of dir that is not whole.
func unfinished(dir, what string) error {
	return fmt.Errorf("%w: %s is what %s has left", ErrUnfinished, dir, what)
}
