// Package bucketwire says how what package bucket has goes into messages of the Bucket
// service, for both ends. What is a document for its users, a contract, its plan and what is
// agreed with a service, is one there too: JSON in canonical form.
package bucketwire

import (
	"encoding/json"
	"errors"

	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

var (
	_ = op.Tags[bucket.Config]("TTL", "ttl_ms")
	_ = op.Tags[bucket.Info]("Created", "created_ms")
	_ = op.Tags[bucket.Entry]("Created", "created_ms", "Expires", "expires_ms")
	_ = op.Tags[bucket.PutOptions]("TTL", "ttl_ms")
	_ = op.Tags[bucket.Change]("TTL", "ttl_ms")
	_ = op.Pair(documentOf[*bucket.Authority], parseDocument[*bucket.Authority])
	_ = op.Pair(documentOf[*bucket.Proposal], parseDocument[*bucket.Proposal])
	_ = op.Pair(fromError, op.Always(toError))
)

// documentOf is a value in canonical JSON; nil is an empty field.
func documentOf[V comparable](v *V) []byte {
	var none V
	if *v == none {
		return nil
	}
	text, err := json.Marshal(*v)
	if err == nil {
		text, err = document.Canonical(text)
	}
	if err != nil { // it is made of JSON
		panic(err)
	}
	return text
}

func parseDocument[V any](field string, text []byte) (v V, err error) {
	if len(text) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, &op.FieldError{Field: field, Reason: err.Error()}
	}
	return v, nil
}

// fromError is why an event is none; nil is an empty field.
func fromError(err *error) *stoav1.Error {
	if *err == nil {
		return nil
	}
	told := fault.Describe(*err)
	if told == nil { // it is a refusal: others end a watch
		panic(*err)
	}
	return told.InSession()
}

func toError(told *stoav1.Error) error {
	if told == nil {
		return nil
	}
	err := fault.FromSession(told)
	if refused := (*bucket.Error)(nil); errors.As(err, &refused) {
		return refused
	}
	return err
}
