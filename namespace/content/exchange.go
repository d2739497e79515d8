package content

// Exchange is what went one way.
type Exchange struct {
	Counts     int // deltas that are part of the state now
	SetAside   int
	Duplicates int
	Waits      int // for a key, or for ops of governance
	Early      int
	Refused    int
	NoRoom     int
	Reason     string // why the first was refused
}

// Add counts an answer.
func (x *Exchange) Add(a *Answer) {
	switch a.Kind {
	case Counts:
		x.Counts++
	case SetAside:
		x.SetAside++
	case Duplicate:
		x.Duplicates++
	case Waits:
		x.Waits++
	case TooEarly:
		x.Early++
	case NoRoom:
		x.NoRoom++
	default:
		if x.Refused++; x.Reason == "" {
			x.Reason = a.Reason
		}
	}
}
