package op

import (
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/stoadb/stoa/rpc/internal/fault"
)

// textError says of a text that no message carries it.
type textError struct{ field string }

func (e *textError) Error() string { return e.field + ": it is not UTF-8" }

// unsent returns the error of a request that can't be filled as its caller sees it.
func unsent(err error) error {
	var text *textError
	if errors.As(err, &text) {
		return fmt.Errorf("%w: %w", fault.ErrRequest, err)
	}
	return err
}

// CheckText returns fault.ErrRequest for an argument that no message carries.
func CheckText(name, text string) error {
	if utf8.ValidString(text) {
		return nil
	}
	return unsent(&textError{name})
}

// text carries strings, which are UTF-8 in messages.
func text(field, value reflect.Type, name string) conv {
	c := converting(field, value)
	return conv{
		to: func(f, v reflect.Value) error {
			if !utf8.ValidString(v.String()) {
				return &textError{name}
			}
			return c.to(f, v)
		},
		from: c.from,
	}
}
