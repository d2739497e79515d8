package demux

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"pgregory.net/rapid"
)

// message is a message of gRPC behind its prefix.
func message(size int) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0}, uint32(size))
	return append(b, make([]byte, size)...)
}

// source gives bytes in pieces as they are asked for.
type source struct {
	net.Conn
	pieces [][]byte
}

func (s *source) Read(b []byte) (int, error) {
	if len(s.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, s.pieces[0])
	if s.pieces[0] = s.pieces[0][n:]; len(s.pieces[0]) == 0 {
		s.pieces = s.pieces[1:]
	}
	return n, nil
}

func (s *source) SetReadDeadline(time.Time) error { return nil }
func (s *source) Close() error                    { return nil }

// TestMessagesOverHTTP2CountUntilTheyAreComplete draws streams that send messages in frames of all
// sizes, padded or not, between each other and other frames, in pieces cut anywhere, and
// counts what has come of messages that are not complete.
func TestMessagesOverHTTP2CountUntilTheyAreComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var wire bytes.Buffer
		wire.WriteString(http2.ClientPreface[4:])
		framer := http2.NewFramer(&wire, nil)
		type stream struct {
			rest   []byte // of the message under way
			whole  int    // its size, with the prefix
			frames int64  // of it that were sent
			sent   int64
		}
		streams := map[uint32]*stream{}
		held := func() (n int64) { // by what is not complete
			for _, s := range streams {
				n += s.sent + s.frames*frameCost
			}
			return n
		}
		most := int64(0) // at the end of any frame
		written := rapid.IntRange(1, 40).Draw(t, "frames")
		for range written {
			id := uint32(2*rapid.IntRange(0, 5).Draw(t, "stream") + 1)
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0:
				require.NoError(t, framer.WritePing(false, [8]byte{1}))
			case 1:
				require.NoError(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte("abc"), EndHeaders: true}))
			case 2:
				require.NoError(t, framer.WriteRSTStream(id, http2.ErrCodeCancel))
				delete(streams, id)
			case 3:
				require.NoError(t, framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 9}))
			default:
				s := streams[id]
				if s == nil {
					s = &stream{}
					streams[id] = s
				}
				if len(s.rest) == 0 {
					s.rest = message(rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 3000)).Draw(t, "size"))
					s.whole = len(s.rest)
				}
				n := rapid.IntRange(0, len(s.rest)).Draw(t, "part")
				data, pad := s.rest[:n], []byte(nil)
				s.rest = s.rest[n:]
				more := int64(n)
				if rapid.Bool().Draw(t, "more than one message") && len(s.rest) == 0 {
					data = append(append([]byte{}, data...), message(7)...)
					more += 12
				}
				if rapid.Bool().Draw(t, "padded") {
					pad = make([]byte, rapid.IntRange(0, 255).Draw(t, "padding"))
					more += int64(len(pad)) + 1
				}
				ends := rapid.IntRange(0, 5).Draw(t, "ends") == 0
				if pad == nil {
					require.NoError(t, framer.WriteData(id, ends, data))
				} else {
					require.NoError(t, framer.WriteDataPadded(id, ends, data, pad))
				}
				s.sent, s.frames = s.sent+more, s.frames+1
				most = max(most, held())
				if ends {
					delete(streams, id)
				} else if len(s.rest) == 0 || len(s.rest) == s.whole {
					s.sent, s.frames = 0, 0
				}
			}
		}
		all := append([]byte{}, wire.Bytes()...)
		src := &source{}
		for b := all; len(b) > 0; {
			n := rapid.IntRange(1, len(b)).Draw(t, "cut")
			src.pieces, b = append(src.pieces, b[:n]), b[n:]
		}
		taken, peak, frames := int64(0), int64(0), 0
		c := newHTTP2Conn(src, Incoming{
			Take: func(n int64) error {
				taken += n
				peak = max(peak, taken)
				return nil
			},
			Give:   func(n int64) { taken -= n },
			Pace:   func(n int) { frames += n },
			Stall:  time.Second,
			Failed: func(error) { t.Fatal("it does not fail") },
		})
		got, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, all, got, "what passes is what came")
		require.Equal(t, held(), taken)
		require.Equal(t, most, peak)
		require.Equal(t, written, frames)
		require.NoError(t, c.Close())
		require.Zero(t, taken, "what is left is given back with the connection")
	})
}

func TestTooMuchOfMessagesOverHTTP2EndsTheConnection(t *testing.T) {
	var wire bytes.Buffer
	wire.WriteString(http2.ClientPreface[4:])
	framer := http2.NewFramer(&wire, nil)
	for id := uint32(1); id < 20; id += 2 {
		require.NoError(t, framer.WriteData(id, false, message(1000)[:500]))
	}
	full, left := errors.New("full"), int64(1500)
	var why error
	c := newHTTP2Conn(&source{pieces: [][]byte{wire.Bytes()}}, Incoming{
		Take: func(n int64) error {
			if n > left {
				return full
			}
			left -= n
			return nil
		},
		Give:   func(n int64) { left += n },
		Pace:   func(int) {},
		Failed: func(err error) { why = err },
	})
	_, err := io.ReadAll(c)
	require.ErrorIs(t, err, full)
	require.ErrorIs(t, why, full)
	c.Close()
	require.EqualValues(t, 1500, left)
}

// FuzzHTTP2 passes any bytes: what they take is given back, and nothing panics.
func FuzzHTTP2(f *testing.F) {
	var wire bytes.Buffer
	wire.WriteString(http2.ClientPreface[4:])
	framer := http2.NewFramer(&wire, nil)
	framer.WriteDataPadded(1, false, message(3), make([]byte, 9))
	framer.WriteData(3, true, message(300)[:7])
	f.Add(wire.Bytes(), byte(3))
	f.Add(append(wire.Bytes()[:20:20], 0, 0, 1, 0, 8, 0, 0, 0, 1, 255, 0, 0, 0, 0, 8, 0, 0, 0, 1), byte(1))
	f.Fuzz(func(t *testing.T, b []byte, cut byte) {
		src := &source{}
		for len(b) > 0 {
			n := min(int(cut)+1, len(b))
			src.pieces, b = append(src.pieces, b[:n]), b[n:]
		}
		taken := int64(0)
		c := newHTTP2Conn(src, Incoming{
			Take:   func(n int64) error { taken += n; return nil },
			Give:   func(n int64) { taken -= n },
			Pace:   func(int) {},
			Failed: func(error) {},
		})
		io.Copy(io.Discard, c)
		require.GreaterOrEqual(t, taken, int64(0))
		c.Close()
		require.Zero(t, taken)
	})
}
