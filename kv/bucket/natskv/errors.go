package natskv

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/bucket"
)

// ErrUnsupported is returned for what NATS has and Stoa has not, with what it is.
var ErrUnsupported = errors.New("natskv: not supported by Stoa")

// refusal is an error of NATS whose cause is one of Stoa: errors.Is and errors.As find both.
type refusal struct {
	error
	cause error
}

func (r refusal) Unwrap() []error { return []error{r.error, r.cause} }

// noBucket reports whether an error says that there is no such bucket, or none of the alias.
func noBucket(err error) bool {
	var e *bucket.Error
	return errors.As(err, &e) && e.Code == bucket.CodeNotFound && (e.Field == "bucket" || e.Field == "alias")
}

// told is an error as nats.go would say it. What programs compare with == is the error itself.
func told(err error) error {
	if errors.Is(err, engine.ErrClosed) {
		return refusal{nats.ErrConnectionClosed, err}
	}
	var e *bucket.Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case noBucket(e):
		return jetstream.ErrBucketNotFound
	case e.Code == bucket.CodeNotFound:
		return jetstream.ErrKeyNotFound
	case e.Code == bucket.CodeExists && e.Key != "":
		return refusal{fmt.Errorf("%w: key exists", lastSequence(e.Revision)), e}
	case e.Code == bucket.CodeExists: // those who go by streams ask for theirs
		return refusal{errors.Join(fmt.Errorf("%w: %s", jetstream.ErrBucketExists, e.Bucket), jetstream.ErrStreamNameAlreadyInUse), e}
	case e.Code == bucket.CodeRevisionMismatch:
		return refusal{fmt.Errorf("%w: %w", lastSequence(e.Revision), jetstream.ErrKeyRevisionMismatch), e}
	case e.Code == bucket.CodeValueTooLarge:
		return refusal{fmt.Errorf("%w: %s", jetstream.ErrStreamMessageExceedsMaximum, e.Reason), e}
	case e.Code == bucket.CodeInvalidArgument && (e.Field == "key" || e.Field == "filter"):
		return refusal{fmt.Errorf("%w: %s", jetstream.ErrInvalidKey, e.Reason), e}
	}
	return err
}

// lastSequence is what a NATS server says of a key that is at another revision.
func lastSequence(revision uint64) *jetstream.APIError {
	return &jetstream.APIError{
		Code: http.StatusBadRequest, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence, Description: fmt.Sprintf("wrong last sequence: %d", revision),
	}
}
