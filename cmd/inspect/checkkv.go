package inspect

import (
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
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
	for f, err := range kv.Check(c.v.ctx, c.v.source, kvstorage.Type()) {
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
		if err := c.v.found(code, column.Generic, f.Key, "%s", f.Reason); err != nil {
			return err
		}
	}
	return nil
}
