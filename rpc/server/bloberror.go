package server

import (
	"fmt"
	"strconv"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

func noBlob(id codec.BlobID) error {
	return rpc.NewError(stoav1.ErrorKind_ERROR_KIND_NOT_FOUND, "rpc: no blob "+id.String(), rpc.FieldBlob, id.String())
}

func blobTooLarge(size, limit uint64) error {
	return rpc.NewError(stoav1.ErrorKind_ERROR_KIND_TOO_LARGE,
		fmt.Sprintf("rpc: a blob of %d bytes or more; at most %d are taken, so cut it into several", size, limit),
		rpc.FieldReason, "blob", rpc.FieldSize, strconv.FormatUint(size, 10), rpc.FieldLimit, strconv.FormatUint(limit, 10))
}

func wrongID(declared, actual codec.BlobID) error {
	return rpc.NewError(stoav1.ErrorKind_ERROR_KIND_BLOB_MISMATCH,
		fmt.Sprintf("rpc: blob mismatch: the id %s was declared, but the content that came has the SHA-256 %s; nothing of it is kept", declared, actual),
		rpc.FieldField, "blob_id", rpc.FieldDeclared, declared.String(), rpc.FieldActual, actual.String())
}

// wrongSize is about content that has ended after, or gone on beyond, actual
// bytes.
func wrongSize(declared, actual uint64, ended bool) error {
	came := "or more "
	if ended {
		came = ""
	}
	return rpc.NewError(stoav1.ErrorKind_ERROR_KIND_BLOB_MISMATCH,
		fmt.Sprintf("rpc: blob mismatch: %d bytes were declared, but %d %scame; nothing of it is kept", declared, actual, came),
		rpc.FieldField, "size", rpc.FieldDeclared, strconv.FormatUint(declared, 10), rpc.FieldActual, strconv.FormatUint(actual, 10))
}

func blobInUse(id codec.BlobID, app codec.ApplicationID) error {
	return rpc.NewError(stoav1.ErrorKind_ERROR_KIND_BLOB_IN_USE,
		fmt.Sprintf("rpc: blob in use: application %s names blob %s; it is deleted only by force", app, id),
		rpc.FieldBlob, id.String(), rpc.FieldApplication, app.String())
}

// damagedBlob is about the row under key, which belongs to the blob.
func damagedBlob(id codec.BlobID, key []byte, reason string) error {
	return rpc.KeyError(stoav1.ErrorKind_ERROR_KIND_CORRUPT, column.Blobs, key,
		fmt.Sprintf("engine: corrupt: blob %s: %s", id, reason), rpc.FieldBlob, id.String(), rpc.FieldReason, reason)
}

// unhealed is about a blob of which more is damaged than memory has room for.
func unhealed(id codec.BlobID) error {
	text := "rpc: unsupported: this daemon has no spool directory, and more than one chunk of blob " + id.String() + " is damaged: delete the blob, then put it again"
	return rpc.NewError(stoav1.ErrorKind_ERROR_KIND_UNSUPPORTED, text, rpc.FieldReason, text)
}

// damagedSpool is about a spool that gave back other bytes than were written.
func damagedSpool(err error) error {
	return fmt.Errorf("%w: the disk of the spool changed an upload: %s", engine.ErrCorrupt, err.Error())
}

func readOnly(reason string) error { return fmt.Errorf("%w: %s", engine.ErrReadOnly, reason) }
