package contract

import (
	"fmt"
	"strings"

	"github.com/stoadb/stoa/kv/jsonschema"
)

// Code is what kind of refusal an [Error] is. The list is stable: clients act on the
// codes.
type Code string

// The codes of refusals.
const (
	CodeContract   Code = "CONTRACT_INVALID"
	CodeValidation Code = "VALIDATION_ERROR"
)

// Error is a refusal: of a contract, with all that is wrong with it, or of a value, of which
// it shows nothing but names of properties.
type Error struct {
	Code   Code   `json:"code"`
	Field  string `json:"field,omitempty"` // where, as a JSON pointer (RFC 6901); "": all of it
	Reason string `json:"message"`         // what is wrong and what to do, for people
	// Faults are all that is wrong with a contract, in its order, at most MaxFaults. The
	// first is that of Field and Reason.
	Faults []Fault `json:"faults,omitempty"`
}

// Fault is one thing that is wrong with a contract.
type Fault struct {
	Field  string `json:"field,omitempty"` // a JSON pointer
	Reason string `json:"message"`
}

// Error says code and reason, with the field before it; of a contract all of its faults, a
// line each.
func (e *Error) Error() string {
	faults := e.Faults
	if len(faults) == 0 {
		faults = []Fault{{e.Field, e.Reason}}
	}
	lines := make([]string, len(faults))
	for i, f := range faults {
		if lines[i] = f.Reason; f.Field != "" {
			lines[i] = f.Field + ": " + f.Reason
		}
	}
	return "contract: " + string(e.Code) + ": " + strings.Join(lines, "\n")
}

// Is reports whether target is an Error with the same code and nothing else, as the Err
// variables are.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Reason == ""
}

// What errors.Is finds; each is the refusals of one code.
var (
	// ErrContract is returned for what is no contract.
	ErrContract error = &Error{Code: CodeContract}
	// ErrValidation is returned for a value that does not hold to its schema.
	ErrValidation error = &Error{Code: CodeValidation}
)

// faults are what is wrong with a contract, as it is found.
type faults struct{ list []Fault }

func (f *faults) add(path []string, format string, args ...any) {
	if len(f.list) < MaxFaults {
		f.list = append(f.list, Fault{jsonschema.Pointer(path...), fmt.Sprintf(format, args...)})
	}
}

// err is the refusal of a contract with these faults; nil if there are none.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return &Error{Code: CodeContract, Field: f.list[0].Field, Reason: f.list[0].Reason, Faults: f.list}
}

// refused is the refusal of all of a contract, for one reason.
func refused(field, format string, args ...any) error {
	only := Fault{field, fmt.Sprintf(format, args...)}
	return (&faults{[]Fault{only}}).err()
}
