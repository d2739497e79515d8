package daemon

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// logFormats and logLevels are what --log-format and --log-level take.
var (
	logFormats = []string{"auto", "text", "json"}
	logLevels  = []string{"debug", "info", "warn", "error"}
)

// newLogger returns a logger that writes to w: for auto, text to a terminal and
// JSON to anything else.
func newLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.LevelVar
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level: %q is none of %v", level, logLevels)
	}
	options := &slog.HandlerOptions{Level: &l}
	if format == "auto" {
		format = "json"
		if cli.IsTerminal(w) {
			format = "text"
		}
	}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, errors.New("--log-format: " + fmt.Sprintf("%q is none of %v", format, logFormats))
}
