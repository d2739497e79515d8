//go:build !cgo

package rocks

import (
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/rows"
)

// Engine is an engine.Engine on RocksDB. This build has none.
type Engine struct{ engine.Engine }

// Open returns engine.ErrUnsupported: this binary was built without cgo.
func Open(string, Options) (*Engine, error) {
	return nil, fmt.Errorf("%w: RocksDB is not in this binary, which was built without cgo; "+
		"install librocksdb-dev and a C compiler and build with CGO_ENABLED=1", engine.ErrUnsupported)
}

// NodeID returns this node's id.
func (e *Engine) NodeID() codec.NodeID { return codec.NodeID{} }

// SchemaVersion returns the schema version of the directory.
func (e *Engine) SchemaVersion() uint32 { return 0 }

// Sealed reports whether the store keeps its secrets sealed.
func (e *Engine) Sealed() bool { return false }

// Secondary reports whether the store is open as a secondary instance.
func (e *Engine) Secondary() bool { return false }

// Unknown lists what the directory has that this build does not know.
func (e *Engine) Unknown() []string { return nil }

// Recovery says what was found at open.
func (e *Engine) Recovery() Recovery { return Recovery{} }

// SealRow returns engine.ErrUnsupported.
func (e *Engine) SealRow() ([]byte, error) { return nil, engine.ErrUnsupported }

// SetSealRow returns engine.ErrUnsupported.
func (e *Engine) SetSealRow([]byte) error { return engine.ErrUnsupported }

// Rewrite returns engine.ErrUnsupported.
func (e *Engine) Rewrite(column.Column) error { return engine.ErrUnsupported }

// SharedRows returns engine.ErrUnsupported.
func (e *Engine) SharedRows() (rows.Share, error) { return rows.Share{}, engine.ErrUnsupported }

// SharedRowStats returns false.
func (e *Engine) SharedRowStats() (rows.Stats, bool) { return rows.Stats{}, false }

// Library returns the version of RocksDB in this process: there is none.
func Library() string { return "" }
