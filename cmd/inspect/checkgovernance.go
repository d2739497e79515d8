package inspect

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
)

// checkGovernance takes the ops of every namespace in again, and compares what
// follows from them: signatures, ids, nonces, verdicts, and all rows of groups.
func checkGovernance(v *verifier) check {
	return rowCheck(func(r row) error {
		if r.info.Name != "NamespaceGovHead" {
			return nil
		}
		return v.governance(codec.GroupID(r.key[1:]), r.key)
	})
}

func (v *verifier) governance(id codec.GroupID, head []byte) error {
	if v.source.Facts.Sealed && !v.source.Facts.Opened {
		return v.notTaken(id, "the secrets are sealed, and the keys of its groups among them")
	}
	s, err := namespace.Open(engine.ReadOnly(v.source), namespace.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	v.step(phaseGovernance, 0, 0)
	found, err := s.Verify(v.ctx, id)
	switch {
	case v.ctx.Err() != nil:
		return v.ctx.Err()
	case errors.Is(err, namespace.ErrRules): // which is engine.ErrUnsupported
		return v.notTaken(id, err.Error())
	case errors.Is(err, rpc.ErrSecret), errors.Is(err, engine.ErrUnsupported):
		return v.notTaken(id, "the keys of its groups are not shown to this user")
	case errors.Is(err, engine.ErrReadOnly):
		return v.notTaken(id, "ops that wait are ready, and the daemon takes them first")
	case errors.Is(err, engine.ErrNotFound), errors.Is(err, codec.ErrMalformed), errors.Is(err, namespace.ErrNoNamespace), isDamage(err):
		return v.found("gov-damaged", column.Group, head, "%s", err)
	case err != nil:
		return err
	}
	blamed := 0
	for _, f := range found {
		if !f.By.IsZero() {
			blamed++
			if blamed <= maxBlamed {
				v.out.Notes = append(v.out.Notes, fmt.Sprintf("namespace %s: %s", id, f.What))
			}
			continue
		}
		col, key := f.Column, f.Key
		if key == nil {
			col, key = column.Group, head
		}
		if err := v.found("gov-fold", col, key, "namespace %s: %s", id, f.What); err != nil {
			return err
		}
	}
	if blamed > maxBlamed {
		v.out.Notes = append(v.out.Notes, fmt.Sprintf("namespace %s: and %d bad keys more", id, blamed-maxBlamed))
	}
	return nil
}

// maxBlamed is how many bad keys of a namespace, which its members have signed, are named.
const maxBlamed = 100

// notTaken notes that the ops of a namespace were not looked at.
func (v *verifier) notTaken(id codec.GroupID, why string) error {
	v.out.Notes = append(v.out.Notes, fmt.Sprintf("the ops of namespace %s were not taken in again: %s", id, why))
	return nil
}
