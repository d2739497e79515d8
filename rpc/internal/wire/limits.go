package wire

// Limits of what one message carries.
const (
	// BlobPiece is how many bytes of the content of a blob a message carries here:
	// with what is around them they fill a buffer of 64 KiB. A client may send up
	// to 1 MiB in a message.
	BlobPiece = 64<<10 - 16
	// MaxLookups is the most keys of a MultiGet.
	MaxLookups = 16384
	// MaxListPage is the most entries of a page of a list, which is also what a page has
	// of which no size is asked for.
	MaxListPage = 1000
	// MaxPage is about the most bytes of a page of a scan. An entry that is
	// larger makes a page of its own.
	MaxPage = 512 << 10
	// MaxPageEntries is the most entries of a page of a scan.
	MaxPageEntries = 2048
	// FirstPageEntries is the most entries of the first page of a scan, or of a list that
	// the client of package rpc asks for; each page after it may have PageGrowth times
	// the entries of the one before.
	FirstPageEntries = 32
	// PageGrowth is how fast pages grow.
	PageGrowth = 4
)

// The windows of gRPC are larger than a page, so that streams do not wait for window
// updates; that they are set at all turns off a probing that costs every call.
const (
	StreamWindow = 4 << 20
	ConnWindow   = 8 << 20
)
