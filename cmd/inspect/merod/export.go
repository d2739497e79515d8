package merod

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// ExportOptions says what Export writes.
type ExportOptions struct {
	Families []string // empty: all
	Plain    bool     // not compressed
	Progress func(rows uint64)
}

// Exported is what Export has written.
type Exported struct {
	Rows        uint64 `json:"rows"`
	Unexplained uint64 `json:"unexplained"` // of those
}

// Export writes rows as lines of JSON, a Row each, compressed with zstd unless that is not wanted.
// The last line is {"end":{"rows":…,"unexplained":…}}: what has none was broken off.
func Export(ctx context.Context, d *Database, w io.Writer, o ExportOptions) (*Exported, error) {
	out := &Exported{}
	buf := bufio.NewWriterSize(w, 1<<16)
	var lines io.Writer = buf
	end := func() error { return nil }
	if !o.Plain {
		z, err := zstd.NewWriter(buf, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		lines, end = z, z.Close
	}
	to := json.NewEncoder(lines)
	to.SetEscapeHTML(false)
	for _, family := range d.Families() {
		if len(o.Families) > 0 && !slices.Contains(o.Families, family) {
			continue
		}
		for row, err := range d.each(ctx, family, o.Progress) {
			if err != nil {
				return nil, err
			}
			r := Explain(family, row.Key, row.Value)
			out.Rows++
			if r.Fault != "" {
				out.Unexplained++
			}
			if err := to.Encode(r); err != nil {
				return nil, err
			}
		}
	}
	err := to.Encode(map[string]*Exported{"end": out})
	return out, errors.Join(err, end(), buf.Flush())
}
