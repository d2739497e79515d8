package rpc

import (
	"errors"
	"strconv"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// describeBlob returns an error of package blob that has data as it goes over the
// wire, or nil.
func describeBlob(err error) *Error {
	var (
		missing *blob.NotFound
		large   *blob.TooLarge
		id      *blob.WrongID
		size    *blob.WrongSize
		used    *blob.InUse
		corrupt *blob.Corrupt
	)
	switch {
	case errors.As(err, &missing):
		return NewError(stoav1.ErrorKind_ERROR_KIND_NOT_FOUND, "rpc: "+missing.Error(), FieldBlob, missing.ID.String())
	case errors.As(err, &large):
		return NewError(stoav1.ErrorKind_ERROR_KIND_TOO_LARGE, "rpc: "+large.Error(), FieldReason, "blob",
			FieldSize, strconv.FormatUint(large.Size, 10), FieldLimit, strconv.FormatUint(large.Limit, 10))
	case errors.As(err, &id):
		return NewError(stoav1.ErrorKind_ERROR_KIND_BLOB_MISMATCH, "rpc: "+id.Error(), FieldField, "blob_id",
			FieldDeclared, id.Declared.String(), FieldActual, id.Actual.String())
	case errors.As(err, &size):
		return NewError(stoav1.ErrorKind_ERROR_KIND_BLOB_MISMATCH, "rpc: "+size.Error(), FieldField, "size",
			FieldDeclared, strconv.FormatUint(size.Declared, 10), FieldActual, strconv.FormatUint(size.Actual, 10))
	case errors.As(err, &used):
		return NewError(stoav1.ErrorKind_ERROR_KIND_BLOB_IN_USE, "rpc: "+used.Error(),
			FieldBlob, used.ID.String(), FieldApplication, used.Application.String())
	case errors.As(err, &corrupt):
		return KeyError(stoav1.ErrorKind_ERROR_KIND_CORRUPT, column.Blobs, corrupt.Key, corrupt.Error(),
			FieldBlob, corrupt.ID.String(), FieldReason, corrupt.Reason)
	}
	return nil
}
