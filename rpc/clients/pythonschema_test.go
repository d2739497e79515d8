package clients

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPythonHasTheSchema(t *testing.T) {
	s := readSchema(t)
	requireGenerated(t, "python/src/stoa/values.py", s.pythonValues(t))
	requireGenerated(t, "python/src/stoa/keys.py", s.pythonKeys(t))
}

// pythonKind returns the layout of a kind, and its type.
func pythonKind(t *testing.T, kind string) (layout, typ string) {
	if m := generic.FindStringSubmatch(kind); m != nil {
		if kind == "Vec<u8>" {
			return "b.data", "bytes"
		}
		layout, typ = pythonKind(t, m[2])
		if m[1] == "Vec" {
			return "b.vec(" + layout + ")", "list[" + typ + "]"
		}
		return "b.option(" + layout + ")", typ + " | None"
	}
	if m := choice.FindStringSubmatch(kind); m != nil {
		return "b.choice(" + m[1] + ")", m[1]
	}
	if n := sizes[kind]; n > 0 {
		return fmt.Sprintf("b.fixed(%d)", n), "bytes"
	}
	if m := bits.FindStringSubmatch(kind); m != nil {
		return fmt.Sprintf("b.bits(b.%s, %s)", m[1], m[2]), "int"
	}
	if m := bounded.FindStringSubmatch(kind); m != nil {
		return fmt.Sprintf("b.name(%s)", m[1]), "str"
	}
	switch kind {
	case "u8", "u32", "u64":
		return "b." + kind, "int"
	case "u128 above 0":
		return "b.above_zero(b.u128)", "int"
	case "bool":
		return "b.boolean", "bool"
	case "String":
		return "b.text", "str"
	case "raw bytes":
		return "b.raw", "bytes"
	case "Secret in Vec<u8>":
		return "b.secret", "bytes"
	}
	require.Regexp(t, `^[A-Z]\w+$`, kind)
	return "b.nested(" + kind + ")", kind
}

// pythonValues are the types of values.
func (s *schema) pythonValues(t *testing.T) []byte {
	var out, layouts bytes.Buffer
	out.WriteString(pythonHead + `"""The values of the schema: codec/README.md has their bytes. Ids, hashes and keys are bytes."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from . import _borsh as b
from ._borsh import Malformed

__all__ = ["Malformed"]
`)
	enums, values := s.choices()
	for _, name := range enums {
		fmt.Fprintf(&out, "\n\nclass %s(enum.IntEnum):\n", name)
		for i, value := range values[name] {
			fmt.Fprintf(&out, "    %s = %d\n", strings.ToUpper(value), i)
		}
		fmt.Fprintf(&out, `
    def encode(self) -> bytes:
        """The bytes of the value."""
        return bytes([self])

    @classmethod
    def decode(cls, data: bytes) -> %s:
        """The value of some bytes; raises Malformed."""
        if len(data) != 1 or data[0] > %d:
            raise Malformed(0, "is no %s")
        return cls(data[0])
`, name, len(values[name])-1, name)
	}
	class := func(name, of string, fields []field) {
		shown, secret := "", s.secret(name)
		if secret {
			shown = ", repr=False"
		}
		fmt.Fprintf(&out, "\n\n@dataclass(frozen=True%s)\nclass %s(%s):\n", shown, name, of)
		if len(fields) == 0 {
			out.WriteString("    pass\n")
		}
		fmt.Fprintf(&layouts, "b.struct(%s", name)
		for _, f := range fields {
			layout, typ := pythonKind(t, f.Kind)
			fmt.Fprintf(&out, "    %s: %s\n", f.Name, typ)
			fmt.Fprintf(&layouts, ", %s=%s", f.Name, layout)
		}
		layouts.WriteString(")\n")
		if secret {
			fmt.Fprintf(&out, "\n    def __repr__(self) -> str:\n        return \"%s(secret)\"\n", name)
		}
	}
	s.walk(func(name string, fields []field, arms []arm) {
		if arms == nil {
			class(name, "b.Encoded", fields)
			return
		}
		fmt.Fprintf(&out, "\n\nclass %s(b.Encoded):\n    \"\"\"One of the classes whose names begin with this one's.\"\"\"\n", name)
		var names []string
		for _, a := range arms {
			names = append(names, name+camel(a.name))
			class(name+camel(a.name), name, a.fields)
		}
		fmt.Fprintf(&layouts, "b.variants(%s, %s)\n", name, strings.Join(names, ", "))
	})
	out.WriteString("\n\n")
	out.Write(layouts.Bytes())
	return out.Bytes()
}

// pythonKeys are the types of keys.
func (s *schema) pythonKeys(t *testing.T) []byte {
	var out bytes.Buffer
	out.WriteString(pythonHead + `"""The keys of the schema: keys/README.md has their bytes. Ids are bytes."""

from __future__ import annotations

from dataclasses import dataclass

from . import values
from ._borsh import Malformed
from ._key import Key

__all__ = ["Key", "Malformed"]
`)
	for _, k := range s.Keys {
		var parts, fields strings.Builder
		for _, f := range k.Fields {
			kind, typ, size := "bytes", "bytes", sizes[f.Kind]
			switch f.Kind {
			case "u32", "u64":
				kind, typ, size = "integer", "int", map[string]int{"u32": 4, "u64": 8}[f.Kind]
			case "alias kind":
				kind, typ, size = "integer", "int", 1
			case "name":
				kind, typ, size = "name", "str", 50
			case "scope":
				kind, typ, size = "scope", "str | bytes", 16
			case "bytes":
				require.NotZero(t, k.More, k.Type)
			default:
				require.NotZero(t, size, f.Kind)
			}
			fmt.Fprintf(&parts, "(%q, %q, %d), ", f.Name, kind, size)
			fmt.Fprintf(&fields, "    %s: %s\n", f.Name, typ)
		}
		secret := "False"
		if k.Secret {
			secret = "True"
		}
		fmt.Fprintf(&out, "\n\n@dataclass(frozen=True)\nclass %s(Key):\n    \"\"\"A key of %s.\"\"\"\n\n    column = %d\n    prefix = bytes.fromhex(%q)\n    value = values.%s\n    secret = %s\n    _parts = (%s)\n\n%s",
			k.Type, k.Column, s.number(k.Column), k.Prefix, k.Value, secret, strings.TrimSuffix(parts.String(), " "), fields.String())
	}
	return out.Bytes()
}
