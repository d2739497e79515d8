package inspect

import (
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
)

// checkKVRows finds rows in the scopes of key-values that no key of package kv is.
func checkKVRows(v *verifier) check {
	return rowCheck(func(r row) error {
		if !keys.Scope(r.key).IsKV() {
			return nil
		}
		if _, err := kv.ParseRow(r.key); err != nil {
			return v.found("kv-row", column.Generic, r.key, "%s", err)
		}
		return nil
	})
}

// kvRecount recounts what key-values derive from each other, once it has met a row
// of theirs.
type kvRecount struct {
	v    *verifier
	some bool
}

func checkKV(v *verifier) check { return &kvRecount{v: v} }

func (c *kvRecount) row(r row) error {
	c.some = c.some || keys.Scope(r.key).IsKV()
	return nil
}

func (c *kvRecount) end() error {
	if !c.some {
		return nil
	}
	c.v.step(phaseKV, 0, 0)
	names := c.v.source.spaces()
	types, err := names.types()
	if err != nil {
		return err
	}
	for f, err := range kv.Check(c.v.ctx, c.v.source, types...) {
		if isDamage(err) {
			return c.v.found("kv-damaged", column.Generic, nil, "%s", err)
		}
		if err != nil {
			return err
		}
		if _, fault := kv.ParseRow(f.Key); fault != nil {
			continue // checkKVRows finds it
		}
		code := "kv-" + f.Code
		if f.Code == "row" {
			code = "kv-value"
		}
		place, err := names.place(f.Key)
		if err != nil {
			return err
		}
		if place != "" {
			place += ": "
		}
		if err := c.v.found(code, column.Generic, f.Key, "%s%s", place, f.Reason); err != nil {
			return err
		}
	}
	return nil
}
