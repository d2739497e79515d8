package keys_test

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

// A key is a struct of typed parts. Its bytes sort as its parts do, and parse back.
func ExampleKey() {
	key := keys.GroupMember{Group: codec.GroupID{0x11}, Identity: codec.Identity{0x22}}
	b, err := key.AppendBinary(nil)
	fmt.Printf("%d bytes, tag %02x, %v\n", len(b), b[0], err)

	same, err := keys.GroupMember{}.Parse(b)
	fmt.Println(same == key, err)
	_, err = keys.GroupAlias{}.Parse(b)
	fmt.Println(errors.Is(err, keys.ErrLayout))
	// Output:
	// 65 bytes, tag 21, <nil>
	// true <nil>
	// true
}

// Tools that meet keys as bytes find out whose they are.
func ExampleIdentify() {
	b, err := keys.GroupMember{Group: codec.GroupID{0x11}}.AppendBinary(nil)
	if err != nil {
		fmt.Println(err)
	}
	info, err := keys.Identify(column.Group, b)
	fmt.Println(info.Name, "of", info.Value.Name, err)
	for _, f := range info.Fields {
		fmt.Println("-", f.Name)
	}
	// Output:
	// GroupMember of GroupMemberRole <nil>
	// - group_id
	// - identity
}

// A server asks of every row whether it may be written.
func ExampleCheck() {
	key, err := keys.GroupMember{}.AppendBinary(nil)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(keys.Check(column.Group, key, []byte{1}))
	fmt.Println(errors.Is(keys.Check(column.Group, key, []byte{9}), codec.ErrMalformed))
	fmt.Println(errors.Is(keys.Check(column.Group, key[:64], []byte{1}), keys.ErrLayout))
	// Output:
	// <nil>
	// true
	// true
}
