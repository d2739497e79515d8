// Package blobwire says how what package blob has is in the messages of the Blob service,
// for both ends.
package blobwire

import (
	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// What is said of types of package blob; Infos carries what blobs are, and Uploads what
// became of content.
var (
	_ = op.Tags[blob.Info]("ID", "blob_id,hash", "Healed", "-")
	_ = op.Tags[blob.Damage]("ID", "blob_id")
	_ = op.Pair(func(r *blob.Remedy) stoav1.BlobRemedy { return stoav1.BlobRemedy(*r) }, op.Always(remedy))

	Infos   = op.NewFields[stoav1.BlobInfo, blob.Info]()
	Uploads = op.NewFields[stoav1.BlobPutResponse, Upload]()
)

// Upload is what became of content.
type Upload struct {
	Info    blob.Info
	Existed bool
	Healed  blob.Healing `wire:",optional"`
}

// remedy returns the remedy of a number, 0 for one that is not known. The numbers are those
// of package blob.
func remedy(m stoav1.BlobRemedy) blob.Remedy {
	if m < 0 || m > stoav1.BlobRemedy(blob.Upload) {
		return 0
	}
	return blob.Remedy(m)
}
