package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace"
)

// opDoc is an op by itself.
type opDoc struct {
	ID        string          `json:"id"`
	Group     string          `json:"group,omitempty"` // of the op of a group
	GroupName string          `json:"group_name,omitempty"`
	Signer    string          `json:"signer"`
	Name      string          `json:"signer_name,omitempty"`
	Verdict   string          `json:"verdict"`
	Kind      string          `json:"kind,omitempty"`
	Content   json.RawMessage `json:"content,omitempty"` // none: it is sealed, and no key has opened it
}

// op answers one op of a namespace, with all that it does.
func (s *Server) op(r *http.Request) (any, error) {
	ns, err := idOf(r, "namespace")
	if err != nil {
		return nil, err
	}
	id, err := idOf(r, "id")
	if err != nil {
		return nil, err
	}
	var doc opDoc
	err = s.store.governed(func(_ *inspect.Source, rules *governance) error {
		op, err := rules.ops.Op(ns, id)
		if errors.Is(err, namespace.ErrNoNamespace) || errors.Is(err, namespace.ErrNoOp) {
			return fmt.Errorf("%w: %w", engine.ErrNotFound, err)
		}
		if err != nil {
			return err
		}
		named, err := rules.names(ns)
		if err != nil {
			return err
		}
		doc = opDoc{ID: op.ID.String(), Signer: op.Signer.String(), Name: named[op.Signer.String()], Verdict: op.Verdict.String()}
		if op.Root == nil {
			doc.Group = op.GroupID.String()
			doc.GroupName = named[doc.Group]
		}
		doc.Content, doc.Kind, err = contentOf(&op)
		return err
	})
	return doc, err
}
