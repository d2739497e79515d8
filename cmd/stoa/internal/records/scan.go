package records

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

func newScan(p *cli.Process) *cobra.Command {
	var daemon cli.ReadFlags
	var secrets cli.Reveal
	var f scanFlags
	var foreign cli.MerodFlag
	return keyed{
		name: "scan", prefix: true,
		short: "List records in the order of their keys",
		long: `List the records of a key type, or of a column, in the order of their keys. Leading
fields of the key narrow it. Secrets show as redacted:… . A record that does not
parse ends the scan of a daemon, and exits 2. With --offline, what does not parse or
cannot be read is listed on stderr, the rest follows, and it exits 2.

--merod DIR lists rows of the database of a merod instead: those of a TYPE that
` + "`stoa inspect --merod`" + ` names, or of a column family. What is not explained is said, and it exits 2.`,
		example: `  stoa scan GroupMember --group-id home
  stoa scan GroupOpLog --group-id home --reverse --limit 10 --json
  stoa scan --column Group --from 20 --to 22
  stoa scan --merod ~/.calimero/node1/data --column Group`,
		flags: func(fs *pflag.FlagSet) {
			daemon.Register(fs)
			secrets.Register(fs)
			f.register(fs)
			foreign.Register(fs)
		},
		foreign: func(cmd *cobra.Command, kind, column string, given func() (map[string]string, error)) (bool, error) {
			asked, err := foreign.Given(cmd.Flags(), "socket", "offline", "reverse", "from", "to", "reveal-secrets")
			if !asked || err != nil {
				return asked, err
			}
			fields, err := given()
			if err != nil {
				return true, err
			}
			switch {
			case kind == "" && column == "":
				return true, cli.Bad(errors.New("stoa scan --merod wants a TYPE, or --column FAMILY"), "`stoa inspect --merod DIR` lists both")
			case f.limit < 0:
				return true, cli.Bad(fmt.Errorf("--limit: %d is less than 0", f.limit), "")
			}
			d, err := foreign.Open()
			if err != nil {
				return true, err
			}
			return true, merodScan{kind: kind, family: column, fields: fields, limit: f.limit}.run(p, d)
		},
		open: lookup(p, daemon.Dial),
		run: func(t target, _ []string) error {
			if err := secrets.Check(p); err != nil {
				return err
			}
			s, err := f.scan(t)
			if err != nil {
				return err
			}
			store, err := openStore(&daemon, p)
			if err != nil {
				return err
			}
			defer store.Close()
			return emitRows(p, s, store, secrets.Asked)
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
	// found is told of damage, behind which the scan of a source goes on; nil: damage
	// ends it.
	found  func(inspect.Finding) error
	source *inspect.Source
}

func (f *scanFlags) scan(t target) (scan, error) {
	s := scan{column: t.column, only: t.info.Name, window: engine.Prefixed(t.key), limit: f.limit}
	s.window.Reverse = f.reverse
	if f.limit < 0 {
		return s, cli.Bad(fmt.Errorf("--limit: %d is less than 0", f.limit), "")
	}
	for _, bound := range []struct {
		flag, text string
		set        *[]byte
		low        bool
	}{{"--from", f.from, &s.window.Start, true}, {"--to", f.to, &s.window.End, false}} {
		if bound.text == "" {
			continue
		}
		at, err := cli.ParseHex(bound.flag, bound.text)
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
	left, gaps := s.limit, 0
	for w := s.window; ; {
		last, rest, err := s.run(store, w, &left, visit)
		if errors.Is(err, engine.ErrCorrupt) && s.found != nil && gaps < inspect.MostGaps {
			gaps++
			rest, err = s.around(w, last, err)
		}
		if err != nil || rest == nil {
			return err
		}
		if w = *rest; w.Start != nil && w.End != nil && bytes.Compare(w.Start, w.End) >= 0 {
			return nil
		}
	}
}

// run lists the records of w, and returns the key of the last one that it met. The
// range to go on with is where it met the chunks of a blob among the manifests that
// were asked for: reading over them would read every blob.
func (s scan) run(store engine.Reader, w engine.Range, left *int, visit func(row) error) (last []byte, rest *engine.Range, err error) {
	if s.only == "" {
		w.Limit = *left
	}
	it, err := store.Iterate(s.column, w)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for it.Next() {
		last = append(last[:0], it.Key()...)
		r, err := newRow(s.column, it.Key(), it.Value())
		switch {
		case err != nil && s.found == nil:
			return last, nil, err
		case err != nil:
			err = s.unparsed("key", err)
		case s.only != "" && r.info.Name != s.only:
			if next, ok := pastChunks(w, r); ok {
				return last, &next, nil
			}
			continue
		default:
			err = visit(r)
		}
		if err != nil {
			return last, nil, err
		}
		if *left--; *left == 0 {
			return last, nil, nil
		}
	}
	return last, nil, it.Err()
}

// around tells of damage behind last, and returns what is left of w behind it; nil:
// nothing.
func (s scan) around(w engine.Range, last []byte, damage error) (*engine.Range, error) {
	rest, more, f, err := s.source.Around(s.column, w, last, damage)
	if err = errors.Join(s.found(f), err); err != nil || !more {
		return nil, err
	}
	return &rest, nil
}

// unparsed tells of a record whose key or value does not parse.
func (s scan) unparsed(code string, err error) error {
	var m *malformed
	if !errors.As(err, &m) {
		return err
	}
	return s.found(inspect.NewFinding(code, m.column, m.key, m.err.Error()))
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

func emitRows(p *cli.Process, s scan, store engine.Reader, reveal bool) error {
	w, printer := bufio.NewWriter(p.Stdout), inspect.NewPrinter(store, reveal)
	rows, damages := 0, 0
	if source, ok := store.(*inspect.Source); ok {
		s.source, s.found = source, func(f inspect.Finding) error {
			damages++
			return p.Warn(f)
		}
	}
	err := s.each(store, func(r row) error {
		d, err := r.doc(printer)
		if err != nil && s.found != nil {
			return s.unparsed("value", err)
		}
		if err != nil {
			return err
		}
		rows++
		if p.JSON {
			return cli.WriteJSON(w, d)
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
	p.Guide(cli.Count(rows, "record"))
	return cli.DamageFound(damages, "place", "could not be read")
}
