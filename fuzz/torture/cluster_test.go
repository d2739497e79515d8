package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/fuzz/cluster"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// Where `make torture-tikv` has built what the test takes.
const (
	clusterPrograms = "../../bin/tikv-cluster"
	tikvProgram     = "../../bin/stoa-tikv"
)

// Two daemons serve a store on a cluster, one leads it. Daemons, stores and PD are killed in turns under the
// load of all workers: what was acknowledged is there, what was not is whole or absent.
func TestAClusterLosesNothingWhileItsPartsDie(t *testing.T) {
	if *partsFlag == 0 {
		t.Skip("`make torture-tikv` runs it")
	}
	seed := seedOf(t)
	root := shortRoot(t)
	path, err := filepath.Abs(tikvProgram)
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{harness: newHarnessIn(t, program{path: path}, seed, root), root: root, killed: map[string]int{}}
	f.bears = func(err error) bool {
		// A cluster that is away, a daemon that has lost the lead, or is gone, and a lock that was waited for, and
		// went to the next while the cluster was away; one that was held would be wrong.
		return errors.Is(err, rpc.ErrUnavailable) || errors.Is(err, rpc.ErrBusy) || errors.Is(err, engine.ErrClosed) ||
			errors.Is(err, engine.ErrReadOnly) || errors.Is(err, lock.ErrNotHolder)
	}
	f.rest = 2 * time.Millisecond
	for left := *partsFlag; left > 0 && err == nil; left -= generation {
		err = f.generation(t.Context(), min(left, generation))
	}
	for does, n := range f.acks {
		t.Logf("%9d acknowledged: %s", n, does)
	}
	t.Logf("killed: %v; daemons that ended by themselves: %d; %d writes acknowledged and recounted; another daemon led after %v at most", f.killed, f.ended, f.total(), f.longest.Round(time.Millisecond))
	if err != nil {
		t.Fatalf("%s=%d: %v", seedEnv, seed, err)
	}
}

// lostLead is the exit code of a daemon that has lost the lead.
const lostLead = 3

// fleet is a harness of two daemons on a cluster.
type fleet struct {
	*harness
	root    string
	cluster *cluster.Cluster
	daemons [2]*served // nil: it does not run
	killed  map[string]int
	ended   int           // daemons that have ended by themselves: they had lost the lead
	longest time.Duration // after which the other daemon led
}

// generation kills so many parts of a new cluster with a new store, and recounts after each. (unistore
// does not find its files after some twenty kills.)
func (f *fleet) generation(ctx context.Context, parts int) (err error) {
	for _, part := range []string{"a", "b", "c"} {
		if err := os.RemoveAll(filepath.Join(f.root, part)); err != nil {
			return err
		}
	}
	if f.cluster, err = cluster.Start(ctx, clusterPrograms, filepath.Join(f.root, "c"), 3); err != nil {
		return err
	}
	defer f.cluster.Close()
	defer f.stop()
	// unistore lets a reader miss what is committed in one phase.
	f.program.args = []string{"--engine", "tikv", "--pd", f.cluster.Address(), "--tikv-two-phase"}
	f.replace()
	for i := range parts + 1 {
		if err := f.start(); err != nil {
			return err
		}
		leader, clients, err := f.leader()
		if err != nil {
			return err
		}
		err = f.recount(clients)
		if err == nil && i < parts {
			err = f.round(leader, clients)
		}
		hangUp(clients)
		if err != nil {
			return fmt.Errorf("after %v: %w; and later: %v", f.killed, err, f.later())
		}
	}
	return nil
}

// later recounts once more, when all is quiet: what was wrong may have been an answer only.
func (f *fleet) later() error {
	if err := errors.Join(f.cluster.Ready(context.Background()), f.start()); err != nil {
		return err
	}
	_, clients, err := f.leader()
	if err != nil {
		return err
	}
	defer hangUp(clients)
	return f.recount(clients)
}

// start starts the daemons that do not run.
func (f *fleet) start() (err error) {
	for i, d := range f.daemons {
		if d != nil && d.over(0) {
			if code := d.cmd.ProcessState.ExitCode(); code != lostLead {
				return fmt.Errorf("a daemon ended with exit code %d: %s", code, d.tail())
			}
			f.ended++
			d = nil
		}
		if d == nil {
			if f.daemons[i], err = f.program.serve(filepath.Join(f.root, []string{"a", "b"}[i])); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fleet) stop() {
	for i, d := range f.daemons {
		if d != nil {
			_ = d.kill() // generation says what was wrong
		}
		f.daemons[i] = nil
	}
}

// leader returns the number of the daemon that leads, and clients of it.
func (f *fleet) leader() (int, []*rpc.Client, error) {
	var last error
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		for i, d := range f.daemons {
			if d == nil {
				continue
			}
			clients, err := leads(d)
			if err == nil {
				return i, clients, nil
			}
			last = err
		}
	}
	return 0, nil, fmt.Errorf("no daemon leads within two minutes: %w", last)
}

// leads connects to a daemon that leads.
func leads(d *served) (clients []*rpc.Client, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, framing := range bothFramings {
		c, err := rpc.Dial(ctx, d.socket, rpc.WithFraming(framing))
		if err == nil {
			clients = append(clients, c)
			_, err = c.Status(ctx)
		}
		if err != nil {
			hangUp(clients)
			return nil, err
		}
	}
	return clients, nil
}

// round has the workers use the leader while a part dies, and comes back.
func (f *fleet) round(leader int, clients []*rpc.Client) error {
	d := f.daemons[leader]
	f.served = d
	l := f.work(clients)
	ended := func() bool { return d.over(0) } // it has lost the lead
	err := l.progressOf(20+f.rand.IntN(150), ended)
	if err != nil {
		return errors.Join(err, l.end(f.harness))
	}
	prey := strings.Split(*preyFlag, ",")
	kind := prey[f.rand.IntN(len(prey))]
	f.killed[kind]++
	switch kind {
	case "leaders":
		l.over.Store(true)
		err = errors.Join(f.kill(leader), l.end(f.harness))
		return errors.Join(err, f.replaced())
	case "followers":
		err = f.kill(1 - leader)
	case "stores":
		stores := f.cluster.Stores()
		err = f.away(stores[f.rand.IntN(len(stores))])
	case "PD":
		err = f.away(cluster.PD)
	default:
		err = fmt.Errorf("-prey: %q is none of leaders, followers, stores, PD", kind)
	}
	if err == nil {
		err = l.progressOf(f.rand.IntN(100), ended)
	}
	err = errors.Join(err, l.end(f.harness))
	if err == nil {
		err = f.cluster.Ready(context.Background())
	}
	return err
}

// kill kills a daemon that has not ended by itself.
func (f *fleet) kill(i int) error {
	d := f.daemons[i]
	if d.over(0) {
		return nil
	}
	f.daemons[i] = nil
	return d.kill()
}

// away kills a part of the cluster, and starts it again after some seconds.
func (f *fleet) away(name string) error {
	if err := f.cluster.Kill(name); err != nil {
		return err
	}
	time.Sleep(time.Duration(f.rand.IntN(8000)) * time.Millisecond)
	return f.cluster.Restart(name)
}

// replaced waits until the daemon that is left leads.
func (f *fleet) replaced() error {
	from := time.Now()
	_, clients, err := f.leader()
	hangUp(clients)
	f.longest = max(f.longest, time.Since(from))
	return err
}
