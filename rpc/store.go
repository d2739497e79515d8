package rpc

import "github.com/stoadb/stoa/rpc/internal/op"

// The operations on rows are written by hand, on both ends: their messages are read where
// they lie, and rows are not copied on their way.
var (
	storeGet             = op.ByHand(op.Method{Number: 101, Name: "Store.Get", Short: true})
	storeMultiGet        = op.ByHand(op.Method{Number: 102, Name: "Store.MultiGet", Short: true})
	storeApply           = op.ByHand(op.Method{Number: 103, Name: "Store.Apply"})
	storeScan            = op.ByHand(op.Method{Number: 104, Name: "Store.Scan"})
	storeApproximateSize = op.ByHand(op.Method{Number: 105, Name: "Store.ApproximateSize", Short: true})
	storeSession         = op.ByHand(op.Method{Number: 106, Name: "Store.Session"})
)
