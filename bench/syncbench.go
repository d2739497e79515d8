//go:build cgo

package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/content"
	"github.com/stoadb/stoa/namespace/exchange"
)

// syncWorkload measures what two nodes exchange, beside bare deltas.
type syncWorkload struct {
	name  string
	about string
	unit  string
	run   func(*syncRun) error
}

var syncWorkloads = []syncWorkload{
	{"sync-admit", "deltas of 10 actions, signed and sealed, into an empty node on one core", "delta", (*syncRun).admit},
	{"sync-catchup", "deltas of 10 actions, signed and sealed, into an empty node on two cores", "delta", (*syncRun).catchUp},
	{"sync-differ", "two nodes with as many keys as there are rows, of which 100 differ; and when they are level", "session", (*syncRun).differ},
}

// syncNames returns the names of the workloads of two nodes.
func syncNames() (names []string) {
	for _, w := range syncWorkloads {
		names = append(names, w.name)
	}
	return names
}

// syncRun is one workload of two nodes at work.
type syncRun struct {
	govRun
	author *syncNode
	ns     codec.GroupID
	nodes  []*syncNode
}

// syncNode is a node, with what it exchanges.
type syncNode struct {
	db engine.Engine
	exchange.Stores
}

// syncContext is the context of the deltas, in any namespace.
var syncContext = codec.ContextID{7}

// measureSync runs the workloads of two nodes that are wanted.
func measureSync(o Options) (results []Result, err error) {
	for _, w := range syncWorkloads {
		if !wanted(o.Workloads, w.name) {
			continue
		}
		o.Logger.Info("measuring", "workload", w.name)
		r := &syncRun{govRun: govRun{options: o, dir: o.path(w.name), result: Result{Workload: w.name, About: w.about, Unit: w.unit}}}
		if err = r.begin(); err == nil {
			err = w.run(r)
		}
		for _, n := range r.nodes {
			err = errors.Join(err, n.close())
		}
		if err != nil {
			return results, fmt.Errorf("bench: %s: %w", w.name, err)
		}
		for i := range r.result.Measures {
			r.result.Measures[i].sum()
		}
		results = append(results, r.result)
	}
	return results, nil
}

// begin makes the node of who begins a namespace with a context.
func (r *syncRun) begin() (err error) {
	if r.author, err = r.node(); err != nil {
		return err
	}
	if r.ns, _, err = r.author.Governance.Create(context.Background(), namespace.Create{}); err != nil {
		return err
	}
	return r.propose(codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: syncContext})
}

func (r *syncRun) propose(op codec.GroupOp) error {
	_, err := r.author.Governance.Propose(context.Background(), r.ns, namespace.Proposal{GroupID: r.ns, Group: &op})
	return err
}

// node opens an empty node.
func (r *syncRun) node() (*syncNode, error) {
	db, err := openDagEngine(filepath.Join(r.dir, fmt.Sprint(len(r.nodes))))
	if err != nil {
		return nil, err
	}
	n := &syncNode{db: db}
	if n.Governance, err = namespace.Open(db, namespace.Options{}); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if n.Contexts, err = openDagStore(db, uint64(len(r.nodes)+1)); err != nil {
		return nil, errors.Join(err, n.Governance.Close(), db.Close())
	}
	n.Content = content.New(db, n.Contexts, n.Governance, content.Options{})
	r.nodes = append(r.nodes, n)
	return n, nil
}

// member opens an empty node of a member of its own, which has the ops.
func (r *syncRun) member() (*syncNode, error) {
	n, err := r.node()
	if err != nil {
		return nil, err
	}
	seed := codec.Secret{byte(len(r.nodes))}
	who := group.IdentityOf(seed)
	if err := r.propose(codec.GroupOp{Kind: codec.OpMemberAdded, Member: who, Role: codec.Member}); err != nil {
		return nil, err
	}
	if err := n.Governance.ImportIdentity(r.ns, codec.NamespaceIdentityValue{PublicKey: who, PrivateKey: seed, SenderKey: codec.Secret{1}}); err != nil {
		return nil, err
	}
	for op, err := range r.author.Governance.OpsSince(context.Background(), r.ns, nil, 0) {
		if err == nil {
			_, err = n.Governance.Apply(context.Background(), op.Wire)
		}
		if err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *syncNode) close() error {
	return errors.Join(n.Contexts.Close(), n.Governance.Close(), n.db.Close())
}

// write commits deltas of so many actions; each writes keys of its own.
func (n *syncNode) write(from, deltas, actions int) error {
	_, root, err := n.Contexts.Heads(syncContext)
	if err != nil && !errors.Is(err, dag.ErrNoContext) {
		return err
	}
	for i := range deltas {
		var puts []codec.Action
		for k := range actions {
			puts = append(puts, codec.Put(fmt.Appendf(nil, "key %08d", from+i*actions+k), fmt.Appendf(nil, "value %d", i)))
		}
		done, err := n.Content.Commit(context.Background(), dag.Commit{Context: syncContext, Actions: puts, ReadRoot: root, Durability: engine.WAL})
		if err != nil {
			return err
		}
		root = done.Root
	}
	return nil
}

// line has the author write, and returns its deltas, and their envelopes.
func (r *syncRun) line(deltas int) (bare []dag.Offer, envelopes [][]byte, err error) {
	if err := r.author.write(0, deltas, 10); err != nil {
		return nil, nil, err
	}
	for a, err := range r.author.Contexts.Since(context.Background(), syncContext, nil, dag.SinceOptions{}) {
		if err != nil {
			return nil, nil, err
		}
		bare = append(bare, dag.Offer{Delta: a.Delta})
	}
	for e, err := range r.author.Content.Since(context.Background(), syncContext, nil) {
		if err != nil {
			return nil, nil, err
		}
		envelopes = append(envelopes, slices.Clone(e))
	}
	return bare, envelopes, nil
}

// syncBatch is how many deltas are taken in together, as a session does it.
const syncBatch = 256

// addBare adds deltas that nobody has signed to an empty node.
func (r *syncRun) addBare(deltas []dag.Offer) error {
	n, err := r.node()
	if err == nil {
		err = n.Contexts.CreateContext(syncContext, codec.ApplicationMeta{})
	}
	if err != nil {
		return err
	}
	return r.turn("bare", len(deltas), func() error {
		for part := range slices.Chunk(deltas, syncBatch) {
			answers, err := n.Contexts.AddMany(context.Background(), part, engine.Synced)
			if err != nil {
				return err
			}
			for i := range answers {
				if answers[i].Kind != dag.Applied {
					return fmt.Errorf("a delta is %s instead of applied", answers[i].Kind)
				}
			}
		}
		return nil
	})
}

// offer takes envelopes in at an empty node.
func (r *syncRun) offer(envelopes [][]byte) error {
	n, err := r.member()
	if err != nil {
		return err
	}
	return r.turn("signed", len(envelopes), func() error {
		for part := range slices.Chunk(envelopes, syncBatch) {
			answers, err := n.Content.Offer(context.Background(), syncContext, part)
			if err != nil {
				return err
			}
			for i := range answers {
				if answers[i].Kind != content.Counts {
					return fmt.Errorf("a delta is %s: %s", answers[i].Kind, answers[i].Reason)
				}
			}
		}
		return nil
	})
}

// session has an empty node have a session with the author, and returns what the node has of it.
func (r *syncRun) session(deltas int) (report *exchange.Report, err error) {
	n, err := r.member()
	if err != nil {
		return nil, err
	}
	err = r.turn("session", deltas, func() (err error) {
		report, err = exchangeOf(n, r.author)
		return err
	})
	return report, err
}

// exchangeOf has two nodes have a session, which brings them level, and returns what the first has of it.
func exchangeOf(a, b *syncNode) (*exchange.Report, error) {
	left, right := net.Pipe()
	failed := make(chan error, 1)
	go func() {
		_, err := exchange.Run(context.Background(), right, b.Stores, exchange.Options{})
		failed <- err
	}()
	report, err := exchange.Run(context.Background(), left, a.Stores, exchange.Options{Initiator: true})
	if err := errors.Join(err, <-failed); err != nil {
		return nil, err
	}
	for _, n := range report.Namespaces {
		for i := range n.Contexts {
			if !n.Contexts[i].Level {
				return nil, errors.New("a session has not brought two nodes level")
			}
		}
	}
	return report, nil
}

// beside compares deltas that are signed with bare ones.
func (r *syncRun) beside(run func(bare []dag.Offer, envelopes [][]byte) error) error {
	bare, envelopes, err := r.line(max(r.options.Rows/20, 100))
	if err != nil {
		return err
	}
	for range r.options.Rounds + 1 {
		if err := r.addBare(bare); err != nil {
			return err
		}
		if err := run(bare, envelopes); err != nil {
			return err
		}
	}
	r.warmed()
	return nil
}

// admit compares on one core.
func (r *syncRun) admit() error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	err := r.beside(func(_ []dag.Offer, envelopes [][]byte) error { return r.offer(envelopes) })
	if err == nil {
		r.figure("cpu of a signed delta / of a bare one", ratio(r.result.measure("signed"), r.result.measure("bare"), cpuOf), "", "at most 1.6")
	}
	return err
}

// catchUp compares on all cores.
func (r *syncRun) catchUp() error {
	var report *exchange.Report
	err := r.beside(func(bare []dag.Offer, envelopes [][]byte) (err error) {
		if err = r.offer(envelopes); err == nil {
			report, err = r.session(len(bare))
		}
		return err
	})
	if err != nil {
		return err
	}
	r.figure("session: both ways", float64(report.Sent+report.Received)/1024, "KiB", "")
	for _, subject := range []string{"signed", "session"} {
		r.figure("rate of "+subject+" / of bare", ratio(r.result.measure("bare"), r.result.measure(subject), wallOf), "", "at least 0.5")
	}
	return nil
}

// differ measures sessions of nodes that have nearly the same, and then the same.
func (r *syncRun) differ() error {
	other, err := r.member()
	if err != nil {
		return err
	}
	if err := r.author.write(0, max(r.options.Rows/10, 100), 10); err != nil {
		return err
	}
	if _, err := exchangeOf(other, r.author); err != nil {
		return err
	}
	var reports [2]*exchange.Report
	for round := range r.options.Rounds + 1 {
		for i, n := range []*syncNode{r.author, other} {
			if err := n.write(1<<30+(2*round+i)*50, 50, 1); err != nil {
				return err
			}
		}
		for i, subject := range []string{"100 differ", "level"} {
			err := r.turn(subject, 1, func() (err error) {
				reports[i], err = exchangeOf(other, r.author)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	r.warmed()
	for i, what := range []struct{ name, bytes, trips string }{{"100 differ", "at most 200", "at most 10"}, {"level", "", "1"}} {
		r.figure(what.name+": both ways", float64(reports[i].Sent+reports[i].Received)/1024, "KiB", what.bytes)
		r.figure(what.name+": round trips", float64(reports[i].Turns)/2, "", what.trips)
	}
	return nil
}
