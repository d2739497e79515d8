package inspect

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/content"
	"github.com/stoadb/stoa/rpc"
)

// checkContent compares the envelopes of signed deltas with these, and with governance.
func checkContent(v *verifier) check {
	return rowCheck(func(r row) error { return v.content(codec.ContextID(r.key)) })
}

func (v *verifier) content(id codec.ContextID) error {
	if v.moving(id) {
		return nil
	}
	contexts, err := dag.View(v.source, dag.Options{})
	if err != nil {
		return err
	}
	defer contexts.Close()
	db := engine.ReadOnly(v.source)
	ops, err := namespace.Open(db, namespace.Options{})
	if err != nil {
		return err
	}
	defer ops.Close()
	o := content.VerifyOptions{Sealed: v.source.Facts.Sealed && !v.source.Facts.Opened}
	faults := 0
	unjudged, err := content.New(db, contexts, ops, content.Options{}).Verify(v.ctx, id, o, func(f content.Fault) error {
		if faults++; faults > maxFaults {
			return nil
		}
		return v.found(f.Code, column.Generic, f.Key, "%s", f.Detail)
	})
	switch {
	case v.ctx.Err() != nil:
		return v.ctx.Err()
	case errors.Is(err, rpc.ErrSecret), errors.Is(err, engine.ErrUnsupported), errors.Is(err, engine.ErrReadOnly):
		v.out.Notes = append(v.out.Notes, fmt.Sprintf("the signatures of the deltas of context %s were not looked at: %s", id, err))
		return nil
	case errors.Is(err, codec.ErrMalformed), isDamage(err):
		return v.found(content.CodeSigned, column.Meta, id[:], "%s", err)
	case err != nil:
		return err
	}
	if faults > maxFaults {
		return v.found("dag-more", column.Meta, id[:], "%d more findings of what is signed in this context", faults-maxFaults)
	}
	if unjudged > 0 {
		v.out.Notes = append(v.out.Notes, fmt.Sprintf("context %s: %d deltas are to be set aside, or to count again, by ops that came last; the daemon does so when it looks at the context next", id, unjudged))
	}
	return nil
}

// maxFaults is how many faults of what is signed in a context are told.
const maxFaults = 100
