package op

import (
	"fmt"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Durability carries when a write is acknowledged.
func Durability(m *Map, field *stoav1.Durability, v *engine.Durability) {
	switch {
	case !m.parsing && *v == engine.WAL:
		*field = stoav1.Durability_DURABILITY_WAL
	case !m.parsing:
		*field = stoav1.Durability_DURABILITY_SYNCED
	case *field == stoav1.Durability_DURABILITY_UNSPECIFIED, *field == stoav1.Durability_DURABILITY_SYNCED:
		*v = engine.Synced
	case *field == stoav1.Durability_DURABILITY_WAL:
		*v = engine.WAL
	default:
		m.Fail(&FieldError{"durability", fmt.Sprintf("no durability %d", int32(*field))})
	}
}

// Page carries how many entries a page has at most; none or more than most of them are
// most.
func Page(m *Map, field *uint32, limit *int, most int) {
	switch {
	case !m.parsing:
		*field = uint32(min(max(*limit, 0), most))
	case *field == 0 || *field > uint32(most):
		*limit = most
	default:
		*limit = int(*field)
	}
}
