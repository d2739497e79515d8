package rows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// TermName is the file of a store that counts terms: the times that rows of it are shared in.
// Who opens the store for writing begins another before its first write, and so ends the
// last, also that of a process which was killed.
const TermName = "stoa.term"

const (
	termMagic = "STOATRM1"
	atTerm    = 8
	termSize  = 4 << 10 // a page, so that it can be mapped
)

// Term is the file of terms, held open by who writes to the store. The word in it is
// unequal to any that it was, until the machine is started anew; nobody reads it then who had
// the last.
type Term struct {
	file *os.File
	now  uint64
}

// BeginTerm begins a term of the store in dir. The file is made if it is not there and create
// is set; without it, and without create, Term is nil: there has been no term to end.
func BeginTerm(dir string, create bool) (*Term, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(filepath.Join(dir, TermName), flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) && !create {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("rows: term: %w", err)
	}
	t := &Term{file: f}
	if err := t.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("rows: term: %w", err), f.Close())
	}
	return t, nil
}

// begin reads the word, fills the file up to its size, and counts.
func (t *Term) begin() error {
	page := make([]byte, termSize)
	if _, err := io.ReadFull(t.file, page); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	t.now = binary.NativeEndian.Uint64(page[atTerm:])
	copy(page, termMagic)
	if st, err := t.file.Stat(); err != nil {
		return err
	} else if st.Size() != termSize {
		if _, err := t.file.WriteAt(page, 0); err != nil { // no holes: what is mapped is there
			return err
		}
	}
	return t.Next()
}

// Next begins another term, and so ends this one: when it has returned, no row of it is
// read any more.
func (t *Term) Next() error {
	t.now++
	var word [8]byte
	binary.NativeEndian.PutUint64(word[:], t.now)
	_, err := t.file.WriteAt(word[:], atTerm)
	return err
}

// Now is the number of the term.
func (t *Term) Now() uint64 { return t.now }

// Reading returns the file, opened anew, for who only reads.
func (t *Term) Reading() (*os.File, error) { return os.Open(t.file.Name()) }

// Close ends the term, and closes the file.
func (t *Term) Close() error { return errors.Join(t.Next(), t.file.Close()) }
