package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// maxHistory is how many lines are kept.
const maxHistory = 1000

// history is the lines that were typed, the newest last. What can't be kept is forgotten without a
// word: nobody is kept from typing by it.
type history struct {
	lines []string
	path  string // "": they are not kept
}

// openHistory reads what was typed in shells before.
func openHistory(p *cli.Process) *history {
	state := p.Getenv("XDG_STATE_HOME")
	if state == "" {
		home := p.Getenv("HOME")
		if home == "" {
			return &history{}
		}
		state = filepath.Join(home, ".local", "state")
	}
	h := &history{path: filepath.Join(state, "stoa", "history")}
	if b, err := os.ReadFile(h.path); err == nil {
		for line := range strings.Lines(string(b)) {
			h.Add(strings.TrimRight(line, "\n"))
		}
	}
	return h
}

// Add keeps a line, unless it is that before, or begins with a space.
func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || line[0] == ' ' || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if len(h.lines) > maxHistory {
		h.lines = slices.Clone(h.lines[len(h.lines)-maxHistory:])
	}
}

// Len is how many lines there are.
func (h *history) Len() int { return len(h.lines) }

// At is a line; that of 0 is the newest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

// close writes the lines to the disk, for this user alone.
func (h *history) close() {
	if h.path == "" || os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	// Whole or not at all: two shells that end at once leave the lines of one.
	beside, err := os.CreateTemp(filepath.Dir(h.path), "history-")
	if err != nil {
		return
	}
	defer os.Remove(beside.Name())
	_, err = beside.WriteString(strings.Join(h.lines, "\n") + "\n")
	if closed := beside.Close(); err == nil && closed == nil {
		_ = os.Rename(beside.Name(), h.path)
	}
}
