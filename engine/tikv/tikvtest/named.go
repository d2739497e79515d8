package tikvtest

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv"

	stoatikv "github.com/stoadb/stoa/engine/tikv"
)

// named is the client of the cluster whose PD servers STOA_TIKV_PD names, with commas between
// them; nil: it names none. It is open as long as the process is there.
var named = sync.OnceValues(func() (*tikv.KVStore, error) {
	addresses := os.Getenv("STOA_TIKV_PD")
	if addresses == "" {
		return nil, nil
	}
	client, err := txnkv.NewClient(strings.Split(addresses, ","))
	if err != nil {
		return nil, err
	}
	return client.KVStore, nil
})

// Any is as Start, but on the cluster that STOA_TIKV_PD names if it names one: the test has a place of
// its own there, in the regions that there are, which is emptied when it ends.
func Any(t testing.TB, splits ...[]byte) *Cluster {
	c, end, err := anywhere(splits...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, end()) })
	return c
}

func anywhere(splits ...[]byte) (c *Cluster, end func() error, err error) {
	store, err := named()
	if err != nil {
		return nil, nil, err
	}
	if store == nil {
		return New(splits...)
	}
	c = &Cluster{KVStore: store, Options: stoatikv.Options{Prefix: "test-" + rand.Text() + "/", TwoPhase: os.Getenv("STOA_TIKV_TWO_PHASE") != ""}}
	return c, func() error { return empty(store, []byte(c.Options.Prefix)) }, nil
}

// empty deletes the rows whose keys begin with a prefix, in transactions: what deletes a range at once
// would pass locks by.
func empty(store *tikv.KVStore, prefix []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for left := true; left; {
		txn, err := store.Begin()
		if err != nil {
			return err
		}
		it, err := txn.Iter(prefix, kv.PrefixNextKey(prefix))
		if err != nil {
			return err
		}
		for n := 0; it.Valid() && n < 1000; n++ {
			if err := errors.Join(txn.Delete(it.Key()), it.Next()); err != nil {
				return err
			}
		}
		left = it.Valid()
		it.Close()
		if err := txn.Commit(ctx); err != nil {
			return err
		}
	}
	return nil
}
