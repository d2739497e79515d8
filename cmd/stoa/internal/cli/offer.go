package cli

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/stoadb/stoa/dag"
)

// Offer offers to the daemon what is in the files that the arguments of a call name, each
// thing a what. show prints an answer and reports whether it refuses.
func Offer[A any](c *Call, what string, offer func(iter.Seq[[]byte]) iter.Seq2[A, error], show func(*A) (refuses bool, err error)) error {
	in := newOfferFiles(c.Stdin, what, c.Args)
	refusals, n := 0, 0
	var failed error
	for a, err := range offer(in.all()) {
		n++
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s %d: %w", what, n, err))
			continue
		}
		refuses, err := show(&a)
		if err != nil {
			return err
		}
		if refuses {
			refusals++
		}
	}
	switch err := errors.Join(failed, in.failure()); {
	case err != nil:
		return err
	case refusals > 0:
		return Refused(fmt.Errorf("%s refused", Count(refusals, what)), "")
	}
	return nil
}

// offerFiles reads deltas or ops from files.
type offerFiles struct {
	stdin  io.Reader
	what   string
	paths  []string
	failed chan error // why all ended before its end: one at the most
}

func newOfferFiles(stdin io.Reader, what string, paths []string) *offerFiles {
	return &offerFiles{stdin: stdin, what: what, paths: paths, failed: make(chan error, 1)}
}

// all is drawn from once, until its end or an error.
func (f *offerFiles) all() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, path := range f.paths {
			on, err := f.file(path, yield)
			if err != nil {
				f.failed <- Bad(fmt.Errorf("%s: %w", path, err), fmt.Sprintf("a file has one %s as its bytes, or hex, one %[1]s to a line", f.what))
			}
			if err != nil || !on {
				return
			}
		}
	}
}

// failure returns the error that all has met so far. It may be called while another
// goroutine draws from all.
func (f *offerFiles) failure() error {
	select {
	case err := <-f.failed:
		return err
	default:
		return nil
	}
}

// maxOffer is the most bytes that a delta or an op has; namespace.MaxOp is equal.
const maxOffer = dag.MaxDelta

// file yields what is in one file.
func (f *offerFiles) file(path string, yield func([]byte) bool) (on bool, err error) {
	r := f.stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return false, err
		}
		defer file.Close()
		r = file
	}
	b := bufio.NewReaderSize(r, 64<<10)
	start, err := b.Peek(64)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if !startsHex(start) {
		whole, err := io.ReadAll(io.LimitReader(b, maxOffer+1))
		return err == nil && yield(whole), err
	}
	lines := bufio.NewScanner(b)
	lines.Buffer(nil, 2*maxOffer+64)
	n := 1
	for ; lines.Scan(); n++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		item, err := hex.DecodeString(string(text))
		if err != nil {
			return false, fmt.Errorf("line %d: %w", n, err)
		}
		if !yield(item) {
			return false, nil
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return false, fmt.Errorf("line %d: longer than the hex of %d bytes, the most that a delta or an op has", n, maxOffer)
	}
	return true, lines.Err()
}

// startsHex reports whether what a file begins with is hex: a delta begins with the
// id of its context, an op with its version, which are not.
func startsHex(start []byte) bool {
	for _, c := range bytes.TrimSpace(start) {
		if !strings.ContainsRune("0123456789abcdefABCDEF\r\n", rune(c)) {
			return false
		}
	}
	return len(bytes.TrimSpace(start)) > 0
}
