package rocks

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoadb/stoa/engine"
)

// CheckPlace returns engine.ErrPlace for a path at which no store is to be made: one
// within the directory of another, whose files are its own to make and to delete, and
// one with the name of a socket.
func CheckPlace(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("engine: create: %w", err)
	}
	if filepath.Ext(dir) == ".sock" {
		return fmt.Errorf("%w: %s has the name of a socket; nothing was made; name the directory that the data lies in, and with --socket where the socket is", engine.ErrPlace, dir)
	}
	there := existing(dir)
	above, err := filepath.EvalSymlinks(there)
	if err != nil {
		return fmt.Errorf("engine: create %s: %w", dir, err)
	}
	if there == dir {
		above = filepath.Dir(above)
	}
	for ; ; above = filepath.Dir(above) {
		if holdsStore(above) {
			return fmt.Errorf("%w: %s is within %s, the directory of a store; nothing was made; name a path outside of it", engine.ErrPlace, dir, above)
		}
		if above == filepath.Dir(above) {
			return nil
		}
	}
}

// holdsStore reports whether dir has a file that only a store has. What cannot be looked
// at has none.
func holdsStore(dir string) bool {
	for _, name := range []string{formatName, watermarkName, markerName, buildingName} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
