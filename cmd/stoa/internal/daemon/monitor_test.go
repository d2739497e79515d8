package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestACallAsItIsShown(t *testing.T) {
	at := time.Date(2026, 11, 30, 1, 2, 3, 4e6, time.Local)
	for want, d := range map[string]monitoredDoc{
		"01:02:03.004      12.3ms  Kv.Put                    user 1000 (alice)  pid 7  OK\n": {
			At: at, Method: "Kv.Put", UID: 1000, Name: "alice", PID: 7, Took: 12300, Code: "OK",
		},
		"(5 calls are left out)\n01:02:03.004          2s  Store.Apply               user 1001  pid 0  Aborted CONFLICT, waited 1.5s\n": {
			At: at, Method: "Store.Apply", UID: 1001, Took: 2e6, Waited: 15e5, Code: "Aborted", Kind: "CONFLICT", Missed: 5,
		},
	} {
		var out strings.Builder
		d.write(&out)
		require.Equal(t, want, out.String())
	}
}
