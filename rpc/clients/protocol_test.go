package clients

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/op"
	_ "github.com/stoadb/stoa/rpc/stoav1"
)

// protocol is what clients are generated of.
type protocol struct {
	services []service
	messages []protoreflect.MessageDescriptor // those in messages too
	enums    []protoreflect.EnumDescriptor
	files    []protoreflect.FileDescriptor // each behind those that it imports
	comments map[string]string             // by a name such as Kv.Get or KvItem.value
}

type service struct {
	name    string // Kv
	methods []method
}

type method struct {
	protoreflect.MethodDescriptor
	number uint16
}

// readProtocol reads the protocol as the program has it, and its comments from its source.
func readProtocol(t *testing.T) (p protocol) {
	t.Helper()
	numbers := map[string]uint16{}
	for _, m := range op.Methods() {
		numbers[m.Name] = m.Number
	}
	seen := map[string]bool{}
	var visit func(protoreflect.FileDescriptor)
	visit = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			visit(f.Imports().Get(i).FileDescriptor)
		}
		p.files = append(p.files, f)
	}
	var files []protoreflect.FileDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage("stoa.v1", func(f protoreflect.FileDescriptor) bool {
		files = append(files, f)
		return true
	})
	slices.SortFunc(files, func(a, b protoreflect.FileDescriptor) int { return cmp.Compare(a.Path(), b.Path()) })
	for _, f := range files {
		visit(f)
		for i := range f.Messages().Len() {
			require.Zero(t, f.Messages().Get(i).Enums().Len(), "enums stand alone")
			p.messages = append(p.messages, f.Messages().Get(i))
		}
		for i := range f.Enums().Len() {
			p.enums = append(p.enums, f.Enums().Get(i))
		}
		for i := range f.Services().Len() {
			of := f.Services().Get(i)
			s := service{name: string(of.Name())}
			for j := range of.Methods().Len() {
				m := method{of.Methods().Get(j), numbers[s.name+"."+string(of.Methods().Get(j).Name())]}
				require.NotZero(t, m.number, "%s has no number", m.FullName())
				s.methods = append(s.methods, m)
			}
			p.services = append(p.services, s)
		}
	}
	slices.SortFunc(p.services, func(a, b service) int { return cmp.Compare(a.name, b.name) })
	p.comments = readComments(t)
	return p
}

var declared = regexp.MustCompile(`^\s*(?:(service|message|enum|rpc)\s+(\w+)|(?:optional |repeated )?[\w.<>, ]+\s(\w+) = \d+|(\w+) = \d+)`)

// readComments reads what stands before each service, method, message, field and value.
func readComments(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../proto/stoa/v1/*.proto")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	all := map[string]string{}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		var comment []string
		outer := ""
		for line := range strings.Lines(string(source)) {
			line = strings.TrimRight(line, "\n")
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), "//"); ok {
				comment = append(comment, strings.TrimPrefix(text, " "))
				continue
			}
			if m := declared.FindStringSubmatch(line); m != nil {
				name := cmp.Or(m[2], m[3], m[4])
				if m[1] == "service" || m[1] == "message" || m[1] == "enum" {
					outer = name
				} else {
					name = outer + "." + name
				}
				if len(comment) > 0 {
					all[name] = strings.Join(comment, "\n")
				}
			}
			comment = nil
		}
	}
	return all
}

// identifier is a name in snake case that is none of a language's words.
func identifier(name string, words []string) string {
	if name = snake(name); slices.Contains(words, name) {
		name += "_"
	}
	return name
}

// snake is a name as Python and Rust write those of fields and methods.
func snake(name string) string {
	return strings.ToLower(regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(name, "${1}_${2}"))
}
