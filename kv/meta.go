package kv

import "encoding/binary"

// Stats are the counters of a space.
type Stats struct {
	Revision uint64 // of the last change; 0: none yet
	Floor    uint64 // changes up to this revision are no longer in the log
	Keys     uint64 // records, those that have expired and are not swept yet included
	Bytes    uint64 // of their keys and values
	Quota    Quota
	Rules    Rules  // of one of the spaces that have a type together; else the zero Rules
	Older    uint64 // revisions of its keys that are kept beside the newest
}

// Quota bounds what a space holds. A change that makes it hold more than is
// allowed is refused; one that makes it hold less is not, even above the quota.
type Quota struct {
	Keys  uint64 // records; 0: no bound
	Bytes uint64 // of keys and values; 0: no bound
}

// metaVersion is the first byte of a space's meta row, which goes on with
//
//	revision u64 ‖ floor u64 ‖ keys u64 ‖ bytes u64 ‖ quota keys u64 ‖ quota bytes u64
//
// in little endian. That of a space with rules has the version metaRuled, and goes on with
//
//	rules ‖ older u64
const (
	metaVersion = 1
	metaRuled   = 2
)

func (m *Stats) fields() [6]*uint64 {
	return [...]*uint64{&m.Revision, &m.Floor, &m.Keys, &m.Bytes, &m.Quota.Keys, &m.Quota.Bytes}
}

func appendMeta(dst []byte, m *Stats) []byte {
	ruled := m.Rules != Rules{}
	dst = append(dst, metaVersion+boolByte(ruled))
	for _, f := range m.fields() {
		dst = binary.LittleEndian.AppendUint64(dst, *f)
	}
	if ruled {
		dst = binary.LittleEndian.AppendUint64(m.Rules.append(dst), m.Older)
	}
	return dst
}

func parseMeta(row, src []byte) (m Stats, err error) {
	plain := 1 + 8*len(m.fields())
	switch {
	case len(src) == plain && src[0] == metaVersion:
	case len(src) == plain+rulesBytes+8 && src[0] == metaRuled:
		if m.Rules, err = parseRules(row, src[plain:]); err != nil {
			return m, err
		}
		m.Older = binary.LittleEndian.Uint64(src[plain+rulesBytes:])
	default:
		return m, damaged(row, "not the counters of a space in a version that is known")
	}
	for i, f := range m.fields() {
		*f = binary.LittleEndian.Uint64(src[1+8*i:])
	}
	if m.Floor > m.Revision {
		return m, damaged(row, "a log that begins after the last change")
	}
	return m, nil
}

// grown returns the refusal of a change that made before into m.
func (m *Stats) grown(before *Stats) error {
	over := func(field string, quota, had, has uint64) error {
		if quota == 0 || has <= quota || has <= had {
			return nil
		}
		return &Error{Code: CodeQuotaExhausted, Field: field, Limit: quota, Have: has,
			Reason: "the space would hold more than its quota: delete something, or raise the quota"}
	}
	if err := over("keys", m.Quota.Keys, before.Keys, m.Keys); err != nil {
		return err
	}
	return over("bytes", m.Quota.Bytes, before.Bytes, m.Bytes)
}

func u64Bytes(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

func parseU64(row, src []byte) (uint64, error) {
	if len(src) != 8 {
		return 0, damaged(row, "not a number of 8 bytes")
	}
	return binary.LittleEndian.Uint64(src), nil
}
