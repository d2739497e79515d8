package locks

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// grantDoc is that an agent holds a lock, as JSON.
type grantDoc struct {
	Lock       string `json:"lock,omitempty"` // where it does not stand beside
	Agent      string `json:"agent"`
	Mode       string `json:"mode"`
	Token      uint64 `json:"token,string"`
	AcquiredAt string `json:"acquired_at"`
	ExpiresAt  string `json:"expires_at"`
	Until      string `json:"renewable_until"`
	Heartbeats uint32 `json:"heartbeats"`
	Purpose    string `json:"purpose,omitempty"`
}

func newGrantDoc(g *rpc.LockGrant, name string) grantDoc {
	return grantDoc{name, g.Agent, g.Mode.String(), g.Token, cli.Instant(g.Acquired), cli.Instant(g.Expires), cli.Instant(g.Until), g.Heartbeats, g.Purpose}
}

// emitGrant says who holds a lock now.
func (c *call) emitGrant(g *rpc.LockGrant) error {
	return c.Emit(newGrantDoc(g, g.Name), func(w io.Writer) {
		fmt.Fprintf(w, "%s holds %s %s until %s, token %d\n", g.Agent, g.Name, g.Mode, cli.Instant(g.Expires), g.Token)
	})
}

// lockDoc is what is known of a lock, as JSON.
type lockDoc struct {
	Lock     string       `json:"lock"`
	Mode     string       `json:"mode"`
	Holders  []grantDoc   `json:"holders"`
	Waiting  int          `json:"waiting"`
	Queue    []waitingDoc `json:"queue,omitempty"` // of one that was asked for by its name
	Revision uint64       `json:"revision,string"`
}

func newLockDoc(l *rpc.Lock) lockDoc {
	d := lockDoc{l.Name, l.Mode.String(), []grantDoc{}, l.Waiting, nil, l.Revision}
	for i := range l.Holders {
		d.Holders = append(d.Holders, newGrantDoc(&l.Holders[i], ""))
	}
	return d
}

// holdersOf names who holds a lock.
func holdersOf(l *rpc.Lock) string {
	var names []string
	for i := range l.Holders {
		names = append(names, l.Holders[i].Agent)
	}
	return strings.Join(names, ", ")
}

// waitingDoc is a request that waits, as JSON.
type waitingDoc struct {
	Place     int    `json:"place"`
	Agent     string `json:"agent"`
	Mode      string `json:"mode"`
	Upgrade   bool   `json:"upgrade,omitempty"`
	Priority  int    `json:"priority"`
	Since     string `json:"since"`
	MaxWaitMs uint64 `json:"max_wait_ms"`
}

func newWaitingDocs(queue []rpc.LockWaiting) []waitingDoc {
	list := []waitingDoc{}
	for i := range queue {
		w := &queue[i]
		list = append(list, waitingDoc{w.Place, w.Agent, w.Mode.String(), w.Upgrade, w.Priority, cli.Instant(time.UnixMilli(int64(w.Since))), w.MaxWait})
	}
	return list
}

// writeQueue writes who waits, a line each.
func writeQueue(w io.Writer, queue []waitingDoc, indent string) {
	t := cli.Table{}
	for i := range queue {
		q := &queue[i]
		how := q.Mode
		if q.Upgrade {
			how += ", shares it"
		}
		t.Add(fmt.Sprint(q.Place), q.Agent, how, fmt.Sprintf("priority %d", q.Priority), "since "+q.Since)
	}
	t.Write(w, indent)
}

// modeOf is how a lock is asked for.
func modeOf(shared bool) lock.Mode {
	if shared {
		return lock.Shared
	}
	return lock.Exclusive
}
