package rocks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/stoadb/stoa/engine"
)

// FormatVersion is the version of what lies in a directory beside the rows of the
// schema. README.md says what each has.
const FormatVersion = 4

// formatNeeds is the least version that a build must know to write what this one
// writes.
const formatNeeds = 4

// formatName is the file that says which version wrote the directory last.
const formatName = "stoa.format"

// format is what a build says of itself in the directories that it writes.
type format struct {
	version uint32
	needs   uint32
	program string // the version of the program, for people
}

// ownFormat is the format of this build.
func ownFormat() format {
	program := "(devel)"
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		program = b.Main.Version
	}
	return format{FormatVersion, formatNeeds, program}
}

const formatLine = "stoa format %d needs %d by %s\n"

func (f format) String() string { return fmt.Sprintf(formatLine, f.version, f.needs, f.program) }

// readFormat returns what wrote dir last; the zero format if that is not said, as
// before version 3. A problem says what is wrong with the file.
func readFormat(dir string) (f format, problem string) {
	b, err := os.ReadFile(filepath.Join(dir, formatName))
	if errors.Is(err, fs.ErrNotExist) {
		return f, ""
	}
	if err == nil {
		_, err = fmt.Sscanf(string(b), formatLine, &f.version, &f.needs, &f.program)
	}
	if err != nil || f.String() != string(b) {
		return format{}, formatName + " is damaged, so that it cannot be told which version may write the store"
	}
	return f, ""
}

// write says in dir that f writes it.
func (f format) write(dir string) error {
	if there, _ := readFormat(dir); there == f {
		return nil
	}
	return writeFile(filepath.Join(dir, formatName), []byte(f.String()))
}

// newer reports whether this build does not know enough to write what f wrote.
func (f format) newer() bool { return f.needs > FormatVersion }

// refuse returns ErrSchema for a directory that this build must not write.
func (f format) refuse(dir string) error {
	if !f.newer() {
		return nil
	}
	own := ownFormat()
	return fmt.Errorf("%w: %s was written by stoa %s, format %d, which only a build that knows format %d may write; this is stoa %s, format %d; nothing was changed; use that version, or open read-only",
		engine.ErrSchema, dir, f.program, f.version, f.needs, own.program, own.version)
}

// unreadable returns ErrSchema for a directory whose format has a problem: a newer
// version, which this build must not write after, may have written it.
func unreadable(dir, problem string) error {
	own := ownFormat()
	return fmt.Errorf("%w: %s: %s; nothing was changed; if it was this one (stoa %s, format %d) or an older one, "+
		"take it as it is with AcceptLoss (`stoa serve --accept-loss`), which writes the file anew; else use the version that wrote it, or open read-only",
		engine.ErrSchema, dir, problem, own.program, own.version)
}

// unknown says, for people, what of f this build does not know.
func (f format) unknown() string {
	return fmt.Sprintf("format %d, by stoa %s (this build knows %d)", f.version, strings.TrimSpace(f.program), FormatVersion)
}
