package op

import (
	"fmt"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/stoav1"
)

var _ = Pair(fromDurability, ParseDurability)

// Durability returns when a write is acknowledged as it goes over the wire.
func Durability(d engine.Durability) stoav1.Durability {
	if d == engine.WAL {
		return stoav1.Durability_DURABILITY_WAL
	}
	return stoav1.Durability_DURABILITY_SYNCED
}

func fromDurability(d *engine.Durability) stoav1.Durability { return Durability(*d) }

// ParseDurability returns when a write is acknowledged, as the field of a message says.
func ParseDurability(field string, d stoav1.Durability) (engine.Durability, error) {
	switch d {
	case stoav1.Durability_DURABILITY_UNSPECIFIED, stoav1.Durability_DURABILITY_SYNCED:
		return engine.Synced, nil
	case stoav1.Durability_DURABILITY_WAL:
		return engine.WAL, nil
	}
	return 0, &FieldError{field, fmt.Sprintf("no durability %d", int32(d))}
}
