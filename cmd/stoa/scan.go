package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

func newScan(p *process) *cobra.Command {
	var daemon daemonFlags
	var secrets reveal
	var f scanFlags
	return keyed{
		name: "scan", prefix: true,
		short: "List records in the order of their keys",
		long: `List the records of a key type, or of a column, in the order of their keys. Leading
fields of the key narrow it. Secrets show as redacted:… . A record that does not
parse ends the scan, and exits 2.`,
		example: `  stoa scan GroupMember --group-id ` + exampleID + `
  stoa scan GroupOpLog --group-id ` + exampleID + ` --reverse --limit 10 --json
  stoa scan --column Group --from 20 --to 22`,
		flags: func(fs *pflag.FlagSet) {
			daemon.register(fs)
			secrets.register(fs)
			f.register(fs)
		},
		run: func(t target, _ []string) error {
			if err := secrets.check(p); err != nil {
				return err
			}
			s, err := f.scan(t)
			if err != nil {
				return err
			}
			store, err := daemon.dial(p)
			if err != nil {
				return err
			}
			defer store.Close()
			return p.emitRows(s, store, secrets.asked)
		},
	}.command()
}

// scanFlags are the flags of scan.
type scanFlags struct {
	limit    int
	reverse  bool
	from, to string
}

func (f *scanFlags) register(fs *pflag.FlagSet) {
	fs.IntVar(&f.limit, "limit", 0, "the most records to list; 0: all")
	fs.BoolVar(&f.reverse, "reverse", false, "from the last key to the first")
	fs.StringVar(&f.from, "from", "", "the first key to list, or its beginning, in hex")
	fs.StringVar(&f.to, "to", "", "the first key not to list any more, or its beginning, in hex")
}

// scan is a part of a column to list.
type scan struct {
	column column.Column
	only   string // the key type to list; empty: all
	window engine.Range
	limit  int
}

func (f *scanFlags) scan(t target) (scan, error) {
	s := scan{column: t.column, only: t.info.Name, window: engine.Prefixed(t.key), limit: f.limit}
	s.window.Reverse = f.reverse
	if f.limit < 0 {
		return s, bad(fmt.Errorf("--limit: %d is less than 0", f.limit), "")
	}
	for _, bound := range []struct {
		flag, text string
		set        *[]byte
		low        bool
	}{{"--from", f.from, &s.window.Start, true}, {"--to", f.to, &s.window.End, false}} {
		if bound.text == "" {
			continue
		}
		at, err := parseHex(bound.flag, bound.text)
		if err != nil {
			return s, err
		}
		if *bound.set == nil || (bytes.Compare(at, *bound.set) > 0) == bound.low {
			*bound.set = at
		}
	}
	return s, nil
}

// each calls visit with the records in order, until it returns an error.
func (s scan) each(store engine.Reader, visit func(row) error) error {
	left := s.limit
	for w := s.window; ; {
		skip, err := s.run(store, w, &left, visit)
		if err != nil || skip == nil {
			return err
		}
		if w = *skip; w.Start != nil && w.End != nil && bytes.Compare(w.Start, w.End) >= 0 {
			return nil
		}
	}
}

// run lists the records of w. It returns the range to go on with where it met
// the chunks of a blob among the manifests that were asked for: reading over
// them would read every blob.
func (s scan) run(store engine.Reader, w engine.Range, left *int, visit func(row) error) (skip *engine.Range, err error) {
	if s.only == "" {
		w.Limit = *left
	}
	it, err := store.Iterate(s.column, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for it.Next() {
		r, err := newRow(s.column, it.Key(), it.Value())
		if err != nil {
			return nil, err
		}
		if s.only != "" && r.info.Name != s.only {
			if next, ok := pastChunks(w, r); ok {
				return &next, nil
			}
			continue
		}
		if err := visit(r); err != nil {
			return nil, err
		}
		if *left--; *left == 0 {
			return nil, nil
		}
	}
	return nil, it.Err()
}

// pastChunks returns the rest of w after the chunks of the blob that r belongs
// to, and whether r is such a chunk.
func pastChunks(w engine.Range, r row) (engine.Range, bool) {
	chunk, ok := keys.ByName("BlobChunk")
	if !ok || r.info.Name != chunk.Name {
		return w, false
	}
	id := bytes.Clone(r.key[:len(r.key)-4])
	if w.Reverse {
		w.End = append(id, 0) // the first key after the manifest
	} else {
		w.Start = engine.Successor(id)
	}
	return w, w.Reverse || w.Start != nil
}

func (p *process) emitRows(s scan, store engine.Reader, reveal bool) error {
	w := bufio.NewWriter(p.stdout)
	rows := 0
	err := s.each(store, func(r row) error {
		rows++
		d, err := r.doc(reveal)
		if err != nil {
			return err
		}
		if p.json {
			return writeJSON(w, d)
		}
		line, err := d.line(r.info)
		if err == nil {
			_, err = io.WriteString(w, line+"\n")
		}
		return err
	})
	if err := errors.Join(err, w.Flush()); err != nil {
		return err
	}
	if !p.json {
		fmt.Fprintln(p.stderr, count(rows, "record"))
	}
	return nil
}
