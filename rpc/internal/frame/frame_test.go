package frame

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/wire"
)

func TestHeaderBytes(t *testing.T) {
	h := Header{Length: 0x01020304, ID: 0x1112131415161718, Method: 101, Flags: End, Deadline: 30000}
	b := h.Append([]byte("x"))
	require.Equal(t, "78"+"04030201"+"1817161514131211"+"6500"+"01"+"30750000", hex.EncodeToString(b))
	require.Equal(t, engine.MaxBatch+1<<20, MaxPayload)
}

func TestHeadersAreReadBackOrRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), HeaderSize, HeaderSize).Draw(t, "header")
		if rapid.Bool().Draw(t, "likely") {
			b[3], b[14] = 0, b[14]&15
		}
		h, err := Parse(b)
		require.Equal(t, b, h.Append(nil))
		if err == nil {
			require.LessOrEqual(t, int(h.Length), MaxPayload)
			require.Zero(t, h.Flags&^known)
		}
	})
	for name, h := range map[string]Header{
		"flag":                  {Flags: 32},
		"paced in its middle":   {Flags: Paced},
		"paced and cancelled":   {Method: 101, Flags: Paced | Cancel},
		"error without an end":  {Flags: Error},
		"cancel with a payload": {Flags: Cancel, Length: 1},
		"cancel and end":        {Flags: Cancel | End},
		"credit of 3 bytes":     {Flags: Credit, Length: 3},
	} {
		_, err := Parse(h.Append(nil))
		require.ErrorIs(t, err, ErrMalformed, name)
	}
	_, err := Parse(Header{Length: MaxPayload + 1}.Append(nil))
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = Parse(make([]byte, HeaderSize-1))
	require.ErrorIs(t, err, ErrMalformed)
}

func TestGreetingsAreReadBack(t *testing.T) {
	g := Greeting{Calls: 256, Message: MaxPayload, Window: Window, Methods: []uint16{101, 104, 900}, ClientWindow: Window}
	b := g.Append(nil)
	h, err := Parse(b)
	require.NoError(t, err)
	require.Equal(t, len(b)-HeaderSize, int(h.Length))
	got, err := ParseGreeting(append(b[HeaderSize:], 0, 0, 7, 7)) // of a later version
	require.NoError(t, err)
	require.Equal(t, g, got)
	earlier, err := ParseGreeting(b[HeaderSize : len(b)-greetingEnd])
	require.NoError(t, err)
	require.Zero(t, earlier.ClientWindow)
	require.Equal(t, g.Methods, earlier.Methods)
	require.True(t, got.Has(104))
	require.False(t, got.Has(7))
	for _, bad := range [][]byte{nil, make([]byte, 11), make([]byte, 12)} {
		_, err := ParseGreeting(bad)
		require.ErrorIs(t, err, ErrMalformed)
	}
}

// received is what a reader made of a stream of frames.
type received struct {
	Header
	payload string
	refused bool
}

// readAll reads until the source ends. Admitted payloads that do not end count.
func readAll(r *Reader) (all []received, err error) {
	for {
		f, ok, err := r.Next()
		if err != nil {
			return all, err
		}
		if ok {
			all = append(all, received{f.Header, string(f.Payload), f.Refused != nil})
			if f.Owned != nil {
				wire.Return(f.Owned)
			}
			continue
		}
		if err := r.Fill(); err != nil {
			r.Close()
			return all, err
		}
	}
}

// TestFramesAreReadHoweverTheyCome puts frames of all sizes through a writer,
// and reads them in pieces.
func TestFramesAreReadHoweverTheyCome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near, far := net.Pipe()
		w := NewWriter(near, 0)
		var want []received
		for i := range rapid.IntRange(1, 8).Draw(t, "frames") {
			size := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(copied-2, copied+2),
				rapid.IntRange(maxBuffer-HeaderSize-1, maxBuffer+2), rapid.IntRange(100_000, 300_000), rapid.IntRange(firstPart+1, 5*firstPart)).Draw(t, "size")
			payload := bytes.Repeat([]byte{byte(i)}, size)
			h := Header{ID: uint64(i + 1), Method: 101, Flags: End}
			if rapid.Bool().Draw(t, "lent") {
				require.NoError(t, w.Add(h, mem.BufferSlice{mem.SliceBuffer(payload[:size/2]), mem.SliceBuffer(payload[size/2:])}))
			} else {
				require.NoError(t, w.AddBytes(h, payload))
			}
			h.Length = uint32(size)
			refused := HeaderSize+size > maxBuffer && size%2 == 0
			if refused {
				payload = nil
			}
			want = append(want, received{h, string(payload), refused})
		}
		var src io.Reader = far
		if rapid.Bool().Draw(t, "slowly") {
			src = iotest.HalfReader(far)
		}
		r := NewReader(src)
		r.Growing = rapid.Bool().Draw(t, "growing")
		late := rapid.Bool().Draw(t, "refused late")
		held := 0 // what is admitted and not released
		r.Admit = func(more, whole int) error {
			if whole%2 == 0 && !(r.Growing && late && more == firstPart) {
				return errors.New("no")
			}
			held += more
			return nil
		}
		r.Release = func(size int) { held -= size }
		go func() {
			w.Flush(true)
			near.Close()
		}()
		got, err := readAll(r)
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, want, got)
		for _, f := range got {
			if !f.refused && HeaderSize+int(f.Length) > maxBuffer {
				held -= int(f.Length)
			}
		}
		require.Zero(t, held, "what is admitted is what came, and what is refused is released")
	})
}

// TestAPayloadTakesWhatHasComeOfIt: who announces much and sends little is given little.
func TestAPayloadTakesWhatHasComeOfIt(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	r := NewReader(far)
	r.Growing = true
	held, largest := 0, 0
	r.Admit = func(more, whole int) error {
		require.Equal(t, MaxPayload, whole)
		held += more
		largest = max(largest, more)
		return nil
	}
	sent := 0
	go func() {
		near.Write(Header{Length: MaxPayload, ID: 9, Method: 101, Flags: End}.Append(nil))
		near.Write(make([]byte, 3<<20))
		near.Close()
	}()
	for {
		_, ok, err := r.Next()
		require.NoError(t, err)
		require.False(t, ok)
		require.LessOrEqual(t, held, max(firstPart, growth*(sent+1)))
		if err := r.Fill(); err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		if r.body != nil {
			sent = r.have
			require.True(t, r.Partial())
		}
	}
	require.Equal(t, 3<<20, sent)
	require.Equal(t, 4<<20, held)
	require.Equal(t, held, r.Close())
}

func TestAForkGoesOnWhereTheReaderWas(t *testing.T) {
	b := Header{ID: 1, Length: 3}.Append(nil)
	b = append(append(b, "one"...), Header{ID: 2, Length: 3}.Append(nil)...)
	b = append(b, "two"...)
	r := NewReader(bytes.NewReader(b))
	require.NoError(t, r.Fill())
	one, ok, err := r.Next()
	require.NoError(t, err)
	require.True(t, ok)
	two, ok, err := r.Fork().Next()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "one two", string(one.Payload)+" "+string(two.Payload))
}

func TestAWriterThatCanNotWriteSaysWhatWasLost(t *testing.T) {
	near, far := net.Pipe()
	far.Close()
	w := NewWriter(near, 0)
	require.NoError(t, w.AddBytes(Header{ID: 1}, []byte("x")))
	require.ErrorIs(t, w.Flush(false), ErrUnsent)
	require.Error(t, w.AddBytes(Header{ID: 2}, []byte("x")))
}

// FuzzReader reads any bytes: no panic, no more memory than came, but for what
// was admitted.
func FuzzReader(f *testing.F) {
	f.Add(Header{Length: 2, ID: 1, Method: 101, Flags: End}.Append(nil))
	f.Add(append(Header{Length: 5, ID: 1, Method: 104}.Append(nil), "hello"...))
	f.Add(Header{Length: MaxPayload, ID: 9}.Append(nil))
	f.Add(Greeting{Calls: 1, Methods: []uint16{101}}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		const quota = 1 << 20
		r := NewReader(bytes.NewReader(b))
		left := quota
		r.Growing = len(b)%2 == 0
		r.Admit = func(size, _ int) error {
			if size > left {
				return errors.New("too much")
			}
			left -= size
			return nil
		}
		r.Release = func(size int) { left += size }
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		all, err := readAll(r)
		runtime.ReadMemStats(&after)
		require.Error(t, err)
		require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(3*quota+20*len(b)))
		read := 0
		for _, f := range all {
			read += HeaderSize + int(f.Length)
		}
		require.LessOrEqual(t, read, len(b))
	})
}
