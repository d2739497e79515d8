package job

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stoadb/stoa/kv/document"
)

// Job is something that a worker of a queue is to do.
type Job struct {
	ID      string // names it among all jobs of the tenant; of an Enqueue "" has one made
	Queue   string
	Due     time.Time       // not before; zero, or past: at once. Rounded up to a millisecond
	Payload json.RawMessage // a JSON object of at most MaxPayload bytes, as {"target":"ade:lock:task:123"}; nil: {}
	// MaxAttempts is how many leases it is given, at most MaxAttempts, before it is dead; 0:
	// PlainAttempts.
	MaxAttempts int
}

// State is where a job is.
type State uint8

// The states of a job. One that is done, or was cancelled, is not there any more. They are
// stored by their numbers.
const (
	Scheduled State = 1 + iota // until it is due
	Ready                      // in its queue
	Leased                     // a worker does it
	Dead                       // given as many leases as it may have: nobody is given it any more
)

// States are the states as clients spell them.
func States() []string { return []string{"scheduled", "ready", "leased", "dead"} }

// String is the state as clients spell it.
func (s State) String() string {
	if s < Scheduled || s > Dead {
		return "none"
	}
	return States()[s-1]
}

// ParseState is the state of a spelling.
func ParseState(text string) (State, error) {
	if at := slices.Index(States(), text); at >= 0 {
		return State(at + 1), nil
	}
	return 0, invalid("state", "there is no such state: %s", strings.Join(States(), ", "))
}

// Info is a job with what has happened to it.
type Info struct {
	Job
	State    State
	Made     time.Time // when it was scheduled, or enqueued
	Attempts int       // leases that it was given so far
	Worker   string    // of the last lease
	Token    uint64    // of the last lease; 0: there was none
	Until    time.Time // when the lease is over, while it is leased; when it died, of a dead one
	Failure  string    // why the last attempt failed; "": none has
}

// MarshalJSON is the job as it is shown.
func (i Info) MarshalJSON() ([]byte, error) {
	shown := struct {
		ID          string          `json:"id"`
		Queue       string          `json:"queue"`
		State       string          `json:"state"`
		Due         string          `json:"due"`
		Made        string          `json:"made"`
		Attempts    int             `json:"attempts"`
		MaxAttempts int             `json:"max_attempts"`
		Worker      string          `json:"worker,omitempty"`
		Token       uint64          `json:"token,omitempty,string"`
		Until       string          `json:"until,omitempty"`
		Died        string          `json:"died,omitempty"`
		Failure     string          `json:"failure,omitempty"`
		Payload     json.RawMessage `json:"payload"`
	}{i.ID, i.Queue, i.State.String(), document.FormatInstant(i.Due), document.FormatInstant(i.Made), i.Attempts, i.MaxAttempts, i.Worker, i.Token, "", "", i.Failure, i.Payload}
	switch i.State {
	case Leased:
		shown.Until = document.FormatInstant(i.Until)
	case Dead:
		shown.Died = document.FormatInstant(i.Until)
	}
	return json.Marshal(shown)
}

// check returns what is wrong with a job, and completes it.
func (j *Job) check() error {
	if err := checkID(j.ID); err != nil {
		return err
	}
	if err := checkQueue(j.Queue); err != nil {
		return err
	}
	switch {
	case len(j.Payload) > MaxPayload:
		return tooLarge("payload", len(j.Payload), MaxPayload)
	case len(j.Payload) == 0:
		j.Payload = json.RawMessage("{}")
	default:
		payload, err := document.Canonical(j.Payload)
		if err != nil || document.Kind(payload) != '{' {
			return invalid("payload", "the payload is no JSON object")
		}
		j.Payload = payload
	}
	if last := LastDue(); j.Due.After(last) {
		return invalid("due", "a job is due by %s, the last moment that is kept, and this one at %s: schedule it nearer", document.FormatInstant(last), document.FormatInstant(j.Due))
	}
	if j.MaxAttempts < 0 || j.MaxAttempts > MaxAttempts {
		return invalid("max_attempts", "a job has 1 to %d attempts, and 0 is %d", MaxAttempts, PlainAttempts)
	}
	if j.MaxAttempts == 0 {
		j.MaxAttempts = PlainAttempts
	}
	return nil
}

func checkID(id string) error {
	if id == "" {
		return invalid("id", "a job has an id of 1 to %d bytes", MaxID)
	}
	return checkText("id", id, MaxID)
}

func checkQueue(queue string) error {
	if !slices.Contains(QueueNames(), queue) {
		return invalid("queue", "there is no such queue: %s", strings.Join(QueueNames(), ", "))
	}
	return nil
}

// checkText refuses what is too long, or can't be shown in a literal key: in those, braces
// are left out.
func checkText(field, text string, limit int) error {
	if len(text) > limit {
		return tooLarge(field, len(text), limit)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r == '{' || r == '}' || unicode.IsControl(r) }) {
		return invalid(field, "it is no UTF-8, or has a brace or a control character, which literal keys can't show")
	}
	return nil
}
