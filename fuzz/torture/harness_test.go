package torture

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc"
)

// worker uses one service and remembers what it was told. One goroutine at a time
// calls it.
type worker interface {
	// use makes one write, and perhaps calls before it that must be refused. An
	// error is errLater, a *wrong, or that of a call whose effect is not known; after
	// that recount comes before the next use.
	use(c *rpc.Client) error
	// recount demands of a daemon that has been killed and started again that all
	// that was acknowledged is there, and the write under way whole or not at all.
	recount(c *rpc.Client) error
}

// forgetful is a worker that else asks for writes that a kill may not lose, but a power
// cut may.
type forgetful interface {
	// expectCuts is called before the first use: power cuts will come.
	expectCuts()
}

// timed is a worker that by itself goes by the clock of the machine.
type timed interface {
	// keepTime is called before the first use: the daemon has another clock.
	keepTime(*reckoning)
}

// wrong is what a daemon must never do, killed or not.
type wrong struct{ what string }

func (w *wrong) Error() string { return w.what }

func wrongf(format string, args ...any) error { return &wrong{fmt.Sprintf(format, args...)} }

// isWrong reports whether an error is, or has in it, what a daemon must never do.
func isWrong(err error) bool {
	var bad *wrong
	return errors.As(err, &bad)
}

// absent are the errors of what is not there.
var absent = []error{engine.ErrNotFound, dag.ErrNoContext, bucket.ErrNotFound, stream.ErrNotFound, event.ErrNotFound}

// recount is w.recount. What a worker asks for there was acknowledged, unless it takes the answer
// that it is not: that answer is wrong.
func recount(w worker, c *rpc.Client) error {
	err := w.recount(c)
	if !isWrong(err) && slices.ContainsFunc(absent, func(e error) bool { return errors.Is(err, e) }) {
		return wrongf("what was acknowledged is not there: %v", err)
	}
	return err
}

// named is a worker and what it does, for people.
type named struct {
	does string
	worker
}

// kind is what workers do, and how one of them is made.
type kind struct {
	does string
	made func(r *rand.Rand, id byte) worker
}

// kinds are those that use all services.
var kinds = []kind{
	{"Store batches", newRows}, {"Dag commits", newBranch}, {"Dag adds", newReplica},
	{"governance ops", newCouncil}, {"Kv changes", newRegisters}, {"Blob uploads", newBlobs},
	{"Record changes", newIntents}, {"decisions and uses", newUses}, {"locks and guarded writes", newHolds},
	{"reviews of tasks", newVotes}, {"jobs", newChores}, {"events", newNews}, {"rate limits", newAllowances},
	{"settings", newKnobs}, {"sessions", newVisits}, {"buckets", newShelves}, {"streams and projections", newFlows},
}

// workersOf returns two of each kind, each with choices of its own.
func workersOf(r *rand.Rand, kinds []kind) (list []named) {
	for i, kind := range kinds {
		for twin := range 2 {
			id := byte(2*i + twin)
			list = append(list, named{kind.does, kind.made(rand.New(rand.NewPCG(r.Uint64(), uint64(id))), id)})
		}
	}
	return list
}

// errLater says that the daemon does not take such a write at present, which is right:
// its clock, which is simulated, is behind.
var errLater = errors.New("not now")

// generation is after how many kills a store is replaced by an empty one, so that
// recounting it does not take longer and longer.
const generation = 12

// harness kills a program that serves a store under the load of workers.
type harness struct {
	rand    *rand.Rand
	program program
	dir     string // of the store; its parent is the harness's
	workers []named
	only    []string       // of kinds, by what they do; none: all
	more    []kind         // besides kinds
	acks    map[string]int // by kind of worker, of all stores
	kills   int
	opening int // kills before the daemon listened
	// listened says that a daemon has served the store: then there must be one.
	listened bool
	// cut leaves of the store what a power cut does, after its daemon has ended; nil: the
	// power stays on.
	cut func() error
	// bears says of an error that it is no fault of the daemon's: the worker recounts, and
	// tries again. nil: none is.
	bears func(error) bool
	// frail says that the daemon may end by itself.
	frail  bool
	served *served // the last one
	holes  int     // stores that a cut has left with one
	// rest is how long a worker pauses after each use.
	rest time.Duration
}

// newHarness makes a harness in a directory in memory where there is one with room: a
// kill needs no disk. The directory stays if the test fails.
func newHarness(t testing.TB, p program, seed uint64) *harness {
	t.Helper()
	return newHarnessIn(t, p, seed, shortRoot(t))
}

func newHarnessIn(t testing.TB, p program, seed uint64, root string) *harness {
	t.Helper()
	h := &harness{
		rand: rand.New(rand.NewPCG(seed, 0)), program: p, dir: filepath.Join(root, "db"),
		acks: map[string]int{},
	}
	h.replace()
	return h
}

// shortRoot returns a directory with a short path, as sockets need one.
func shortRoot(t testing.TB) string {
	t.Helper()
	parent, shm := "", syscall.Statfs_t{}
	if syscall.Statfs("/dev/shm", &shm) == nil && shm.Bavail*uint64(shm.Bsize) > 2<<30 {
		parent = "/dev/shm"
	}
	return shortRootIn(t, parent)
}

func shortRootIn(t testing.TB, parent string) string {
	t.Helper()
	root, err := os.MkdirTemp(parent, "st")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("the store and the log of its daemon are left in", root)
			return
		}
		_ = os.RemoveAll(root)
	})
	return root
}

// replace begins with an empty store.
func (h *harness) replace() {
	_ = os.RemoveAll(h.dir) // what stays makes the daemon fail
	for _, w := range h.workers {
		if c, ok := w.worker.(io.Closer); ok {
			_ = c.Close() // a store in memory
		}
	}
	used := slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return len(h.only) > 0 && !slices.Contains(h.only, k.does) })
	h.workers, h.listened = workersOf(h.rand, append(used, h.more...)), false
	for _, w := range h.workers {
		if c, ok := w.worker.(forgetful); ok && h.cut != nil {
			c.expectCuts()
		}
	}
}

// run kills the daemon so many times, checks after each, and stops it properly in
// the end. It returns the first thing that is wrong.
func (h *harness) run(kills int) error {
	for h.kills < kills {
		if h.rand.IntN(8) == 0 {
			if err := h.killOpening(); err != nil {
				return err
			}
		} else if err := h.round(); err != nil {
			return err
		}
		if err := h.check(); err != nil {
			return err
		}
		if h.kills%generation == 0 {
			if err := h.end(); err != nil {
				return err
			}
			h.replace()
		}
	}
	return h.end()
}

// killOpening kills a daemon that may not listen yet.
func (h *harness) killOpening() error {
	d, err := h.program.serve(h.dir)
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(h.rand.IntN(120)) * time.Millisecond)
	h.kills++
	h.opening++
	if err := d.kill(); err != nil || h.cut == nil {
		return err
	}
	return h.cut()
}

// round recounts what a daemon has, uses it, and kills it at some moment.
func (h *harness) round() error {
	return h.roundOf(h.rand.IntN(300), time.Duration(h.rand.IntN(4000))*time.Microsecond)
}

// roundOf is a round that ends so long after so many acknowledgements.
func (h *harness) roundOf(target int, delay time.Duration) error {
	d, clients, err := h.serve()
	if err != nil {
		return err
	}
	defer d.kill() // it is dead, or something is wrong
	defer hangUp(clients)
	if err := h.recount(clients); err != nil {
		return err
	}
	l := h.work(clients)
	err = l.progress(target)
	time.Sleep(delay)
	l.over.Store(true)
	err = errors.Join(err, d.kill())
	h.kills++
	if err = errors.Join(err, l.end(h)); err != nil || h.cut == nil {
		return err
	}
	return h.cut()
}

// total is how many writes were acknowledged.
func (h *harness) total() (n int) {
	for _, acks := range h.acks {
		n += acks
	}
	return n
}

var bothFramings = []rpc.Framing{rpc.FramingFrames, rpc.FramingGRPC}

// serve starts the daemon and connects to it, over both framings unless it has one
// only.
func (h *harness) serve() (*served, []*rpc.Client, error) {
	d, err := h.program.serve(h.dir)
	if err != nil {
		return nil, nil, err
	}
	h.served = d
	var clients []*rpc.Client
	framings := h.program.framings
	if framings == nil {
		framings = bothFramings
	}
	for _, f := range framings {
		c, err := d.dial(f)
		if err != nil {
			hangUp(clients)
			return nil, nil, errors.Join(err, d.kill())
		}
		clients = append(clients, c)
	}
	h.listened = true
	return d, clients, nil
}

func hangUp(clients []*rpc.Client) {
	for _, c := range clients {
		_ = c.Close() // nothing is under way
	}
}

func (h *harness) recount(clients []*rpc.Client) error {
	for i, w := range h.workers {
		if err := recount(w, clients[i%len(clients)]); err != nil {
			return fmt.Errorf("after kill %d: %s: %w", h.kills, w.does, err)
		}
	}
	return nil
}

// check verifies the store as the kill has left it.
func (h *harness) check() error {
	err := verifyStore(h.dir)
	if errors.Is(err, errNoStore) && !h.listened {
		return nil
	}
	if errors.Is(err, errHole) && h.cut != nil {
		h.holes++
		return nil
	}
	if err != nil {
		return fmt.Errorf("after kill %d: %w", h.kills, err)
	}
	return nil
}

// end recounts once more, and stops the daemon as an operator would.
func (h *harness) end() error {
	d, clients, err := h.serve()
	if err != nil {
		return err
	}
	err = h.recount(clients)
	hangUp(clients)
	if err = errors.Join(err, d.stop()); err == nil && h.cut != nil {
		err = h.cut()
	}
	if err != nil {
		return err
	}
	return h.check()
}
