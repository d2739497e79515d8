package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/kv/session"
	"github.com/stoadb/stoa/rpc"
)

// visits has users sign in and out. A session that was made is there, for longer than a store
// is used, until it is ended; one that was ended is not there any more.
type visits struct {
	tenant  string
	rand    *rand.Rand
	byClock bool // the daemon has another clock, by which any session may be over

	there map[string]string // the users of sessions, by the ids
	ended []string          // the last that were ended

	joining string   // the user who is signing in; "": nobody is
	leaving []string // the sessions that are being ended
}

func newVisits(r *rand.Rand, id byte) worker {
	return &visits{tenant: fmt.Sprint("visits", id), rand: r, there: map[string]string{}}
}

func (w *visits) keepTime(*reckoning) { w.byClock = true }

const mostVisits = 12

// of returns the sessions of a user, or, for "", all.
func (w *visits) of(user string) (list []string) {
	for _, id := range slices.Sorted(maps.Keys(w.there)) {
		if user == "" || w.there[id] == user {
			list = append(list, id)
		}
	}
	return list
}

func (w *visits) use(c *rpc.Client) error {
	s, user := c.Sessions(w.tenant), []string{"ann", "bob"}[w.rand.IntN(2)]
	k, all := w.rand.IntN(8), w.of("")
	switch {
	case len(all) == 0, k < 3 && len(all) < mostVisits:
		return w.signIn(s, user)
	case k < 5:
		id := all[w.rand.IntN(len(all))]
		_, err := s.Touch(context.Background(), id, engine.Synced)
		return w.missing(id, err)
	case k == 7:
		w.leaving = w.of(user)
		n, err := s.RevokeAll(context.Background(), user, engine.Synced)
		if err == nil && n != len(w.leaving) && !w.byClock {
			return wrongf("%d sessions of %s were ended, of %d", n, user, len(w.leaving))
		}
		return w.left(s, err)
	}
	w.leaving = []string{all[w.rand.IntN(len(all))]}
	was, err := s.Revoke(context.Background(), w.leaving[0], engine.Synced)
	if err == nil && !was && !w.byClock {
		return wrongf("a session of %s was not there to be ended", w.there[w.leaving[0]])
	}
	return w.left(s, err)
}

func (w *visits) signIn(s *rpc.Sessions, user string) error {
	w.joining = user
	d, err := s.Create(context.Background(), map[string]string{"user_id": user}, engine.Synced)
	if err != nil {
		return err
	}
	var says struct {
		ID string `json:"session_id"`
	}
	if err := json.Unmarshal(d.JSON, &says); err != nil || says.ID == "" {
		return wrongf("a session was made without an id: %v", err)
	}
	w.there[says.ID], w.joining = user, ""
	return nil
}

// missing is what a call about a session that is there came to.
func (w *visits) missing(id string, err error) error {
	switch {
	case !errors.Is(err, record.ErrNotFound):
		return err
	case !w.byClock:
		return wrongf("a session of %s, which was not ended, is not there", w.there[id])
	}
	delete(w.there, id)
	return nil
}

// left ends the call that ends sessions, unless it has failed.
func (w *visits) left(s *rpc.Sessions, err error) error {
	if err != nil {
		return err
	}
	gone := w.leaving
	w.gone()
	return w.over(s, gone)
}

// gone takes note that the sessions are ended.
func (w *visits) gone() {
	for _, id := range w.leaving {
		delete(w.there, id)
	}
	w.ended = append(w.ended, w.leaving...)
	w.ended, w.leaving = w.ended[max(len(w.ended)-50, 0):], nil
}

// over demands that nobody is signed in by sessions that were ended.
func (w *visits) over(s *rpc.Sessions, ended []string) error {
	for _, id := range ended {
		d, err := s.Get(context.Background(), id)
		if err == nil {
			return wrongf("the session %s, which was ended, is there", d.ID)
		}
		if !errors.Is(err, record.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (w *visits) recount(c *rpc.Client) error {
	s, found := c.Sessions(w.tenant), map[string]bool{}
	for d, err := range s.All(context.Background(), "", record.Query{}) {
		if err != nil {
			return err
		}
		found[d.ID] = true
	}
	if len(w.leaving) > 0 && !slices.ContainsFunc(w.leaving, func(id string) bool { return found[session.HandleOf(id)] }) {
		w.gone()
	}
	for _, id := range w.of("") {
		if _, err := s.Get(context.Background(), id); err != nil {
			if err := w.missing(id, err); err != nil {
				return err
			}
		}
		delete(found, session.HandleOf(id))
	}
	if err := w.over(s, w.ended); err != nil {
		return err
	}
	if len(found) > 0 && (w.joining == "" || len(found) > 1) {
		return wrongf("there are %d sessions more than were acknowledged; under way was one of %q", len(found), w.joining)
	}
	for handle := range found { // whoever made it has not heard its id
		if _, err := s.Revoke(context.Background(), handle, engine.Synced); err != nil {
			return err
		}
	}
	w.joining, w.leaving = "", nil
	return nil
}
