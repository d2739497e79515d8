package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
)

// Tail keeps the end of what is written to it, which is what a process of this program says on
// stderr.
type Tail struct {
	mu sync.Mutex
	b  []byte
}

// maxTail is how much of it.
const maxTail = 16 << 10

// Write keeps the last maxTail bytes of all that is written. It never fails.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.b = append(t.b, b...); len(t.b) > maxTail {
		t.b = append(t.b[:0], t.b[len(t.b)-maxTail:]...)
	}
	return len(b), nil
}

// Failure returns the error that the process has ended with; nil if it did not say, as JSON.
func (t *Tail) Failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.b), []byte("\n"))
	var f struct {
		Error string `json:"error"`
		Exit  int    `json:"exit"`
		Hint  string `json:"hint"`
	}
	if json.Unmarshal(lines[len(lines)-1], &f) != nil || f.Error == "" {
		return nil
	}
	return Fail(f.Exit, errors.New(f.Error), f.Hint)
}

// First returns the first line, which is what an assertion says.
func (t *Tail) First() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	first, _, _ := strings.Cut(strings.TrimSpace(string(t.b)), "\n")
	if first == "" {
		return "it said nothing"
	}
	return Shorten(first, 300)
}
