package blob

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
)

// Errors of a Store, besides those of package engine: ErrNotFound, ErrTooLarge,
// ErrCorrupt, ErrNoSpace, ErrReadOnly and ErrUnsupported.
var (
	// ErrOptions is returned by Open when the spool is not a directory, or not private.
	ErrOptions = errors.New("blob: bad options")
	// ErrMismatch is returned by Put when the content is not what was declared: a
	// *WrongID or a *WrongSize.
	ErrMismatch = errors.New("blob mismatch")
	// ErrInUse is returned by Delete when an application names the blob: an *InUse.
	ErrInUse = errors.New("blob in use")
	// ErrOffset is returned by Read when the offset is beyond the end.
	ErrOffset = errors.New("beyond the end of the blob")
)

// NotFound is an engine.ErrNotFound: there is no such blob.
type NotFound struct{ ID codec.BlobID }

// Error says which blob is not there.
func (e *NotFound) Error() string { return "no blob " + e.ID.String() }

// Unwrap returns engine.ErrNotFound.
func (e *NotFound) Unwrap() error { return engine.ErrNotFound }

// TooLarge is an engine.ErrTooLarge: content that was declared with Size bytes, or has
// so many by now.
type TooLarge struct{ Size, Limit uint64 } // bytes

// Error says how much it is, and how much may be.
func (e *TooLarge) Error() string {
	return fmt.Sprintf("a blob of %d bytes or more; at most %d are taken, so cut it into several", e.Size, e.Limit)
}

// Unwrap returns engine.ErrTooLarge.
func (e *TooLarge) Unwrap() error { return engine.ErrTooLarge }

// WrongID is an ErrMismatch: content whose SHA-256 is Actual.
type WrongID struct{ Declared, Actual codec.BlobID }

// Error has both ids.
func (e *WrongID) Error() string {
	return fmt.Sprintf("%s: the id %s was declared, but the content that came has the SHA-256 %s; nothing of it is kept", ErrMismatch, e.Declared, e.Actual)
}

// Unwrap returns ErrMismatch.
func (e *WrongID) Unwrap() error { return ErrMismatch }

// WrongSize is an ErrMismatch: content that has ended after Actual bytes, or, unless
// Ended is set, has gone on beyond the declared ones.
type WrongSize struct {
	Declared, Actual uint64 // bytes
	Ended            bool
}

// Error has both sizes.
func (e *WrongSize) Error() string {
	came := "or more "
	if e.Ended {
		came = ""
	}
	return fmt.Sprintf("%s: %d bytes were declared, but %d %scame; nothing of it is kept", ErrMismatch, e.Declared, e.Actual, came)
}

// Unwrap returns ErrMismatch.
func (e *WrongSize) Unwrap() error { return ErrMismatch }

// InUse is an ErrInUse: Application is the first that names the blob.
type InUse struct {
	ID          codec.BlobID
	Application codec.ApplicationID
}

// Error names the blob and the application.
func (e *InUse) Error() string {
	return fmt.Sprintf("%s: application %s names blob %s; it is deleted only by force", ErrInUse, e.Application, e.ID)
}

// Unwrap returns ErrInUse.
func (e *InUse) Unwrap() error { return ErrInUse }

// Corrupt is an engine.ErrCorrupt: what is wrong with a row of a blob.
type Corrupt struct {
	ID     codec.BlobID // zeros: the key is none of a blob
	Key    []byte       // of the row in the Blobs column
	Reason string
}

// Error says what is wrong with which blob.
func (e *Corrupt) Error() string {
	return fmt.Sprintf("%s: blob %s: %s", engine.ErrCorrupt, e.ID, e.Reason)
}

// Unwrap returns engine.ErrCorrupt.
func (e *Corrupt) Unwrap() error { return engine.ErrCorrupt }

// errNoSpool is about content that has to wait for its id.
var errNoSpool = fmt.Errorf("%w: there is no spool directory: declare the id of a blob that is larger than a chunk", engine.ErrUnsupported)

// unhealed is about a blob of which more is damaged than memory has room for.
func unhealed(id codec.BlobID) error {
	return fmt.Errorf("%w: there is no spool directory, and more than one chunk of blob %s is damaged: delete the blob, then put it again", engine.ErrUnsupported, id)
}

// damagedSpool is about a spool that gave back other bytes than were written.
func damagedSpool(err error) error {
	return fmt.Errorf("%w: the disk of the spool changed an upload: %s", engine.ErrCorrupt, err.Error())
}

func readOnly(reason string) error { return fmt.Errorf("%w: %s", engine.ErrReadOnly, reason) }
