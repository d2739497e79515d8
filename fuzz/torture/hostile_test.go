package torture

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// What the frames of package rpc begin with, and the numbers of two calls.
const (
	magic      = "STO1"
	methodGet  = 101
	methodScan = 104
)

// mostMemory is what the daemon may have taken at most, in bytes: 256 MiB of requests
// under way, 256 MiB for connections, caches and the program, 200 MiB of pages of scans
// that nobody takes, and as much again that is garbage or held by gRPC.
const mostMemory = 1200 << 20

// mostConnections is how many connections the daemon keeps.
const mostConnections = 4096

// attacker connects to a daemon and does what no client should.
type attacker struct {
	socket string
	rand   *rand.Rand
	conns  []net.Conn
	// clients are connections of the library, of which the daemon sees one each.
	clients []*rpc.Client
}

// connect returns a connection that ends with the attack, or nil if the daemon
// takes no more.
func (a *attacker) connect(hello string) net.Conn {
	conn, err := net.Dial("unix", a.socket)
	if err == nil && hello != "" {
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, err = conn.Write([]byte(hello))
	}
	if err != nil {
		return nil
	}
	a.conns = append(a.conns, conn)
	return conn
}

// open counts the connections that the daemon has not ended.
func (a *attacker) open() int {
	var open atomic.Int64
	var all sync.WaitGroup
	for _, c := range a.conns {
		all.Go(func() {
			_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			b := make([]byte, 512)
			for range 100 {
				if _, err := c.Read(b); errors.Is(err, os.ErrDeadlineExceeded) {
					break
				} else if err != nil {
					return
				}
			}
			open.Add(1)
		})
	}
	all.Wait()
	return int(open.Load())
}

func (a *attacker) end() {
	hangUp(a.clients)
	for _, c := range a.conns {
		_ = c.Close() // the daemon may have closed it before
	}
}

// write sends bytes until the daemon takes no more for a while.
func write(c net.Conn, b []byte) {
	if c != nil {
		_ = c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		_, _ = c.Write(b) // it may have hung up, which is right
	}
}

// framed returns a frame: the header of package rpc and what follows.
func framed(length uint32, id uint64, method uint16, flags byte, payload []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, length)
	b = binary.LittleEndian.AppendUint64(b, id)
	b = append(binary.LittleEndian.AppendUint16(b, method), flags)
	return append(binary.LittleEndian.AppendUint32(b, 0), payload...)
}

func request(id uint64, method uint16, m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err) // no message of ours fails
	}
	return framed(uint32(len(b)), id, method, 1, b)
}

// http2 is how a client of gRPC begins: its preface, and empty settings.
const http2 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// crowd is how many connections an attack makes that makes n where a thousand are
// idle in the first.
func crowd(n int) int { return max(1, n**idleFlag/1000) }

// attacks are what is done to the daemon, one after the other.
var attacks = []struct {
	name string
	run  func(*attacker)
}{
	{"idle connections", func(a *attacker) {
		for i := range *idleFlag {
			a.connect([]string{"", magic, http2, "S", "PRI"}[i%5])
		}
	}},
	{"garbage", func(a *attacker) {
		for i := range crowd(300) {
			b := make([]byte, a.rand.IntN(20_000))
			for i := range b {
				b[i] = byte(a.rand.Uint32())
			}
			write(a.connect([]string{"", magic, http2}[i%3]), b)
		}
	}},
	{"oversized frames", func(a *attacker) {
		for i := range crowd(200) {
			// Each announces what may be sent, and sends none of it, or more than may be.
			length := []uint32{33 << 20, 33<<20 + 1, 1<<32 - 1}[i%3]
			write(a.connect(magic), framed(length, 1, methodGet, 1, make([]byte, 10)))
			frame := []byte{0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 1} // of HTTP/2: 16 MiB of DATA
			write(a.connect(http2), frame)
		}
	}},
	{"slow readers", func(a *attacker) {
		scan := &stoav1.ScanRequest{Column: stoav1.Column(column.Generic)}
		for range crowd(40) {
			c := a.connect(magic)
			for id := range uint64(8) {
				write(c, request(id+1, methodScan, scan))
			}
		}
	}},
	{"slow gRPC readers", func(a *attacker) {
		for range crowd(3) {
			c, err := rpc.Dial(context.Background(), a.socket, rpc.WithFraming(rpc.FramingGRPC))
			if err != nil {
				continue // it takes no more
			}
			a.clients = append(a.clients, c)
			for range 16 {
				it, err := c.Store(context.Background()).Iterate(column.Generic, engine.Range{})
				if err == nil {
					go it.Next() // the first page; it waits where those of others are in its way
				}
			}
		}
	}},
	{"slow writers", func(a *attacker) {
		get := request(1, methodGet, &stoav1.GetRequest{Column: stoav1.Column(column.Generic), Key: make([]byte, 100)})
		for range crowd(300) {
			write(a.connect(magic), get[:1+a.rand.IntN(len(get)-1)])
		}
	}},
	{"half-open", func(a *attacker) {
		scan := request(1, methodScan, &stoav1.ScanRequest{Column: stoav1.Column(column.Generic)})
		for i := range crowd(300) {
			c := a.connect([]string{magic, http2, ""}[i%3])
			if i%3 == 0 {
				write(c, scan)
			}
			if c, ok := c.(*net.UnixConn); ok {
				_ = c.CloseWrite() // it may have hung up, which is right
			}
		}
	}},
	{"floods of streams", func(a *attacker) {
		scan := &stoav1.ScanRequest{Column: stoav1.Column(column.Generic)}
		get := &stoav1.GetRequest{Column: stoav1.Column(column.Generic), Key: make([]byte, 20)}
		for range crowd(5) {
			var b []byte
			for id := range uint64(5000) {
				if id%2 == 0 {
					b = append(b, request(id+1, methodScan, scan)...)
				} else {
					b = append(b, request(id+1, methodGet, get)...)
				}
			}
			write(a.connect(magic), b)
		}
	}},
}

// memory returns what a process has taken, now and at most, in bytes.
func memory(pid int) (now, most int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(f[1], 10, 64) // of other lines it is no number
		switch f[0] {
		case "VmRSS:":
			now = n << 10
		case "VmHWM:":
			most = n << 10
		}
	}
	return now, most, err
}

// Clients that say nothing, nonsense, or more than they may, and that take no
// answers, harm none of those that were there before them, and take no more of the
// daemon's memory than its limits say.
func TestHostileClientsHarmNoOthers(t *testing.T) {
	p, seed := realDaemon(t), seedOf(t)
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("no /proc here: the memory of the daemon can't be measured")
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur < uint64(*idleFlag)+500 {
		t.Fatalf("%d files may be open, %v: raise the limit (ulimit -n), or have less idle clients (ARGS='-idle N')", files.Cur, err)
	}
	h := newHarness(t, p, seed)
	d, clients, err := h.serve()
	if err != nil {
		t.Fatal(err)
	}
	defer d.kill() // it has ended, or a step has failed
	fill(t, clients[0].Store(t.Context()))
	others := h.work(clients)
	for _, attack := range attacks {
		a := &attacker{socket: d.socket, rand: h.rand}
		start, writes := time.Now(), others.total.Load()
		attack.run(a)
		err := others.progress(100)
		now, most, memErr := memory(d.cmd.Process.Pid)
		took := time.Since(start).Round(time.Millisecond)
		open := a.open()
		for deadline := time.Now().Add(time.Minute); open > mostConnections && time.Now().Before(deadline); open = a.open() {
		}
		t.Logf("%-18s %5d connections, %4d not ended by the daemon; %4d writes of others in %s; memory %d MiB, at most %d MiB",
			attack.name, len(a.conns)+len(a.clients), open+len(a.clients), others.total.Load()-writes, took, now>>20, most>>20)
		a.end()
		if open > mostConnections {
			t.Fatalf("%s: %d connections are open", attack.name, open)
		}
		if err := errors.Join(err, memErr); err != nil || len(others.errs) > 0 {
			err = errors.Join(err, others.end(h))
			t.Fatalf("%s: %v; the daemon's log: %s", attack.name, err, d.tail())
		}
		if most > mostMemory {
			t.Fatalf("%s: the daemon has taken %d MiB", attack.name, most>>20)
		}
		late, err := d.dial(rpc.FramingFrames) // as soon as they are gone, others may come
		if err != nil {
			t.Fatalf("after %s: %v", attack.name, err)
		}
		_ = late.Close() // nothing is under way
	}
	err = others.end(h)
	hangUp(clients)
	if err := errors.Join(err, d.stop(), h.check(), h.end()); err != nil {
		t.Fatal(err)
	}
}

// fill stores enough for scans that nobody reads to fill every buffer.
func fill(t testing.TB, w engine.Writer) {
	t.Helper()
	for n := range 64 {
		b := engine.Batch{Durability: engine.WAL}
		for i := range 16 {
			key := append([]byte("stoa.test\x00\x00\x00\x00\x00\x00\x00"), 'z', byte(n), byte(i))
			b.Put(column.Generic, key, make([]byte, 16<<10))
		}
		if err := w.Apply(&b); err != nil {
			t.Fatal(err)
		}
	}
}
