package server

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/shm"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// slotCredit is what a page in a slot takes of the window.
const slotCredit = frame.Window / shm.Slots

// slottedConn is a framed connection by hand that was handed slots.
type slottedConn struct {
	*rawConn
	slots *shm.PagesRead
	cost  uint32 // of the last page
}

func askForPages(t testing.TB, path string) (net.Conn, *shm.PagesRead, error) {
	conn, err := net.Dial("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	slots, err := shm.AskForPages(conn.(*net.UnixConn))
	return conn, slots, err
}

func (d *testDaemon) slotsOf(t testing.TB) *slottedConn {
	conn, slots, err := askForPages(t, d.path)
	require.NoError(t, err)
	return &slottedConn{rawConn: d.speak(t, conn), slots: slots}
}

// scan begins a scan of everything.
func (c *slottedConn) scan(id uint64) {
	c.send(frame.Header{ID: id, Method: 104, Flags: frame.End}, &stoav1.ScanRequest{Column: stoav1.Column_COLUMN_GENERIC, Prefix: []byte("slots-test-scope")})
}

func (c *slottedConn) credit(id uint64, n uint32) {
	c.write(binary.LittleEndian.AppendUint32(frame.Header{ID: id, Flags: frame.Credit, Length: 4}.Append(nil), n))
}

// page returns the next page of a scan, nil at its end, and where it is, if it is in a slot.
func (c *slottedConn) page(id uint64) (entries []byte, slot uint32) {
	f := c.next()
	require.Equal(c.t, id, f.ID)
	if f.Flags == frame.End {
		return nil, 0
	}
	require.Zero(c.t, f.Flags)
	m := new(stoav1.ScanResponse)
	require.NoError(c.t, proto.Unmarshal(f.Payload, m))
	c.cost = uint32(len(f.Payload))
	if m.GetSlot() == 0 {
		return m.GetEntries(), 0
	}
	require.Empty(c.t, m.GetEntries())
	c.cost += slotCredit
	b, err := c.slots.Page(m.GetSlot()-1, m.GetSlotBytes())
	require.NoError(c.t, err)
	return b, m.GetSlot()
}

// quiet demands that nothing comes but the answer to another call.
func (c *slottedConn) quiet() {
	for range 3 { // what is sent meanwhile comes before one of them
		c.send(frame.Header{ID: 99, Method: 101, Flags: frame.End}, &stoav1.GetRequest{Column: stoav1.Column_COLUMN_GENERIC, Key: []byte("slots-test-scope-")})
		require.EqualValues(c.t, 99, c.next().ID)
	}
}

// rowsOfSlots fills a store, and returns all of it as a page.
func rowsOfSlots(t *testing.T, db *mem.Engine, rows int, size func(i int) int) (all []byte) {
	var b engine.Batch
	for i := range rows {
		key := binary.BigEndian.AppendUint32([]byte("slots-test-scope"), uint32(i))
		value := bytes.Repeat([]byte{byte(i), byte(i >> 8)}, size(i)/2+1)
		b.Put(column.Generic, key, value)
		all = engine.AppendEntry(all, key, value)
		if b.Size() > 16<<20 {
			require.NoError(t, db.Apply(&b))
			b.Reset()
		}
	}
	require.NoError(t, db.Apply(&b))
	return all
}

// Pages lie in slots as they were written until credit is given for them, however the client gives it, and
// no more of them come than there are slots.
func TestPagesInSlotsStayUntilThereIsCredit(t *testing.T) {
	db := mem.New()
	all := rowsOfSlots(t, db, 40_000, func(i int) int { return 200 + i%300 })
	d := start(t, db, Options{MaxSharedPages: 1})
	c := d.slotsOf(t)
	random := rand.New(rand.NewPCG(22, 2))
	var got []byte
	type lying struct {
		there, was []byte
		cost       uint32
	}
	var held []lying
	var most int
	c.scan(1)
	var inline uint32
	for over := false; !over; {
		for {
			if len(held) == shm.Slots {
				c.quiet()
				break
			}
			entries, slot := c.page(1)
			if over = entries == nil; over {
				break
			}
			got = append(got, entries...)
			if slot == 0 {
				inline += c.cost
				continue
			}
			held = append(held, lying{entries, bytes.Clone(entries), c.cost})
		}
		most = max(most, len(held))
		for _, page := range held {
			require.True(t, bytes.Equal(page.was, page.there))
		}
		if over {
			break
		}
		n := 1 + random.IntN(len(held))
		for _, page := range held[:n] {
			inline += page.cost
		}
		held = held[n:]
		c.credit(1, inline)
		inline = 0
		if len(held) == 0 && random.IntN(2) == 0 {
			continue
		}
		for range n {
			entries, slot := c.page(1)
			if over = entries == nil; over {
				break
			}
			require.NotZero(t, slot)
			got = append(got, entries...)
			held = append(held, lying{entries, bytes.Clone(entries), c.cost})
		}
	}
	require.Equal(t, shm.Slots, most)
	require.True(t, bytes.Equal(all, got), "%d bytes instead of %d", len(got), len(all))
}

// One scan of a connection goes through its slots, and others beside it by the socket.
func TestOneScanAtATimeHasTheSlots(t *testing.T) {
	db := mem.New()
	all := rowsOfSlots(t, db, 40_000, func(int) int { return 300 })
	d := start(t, db, Options{MaxSharedPages: 1})
	c := d.slotsOf(t)
	read := func(id uint64, to []byte) (all []byte, slots int) {
		for {
			entries, slot := c.page(id)
			if entries == nil {
				return to, slots
			}
			to = append(to, entries...)
			if slot > 0 {
				slots++
			}
			c.credit(id, c.cost)
		}
	}
	c.scan(1)
	var first []byte
	var owed uint32
	for have := 0; have < shm.Slots; { // of which none is given back
		entries, slot := c.page(1)
		first = append(first, entries...)
		owed += c.cost
		if slot > 0 {
			have++
		}
	}
	c.scan(2)
	second, slots := read(2, nil)
	require.True(t, bytes.Equal(all, second))
	require.Zero(t, slots)
	c.credit(1, owed)
	first, _ = read(1, first)
	require.True(t, bytes.Equal(all, first))
	c.scan(3)
	third, slots := read(3, nil)
	require.True(t, bytes.Equal(all, third))
	require.NotZero(t, slots, "they are free again")
}

// What does not fit a slot comes by the socket, and scans end as they always did.
func TestPagesThatDoNotFitASlot(t *testing.T) {
	db := mem.New()
	all := rowsOfSlots(t, db, 3000, func(i int) int {
		switch {
		case i > 700 && i%50 == 0:
			return shm.SlotSize + i
		case i%7 == 0:
			return 80 << 10
		}
		return 100
	})
	d := start(t, db, Options{MaxSharedPages: 1})
	c := d.slotsOf(t)
	c.scan(1)
	var got []byte
	var inline, slotted int
	for {
		entries, slot := c.page(1)
		if entries == nil {
			break
		}
		got = append(got, entries...)
		if slot > 0 {
			slotted++
		} else {
			inline++
		}
		c.credit(1, c.cost)
	}
	require.True(t, bytes.Equal(all, got))
	require.Greater(t, inline, 20)
	require.Greater(t, slotted, 20)
}

// elsewhere is an engine whose pages are never in the memory that they were asked for in.
type elsewhere struct{ engine.Engine }

func (e elsewhere) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	it, err := e.Engine.Iterate(col, r)
	if err != nil {
		return nil, err
	}
	return engine.NewIterator(elsewherePager{it}, r.Limit), nil
}

type elsewherePager struct{ it *engine.Iterator }

func (p elsewherePager) Page(dst []byte, entries, bytes int) ([]byte, int, error) {
	page := p.it.Page(nil, entries, bytes)
	return slices.Concat(dst, page), p.it.PageEntries() * min(len(page), 1), p.it.Err()
}

func (p elsewherePager) Close() error { return p.it.Close() }

// A page that lies elsewhere is not taken for what is in the slot, however small it is.
func TestAPageThatIsNotInItsSlotComesByTheSocket(t *testing.T) {
	db := mem.New()
	all := rowsOfSlots(t, db, 20_000, func(int) int { return 300 })
	d := start(t, elsewhere{db}, Options{MaxSharedPages: 1})
	c := d.slotsOf(t)
	c.scan(1)
	var got []byte
	for {
		entries, slot := c.page(1)
		if entries == nil {
			break
		}
		require.Zero(t, slot)
		got = append(got, entries...)
		c.credit(1, c.cost)
	}
	require.True(t, bytes.Equal(all, got))
}

// A client that goes away, gives credit for more than there is, or says something else than frames
// takes nothing from the daemon.
func TestSlotsEndWithTheirConnection(t *testing.T) {
	db := mem.New()
	rowsOfSlots(t, db, 60_000, func(int) int { return 300 })
	d := start(t, db, Options{MaxSharedPages: 2})
	for i := range 20 {
		c := d.slotsOf(t)
		c.scan(1)
		for range i % 8 {
			c.page(1)
		}
		if i%3 > 0 {
			c.credit(1, 1<<31)
		}
		if i%3 > 1 {
			c.write(frame.Header{ID: 1, Flags: frame.Cancel}.Append(nil))
		}
		c.Close()
		require.Eventually(t, func() bool { return d.slotted.Load() == 0 }, patience, time.Millisecond)
	}
	conn, _, err := askForPages(t, d.path)
	require.NoError(t, err)
	_, err = conn.Write([]byte("GET / HTTP/1.1"))
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.Eventually(t, func() bool { return d.slotted.Load() == 0 }, patience, time.Millisecond)
}

// Slots are for users who may do everything, and there are so many.
func TestSlotsAreForWhoMayDoEverything(t *testing.T) {
	d := start(t, nil, Options{MaxSharedPages: 2})
	for range 2 {
		_, _, err := askForPages(t, d.path)
		require.NoError(t, err)
	}
	third, _, err := askForPages(t, d.path)
	require.ErrorIs(t, err, shm.ErrNone)
	_, err = third.Read(make([]byte, 1))
	require.Error(t, err, "it is hung up on")
	require.EqualValues(t, 2, d.slotted.Load())
	_, _, err = askForPages(t, start(t, nil, Options{}).path)
	require.ErrorIs(t, err, shm.ErrNone)

	const others = 4242
	for rights, want := range map[string]error{"all": nil, "reader": shm.ErrNotForPeer, "reader,secrets": shm.ErrNotForPeer, "tenant:other": shm.ErrNotForPeer} {
		r, err := access.Parse(rights)
		require.NoError(t, err)
		var table access.Table
		require.NoError(t, table.User(others, r))
		d := start(t, nil, Options{MaxSharedPages: 2, Peers: &table, peerOf: func(net.Conn) (demux.Peer, error) { return demux.Peer{UID: others}, nil }})
		_, _, err = askForPages(t, d.path)
		require.ErrorIs(t, err, want, rights)
	}
}

// Nobody but the daemon writes to slots, or takes them from under it.
func TestSlotsAreReadOnly(t *testing.T) {
	d := start(t, nil, Options{MaxSharedPages: 1})
	conn, err := net.Dial("unix", d.path)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte(shm.MagicPages))
	require.NoError(t, err)
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(make([]byte, 64), control)
	require.NoError(t, err)
	messages, err := unix.ParseSocketControlMessage(control[:n])
	require.NoError(t, err)
	files, err := unix.ParseUnixRights(&messages[0])
	require.NoError(t, err)
	require.Len(t, files, 1)
	defer unix.Close(files[0])
	_, err = unix.Mmap(files[0], 0, shm.SlotSize, unix.PROT_WRITE, unix.MAP_SHARED)
	require.Error(t, err)
	require.Error(t, unix.Ftruncate(files[0], 1))
	_, err = unix.Pwrite(files[0], []byte("x"), 0)
	require.Error(t, err)
	reopened, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", files[0]), unix.O_RDWR, 0)
	if err == nil {
		defer unix.Close(reopened)
		_, err = unix.Pwrite(reopened, []byte("x"), 0)
		require.Error(t, err)
	}
}
