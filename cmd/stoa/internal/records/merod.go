package records

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/stoadb/stoa/cmd/inspect/merod"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine"
)

// merodScan lists rows of the database of a merod: of a kind or of a column family, whose keys
// have some fields.
type merodScan struct {
	kind, family string // one of them is empty
	fields       map[string]string
	limit        int
}

func (s merodScan) run(p *cli.Process, d *merod.Database) error {
	families, err := s.families(d)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(p.Stdout)
	n, faults := 0, 0
	for _, family := range families {
		for row, err := range d.Rows(family, engine.Range{}) {
			if err = errors.Join(err, p.Ctx.Err()); err != nil {
				return errors.Join(err, w.Flush())
			}
			if name, _ := merod.Kind(family, row.Key, row.Value); s.kind != "" && name != s.kind {
				continue
			}
			r := merod.Explain(family, row.Key, row.Value)
			if ok, err := s.has(r); err != nil || !ok {
				if err != nil {
					return err
				}
				continue
			}
			if r.Fault != "" {
				faults++
			}
			if err := writeMerodRow(p, w, r); err != nil {
				return err
			}
			if n++; n == s.limit {
				break
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	p.Guide(cli.Count(n, "record"))
	return cli.DamageFound(faults, "row", "could not be explained")
}

func writeMerodRow(p *cli.Process, w io.Writer, r merod.Row) error {
	if p.JSON {
		return cli.WriteJSON(w, r)
	}
	line, err := cli.MerodLine(r)
	if err == nil {
		_, err = io.WriteString(w, line+"\n")
	}
	return err
}

// families returns the column families to read.
func (s merodScan) families(d *merod.Database) ([]string, error) {
	there := d.Families()
	if s.family != "" {
		if !slices.Contains(there, s.family) {
			return nil, cli.Bad(fmt.Errorf("--column: %s has no column family %q%s", d.Where, s.family, cli.DidYouMean(s.family, there)), "")
		}
		return []string{s.family}, nil
	}
	family, ok := merod.FamilyOf(s.kind)
	if !ok {
		return nil, cli.Bad(fmt.Errorf("merod has no rows of a type %q%s", s.kind, cli.DidYouMean(s.kind, merod.KindNames())), "`stoa inspect --merod DIR` lists those that are there")
	}
	if !slices.Contains(there, family) {
		return nil, nil
	}
	return []string{family}, nil
}

// has reports whether the key of a row has the fields that were asked for.
func (s merodScan) has(r merod.Row) (bool, error) {
	if len(s.fields) == 0 {
		return true, nil
	}
	var key map[string]any
	if err := json.Unmarshal(r.Key, &key); err != nil {
		return false, err
	}
	for name, want := range s.fields {
		got, ok := key[name]
		if !ok {
			return false, cli.Bad(fmt.Errorf("the key of %s of merod has no field %s", r.Type, name), "")
		}
		if fmt.Sprint(got) != want {
			return false, nil
		}
	}
	return true, nil
}
