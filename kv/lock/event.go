package lock

// EventKind is what has happened to a lock.
type EventKind uint8

// The kinds of events.
const (
	EventAcquired   EventKind = 1 + iota // it was free, or shared
	EventPromoted                        // given to who waited for it
	EventRenewed                         // held for longer
	EventReleased                        // by its holder
	EventExpired                         // a holder's time was over
	EventQueued                          // somebody waits for it
	EventDowngraded                      // it is shared from now on
)

// String is the kind as clients spell it.
func (k EventKind) String() string {
	names := [...]string{"none", "acquired", "promoted", "renewed", "released", "expired", "queued", "downgraded"}
	if int(k) < len(names) {
		return names[k]
	}
	return names[0]
}
