package rocks

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/stoadb/stoa/engine"
)

// Marks of errors that Open and the committer treat apart.
var (
	errRefused = errors.New("refused") // RocksDB did not take the arguments; it goes on
	errHeld    = errors.New("held")    // another process holds the directory
)

// classify returns the error for a text of RocksDB, whose C API knows errors
// only as text: the kind by its prefix, and what it says.
func classify(op, text string) error {
	kind := kindOf(text)
	if kind == nil {
		return fmt.Errorf("engine: %s: %s", op, text)
	}
	return fmt.Errorf("%w: %s: %s", kind, op, text)
}

// renamed says in whose name files are read: RocksDB has them in the directory there,
// and people know them in the directory known. The zero renamed changes nothing.
type renamed struct{ there, known string }

// said returns what RocksDB says with the names that people know.
func (r renamed) said(text string) string {
	if r.there == r.known {
		return text
	}
	return strings.ReplaceAll(text, r.there, r.known)
}

// say returns an error of the system with the names that people know; nil for nil.
func (r renamed) say(err error) error {
	if err == nil {
		return nil
	}
	return &knownError{err, r.said(err.Error())}
}

// knownError is an error in the names that people know.
type knownError struct {
	err  error
	text string
}

func (e *knownError) Error() string { return e.text }

func (e *knownError) Unwrap() error { return e.err }

// classify is the function of that name, with the names that people know.
func (r renamed) classify(op, text string) error { return classify(op, r.said(text)) }

// reasons are the kinds by what a text starts with and what is in it, the first
// that fits first.
var reasons = [...]struct {
	prefix, part string
	kind         error
}{
	{"Corruption: ", "", engine.ErrCorrupt},
	{"", "No space left on device", engine.ErrNoSpace},
	{"", "Disk quota exceeded", engine.ErrNoSpace},
	{"IO error: ", "lock hold by current process", engine.ErrLocked},
	{"IO error: While lock file", "", errHeld},
	{"IO error: lock ", "", errHeld},
	{"IO error: ", "Permission denied", fs.ErrPermission},
	{"IO error: ", "Read-only file system", fs.ErrPermission},
	{"IO error: ", "No such file or directory", engine.ErrCorrupt},
	{"NotFound: ", "", engine.ErrCorrupt},
	{"Invalid argument: ", "", errRefused},
	{"Not implemented: ", "read only", engine.ErrReadOnly},
}

func kindOf(text string) error {
	for _, r := range reasons {
		if strings.HasPrefix(text, r.prefix) && strings.Contains(text, r.part) {
			return r.kind
		}
	}
	return nil
}
