package siege

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/stoadb/stoa/rpc"
)

// served is how a user was served for a while.
type served struct {
	Calls, Failed int
	Error         string // the first
	P50, P99, Max time.Duration
}

// beModest makes calls, at a modest pace, and says for each line on standard input how it was
// served since the last.
func beModest(ctx context.Context, path string) error {
	c, err := rpc.Dial(ctx, path, rpc.WithCallTimeout(5*time.Second), rpc.WithDaemonUser(uidDaemon))
	if err != nil {
		return err
	}
	defer c.Close()
	var mu sync.Mutex
	var took []time.Duration
	var now served
	go func() {
		value := []byte(`"a value of a user who means well, of some sixty bytes or more"`)
		for i := 0; ctx.Err() == nil; i++ {
			begun := time.Now()
			key := fmt.Sprint("key", i%100)
			_, err := c.KV("").Put(ctx, key, value)
			if err == nil {
				_, err = c.KV("").Get(ctx, key)
			}
			mu.Lock()
			took = append(took, time.Since(begun))
			if err != nil && ctx.Err() == nil {
				if now.Failed++; now.Error == "" {
					now.Error = err.Error()
				}
			}
			mu.Unlock()
			time.Sleep(time.Millisecond)
		}
	}()
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for in.Scan() {
		mu.Lock()
		slices.Sort(took)
		now.Calls = len(took)
		if n := len(took); n > 0 {
			now.P50, now.P99, now.Max = took[n/2], took[n*99/100], took[n-1]
		}
		said := now
		took, now = nil, served{}
		mu.Unlock()
		if err := out.Encode(said); err != nil {
			return err
		}
	}
	return in.Err()
}
