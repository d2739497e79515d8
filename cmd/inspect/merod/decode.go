package merod

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"unicode/utf8"

	"github.com/stoadb/stoa/codec"
)

// decoder reads borsh and writes JSON as stoa's own records are: bytes in hex, u64 and u128 as
// strings, variants by name. It is strict as merod is: what it takes, it takes whole.
type decoder struct {
	in   []byte
	at   int
	out  []byte
	mute bool // nothing is written
	// secret, unless it is nil, is told where each secret stands: of tests.
	secret func(at int)
	notes  []string // what merod takes, and no canonical borsh is
}

// fault is why a value is not of a type.
type fault struct {
	at     int
	reason string
}

func (f *fault) Error() string { return fmt.Sprintf("at byte %d: %s", f.at, f.reason) }

func (d *decoder) bad(reason string) error { return &fault{d.at, reason} }

func (d *decoder) take(n int) ([]byte, error) {
	if n > len(d.in)-d.at {
		return nil, d.bad("it ends too early")
	}
	b := d.in[d.at : d.at+n : d.at+n]
	d.at += n
	return b, nil
}

// count reads the number of items that follow, of each of which there are at least size
// bytes.
func (d *decoder) count(size int) (int, error) {
	b, err := d.take(4)
	if err != nil {
		return 0, err
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n > (len(d.in)-d.at)/max(size, 1) {
		return 0, d.bad("more items than the rest can hold")
	}
	return n, nil
}

func (d *decoder) text(s string) {
	if !d.mute {
		d.out = append(d.out, s...)
	}
}

func (d *decoder) hex(b []byte) {
	if d.mute {
		return
	}
	d.out = append(d.out, '"')
	d.out = hex.AppendEncode(d.out, b)
	d.out = append(d.out, '"')
}

// quote writes a string as JSON.
func (d *decoder) quote(s string) {
	if d.mute {
		return
	}
	text, _ := json.Marshal(s) // of a string it never fails
	d.out = append(d.out, text...)
}

// whole reads a value of a type that all of in is.
func (d *decoder) whole(t *typ) error {
	err := d.value(t)
	if err == nil && d.at != len(d.in) {
		err = d.bad(fmt.Sprintf("%d bytes are left", len(d.in)-d.at))
	}
	return err
}

func (d *decoder) value(t *typ) error {
	switch t.kind {
	case kindNumber:
		return d.number(t.size)
	case kindBool:
		b, err := d.choice(2)
		d.text(strconv.FormatBool(b == 1))
		return err
	case kindFixed:
		b, err := d.take(t.size)
		if err == nil {
			d.hex(b)
		}
		return err
	case kindSecret:
		if d.secret != nil {
			d.secret(d.at)
		}
		b, err := d.take(32)
		if err == nil && !d.mute {
			d.quote(codec.Secret(b).String())
		}
		return err
	case kindString:
		s, err := d.str()
		if err == nil {
			d.quote(s)
		}
		return err
	case kindBytes:
		return d.bytes(t.inner)
	case kindMap:
		return d.strings()
	case kindOption:
		b, err := d.choice(2)
		if err == nil && b == 1 {
			return d.value(t.inner)
		}
		d.text("null")
		return err
	case kindVec:
		return d.vec(t.inner)
	case kindStruct:
		return d.structure(t.fields)
	case kindEnum:
		return d.enum(t)
	case kindOp:
		return d.op(t.inner)
	case kindWithheld:
		d.withhold(d.in[d.at:])
	default:
		d.hex(d.in[d.at:])
	}
	d.at = len(d.in)
	return nil
}

func (d *decoder) number(size int) error {
	b, err := d.take(size)
	if err != nil {
		return err
	}
	switch {
	case d.mute:
	case size == 1:
		d.out = strconv.AppendUint(d.out, uint64(b[0]), 10)
	case size == 4:
		d.out = strconv.AppendUint(d.out, uint64(binary.LittleEndian.Uint32(b)), 10)
	case size == 8:
		d.quote(strconv.FormatUint(binary.LittleEndian.Uint64(b), 10))
	default:
		n := new(big.Int).SetUint64(binary.LittleEndian.Uint64(b[8:]))
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(binary.LittleEndian.Uint64(b)))
		d.quote(n.String())
	}
	return nil
}

// choice reads a byte that is below n.
func (d *decoder) choice(n int) (int, error) {
	b, err := d.take(1)
	if err != nil {
		return 0, err
	}
	if int(b[0]) >= n {
		d.at--
		return 0, d.bad(fmt.Sprintf("%d is not below %d", b[0], n))
	}
	return int(b[0]), nil
}

func (d *decoder) str() (string, error) {
	n, err := d.count(1)
	if err != nil {
		return "", err
	}
	b, _ := d.take(n) // they are there
	if !utf8.Valid(b) {
		d.at -= n
		return "", d.bad("it is not UTF-8")
	}
	return string(b), nil
}

func (d *decoder) bytes(inner *typ) error {
	n, err := d.count(1)
	if err != nil {
		return err
	}
	b, _ := d.take(n) // they are there
	if inner != nil {
		in := decoder{in: b, out: d.out, mute: d.mute}
		if in.whole(inner) == nil {
			d.out, d.notes = in.out, append(d.notes, in.notes...)
			return nil
		}
	}
	d.hex(b)
	return nil
}

// strings reads a map. merod reads one whose names are not in order too, and of a name that
// is there twice the last one counts.
func (d *decoder) strings() error {
	n, err := d.count(8)
	if err != nil {
		return err
	}
	var names []string
	values := map[string]string{}
	ordered := true
	for i := range n {
		name, err := d.str()
		if err != nil {
			return err
		}
		value, err := d.str()
		if err != nil {
			return err
		}
		ordered = ordered && (i == 0 || names[len(names)-1] < name)
		if _, ok := values[name]; !ok {
			names = append(names, name)
		}
		values[name] = value
	}
	if !ordered {
		d.notes = append(d.notes, "the names of a map are not in order, or one is there twice, which merod takes: the last counts")
	}
	d.text("{")
	for i, name := range names {
		if i > 0 {
			d.text(",")
		}
		d.quote(name)
		d.text(":")
		d.quote(values[name])
	}
	d.text("}")
	return nil
}

func (d *decoder) vec(inner *typ) error {
	n, err := d.count(1) // all types that are items have a byte at least
	if err != nil {
		return err
	}
	d.text("[")
	for i := range n {
		if i > 0 {
			d.text(",")
		}
		if err := d.value(inner); err != nil {
			return err
		}
	}
	d.text("]")
	return nil
}

func (d *decoder) structure(fields []field) error {
	d.text("{")
	for i, f := range fields {
		if i > 0 {
			d.text(",")
		}
		d.quote(f.name)
		d.text(":")
		if err := d.value(f.typ); err != nil {
			return err
		}
	}
	d.text("}")
	return nil
}

// enum writes the name of a variant without values, or an object of its one name.
func (d *decoder) enum(t *typ) error {
	n, err := d.choice(len(t.fields))
	if err != nil {
		return err
	}
	f := t.fields[n]
	if f.typ == nil {
		d.quote(f.name)
		return nil
	}
	d.text("{")
	d.quote(f.name)
	d.text(":")
	err = d.value(f.typ)
	d.text("}")
	return err
}

// op reads an op before a signature.
func (d *decoder) op(t *typ) error {
	n, err := d.choice(len(t.fields))
	if err != nil {
		return err
	}
	if len(d.in)-d.at < opTail {
		return d.bad("it ends too early")
	}
	b, _ := d.take(len(d.in) - d.at - opTail) // they are there
	d.text("{")
	d.quote(t.fields[n].name)
	d.text(":")
	d.hex(b)
	d.text("}")
	return nil
}

// withhold writes what is said of bytes that are not shown.
func (d *decoder) withhold(b []byte) {
	if !d.mute {
		d.quote(withheld(b))
	}
}

// withheld says of bytes that are not shown what tells them from others.
func withheld(b []byte) string {
	sum := sha256.Sum256(b)
	return fmt.Sprintf("not shown: %d bytes, SHA-256 %x…", len(b), sum[:8])
}
