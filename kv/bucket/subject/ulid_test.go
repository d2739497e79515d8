package subject

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestT53ULIDs(t *testing.T) {
	ids, last := NewIDs(rand.Reader), ""
	random := enginetest.Random(t)
	at := noon
	for range enginetest.Scale(20_000) {
		id, err := ids.New(at)
		require.NoError(t, err)
		require.Len(t, id, 26)
		require.Greater(t, id, last)
		require.NoError(t, Check(id))
		require.Equal(t, id, Escape(id), "it is harmless")
		_, err = ulid.ParseStrict(id)
		require.NoError(t, err)
		made, err := ParseULID(id)
		require.NoError(t, err)
		require.False(t, made.Before(at))
		last = id
		at = at.Add(time.Duration(random.IntN(12)-5) * time.Millisecond) // and back
	}
	id, err := ids.New(at.Add(time.Hour))
	require.NoError(t, err)
	made, err := ParseULID(id)
	require.NoError(t, err)
	require.Equal(t, at.Add(time.Hour), made)
}

func TestT53ULIDsAreRefusedThatAreNone(t *testing.T) {
	const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	made, err := ParseULID(id)
	require.NoError(t, err)
	require.Equal(t, time.Date(2016, 7, 30, 23, 54, 10, 259e6, time.UTC), made)
	for text, byte := range map[string]int{
		"": 0, "01ARZ3NDEK": 10, id + "0": 26, "01arz3ndektsv4rrffq69g5fav": 2, "01ARZ3NDEKTSV4RRFFQ69G5FAU": 25, "81ARZ3NDEKTSV4RRFFQ69G5FAV": 0, "01ARZ-NDEKTSV4RRFFQ69G5FAV": 5,
	} {
		_, err := ParseULID(text)
		require.ErrorIs(t, err, ErrULID, text)
		require.Equal(t, byte, at(err), text)
	}
	ids := NewIDs(rand.Reader)
	for _, when := range []time.Time{{}, time.UnixMilli(-1), time.UnixMilli(1 << 48)} {
		_, err := ids.New(when)
		require.ErrorIs(t, err, ErrULID)
	}
	id0, err := ids.New(time.UnixMilli(0))
	require.NoError(t, err)
	require.Equal(t, "0000000000", id0[:10])
	failed := errors.New("no random bytes")
	_, err = NewIDs(iotest.ErrReader(failed)).New(noon)
	require.ErrorIs(t, err, failed)
}

// Where a millisecond has no ULID left after the last one, the next one has some.
func TestT53AMillisecondThatIsFullIsFollowedByTheNext(t *testing.T) {
	ids := NewIDs(io.MultiReader(bytes.NewReader(bytes.Repeat([]byte{0xff}, 10)), rand.Reader))
	first, err := ids.New(noon)
	require.NoError(t, err)
	second, err := ids.New(noon)
	require.NoError(t, err)
	require.Greater(t, second, first)
	made, err := ParseULID(second)
	require.NoError(t, err)
	require.Equal(t, noon.Add(time.Millisecond), made)
}
