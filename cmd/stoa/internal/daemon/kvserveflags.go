package daemon

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
)

// kvServeFlags are the flags of serve that say what the Kv service offers.
type kvServeFlags struct {
	off, noIncrement, noSwap, errorsV2 bool
	maxKey, maxValue, quotaBytes       cli.Size
	maxTTL                             time.Duration
	quotaKeys                          uint64
}

func (f *kvServeFlags) register(fs *pflag.FlagSet) {
	f.maxKey, f.maxValue = 1<<10, 1<<20
	fs.BoolVar(&f.off, "kv-off", false, "do not offer key-values: every call of the Kv service is host_capability_missing")
	fs.BoolVar(&f.noIncrement, "kv-no-increment", false, "do not offer increments")
	fs.BoolVar(&f.noSwap, "kv-no-swap", false, "do not offer compare-and-swap")
	fs.Var(&f.maxKey, "kv-max-key", "the longest key, at most 16KiB")
	fs.Var(&f.maxValue, "kv-max-value", "the longest value, at most 15MiB")
	fs.DurationVar(&f.maxTTL, "kv-max-ttl", 87600*time.Hour, "the longest time to live, in whole seconds")
	fs.Uint64Var(&f.quotaKeys, "kv-quota-keys", 0, "how many keys a tenant that is new may hold; 0: no bound")
	fs.Var(&f.quotaBytes, "kv-quota-bytes", "how many bytes of keys and values a tenant that is new may hold; 0: no bound")
	fs.BoolVar(&f.errorsV2, "kv-errors-v2", false, "report every limit as storage_limit_exceeded with the limit's name")
}

// options returns what the capability is opened with. A limit of 0 is refused, as it
// would stand for the default.
func (f *kvServeFlags) options() (o kvstorage.Options, err error) {
	if f.maxTTL < time.Second || f.maxTTL%time.Second != 0 {
		return o, cli.Bad(fmt.Errorf("--kv-max-ttl: %s is not a whole number of seconds, at least 1", f.maxTTL), "")
	}
	if f.maxKey == 0 || f.maxValue == 0 {
		return o, cli.Bad(errors.New("--kv-max-key and --kv-max-value are at least 1"), "")
	}
	o = kvstorage.Options{
		Off: f.off, NoIncrement: f.noIncrement, NoCompareAndSwap: f.noSwap, ErrorsV2: f.errorsV2,
		MaxKeyBytes: int(f.maxKey), MaxValueBytes: int(f.maxValue), MaxTTLSeconds: int64(f.maxTTL / time.Second),
		Quota: kv.Quota{Keys: f.quotaKeys, Bytes: uint64(f.quotaBytes)},
	}
	if err := o.Check(); err != nil {
		return o, cli.Bad(fmt.Errorf("--kv-max-key, --kv-max-value, --kv-max-ttl: %w", err), "")
	}
	return o, nil
}
