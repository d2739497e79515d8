package kvstorage

import (
	"github.com/stoadb/stoa/kv"
)

// Options are what a host allows. The zero Options are the defaults.
type Options struct {
	Off              bool     // the capability is not offered: every call is host_capability_missing
	MaxKeyBytes      int      // of a key in UTF-8; 0: 1,024. At most kv.MaxKey
	MaxValueBytes    int      // of a value's canonical form; 0: 1 MiB. At most kv.MaxValue
	MaxTTLSeconds    int64    // 0: ten years. At most a hundred
	NoIncrement      bool     // increment is not offered
	NoCompareAndSwap bool     // compare-and-swap is not offered
	Quota            kv.Quota // of tenants that are new
	ErrorsV2         bool     // the codes of limits are all storage_limit_exceeded
}

const (
	defaultKeyBytes   = 1024
	defaultValueBytes = 1 << 20
	year              = 365 * 24 * 60 * 60
	defaultTTL        = 10 * year
	maxTTL            = 100 * year
)

// Check returns the error that New would return for a limit that is out of its
// range.
func (o Options) Check() error { return o.check() }

// check fills in the defaults, and refuses what is out of range.
func (o *Options) check() error {
	if o.MaxKeyBytes == 0 {
		o.MaxKeyBytes = defaultKeyBytes
	}
	if o.MaxValueBytes == 0 {
		o.MaxValueBytes = defaultValueBytes
	}
	if o.MaxTTLSeconds == 0 {
		o.MaxTTLSeconds = defaultTTL
	}
	switch {
	case o.MaxKeyBytes < 1 || o.MaxKeyBytes > kv.MaxKey:
		return refuse(InvalidArgument, "maxKeyBytes", "it is 1 to %d", kv.MaxKey)
	case o.MaxValueBytes < 1 || o.MaxValueBytes > kv.MaxValue:
		return refuse(InvalidArgument, "maxValueBytes", "it is 1 to %d", kv.MaxValue)
	case o.MaxTTLSeconds < 1 || o.MaxTTLSeconds > maxTTL:
		return refuse(InvalidArgument, "maxTtlSeconds", "it is 1 to %d", maxTTL)
	}
	return nil
}

// Capability is the document that a host shows (RFC 0015, section A).
type Capability struct {
	Supported       bool  `json:"supported"`
	MaxKeyBytes     int   `json:"maxKeyBytes"`
	MaxValueBytes   int   `json:"maxValueBytes"`
	MaxTTLSeconds   int64 `json:"maxTtlSeconds"`
	AtomicIncrement bool  `json:"atomicIncrement"`
	CompareAndSwap  bool  `json:"compareAndSwap"`
}

// Capability returns the document of this host. It never fails.
func (s *Storage) Capability() Capability {
	return Capability{
		Supported:       !s.o.Off,
		MaxKeyBytes:     s.o.MaxKeyBytes,
		MaxValueBytes:   s.o.MaxValueBytes,
		MaxTTLSeconds:   s.o.MaxTTLSeconds,
		AtomicIncrement: !s.o.Off && !s.o.NoIncrement,
		CompareAndSwap:  !s.o.Off && !s.o.NoCompareAndSwap,
	}
}

func missing(what string) *Error {
	return refuse(CapabilityMissing, "", "this host does not offer %s", what)
}
