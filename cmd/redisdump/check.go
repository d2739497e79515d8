package redisdump

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/record"
)

// Documents are those of a translation by the names of their collections, in an order in
// which what others refer to comes first.
func (t *Translation) Documents() []Documents {
	return []Documents{{approval.Delegations, t.Delegations}, {approval.Tasks, t.Tasks}, {approval.Previews, t.Previews}, {approval.Approvals, t.Approvals}}
}

// Documents are those of a collection.
type Documents struct {
	Collection string
	List       []Document
}

// check returns the first document that its collection refuses: so that nothing of a dump is
// imported of which something can't be.
func (t *Translation) check() error {
	sets, err := approval.Collections()
	if err != nil {
		return err
	}
	declared := map[string]*record.Collection{}
	for _, c := range sets {
		declared[c.Name] = c
	}
	for _, of := range t.Documents() {
		for _, d := range of.List {
			if err := declared[of.Collection].Importable(d.JSON); err != nil {
				return d.refused(refusedField(of.Collection, err))
			}
		}
	}
	return nil
}

// refusedField is the error about a document of a collection that refuses it.
func refusedField(collection string, err error) error {
	var e *record.Error
	if !errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("the field %s of the %s: %s; correct it in the dump", e.Field, collection, e.Reason)
}
