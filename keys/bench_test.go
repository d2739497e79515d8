package keys

import (
	"testing"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

func BenchmarkAppend(b *testing.B) {
	k := GroupMember{Group: codec.GroupID{1}, Identity: codec.Identity{2}}
	buf := make([]byte, 0, 128)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = k.AppendBinary(buf)
	}
}

func BenchmarkParse(b *testing.B) {
	src, _ := GroupMember{Group: codec.GroupID{1}}.AppendBinary(nil)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = GroupMember{}.Parse(src)
	}
}

func BenchmarkParseState(b *testing.B) {
	src, _ := ContextState{AppKey: NewBytes(make([]byte, 32))}.AppendBinary(nil)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = ContextState{}.Parse(src)
	}
}

func BenchmarkCheckKey(b *testing.B) {
	src, _ := GroupMember{Group: codec.GroupID{1}}.AppendBinary(nil)
	b.ReportAllocs()
	for b.Loop() {
		_ = CheckKey(column.Group, src)
	}
}

func BenchmarkCheck(b *testing.B) {
	src, _ := GroupMember{Group: codec.GroupID{1}}.AppendBinary(nil)
	value := []byte{1}
	b.ReportAllocs()
	for b.Loop() {
		_ = Check(column.Group, src, value)
	}
}

func BenchmarkIdentify(b *testing.B) {
	src, _ := GroupMember{Group: codec.GroupID{1}}.AppendBinary(nil)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = Identify(column.Group, src)
	}
}
