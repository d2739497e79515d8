package inspect

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/stoadb/stoa/keys"
)

// DumpVersion is the version of the format of dumps.
const DumpVersion = 1

// dumpLine is one line of a dump: the header, a row, or the end.
type dumpLine struct {
	Header *DumpHeader `json:"stoa_dump,omitempty"`
	Record
	Redacted bool     `json:"redacted,omitempty"` // the row has secrets, which are not shown
	Withheld []string `json:"withheld,omitempty"` // fields of the record that are not in the dump, which are secrets
	End      *dumpEnd `json:"end,omitempty"`
}

// DumpHeader is the first line of a dump.
type DumpHeader struct {
	Version int    `json:"version"`
	Schema  uint32 `json:"schema_version"`
	NodeID  string `json:"node_id,omitempty"`
	Secrets bool   `json:"secrets"` // they are shown
	Of      string `json:"of"`      // what of the store it holds
}

// dumpEnd is the last line, without which a dump was cut off.
type dumpEnd struct {
	Rows uint64 `json:"rows,string"`
	Gaps int    `json:"gaps,omitempty"` // places of the store that could not be read
}

// maxLine is the longest line of a dump, in bytes: a value of the largest size in
// hex, and its key.
const maxLine = 2*(16<<20) + 2*(1<<17) + 4096

// dumpWriter writes lines, compressed or not.
type dumpWriter struct {
	buf  *bufio.Writer
	zstd *zstd.Encoder // nil: lines are not compressed

	scratch []byte
}

func newDumpWriter(w io.Writer, compress bool) (*dumpWriter, error) {
	if !compress {
		return &dumpWriter{buf: bufio.NewWriterSize(w, 1<<16)}, nil
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(4<<20))
	if err != nil {
		return nil, fmt.Errorf("inspect: zstd: %w", err)
	}
	return &dumpWriter{buf: bufio.NewWriterSize(z, 1<<16), zstd: z}, nil
}

func (d *dumpWriter) line(l dumpLine) error {
	var ok bool
	if d.scratch, ok = appendLine(d.scratch[:0], &l); ok {
		_, err := d.buf.Write(d.scratch)
		return err
	}
	b, err := json.Marshal(l)
	if err == nil {
		_, err = d.buf.Write(append(b, '\n'))
	}
	return err
}

// raw writes the line of a row of raw bytes, and reports whether it is one.
func (d *dumpWriter) raw(info *keys.Info, key, value []byte) (done bool, err error) {
	if d.scratch, done = appendRaw(d.scratch[:0], info, key, value); done {
		_, err = d.buf.Write(d.scratch)
	}
	return done, err
}

func (d *dumpWriter) close() error {
	err := d.buf.Flush()
	if d.zstd != nil {
		if cerr := d.zstd.Close(); err == nil {
			err = cerr
		}
	}
	return err
}

// dumpReader reads lines, compressed or not.
type dumpReader struct {
	buf    *bufio.Reader
	zstd   *zstd.Decoder // nil: they are not compressed
	long   []byte
	number int
}

// zstdMagic begins what is compressed.
const zstdMagic = "\x28\xB5\x2F\xFD"

func newDumpReader(r io.Reader) (*dumpReader, error) {
	buf := bufio.NewReaderSize(r, 1<<16)
	start, err := buf.Peek(len(zstdMagic))
	if err != nil || string(start) != zstdMagic {
		return &dumpReader{buf: buf}, nil // what is no dump is refused by its first line
	}
	z, err := zstd.NewReader(buf, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(32<<20), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("inspect: zstd: %w", err)
	}
	return &dumpReader{buf: bufio.NewReaderSize(z, 1<<16), zstd: z}, nil
}

// next returns the next line, which is valid until the call after. It returns
// io.EOF behind the last one.
func (d *dumpReader) next() ([]byte, error) {
	d.number++
	d.long = d.long[:0]
	for {
		part, err := d.buf.ReadSlice('\n')
		switch {
		case err == nil && len(d.long) == 0:
			return part, nil
		case err != nil && err != bufio.ErrBufferFull:
			return nil, err
		case len(d.long)+len(part) > maxLine:
			return nil, fmt.Errorf("a line of more than %d bytes", maxLine)
		}
		d.long = append(d.long, part...)
		if err == nil {
			return d.long, nil
		}
	}
}

func (d *dumpReader) close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
}
