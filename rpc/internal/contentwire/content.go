// Package contentwire says how what package content has is in the messages of the services Content and
// Dag, for both ends.
package contentwire

import (
	"github.com/stoadb/stoa/namespace/content"
	_ "github.com/stoadb/stoa/rpc/internal/dagwire" // what types of package dag are in messages
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

var (
	_ = op.Tags[content.Answer]("ID", "envelope_id,optional", "Delta", "delta_id,optional")
	_ = op.Tags[content.Held]("ID", "envelope_id", "Delta", "delta_id")
	_ = op.Also(nil, saysWhatBecame)
)

func saysWhatBecame(m *stoav1.ContentAnswer, _ *content.Answer) error {
	if m.GetKind() == stoav1.ContentAnswerKind_CONTENT_ANSWER_KIND_UNSPECIFIED {
		return &op.FieldError{Field: "kind", Reason: "it does not say what became of the envelope"}
	}
	return nil
}
