package fault

import (
	"strconv"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/column"
)

var noBlobData = described(func(e *blob.NotFound) (string, []string) {
	return "rpc: " + e.Error(), []string{FieldBlob, e.ID.String()}
})

var largeBlobData = described(func(e *blob.TooLarge) (string, []string) {
	return "rpc: " + e.Error(), []string{FieldReason, "blob",
		FieldSize, strconv.FormatUint(e.Size, 10), FieldLimit, strconv.FormatUint(e.Limit, 10)}
})

var blobIDData = described(func(e *blob.WrongID) (string, []string) {
	return "rpc: " + e.Error(), []string{FieldField, "blob_id", FieldDeclared, e.Declared.String(), FieldActual, e.Actual.String()}
})

var blobSizeData = described(func(e *blob.WrongSize) (string, []string) {
	return "rpc: " + e.Error(), []string{FieldField, "size",
		FieldDeclared, strconv.FormatUint(e.Declared, 10), FieldActual, strconv.FormatUint(e.Actual, 10)}
})

var blobInUseData = described(func(e *blob.InUse) (string, []string) {
	return "rpc: " + e.Error(), []string{FieldBlob, e.ID.String(), FieldApplication, e.Application.String()}
})

var blobCorruptData = described(func(e *blob.Corrupt) (string, []string) {
	return e.Error(), append(keyFields(column.Blobs, e.Key), FieldBlob, e.ID.String(), FieldReason, e.Reason)
})
