package rocks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// content is what a path holds, as far as its file names tell.
type content uint8

const (
	nothing  content = 1 + iota // no directory, or one without a database
	database                    // RocksDB's, ours or not
)

// lookInto says what dir holds. It returns ErrNotDatabase for a file and for a
// directory with something else in it, and ErrCorrupt for a database that lacks
// the file which names its manifest.
func lookInto(dir string) (content, error) {
	st, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nothing, nil
	}
	if err != nil {
		return 0, fmt.Errorf("engine: open: %w", err)
	}
	if !st.IsDir() {
		return 0, noDirectory(dir, st.Mode())
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("engine: open: %w", err)
	}
	foreign := ""
	data := ""
	if err := checkFiles(dir, entries); err != nil {
		return 0, err
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "CURRENT":
			return database, nil
		case isData(name):
			data = name
		case !isBeginning(name):
			foreign = name
		}
	}
	if foreign != "" {
		return 0, fmt.Errorf("%w: %s has %s in it, and no database; give an empty or a new directory", engine.ErrNotDatabase, dir, foreign)
	}
	if data != "" {
		return 0, fmt.Errorf("%w: %s has %s but no CURRENT, which names the manifest; nothing was changed; %s", engine.ErrCorrupt, dir, data, salvageHint(dir))
	}
	return nothing, nil
}

// CheckStore returns ErrNotDatabase where dir is no directory with files of a store,
// however damaged.
func CheckStore(dir string) error {
	st, err := os.Stat(dir)
	if err == nil && !st.IsDir() {
		return noDirectory(dir, st.Mode())
	}
	var entries []os.DirEntry
	if err == nil {
		entries, err = os.ReadDir(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("engine: open: %w", err)
	}
	for _, e := range entries {
		if name := e.Name(); name == "CURRENT" || isData(name) || strings.HasPrefix(name, "MANIFEST-") {
			return nil
		}
	}
	return fmt.Errorf("%w: there is none in %s", engine.ErrNotDatabase, dir)
}

// noDirectory is the error of a path that has another kind of file.
func noDirectory(dir string, mode fs.FileMode) error {
	hint := ""
	if mode&fs.ModeSocket != 0 {
		hint = "; --socket names a socket, and --dir the directory that the data lies in"
	}
	return fmt.Errorf("%w: %s is %s, and no directory%s", engine.ErrNotDatabase, dir, diskfile.KindOfFile(mode), hint)
}

// checkFiles returns ErrCorrupt if a file that RocksDB or the store would open by its
// name is none: a link leads elsewhere, a pipe is waited for without end, and a device
// may have no end. The directory itself may be a link.
func checkFiles(dir string, entries []os.DirEntry) error {
	for _, e := range entries {
		name := e.Name()
		if name != "CURRENT" && !isData(name) && !isBeginning(name) || e.Type().IsRegular() {
			continue
		}
		if e.IsDir() && name == "lost+found" || ours(name) && (e.IsDir() || e.Type()&fs.ModeSocket != 0) {
			continue // of a file system; what the rest of stoa puts beside the database
		}
		return fmt.Errorf("%w: %s of %s is %s, and no regular file as everything of a store; nothing was opened; "+
			"put a copy of the file in its place, or %s", engine.ErrCorrupt, name, dir, diskfile.KindOfFile(e.Type()), salvageHint(dir))
	}
	return nil
}

// ours reports whether a name is kept for what stoa puts beside the database.
func ours(name string) bool {
	return strings.HasPrefix(name, "stoa.") && !strings.HasPrefix(name, markerName) && !strings.HasPrefix(name, watermarkName)
}

// numbered returns the names of the files in dir that RocksDB has numbered and that end
// in ext; none of a directory that cannot be read.
func numbered(dir, ext string) []string {
	names, err := fs.Glob(os.DirFS(dir), "[0-9]*"+ext) // the name of dir may be a pattern too
	if err != nil {
		return nil
	}
	return names
}

// isData reports whether only a finished database has a file of this name.
func isData(name string) bool {
	switch filepath.Ext(name) {
	case ".sst", ".blob", ".log":
		return name[0] >= '0' && name[0] <= '9'
	}
	return name == markerName || name == watermarkName
}

// isBeginning reports whether a file of this name may be in a directory whose
// creation has just begun: RocksDB's first files, what the rest of stoa puts
// beside the database, and what a new file system has.
func isBeginning(name string) bool {
	switch name {
	case "LOCK", "LOG", "IDENTITY", "lost+found":
		return true
	}
	for _, prefix := range []string{"LOG.old.", "MANIFEST-", "OPTIONS-", "stoa."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.HasSuffix(name, ".dbtmp")
}

// makeDir makes dir, which only its owner may enter, and the directories on the
// way to it. It returns when all that it made are on disk. A dir that is there
// already is only closed to others, since RocksDB makes files that all may read;
// its parent may not be ours to read.
func makeDir(dir string) error {
	there := existing(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	err := os.Chmod(dir, 0o700)
	if errors.Is(err, fs.ErrPermission) { // a volume may be another's
		err = nil
	}
	for ; err == nil && dir != there; dir = filepath.Dir(dir) {
		err = syncDir(filepath.Dir(dir))
	}
	return err
}

// existing returns the part of the path dir that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func salvageHint(dir string) string {
	return fmt.Sprintf("copy what can be read into a new directory with `stoa salvage %s NEW`", dir)
}
