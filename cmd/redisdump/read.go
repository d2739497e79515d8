package redisdump

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Error is a command that can't be run.
type Error struct {
	Line   int    // where the command begins, from 1
	Reason string // what is wrong, and what to do
}

// Error returns the line and the reason.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Read runs the commands of a dump, one a line, and returns the keys that they leave. A line
// that ends with a backslash goes on in the next; empty lines, and those that begin with #,
// say nothing. Times to live count from when the dump was taken, and what is over by then is
// left out. It returns an [*Error] for a command that it does not know, or that Redis would
// refuse.
func Read(r io.Reader, taken time.Time) (*Dump, error) {
	taken = taken.UTC().Truncate(time.Millisecond)
	d := &Dump{Values: map[string]*Value{}, Taken: taken}
	run := runner{dump: d, now: taken}
	lines := bufio.NewReaderSize(r, 64<<10)
	total := 0
	for number := 1; ; {
		begun := number
		text, read, err := command(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, told(begun, err)
		}
		number += read
		if total += len(text); total > MaxBytes {
			return nil, &Error{begun, fmt.Sprintf("the commands have more than %d bytes: import them in parts", MaxBytes)}
		}
		if text = strings.TrimSpace(text); text != "" && text[0] != '#' {
			words, bad := Words(text)
			if bad == nil {
				bad = run.do(begun, words)
			}
			if bad != nil {
				return nil, told(begun, bad)
			}
		}
		if err != nil {
			break
		}
	}
	for name, v := range d.Values {
		v.whole()
		if !v.Expires.IsZero() && !v.Expires.After(taken) {
			delete(d.Values, name)
		}
	}
	return d, nil
}

func told(line int, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	if errors.Is(err, errLong) || !errors.Is(err, errRead) {
		return &Error{line, err.Error()}
	}
	return err
}

var (
	errLong = fmt.Errorf("the command has more than %d bytes", MaxLine)
	errRead = errors.New("the dump can't be read")
)

// command reads a command, and says how many lines it has. It returns io.EOF with the last.
func command(lines *bufio.Reader) (text string, read int, err error) {
	var b strings.Builder
	for {
		part, err := lines.ReadSlice('\n')
		for b.Write(part); errors.Is(err, bufio.ErrBufferFull); b.Write(part) {
			if b.Len() > MaxLine {
				return "", 0, errLong
			}
			part, err = lines.ReadSlice('\n')
		}
		read++
		if b.Len() > MaxLine {
			return "", 0, errLong
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return "", 0, fmt.Errorf("%w: %w", errRead, err)
		}
		line := strings.TrimRight(b.String(), "\r\n")
		if err != nil || !strings.HasSuffix(line, `\`) || strings.HasPrefix(strings.TrimSpace(line), "#") {
			return line, read, err
		}
		line = strings.TrimSuffix(line, `\`)
		b.Reset()
		b.WriteString(line + " ")
	}
}
