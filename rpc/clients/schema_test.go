package clients

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// schema is what stoa schema --json says, which a test of package cmd/stoa keeps current.
type schema struct {
	Columns []struct {
		Number int    `json:"number"`
		Name   string `json:"name"`
		Holds  string `json:"holds"`
	} `json:"columns"`
	Keys []struct {
		Column string  `json:"column"`
		Type   string  `json:"type"`
		Prefix string  `json:"prefix"`
		Bytes  int     `json:"bytes"`
		More   int     `json:"more"` // at most so many bytes more
		Fields []field `json:"fields"`
		Value  string  `json:"value"`
		Secret bool    `json:"secret"`
	} `json:"keys"`
	Values []value `json:"values"`
}

type value struct {
	Type   string  `json:"type"`
	Fields []field `json:"fields"`
	Secret bool    `json:"secret"`
}

type field struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

func readSchema(t *testing.T) (s schema) {
	t.Helper()
	b, err := os.ReadFile("schema.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &s))
	require.Len(t, s.Columns, 11)
	return s
}

// secret reports whether a value is a secret, or has one.
func (s *schema) secret(name string) bool {
	return slices.ContainsFunc(s.Values, func(v value) bool { return v.Type == name && v.Secret })
}

// number is that of a column.
func (s *schema) number(column string) int {
	for _, c := range s.Columns {
		if c.Name == column {
			return c.Number
		}
	}
	panic("no column " + column)
}

// sizes are those of the kinds of a fixed size, in bytes.
var sizes = map[string]int{
	"ContextID": 32, "DeltaID": 32, "OpID": 32, "EnvelopeID": 32, "Hash": 32, "BlobID": 32, "ApplicationID": 32, "Identity": 32, "GroupID": 32, "KeyID": 32,
	"Secret": 32, "Signature": 64, "48 bytes": 48, "72 bytes": 72, "[u8; 24]": 24,
}

var (
	generic = regexp.MustCompile(`^(Vec|Option)<(.*)>$`)
	choice  = regexp.MustCompile(`^(\w+): (.*)$`) // an enum, and the names of its values
	bits    = regexp.MustCompile(`^(u8|u32) of the bits (0x[0-9a-f]+)$`)
	bounded = regexp.MustCompile(`^String of 1 to (\d+) bytes$`) // and no zero
	variant = regexp.MustCompile(`^variant \d+$`)
)

// camel is a name such as member_added as that of a type.
func camel(name string) (out string) {
	for _, part := range strings.Split(name, "_") {
		out += strings.ToUpper(part[:1]) + part[1:]
	}
	return out
}

// choices are the enums of the schema, with the names of their values, in order.
func (s *schema) choices() (names []string, values map[string][]string) {
	values = map[string][]string{}
	for _, v := range s.Values {
		for _, f := range v.Fields {
			if m := choice.FindStringSubmatch(f.Kind); m != nil && values[m[1]] == nil {
				names = append(names, m[1])
				values[m[1]] = strings.Split(m[2], ", ")
			}
		}
	}
	return names, values
}

// arm is one of what a value of several variants may be.
type arm struct {
	name   string // such as member_added
	fields []field
}

// walk shows all types of values but enums, each behind those that it is made of: of those that
// have variants the variants instead of fields.
func (s *schema) walk(show func(name string, fields []field, arms []arm)) {
	_, enums := s.choices()
	done := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		i := slices.IndexFunc(s.Values, func(v value) bool { return v.Type == name })
		if done[name] || enums[name] != nil || i < 0 {
			return
		}
		done[name] = true
		fields := s.Values[i].Fields
		for _, f := range fields {
			kind := f.Kind
			for m := generic.FindStringSubmatch(kind); m != nil; m = generic.FindStringSubmatch(kind) {
				kind = m[2]
			}
			visit(kind)
		}
		if len(fields) == 0 || !variant.MatchString(fields[0].Kind) {
			show(name, fields, nil)
			return
		}
		var arms []arm
		for _, f := range fields {
			if variant.MatchString(f.Kind) {
				arms = append(arms, arm{name: f.Name})
				continue
			}
			last := &arms[len(arms)-1]
			last.fields = append(last.fields, field{strings.TrimPrefix(f.Name, last.name+"."), f.Kind})
		}
		show(name, nil, arms)
	}
	for _, v := range s.Values {
		visit(v.Type)
	}
}
