package siege

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// The users of a siege. The daemon is one of its own, and root is root.
const (
	uidDaemon  = 5000
	uidGreedy  = 5001 // bound to a tenant
	uidModest  = 5002 // bound to another
	uidAllowed = 5003 // reader and writer, and no more
	uidUnknown = 5004 // may not connect
	uidSecond  = 5005 // bound to a third tenant
)

// attack is one way to take the daemon from others, or what is not one's own. run goes on until
// ctx ends; what it returns has failed.
type attack struct {
	finding string // of the security review
	uid     uint32
	run     func(context.Context, *assailant) error
}

// assailant is who attacks.
type assailant struct {
	path string

	tried, letIn atomic.Int64
	first        atomic.Value // string: what it was let in by
}

// outcome is what an attack says at its end.
type outcome struct {
	Tried, LetIn int64
	First        string
}

func (a *assailant) attack(ctx context.Context, what attack) error {
	err := what.run(ctx, a)
	if ctx.Err() != nil {
		err = nil
	}
	o := outcome{Tried: a.tried.Load(), LetIn: a.letIn.Load()}
	o.First, _ = a.first.Load().(string)
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(o))
}

// refused notes that something was tried that is to be refused.
func (a *assailant) refused(what string, err error, want ...error) {
	a.tried.Add(1)
	for _, w := range want {
		if errors.Is(err, w) {
			return
		}
	}
	if errors.Is(err, rpc.ErrBusy) || errors.Is(err, context.Canceled) || errors.Is(err, rpc.ErrUnavailable) {
		return
	}
	a.letIn.Add(1)
	a.first.CompareAndSwap(nil, fmt.Sprintf("%s: %v", what, err))
}

// attacks are all of them, by name.
var attacks = map[string]attack{
	"announced-payloads":    {"01", uidGreedy, announcePayloads},
	"endless-grpc-messages": {"02", uidGreedy, endlessMessages},
	"tiny-grpc-messages":    {"02", uidSecond, tinyMessages},
	"grpc-headers":          {"02", uidGreedy, headersOnly},
	"unread-answers":        {"03", uidGreedy, leaveAnswersUnread},
	"hostile-json":          {"04", uidGreedy, putHostileJSON},
	"nested-json":           {"04", uidSecond, putNestedJSON},
	"idle-connections":      {"05", uidGreedy, holdConnections},
	"endless-watches":       {"05", uidSecond, holdWatches},
	"snapshots":             {"05", uidAllowed, holdSnapshots},
	"calls-of-a-signer":     {"07", uidAllowed, signAsTheNode},
	"copies":                {"08", uidAllowed, copyTheStore},
	"unknown-namespaces":    {"10", uidAllowed, askForNamespaces},
	"beside-each-other":     {"12", uidAllowed, addFirstDeltas},
	"refused-connections":   {"16", uidUnknown, connectUnknown},
	"secret-rows":           {"18", uidAllowed, replaceSecrets},
	"rows-of-tenants":       {"18", uidAllowed, readTenants},
	"large-reads":           {"03", uidSecond, readMuch},
}

// dialed is a connection that is closed with ctx.
func (a *assailant) dialed(ctx context.Context) (net.Conn, error) {
	c, err := net.Dial("unix", a.path)
	if err == nil {
		context.AfterFunc(ctx, func() { c.Close() })
	}
	return c, err
}

// many runs work on many goroutines, again and again.
func many(ctx context.Context, n int, work func(i int) error) error {
	done := make(chan struct{})
	for i := range n {
		go func() {
			defer func() { done <- struct{}{} }()
			for ctx.Err() == nil {
				if work(i) != nil {
					time.Sleep(time.Millisecond)
				}
			}
		}()
	}
	for range n {
		<-done
	}
	return nil
}

// header is that of a frame.
func header(length uint32, id uint64, method uint16, flags byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, length)
	b = binary.LittleEndian.AppendUint64(b, id)
	b = binary.LittleEndian.AppendUint16(b, method)
	return append(b, flags, 0, 0, 0, 0)
}

const (
	methodPut  = 202
	methodList = 208
	flagEnd    = 1
)

func announcePayloads(ctx context.Context, a *assailant) error {
	return many(ctx, 200, func(i int) error {
		c, err := a.dialed(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		size := uint32(8 << 20)
		if i%2 == 0 {
			size = 33 << 20
		}
		go io.Copy(io.Discard, c)
		c.Write(append([]byte("STO1"), header(size, 1, methodPut, flagEnd)...))
		for sent := uint32(0); sent < size-1; {
			n := min(uint32(rand.IntN(256<<10)), size-1-sent)
			if _, err := c.Write(make([]byte, n)); err != nil {
				return err
			}
			sent += n
			time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
		}
		<-ctx.Done()
		return nil
	})
}

// http2To connects as gRPC does, and leaves what comes unread, or not.
func (a *assailant) http2To(ctx context.Context, read bool) (*http2.Framer, net.Conn, error) {
	c, err := a.dialed(ctx)
	if err != nil {
		return nil, nil, err
	}
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		return nil, nil, err
	}
	f := http2.NewFramer(c, c)
	if read {
		go io.Copy(io.Discard, c)
	}
	return f, c, f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
}

func beginCall(f *http2.Framer, id uint32, method string) error {
	var block []byte
	for _, field := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "stoa"}, {"content-type", "application/grpc"}, {"te", "trailers"}} {
		block = append(append(block, 0, byte(len(field[0]))), field[0]...)
		block = append(append(block, byte(len(field[1]))), field[1]...)
	}
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true})
}

func endlessMessages(ctx context.Context, a *assailant) error {
	return many(ctx, 50, func(int) error {
		f, c, err := a.http2To(ctx, true)
		if err != nil {
			return err
		}
		defer c.Close()
		const size = 1 << 20
		for id := uint32(1); id < 220; id += 2 {
			if err := beginCall(f, id, "/stoa.v1.Kv/Put"); err != nil {
				return err
			}
			rest := append(binary.BigEndian.AppendUint32([]byte{0}, size), make([]byte, size-1)...)
			for len(rest) > 0 {
				n := min(len(rest), 16<<10)
				if err := f.WriteData(id, false, rest[:n]); err != nil {
					return err
				}
				rest = rest[n:]
			}
		}
		<-ctx.Done()
		return nil
	})
}

// tinyMessages sends many empty messages of a stream, each in a frame of its own, and reads no answer.
func tinyMessages(ctx context.Context, a *assailant) error {
	return many(ctx, 50, func(int) error {
		f, c, err := a.http2To(ctx, false)
		if err != nil {
			return err
		}
		defer c.Close()
		for id := uint32(1); id < 120; id += 2 {
			if err := beginCall(f, id, "/stoa.v1.Record/Import"); err != nil {
				return err
			}
			for range 12_000 {
				if err := f.WriteData(id, false, make([]byte, 5)); err != nil {
					return err
				}
			}
		}
		<-ctx.Done()
		return nil
	})
}

func headersOnly(ctx context.Context, a *assailant) error {
	return many(ctx, 200, func(int) error {
		f, c, err := a.http2To(ctx, true)
		if err != nil {
			return err
		}
		defer c.Close()
		for id := uint32(1); id < 1000; id += 2 {
			if err := beginCall(f, id, "/stoa.v1.Kv/Watch"); err != nil {
				return err
			}
		}
		time.Sleep(200 * time.Millisecond)
		return nil
	})
}

// client is a client of the assailant's own, that gives up soon.
func (a *assailant) client(ctx context.Context) (*rpc.Client, error) {
	return rpc.Dial(ctx, a.path, rpc.WithCallTimeout(20*time.Second), rpc.WithDaemonUser(uidDaemon))
}

// filled has the assailant's tenant have some large values.
func (a *assailant) filled(ctx context.Context) (*rpc.Client, error) {
	c, err := a.client(ctx)
	if err != nil {
		return nil, err
	}
	value := []byte(`"` + strings.Repeat("x", 700<<10) + `"`)
	for i := range 10 {
		if _, err := c.KV("").Put(ctx, fmt.Sprint("large", i), value); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func leaveAnswersUnread(ctx context.Context, a *assailant) error {
	own, err := a.filled(ctx)
	if err != nil {
		return err
	}
	defer own.Close()
	list, err := proto.Marshal(&stoav1.KvListRequest{})
	if err != nil {
		return err
	}
	return many(ctx, 30, func(int) error {
		c, err := a.dialed(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		c.Write([]byte("STO1"))
		for id := range uint64(2000) {
			if _, err := c.Write(append(header(uint32(len(list)), id+1, methodList, flagEnd), list...)); err != nil {
				return err
			}
		}
		time.Sleep(time.Second)
		return nil
	})
}

// readMuch asks for much, and reads it.
func readMuch(ctx context.Context, a *assailant) error {
	own, err := a.filled(ctx)
	if err != nil {
		return err
	}
	defer own.Close()
	return many(ctx, 100, func(int) error {
		_, err := own.KV("").List(ctx, rpc.ListOptions{})
		return err
	})
}

func putHostileJSON(ctx context.Context, a *assailant) error {
	value := []byte("{" + strings.TrimSuffix(strings.Repeat(`"":0,`, 7<<20/5), ",") + "}")
	var b strings.Builder
	for i := range 90_000 {
		fmt.Fprintf(&b, `"%x":0,`, i*7919%100_000)
	}
	unsorted := []byte("{" + strings.TrimSuffix(b.String(), ",") + "}")
	return a.putAll(ctx, value, unsorted)
}

func putNestedJSON(ctx context.Context, a *assailant) error {
	deep := strings.Repeat(`{"b":1,"a":`, 127)
	return a.putAll(ctx, []byte(strings.Repeat(`{"a":`, 1<<20)), []byte(deep+`"`+strings.Repeat("x", 1000<<10)+`"`+strings.Repeat("}", 127)))
}

// putAll puts texts as they are, which a client would not, each again and again.
func (a *assailant) putAll(ctx context.Context, values ...[]byte) error {
	var requests [][]byte
	for _, value := range values {
		request, err := proto.Marshal(&stoav1.KvPutRequest{Key: []byte("k"), Value: value})
		if err != nil {
			return err
		}
		requests = append(requests, request)
	}
	return many(ctx, 16, func(i int) error {
		c, err := a.dialed(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		go io.Copy(io.Discard, c)
		c.Write([]byte("STO1"))
		request := requests[i%len(requests)]
		for id := uint64(1); ; id++ {
			if _, err := c.Write(append(header(uint32(len(request)), id, methodPut, flagEnd), request...)); err != nil {
				return err
			}
		}
	})
}

func holdConnections(ctx context.Context, a *assailant) error {
	return many(ctx, 5000, func(i int) error {
		c, err := a.dialed(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		io.WriteString(c, "STO1")
		_, err = io.Copy(io.Discard, c)
		time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
		return err
	})
}

func holdWatches(ctx context.Context, a *assailant) error {
	return many(ctx, 40, func(int) error {
		c, err := a.client(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		return many(ctx, 200, func(int) error {
			for _, err := range c.KV("").Watch(ctx, rpc.Once()) {
				if err != nil {
					time.Sleep(100 * time.Millisecond)
					return err
				}
			}
			return nil
		})
	})
}

func holdSnapshots(ctx context.Context, a *assailant) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return many(ctx, 2000, func(int) error {
		s, err := c.Store(ctx).Snapshot()
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			return err
		}
		<-ctx.Done()
		return s.Close()
	})
}

func signAsTheNode(ctx context.Context, a *assailant) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return many(ctx, 4, func(int) error {
		ns := c.Namespaces()
		_, _, err := ns.Create(ctx, namespace.Create{})
		a.refused("Namespace.Create", err, rpc.ErrRole)
		_, err = ns.NewIdentity(ctx, codec.GroupID{1})
		a.refused("Namespace.NewIdentity", err, rpc.ErrRole)
		_, err = ns.Admit(ctx, []byte("a request"))
		a.refused("Namespace.Admit", err, rpc.ErrRole)
		a.refused("Dag.CreateContext", c.Dag().CreateContext(ctx, codec.ContextID{1}, codec.ApplicationMeta{}), rpc.ErrRole)
		_, err = c.Dag().Commit(ctx, dag.Commit{})
		a.refused("Dag.Commit", err, rpc.ErrRole)
		_, err = c.Reopen(ctx)
		a.refused("Admin.Reopen", err, rpc.ErrRole)
		a.refused("Admin.Compact", c.Compact(ctx, 0, engine.Range{}), rpc.ErrRole)
		_, _, err = c.KV(tenantOf(uidModest)).DropTenant(ctx)
		a.refused("Kv.DropTenant", err, rpc.ErrRole)
		return nil
	})
}

// copyTheStore has copies made in a directory of its own, and moves what is made there.
func copyTheStore(ctx context.Context, a *assailant) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	own, err := os.MkdirTemp("", "own")
	if err != nil {
		return err
	}
	defer os.RemoveAll(own)
	os.Chmod(own, 0o777)
	return many(ctx, 2, func(i int) error {
		a.refused("Admin.Checkpoint", c.Checkpoint(ctx, fmt.Sprintf("%s/copy%d", own, i)), rpc.ErrRole)
		if there, _ := os.ReadDir(own); len(there) > 0 {
			a.refused("a copy of the store in "+own, nil)
		}
		return nil
	})
}

func askForNamespaces(ctx context.Context, a *assailant) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return many(ctx, 16, func(int) error {
		var id codec.GroupID
		for i := range id {
			id[i] = byte(rand.Uint32())
		}
		_, err := c.Namespaces().Heads(ctx, id)
		return err
	})
}

// addFirstDeltas offers deltas of contexts that are not there, which are refused or wait.
func addFirstDeltas(ctx context.Context, a *assailant) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return many(ctx, 16, func(int) error {
		delta := make([]byte, 200)
		for i := range delta {
			delta[i] = byte(rand.Uint32())
		}
		_, err := c.Dag().Add(ctx, delta, dag.AddOptions{})
		return err
	})
}

func connectUnknown(ctx context.Context, a *assailant) error {
	return many(ctx, 8, func(int) error {
		c, err := a.dialed(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		io.WriteString(c, "STO1")
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		n, _ := c.Read(make([]byte, 1))
		if n > 0 {
			a.refused("a connection", nil)
		}
		a.tried.Add(1)
		return nil
	})
}

func replaceSecrets(ctx context.Context, a *assailant) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return many(ctx, 4, func(int) error {
		key := make([]byte, 32)
		_, err := c.Store(ctx).Get(nil, column.Identity, key)
		a.refused("a read of Identity", err, rpc.ErrSecret)
		var b engine.Batch
		b.Put(column.Identity, key, make([]byte, 2))
		a.refused("a write of Identity", c.Store(ctx).Apply(&b), rpc.ErrSecret)
		b.Reset()
		b.DeleteRange(column.Identity, []byte{0}, []byte{9})
		a.refused("a deletion of Identity", c.Store(ctx).Apply(&b), rpc.ErrSecret)
		return nil
	})
}

func readTenants(ctx context.Context, a *assailant) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return many(ctx, 4, func(int) error {
		_, err := c.KV(tenantOf(uidModest)).Get(ctx, "key1")
		a.refused("a tenant's value", err, rpc.ErrRole)
		it, err := c.Store(ctx).Iterate(column.Generic, engine.Range{})
		if err == nil {
			for it.Next() {
			}
			err = it.Err()
			it.Close()
		}
		a.refused("a tenant's rows", err, rpc.ErrRole)
		return nil
	})
}
