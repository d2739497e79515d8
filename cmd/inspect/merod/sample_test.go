package merod

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// sampleRow is a row of a sample: what rows.json of testdata has.
type sampleRow struct {
	Family string `json:"family"`
	Key    string `json:"key"`   // hex
	Value  string `json:"value"` // hex
}

// sampleID returns an id of the sample: the same for the same name and number.
func sampleID(name string, i int) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", name, i))
	return sum[:]
}

// drawn appends a value of a type, at random.
func (t *typ) drawn(b []byte, r *rand.Rand) []byte {
	bytes := func(n int) []byte {
		out := make([]byte, n)
		for i := range out {
			out[i] = byte(r.Uint32())
		}
		return out
	}
	str := func(b []byte) []byte {
		s := []string{"", "chat", "grüße", "a \"quoted\" name", "\u2028"}[r.IntN(5)]
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	switch t.kind {
	case kindNumber, kindFixed, kindSecret:
		n := max(t.size, 1)
		if t.kind == kindSecret {
			n = 32
		}
		return append(b, bytes(n)...)
	case kindBool:
		return append(b, byte(r.IntN(2)))
	case kindString:
		return str(b)
	case kindBytes:
		inner := bytes(r.IntN(20))
		if t.inner != nil {
			inner = t.inner.drawn(nil, r)
		}
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(inner))), inner...)
	case kindMap:
		names := []string{"a", "b", "c"}[:r.IntN(4)]
		b = binary.LittleEndian.AppendUint32(b, uint32(len(names)))
		for _, name := range names {
			b = str(append(binary.LittleEndian.AppendUint32(b, uint32(len(name))), name...))
		}
		return b
	case kindOption:
		if r.IntN(2) == 0 {
			return append(b, 0)
		}
		return t.inner.drawn(append(b, 1), r)
	case kindVec:
		n := r.IntN(3)
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
		for range n {
			b = t.inner.drawn(b, r)
		}
		return b
	case kindStruct:
		for _, f := range t.fields {
			b = f.typ.drawn(b, r)
		}
		return b
	case kindEnum, kindOp:
		of := t
		if t.kind == kindOp {
			of = t.inner
		}
		n := r.IntN(len(of.fields))
		b = append(b, byte(n))
		if v := of.fields[n].typ; v != nil {
			b = v.drawn(b, r)
		}
		if t.kind == kindOp {
			b = append(b, bytes(r.IntN(9))...)
		}
		return b
	}
	return append(b, bytes(r.IntN(60))...)
}

// sampleKey returns a key of a rule, the same for the same i.
func (r *rule) sampleKey(i int) []byte {
	var key []byte
	if !r.quoted {
		key = slices.Clone(r.prefix)
	}
	for _, p := range r.parts {
		name := p.name
		switch {
		case r.kind == "GroupParentRef":
			name = "child_id"
		case r.kind == "GroupOpLog" && name == "group_id":
			key = append(key, sampleID(name, 0)...) // one log
			continue
		}
		switch {
		case p.size < 0:
			key = append(key, sampleID(name, i)[:3+i]...)
		case p.text && r.quoted:
			key = append(key, append(slices.Clone(r.prefix), make([]byte, p.size-len(r.prefix))...)...)
		case p.text:
			text := fmt.Sprintf("name %d", i)
			key = append(key, append([]byte(text), make([]byte, p.size-len(text))...)...)
		case p.number:
			key = append(key, binary.BigEndian.AppendUint64(nil, uint64(i+1))[8-p.size:]...)
		default:
			key = append(key, slices.Concat(sampleID(name, i), sampleID(name, i+100))[:p.size]...)
		}
	}
	return key
}

// sample returns rows of all kinds that a layout has, which fit each other, by family and in
// order.
func sample(layout string) map[string][]diskfile.Row {
	r := rand.New(rand.NewPCG(1, 2))
	out := map[string][]diskfile.Row{}
	for _, family := range layouts.families {
		var rules []*rule
		for of, list := range layouts.rules {
			if of.family == family {
				rules = append(rules, list...)
			}
		}
		slices.SortFunc(rules, func(a, b *rule) int {
			return strings.Compare(string(a.prefix)+a.kind+a.layouts, string(b.prefix)+b.kind+b.layouts)
		})
		rows := map[string][]byte{}
		for _, rule := range rules {
			if !slices.Contains(strings.Split(rule.layouts, ","), layout) {
				continue
			}
			n := 3
			if len(rule.parts) == 0 || rule.kind == "GroupOpHead" {
				n = 1
			}
			for i := range n {
				key := rule.sampleKey(i)
				rows[string(key)] = rule.sampleValue(i, r)
			}
		}
		for _, key := range sortedKeys(rows) {
			out[family] = append(out[family], diskfile.Row{Key: []byte(key), Value: rows[key]})
		}
	}
	return out
}

// sampleValue returns a value at random, which names what the rows of the sample have to name.
func (r *rule) sampleValue(i int, random *rand.Rand) []byte {
	switch r.kind {
	case "ContextMeta":
		b := slices.Concat(sampleID("application_id", i), sampleID("root", i), []byte{1, 0, 0, 0}, sampleID("delta_id", i))
		return append(b, 1, 4, 0, 0, 0, 'c', 'h', 'a', 't')
	case "ContextDagDelta": // its id
		return append(sampleID("delta_id", i), r.value.drawn(nil, random)[32:]...)
	case "ContextGroupRef", "GroupParentRef":
		return sampleID("group_id", i)
	case "GroupOpHead":
		return append(binary.LittleEndian.AppendUint64(nil, 3), 0, 0, 0, 0)
	}
	return r.value.drawn(nil, random)
}

// strange returns a sample in which something is wrong of each kind that Verify knows, and the
// codes of that.
func strange() (rows map[string][]diskfile.Row, codes []string) {
	rows = sample("2026-05")
	remove := func(family string, key ...[]byte) {
		was := len(rows[family])
		rows[family] = slices.DeleteFunc(rows[family], func(r diskfile.Row) bool { return bytes.Equal(r.Key, slices.Concat(key...)) })
		if len(rows[family]) != was-1 {
			panic("no such row")
		}
	}
	add := func(family string, value []byte, key ...[]byte) {
		rows[family] = append(rows[family], diskfile.Row{Key: slices.Concat(key...), Value: value})
		slices.SortFunc(rows[family], func(a, b diskfile.Row) int { return bytes.Compare(a.Key, b.Key) })
	}
	add("Later", []byte("secret"), []byte("later"))
	add("Config", nil, []byte("short"))
	add("Config", append([]byte{1}, make([]byte, 44)...), sampleID("context_id", 9)) // as if it were encrypted
	remove("Delta", sampleID("context_id", 2), sampleID("delta_id", 2))
	remove("Group", []byte{0x30}, sampleID("group_id", 0), []byte{0, 0, 0, 0, 0, 0, 0, 2})
	remove("Group", []byte{0x31}, sampleID("group_id", 0))
	add("Group", append(binary.LittleEndian.AppendUint64(nil, 5), 0, 0, 0, 0), []byte{0x31}, sampleID("group_id", 0))
	add("Group", []byte{0, 0, 0, 0}, []byte{0x30}, sampleID("group_id", 1), []byte{0, 0, 0, 0, 0, 0, 0, 1})
	remove("Group", []byte{0x34}, sampleID("child_id", 2))
	remove("Group", []byte{0x35}, sampleID("group_id", 1), sampleID("child_id", 1))
	remove("Group", []byte{0x22}, sampleID("group_id", 0), sampleID("context_id", 0))
	remove("Group", []byte{0x23}, sampleID("context_id", 1))
	return rows, []string{
		"child-mirror", "context-mirror", "context-mirror", "head-missing", "key", "op-head-missing", "op-head-sequence", "op-log-gap",
		"parent-mirror", "schema", "value",
	}
}

// sampleRows returns the rows of a database of testdata.
func sampleRows(name string) map[string][]diskfile.Row {
	switch name {
	case "strange":
		rows, _ := strange()
		return rows
	case "home/data":
		rows, _ := home()
		return rows
	}
	return sample(name)
}

// sampleJSON returns a sample as testdata has it, a row a line.
func sampleJSON(name string) []byte {
	rows := sampleRows(name)
	var out []byte
	for _, family := range append(slices.Clone(layouts.families), "Later") {
		for _, row := range rows[family] {
			line, _ := json.Marshal(sampleRow{family, fmt.Sprintf("%x", row.Key), fmt.Sprintf("%x", row.Value)}) // of strings it never fails
			out = append(append(out, line...), '\n')
		}
	}
	return out
}
