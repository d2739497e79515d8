package keys

import (
	"fmt"

	"github.com/stoadb/stoa/column"
)

// Identify returns the type of the key with these bytes in col; else an [*Error]
// that says where they are wrong and why. Scopes that are not declared pass. It
// allocates nothing where it succeeds.
func Identify(col column.Column, key []byte) (Info, error) {
	i, err := identify(col, key)
	if err != nil {
		return Info{}, err
	}
	return *i, nil
}

// CheckKey returns an [*Error] unless a key with these bytes may be written to
// col: one that [Identify] knows, in a scope that is declared. It allocates
// nothing where it succeeds.
func CheckKey(col column.Column, key []byte) error {
	if _, err := identify(col, key); err != nil {
		return err
	}
	if col == column.Generic {
		_, err := checkScope(key)
		return err
	}
	return nil
}

// Check returns an error unless this row may be written to col: [*Error] for
// what is wrong with the key, as [CheckKey], and *codec.Error for the value. It
// allocates nothing where it succeeds.
func Check(col column.Column, key, value []byte) error {
	i, err := identify(col, key)
	if err != nil {
		return err
	}
	if col == column.Generic {
		return checkGeneric(key, value)
	}
	return i.Value.Check(value)
}

// cursorSecret is the key, in Generic, of what package kv signs its cursors with: the
// scope of its own rows, which is zeros, shape C, kind k (kv/README.md).
const cursorSecret = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00Ck"

// Secret reports whether the value under a key with these bytes in col holds a
// secret, which is shown to nobody who does not ask for it and may. Bytes that are no
// key count by their tag.
func Secret(col column.Column, key []byte) bool {
	return Sealed(col, key) || col == column.Generic && string(key) == cursorSecret
}

// Sealed reports whether the value under a key with these bytes in col is a secret
// that a sealed store keeps encrypted: [Secret] but for what cursors of key-values are
// signed with, which guards nothing beyond the key-values, in plain in the same files.
func Sealed(col column.Column, key []byte) bool {
	switch col {
	case column.Identity:
		return true
	case column.Group:
		return len(key) > 0 && isSecretTag(key[0])
	default:
		return false
	}
}

func isSecretTag(tag byte) bool {
	return tag == tagGroupSigningKey || tag == tagNamespaceIdentity || tag == tagGroupKeyEntry
}

// KeyRange is the keys from Start up to and without End, in the order of their
// bytes. A nil Start is the first key, a nil End is beyond the last.
type KeyRange struct{ Start, End []byte }

// SecretRanges returns the ranges of keys of col that are [Secret], in order; nil
// where there are none.
func SecretRanges(col column.Column) []KeyRange {
	if col == column.Generic {
		return []KeyRange{{Start: []byte(cursorSecret), End: []byte(cursorSecret + "\x00")}}
	}
	return SealedRanges(col)
}

// SealedRanges returns the ranges of keys of col that are [Sealed], in order; nil
// where there are none.
func SealedRanges(col column.Column) []KeyRange {
	switch col {
	case column.Identity:
		return []KeyRange{{}}
	case column.Group:
		var r []KeyRange
		for tag := range byte(0xFF) {
			if isSecretTag(tag) {
				r = append(r, KeyRange{Start: []byte{tag}, End: []byte{tag + 1}})
			}
		}
		return r
	default:
		return nil
	}
}

// index finds the key type of bytes without a search.
type index struct {
	columns [column.Count + 1]*Info // the only type of a column; of Blobs the manifest
	chunk   *Info                   // the other type of Blobs
	tags    [256]*Info              // the types of Group
}

// byPlace is the index of schema. It is never written to.
var byPlace = func() (x index) {
	for i := range schema {
		switch e := &schema[i]; {
		case e.Column == column.Group:
			x.tags[e.Tag] = e
		case x.columns[e.Column] != nil:
			x.chunk = e
		default:
			x.columns[e.Column] = e
		}
	}
	return x
}()

func identify(col column.Column, key []byte) (*Info, error) {
	i, err := byPlace.find(col, key)
	if err != nil {
		return nil, err
	}
	if fault, at := misfit(len(key), i.Size, i.Size+i.MaxVar); fault != "" {
		return nil, &Error{Column: col, Type: i.Name, Offset: at, Reason: i.tagged() + fault}
	}
	switch col {
	case column.Alias:
		_, err = Alias{}.Parse(key)
	case column.Generic:
		s := Scope(key)
		if fault, at := s.fault(); fault != "" {
			err = genericError("scope", at, fault)
		}
	}
	return i, err
}

// tagged returns the tag of a key type of the Group column, to begin a reason.
func (i *Info) tagged() string {
	if i.Tag == 0 {
		return ""
	}
	return fmt.Sprintf("prefix %#02x: ", i.Tag)
}

// find returns the only type that the key can be of, whatever its length.
func (x *index) find(col column.Column, key []byte) (*Info, error) {
	switch {
	case !col.Valid():
		return nil, &Error{Column: col, Offset: -1, Reason: "no such column"}
	case col == column.Blobs:
		return x.findBlob(key)
	case col != column.Group:
		return x.columns[col], nil
	case len(key) == 0:
		return nil, &Error{Column: col, Reason: "empty"}
	case x.tags[key[0]] != nil:
		return x.tags[key[0]], nil
	case reserved(key[0]):
		return nil, &Error{Column: col, Reason: fmt.Sprintf("prefix %#02x is reserved", key[0])}
	default:
		return nil, &Error{Column: col, Reason: fmt.Sprintf("unknown prefix %#02x", key[0])}
	}
}

func reserved(tag byte) bool { return tag == 0x27 || tag == 0x28 || tag == 0x2A || tag == 0x34 }

// findBlob tells a manifest from a chunk by its length.
func (x *index) findBlob(key []byte) (*Info, error) {
	manifest := x.columns[column.Blobs]
	switch len(key) {
	case manifest.Size:
		return manifest, nil
	case x.chunk.Size:
		return x.chunk, nil
	default:
		return nil, &Error{Column: column.Blobs, Offset: min(len(key), manifest.Size), Reason: fmt.Sprintf(
			"%d bytes, neither the %d of a manifest nor the %d of a chunk", len(key), manifest.Size, x.chunk.Size)}
	}
}
