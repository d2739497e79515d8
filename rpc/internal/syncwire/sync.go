// Package syncwire says how what package exchange has is in the messages of the service Sync, for both
// ends.
package syncwire

import (
	"github.com/stoadb/stoa/namespace/exchange"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

var (
	_ = op.Tags[exchange.NamespaceReport]("ID", "namespace_id")
	_ = op.Tags[exchange.ContextReport]("ID", "context_id")

	// Reports carries what went in a session.
	Reports = op.NewFields[stoav1.SyncReport, exchange.Report]()
)
