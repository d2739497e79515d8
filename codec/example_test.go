package codec_test

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
)

// Decoding is strict: whatever decodes encodes to the same bytes again.
func ExampleType() {
	v := codec.ContextConfigValue{ApplicationRevision: 1, MembersRevision: 2}
	b, err := v.AppendBinary(nil)
	fmt.Printf("%x %v\n", b, err)

	same, err := codec.ContextConfigValue{}.Decode(b)
	fmt.Println(same == v, err)
	_, err = codec.ContextConfigValue{}.Decode(append(b, 0))
	fmt.Println(errors.Is(err, codec.ErrMalformed))
	// Output:
	// 01000000000000000200000000000000 <nil>
	// true <nil>
	// true
}

// A secret prints as a digest of itself, in every format.
func ExampleSecret() {
	key := codec.Secret{1, 2, 3}
	fmt.Printf("%v %s %x\n", key, key, key)
	// Output:
	// redacted:1ac2f192 redacted:1ac2f192 redacted:1ac2f192
}
