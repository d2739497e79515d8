package natskv

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/rpc"
)

// configs is the bucket in which a tenant has what NATS says of its buckets and Stoa does not.
const configs = "natskv-configs"

// kept is what it has of a bucket, in JSON, under its name.
type kept struct {
	Description  string            `json:"description,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	Memory       bool              `json:"memory,omitempty"`
	Compression  bool              `json:"compression,omitempty"`
	MarkerMillis int64             `json:"limit_marker_ttl_ms,omitempty"`
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// checkName returns jetstream.ErrInvalidBucketName for what names no bucket, or not one of a
// program's.
func checkName(name string) error {
	switch {
	case !validName.MatchString(name) || len(name) > bucket.MaxName:
		return fmt.Errorf("%w: letters, digits, _ and -, at most %d of them", jetstream.ErrInvalidBucketName, bucket.MaxName)
	case name == configs:
		return fmt.Errorf("%w: %s is what the adapter keeps its own in", jetstream.ErrInvalidBucketName, configs)
	}
	return nil
}

// normal is a configuration with what NATS takes for what is 0, or the error of one that Stoa
// has no bucket for.
func normal(c jetstream.KeyValueConfig) (jetstream.KeyValueConfig, error) {
	if err := checkName(c.Bucket); err != nil {
		return c, err
	}
	what := ""
	switch {
	case c.MaxBytes > 0:
		what = "MaxBytes: give the tenant a quota"
	case c.Replicas > 1:
		what = "Replicas"
	case c.Placement != nil:
		what = "Placement"
	case c.RePublish != nil:
		what = "RePublish"
	case c.Mirror != nil:
		what = "Mirror"
	case len(c.Sources) > 0:
		what = "Sources"
	}
	if what != "" {
		return c, fmt.Errorf("%w: KeyValueConfig.%s", ErrUnsupported, what)
	}
	if c.History > jetstream.KeyValueMaxHistory {
		return c, jetstream.ErrHistoryTooLarge
	}
	c.History, c.Replicas = max(c.History, 1), 1
	c.MaxBytes, c.MaxValueSize = -1, cmp.Or(max(c.MaxValueSize, 0), -1)
	return c, nil
}

// configOf is what a bucket of Stoa is to be, which was another so far.
func configOf(c *jetstream.KeyValueConfig, was bucket.Info) rpc.BucketConfig {
	of := was.Config
	of.Name, of.History, of.TTL, of.MaxValue = c.Bucket, int(c.History), c.TTL, uint64(max(c.MaxValueSize, 0))
	return of
}

// natsConfig is the configuration that NATS would say that a bucket has.
func natsConfig(i *bucket.Info, k *kept) jetstream.KeyValueConfig {
	c := jetstream.KeyValueConfig{
		Bucket: i.Name, History: uint8(i.History), TTL: i.TTL, MaxBytes: -1, MaxValueSize: -1, Replicas: 1,
		Description: k.Description, Metadata: k.Metadata, Compression: k.Compression, LimitMarkerTTL: time.Duration(k.MarkerMillis) * time.Millisecond,
	}
	if i.MaxValue > 0 {
		c.MaxValueSize = int32(i.MaxValue)
	}
	if k.Memory {
		c.Storage = jetstream.MemoryStorage
	}
	return c
}

// same reports whether two configurations, as natsConfig and normal return them, are one.
func same(a, b jetstream.KeyValueConfig) bool {
	return a.Bucket == b.Bucket && a.History == b.History && a.TTL == b.TTL && a.MaxValueSize == b.MaxValueSize &&
		a.Description == b.Description && a.Storage == b.Storage && a.Compression == b.Compression &&
		a.LimitMarkerTTL == b.LimitMarkerTTL && maps.Equal(a.Metadata, b.Metadata)
}

// keep stores what Stoa does not know of a bucket, or that there is nothing of the kind.
func keep(ctx context.Context, b *rpc.Buckets, c *jetstream.KeyValueConfig) error {
	is := kept{c.Description, c.Metadata, c.Storage == jetstream.MemoryStorage, c.Compression, c.LimitMarkerTTL.Milliseconds()}
	text, err := json.Marshal(is)
	if err != nil {
		return err
	}
	in := b.Bucket(configs)
	if string(text) == "{}" {
		if _, err := in.Get(ctx, c.Bucket); errors.Is(err, bucket.ErrNotFound) {
			return nil
		}
		_, err = in.Purge(ctx, c.Bucket, bucket.DeleteOptions{})
		return err
	}
	_, err = in.Put(ctx, c.Bucket, text, bucket.PutOptions{})
	if noBucket(err) {
		if _, err := b.Create(ctx, rpc.BucketConfig{Name: configs}); err != nil && !errors.Is(err, bucket.ErrExists) {
			return err
		}
		_, err = in.Put(ctx, c.Bucket, text, bucket.PutOptions{})
	}
	return err
}

// keptOf returns what keep stored of a bucket.
func keptOf(ctx context.Context, b *rpc.Buckets, name string) (k kept, err error) {
	if b == nil {
		return k, nil
	}
	e, err := b.Bucket(configs).Get(ctx, name)
	if errors.Is(err, bucket.ErrNotFound) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value, &k)
	}
	return k, err
}
