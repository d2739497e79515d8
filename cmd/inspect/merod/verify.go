package merod

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// Verdict is what Verify has read and found.
type Verdict struct {
	Where    string            `json:"where"`
	Rows     uint64            `json:"rows"`
	Findings uint64            `json:"findings"`
	Codes    map[string]uint64 `json:"codes,omitempty"`
	Notes    []string          `json:"notes,omitempty"`
}

// Verify reads every row, and tells visit of what does not fit, with the codes that inspect.Codes
// explains: schema, key, value, head-missing, op-log-gap, op-head-missing, op-head-sequence,
// child-mirror, parent-mirror, context-mirror. Its memory is that of the
// ids in the rows of Meta and Group that name others.
func Verify(ctx context.Context, d *Database, progress func(rows uint64), visit func(inspect.Finding) error) (*Verdict, error) {
	v := &verifier{
		out: &Verdict{Where: d.Where, Codes: map[string]uint64{}}, visit: visit,
		heads: map[string][]byte{}, named: map[string]string{}, listed: map[string]bool{}, opHeads: map[string]uint64{},
	}
	for _, family := range d.Families() {
		for row, err := range d.each(ctx, family, progress) {
			if err == nil {
				v.out.Rows++
				err = v.row(family, row)
			}
			if err != nil {
				return nil, err
			}
		}
		if _, known := layouts.rulesFor(family, nil); !known {
			v.out.Notes = append(v.out.Notes, fmt.Sprintf("no merod that is known has the column family %s", family))
		}
	}
	return v.out, v.rest()
}

// each is Rows of a whole family, which ends with ctx.
func (d *Database) each(ctx context.Context, family string, progress func(rows uint64)) iter.Seq2[diskfile.Row, error] {
	return func(yield func(diskfile.Row, error) bool) {
		var n uint64
		for row, err := range d.Rows(family, engine.Range{}) {
			if n++; n%stride == 0 {
				if progress != nil {
					progress(stride)
				}
				if ctx.Err() != nil {
					err = ctx.Err()
				}
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
		if progress != nil {
			progress(n % stride)
		}
	}
}

// verifier is one verification. Keys of its maps are what names something, values what it
// names.
type verifier struct {
	out   *Verdict
	visit func(inspect.Finding) error

	heads   map[string][]byte // key of a delta → key in Meta of the context whose head it is
	named   map[string]string // key of ContextGroupRef or GroupParentRef → the group that it names
	listed  map[string]bool   // keys of GroupContextIndex and GroupChildIndex
	opHeads map[string]uint64 // group → the sequence of its head
	logs    []opLog
}

// opLog is the op log of a group.
type opLog struct {
	group string
	last  uint64
}

func (v *verifier) finding(code, family string, key []byte, reason string) error {
	v.out.Findings++
	v.out.Codes[code]++
	return v.visit(inspect.Finding{Code: code, Column: family, Key: inspect.KeyText(key), Reason: reason})
}

func (v *verifier) row(family string, row diskfile.Row) error {
	name, layout := Kind(family, row.Key, row.Value)
	if layout == "" {
		r := Explain(family, row.Key, row.Value)
		code := "value"
		if _, known := layouts.rulesFor(family, nil); !known {
			code = "schema"
		} else if r.Type == "" {
			code = "key"
		}
		return v.finding(code, family, row.Key, r.Fault)
	}
	switch name {
	case "ContextMeta":
		var c struct {
			Heads []string `json:"dag_heads"`
		}
		if err := json.Unmarshal(Explain(family, row.Key, row.Value).Value, &c); err != nil {
			return err
		}
		for _, head := range c.Heads {
			id, _ := hex.DecodeString(head) // it was written as hex
			if !allZero(id) {               // the head of a context without deltas
				v.heads[string(row.Key)+string(id)] = slices.Clone(row.Key)
			}
		}
	case "ContextDagDelta":
		delete(v.heads, string(row.Key))
	case "GroupContextIndex", "GroupChildIndex":
		v.listed[string(row.Key)] = true
	case "ContextGroupRef", "GroupParentRef":
		v.named[string(row.Key)] = string(row.Value)
	case "GroupOpLog":
		return v.op(row.Key)
	case "GroupOpHead":
		var h struct {
			Sequence uint64 `json:"sequence,string"`
		}
		if err := json.Unmarshal(Explain(family, row.Key, row.Value).Value, &h); err != nil {
			return err
		}
		v.opHeads[string(row.Key[1:])] = h.Sequence
	}
	return nil
}

func allZero(b []byte) bool { return !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) }

// op takes in a key of an op log: they come in order.
func (v *verifier) op(key []byte) error {
	group, seq := string(key[1:33]), uint64(0)
	for _, c := range key[33:] {
		seq = seq<<8 | uint64(c)
	}
	if len(v.logs) == 0 || v.logs[len(v.logs)-1].group != group {
		v.logs = append(v.logs, opLog{group, seq})
		return nil // it may begin later than with the first: merod may have dropped ops
	}
	log := &v.logs[len(v.logs)-1]
	was := log.last
	log.last = seq
	if seq != was+1 {
		return v.finding("op-log-gap", "Group", key, fmt.Sprintf("the op before it is %d, not %d", was, seq-1))
	}
	return nil
}

// The prefixes of rows of Group that name each other.
const (
	prefixContexts = "\x22" // group ‖ context
	prefixGroup    = "\x23" // context → group
	prefixParent   = "\x34" // child → parent
	prefixChildren = "\x35" // parent ‖ child
)

// rest says what is missing when all rows were read.
func (v *verifier) rest() error {
	for _, key := range sortedKeys(v.heads) {
		if err := v.finding("head-missing", "Meta", v.heads[key], fmt.Sprintf("its head %x is no delta", key[32:])); err != nil {
			return err
		}
	}
	for _, log := range v.logs {
		head, ok := v.opHeads[log.group]
		key := []byte("\x31" + log.group)
		var err error
		switch {
		case !ok:
			err = v.finding("op-head-missing", "Group", key, fmt.Sprintf("there is an op log up to %d", log.last))
		case head != log.last:
			err = v.finding("op-head-sequence", "Group", key, fmt.Sprintf("it is at %d, and the last op is %d", head, log.last))
		}
		if err != nil {
			return err
		}
	}
	return v.mirrors()
}

// mirrors compares what groups list with what names them.
func (v *verifier) mirrors() error {
	for _, key := range sortedKeys(v.listed) {
		group, of := key[1:33], key[33:]
		back, code := prefixGroup, "context-mirror"
		if key[:1] == prefixChildren {
			back, code = prefixParent, "child-mirror"
		}
		if v.named[back+of] != group {
			if err := v.finding(code, "Group", []byte(key), fmt.Sprintf("%x does not name it", of)); err != nil {
				return err
			}
		}
	}
	for _, key := range sortedKeys(v.named) {
		list, code := prefixContexts, "context-mirror"
		if key[:1] == prefixParent {
			list, code = prefixChildren, "parent-mirror"
		}
		if !v.listed[list+v.named[key]+key[1:]] {
			if err := v.finding(code, "Group", []byte(key), fmt.Sprintf("%x does not list it", v.named[key])); err != nil {
				return err
			}
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
