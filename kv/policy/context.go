package policy

import (
	"encoding/json"
	"fmt"

	"github.com/stoadb/stoa/kv/document"
)

// MaxContext is how many bytes the context of a question may have as JSON.
const MaxContext = 64 << 10

// NewQuestion returns the question whether somebody may perform an action, with its context
// as callers send it: see [ParseContext]. It returns record.ErrValidation for what that refuses.
func NewQuestion(agent, action string, context []byte) (Question, error) {
	fields, err := ParseContext(context)
	return Question{Agent: agent, Action: action, Context: fields}, refusal(err)
}

// ParseContext reads the context of a question, as callers send it: an object of at most MaxContext
// bytes, without a name twice, half a surrogate pair or an integer that a double does not hold. No
// bytes at all are a context without fields. What it refuses is a *FieldError of the field context.
func ParseContext(text []byte) (map[string]any, error) {
	refuse := func(format string, args ...any) (map[string]any, error) {
		return nil, &FieldError{Field: "context", Reason: fmt.Sprintf(format, args...)}
	}
	if len(text) == 0 {
		return nil, nil
	}
	if len(text) > MaxContext {
		return refuse("%d bytes, at most %d are allowed", len(text), MaxContext)
	}
	if _, err := document.Canonical(text); err != nil {
		return refuse("%v", err)
	}
	var context map[string]any
	if _ = json.Unmarshal(text, &context); context == nil { // nothing is read of what is no object
		return refuse("it is no JSON object")
	}
	return context, nil
}
