package stoa_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	module   = "github.com/stoadb/stoa"
	grocksdb = "github.com/linxGnu/grocksdb"

	// maxLines is how long a hand-written file may be.
	maxLines = 500
	// maxFiles is how many files that are no tests and not generated a folder may have.
	maxFiles = 45
	// longFunction is how long a function may be before the test remarks on it.
	longFunction = 100
)

// below is who may import whom: a package may import those named here and all
// that are below them in turn. A folder that is not named goes with the nearest
// one above it that is. Test files may import anything: the tests of engine run
// on engine/mem.
var below = map[string][]string{
	"column":                    {},
	"codec":                     {},
	"keys":                      {"column", "codec"},
	"engine":                    {"keys"},
	"engine/mem":                {"engine"},
	"engine/rocks":              {"engine/rocks/rows"},
	"engine/rocks/rows":         {"engine"},
	"engine/faulty":             {"engine"},
	"engine/enginetest":         {"engine"},
	"engine/seal":               {"engine"},
	"dag":                       {"dag/hlc", "dag/merkle"},
	"dag/hlc":                   {"engine"},
	"dag/internal":              {"codec"},
	"dag/merkle":                {"engine", "dag/internal"},
	"group":                     {"dag"},
	"namespace":                 {"group", "blob"},
	"kv":                        {"engine", "kv/document"},
	"kv/document":               {},
	"kv/bucket":                 {"kv", "kv/bucket/contract", "kv/bucket/subject"},
	"kv/bucket/subject":         {},
	"kv/bucket/contract":        {"kv/jsonschema"},
	"kv/jsonschema":             {"kv/document"},
	"kv/record":                 {"kv", "kv/jsonschema"},
	"kv/limit":                  {"kv"},
	"kv/lock":                   {"kv/event", "kv/limit"},
	"kv/setting":                {"kv/lock"},
	"kv/event":                  {"kv"},
	"kv/stream":                 {"kv", "kv/bucket/subject"},
	"kv/job":                    {"kv"},
	"kv/policy":                 {"kv/record"},
	"kv/policy/policytest":      {"kv/policy", "engine/enginetest", "engine/mem"},
	"blob":                      {"engine"},
	"rpc/stoav1":                {},
	"rpc":                       {"namespace", "kv/policy", "kv/setting", "kv/event", "kv/job", "kv/bucket", "kv/stream", "kv/approval", "kv/session", "blob", "rpc/stoav1", "engine/rocks/rows"},
	"rpc/server":                {"rpc", "engine/mem", "engine/rocks", "engine/faulty"},
	"bench":                     {"rpc/server"},
	"fuzz":                      {"rpc/server"},
	"fuzz/cluster":              {"engine/enginetest"},
	"cmd":                       {"rpc/server", "bench", "engine/seal"},
	"cmd/stoa":                  {"cmd/stoa/internal/program"},
	"cmd/stoa/internal/program": {"cmd/stoa/internal/agents", "cmd/stoa/internal/blobs", "cmd/stoa/internal/buckets", "cmd/stoa/internal/contexts", "cmd/stoa/internal/daemon", "cmd/stoa/internal/governance", "cmd/stoa/internal/inspection", "cmd/stoa/internal/jobs", "cmd/stoa/internal/keyvalues", "cmd/stoa/internal/locks", "cmd/stoa/internal/policies", "cmd/stoa/internal/records", "cmd/stoa/internal/shell", "cmd/stoa/internal/streams", "cmd/stoa/internal/tasks"},

	"kv/bucket/buckettest":   {"kv/bucket", "engine/enginetest", "engine/mem"},
	"kv/lock/locktest":       {"kv/lock", "kv/record", "engine/enginetest", "engine/mem"},
	"kv/session":             {"kv/record"},
	"kv/session/sessiontest": {"kv/session", "engine/enginetest", "engine/mem"},

	"kv/approval":              {"kv/record", "kv/lock"},
	"kv/approval/approvaltest": {"kv/approval", "engine/enginetest", "engine/mem"},

	// Commands of different nouns do not import each other.
	"cmd/stoa/internal/blobs":      {"cmd/stoa/internal/cli"},
	"cmd/stoa/internal/contexts":   {"cmd/stoa/internal/cli"},
	"cmd/stoa/internal/daemon":     {"cmd/stoa/internal/cli"},
	"cmd/stoa/internal/governance": {"cmd/stoa/internal/cli"},
	"cmd/stoa/internal/inspection": {"cmd/stoa/internal/cli"},
	"cmd/stoa/internal/buckets":    {"cmd/stoa/internal/cli"},
	"cmd/stoa/internal/jobs":       {"cmd/stoa/internal/cli"},
	"cmd/stoa/internal/keyvalues":  {"cmd/stoa/internal/cli"},
	"cmd/stoa/internal/locks":      {"cmd/stoa/internal/cli"},
	"cmd/stoa/internal/policies":   {"cmd/stoa/internal/cli"},
	"cmd/stoa/internal/records":    {"cmd/stoa/internal/cli"},
	"cmd/stoa/internal/shell":      {"cmd/stoa/internal/cli"},
	"cmd/stoa/internal/streams":    {"cmd/stoa/internal/cli"},
	"cmd/stoa/internal/agents":     {"cmd/stoa/internal/cli"},
	"cmd/stoa/internal/tasks":      {"cmd/stoa/internal/cli"},
	"cmd/stoa/internal/cli":        {"cmd"},
}

// commandPackages are packages each of which has a place of its own among the imports.
const commandPackages = "cmd/stoa/internal/"

// ignored are folders at the root that git ignores.
var ignored = map[string]bool{"bin": true, "stoa-data": true}

// drawers are names that say nothing about what is inside.
var drawers = []string{"util", "utils", "common", "helper", "helpers", "misc", "manager"}

// rules are checks of the whole tree. Each finding says where, and what to do.
var rules = []struct {
	name  string
	check func([]source) []string
}{
	{"imports", imports},
	{"cgo", cgo},
	{"grocksdb", directRocks},
	{"comments", comments},
	{"pointers", barePointers},
	{"drawers", drawerNames},
	{"long files", longFiles},
	{"full folders", fullFolders},
	{"package comments", packageComments},
}

// entry is the name in below that a folder goes with, or "".
func entry(folder string) string {
	for ; folder != "."; folder = path.Dir(folder) {
		if _, ok := below[folder]; ok {
			return folder
		}
	}
	return ""
}

// reach is everything that name may import, itself included: a folder without an
// entry of its own belongs to the same layer.
func reach(name string) map[string]bool {
	set := map[string]bool{name: true}
	for _, next := range below[name] {
		maps.Copy(set, reach(next))
	}
	return set
}

func imports(sources []source) []string {
	var findings []string
	for _, s := range sources {
		if s.test() || s.folder() == "." {
			continue
		}
		from := entry(s.folder())
		if from == "" || strings.HasPrefix(s.folder(), commandPackages) && !strings.HasPrefix(from, commandPackages) {
			findings = append(findings, fmt.Sprintf("%s: the folder has no place among the imports; give it one in the table `below` of tidyrules_test.go", s.path))
			continue
		}
		allowed := reach(from)
		for _, spec := range s.ast.Imports {
			pkg, ok := strings.CutPrefix(importPath(spec), module+"/")
			if to := entry(pkg); ok && to != "" && !allowed[to] {
				findings = append(findings, fmt.Sprintf("%s: %s may not import %s; it may import: %s",
					s.at(spec.Pos()), from, pkg, strings.Join(slices.Sorted(maps.Keys(allowed)), ", ")))
			}
		}
	}
	return findings
}

func cgo(sources []source) []string {
	return importers(sources, "C", "only engine/rocks may use cgo, so that everything else builds with CGO_ENABLED=0", "engine/rocks")
}

func directRocks(sources []source) []string {
	return importers(sources, grocksdb, "use engine/rocks; only it, and bench as the yardstick, call grocksdb", "engine/rocks", "bench")
}

// importers finds the files, tests too, that import pkg outside the folders.
func importers(sources []source, pkg, advice string, folders ...string) []string {
	var findings []string
	for _, s := range sources {
		for _, spec := range s.ast.Imports {
			if importPath(spec) == pkg && !slices.Contains(folders, s.folder()) {
				findings = append(findings, fmt.Sprintf("%s: imports %q: %s", s.at(spec.Pos()), pkg, advice))
			}
		}
	}
	return findings
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return p
}

func comments(sources []source) []string {
	var findings []string
	for _, s := range sources {
		if !s.written() {
			continue
		}
		for _, name := range undocumented(s.ast) {
			findings = append(findings, fmt.Sprintf("%s: %s is exported and has no comment; say what it is for, or unexport it", s.at(name.Pos()), name.Name))
		}
	}
	return findings
}

// barePointer is a comment that says of a name that it is another one, or another's,
// and nothing else.
var barePointer = regexp.MustCompile(`^\w+ (is|are|implements) (the )?(\[\*?[\w.]+\]|(\w+\.)*[A-Z]\w*)('s)?( (of|on|in|as) (the|a|an) \w+)?\.$`)

func barePointers(sources []source) []string {
	var findings []string
	for _, s := range sources {
		if !s.written() {
			continue
		}
		for _, decl := range s.ast.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				continue
			}
			if doc := strings.Join(strings.Fields(f.Doc.Text()), " "); barePointer.MatchString(doc) {
				findings = append(findings, fmt.Sprintf("%s: %q only points elsewhere; say what it does, and link with [Name]", s.at(f.Pos()), doc))
			}
		}
	}
	return findings
}

// undocumented lists exported names without a comment. Names in a group of
// constants or variables may share the comment of the group; methods count when
// their type is exported.
func undocumented(file *ast.File) []*ast.Ident {
	var names []*ast.Ident
	want := func(name *ast.Ident, docs ...*ast.CommentGroup) {
		documented := slices.ContainsFunc(docs, func(d *ast.CommentGroup) bool { return d.Text() != "" })
		if name.IsExported() && !documented {
			names = append(names, name)
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || receiver(d).IsExported() {
				want(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						want(name, d.Doc, spec.Doc, spec.Comment)
					}
				case *ast.TypeSpec:
					alone := d.Doc
					if d.Lparen.IsValid() {
						alone = nil
					}
					want(spec.Name, alone, spec.Doc, spec.Comment)
					contract, ok := spec.Type.(*ast.InterfaceType)
					if !ok || !spec.Name.IsExported() {
						continue
					}
					for _, method := range contract.Methods.List {
						for _, name := range method.Names {
							want(name, method.Doc, method.Comment)
						}
					}
				}
			}
		}
	}
	return names
}

// receiver is the name of a method's type, without pointer and parameters.
func receiver(d *ast.FuncDecl) *ast.Ident {
	typ := d.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.ParenExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t
		default:
			return ast.NewIdent("_")
		}
	}
}

func drawerNames(sources []source) []string {
	var findings []string
	for _, s := range sources {
		names := append(strings.Split(strings.TrimSuffix(s.path, ".go"), "/"), s.ast.Name.Name)
		for _, name := range names {
			name = strings.TrimSuffix(name, "_test")
			for _, drawer := range drawers {
				if strings.HasSuffix(name, drawer) {
					findings = append(findings, fmt.Sprintf("%s: %q says nothing about what is inside; name it after the noun that it holds", s.path, name))
				}
			}
		}
	}
	return findings
}

func longFiles(sources []source) []string {
	var findings []string
	for _, s := range sources {
		if s.written() && s.lines > maxLines {
			findings = append(findings, fmt.Sprintf("%s: %d lines, at most %d are allowed; a second noun in it can have its own file", s.path, s.lines, maxLines))
		}
	}
	return findings
}

func fullFolders(sources []source) []string {
	files := map[string]int{}
	for _, s := range sources {
		if s.written() {
			files[s.folder()]++
		}
	}
	var findings []string
	for _, folder := range slices.Sorted(maps.Keys(files)) {
		if n := files[folder]; n > maxFiles {
			findings = append(findings, fmt.Sprintf("%s: %d files that are no tests, at most %d are allowed; what is a thing of its own can be a package", folder, n, maxFiles))
		}
	}
	return findings
}

func packageComments(sources []source) []string {
	documented := map[string]bool{}
	for _, s := range sources {
		if s.generated() || s.ast.Doc.Text() != "" {
			documented[s.folder()] = true
		} else if _, seen := documented[s.folder()]; !seen {
			documented[s.folder()] = false
		}
	}
	var findings []string
	for _, folder := range slices.Sorted(maps.Keys(documented)) {
		if !documented[folder] {
			findings = append(findings, fmt.Sprintf("%s: no file has a package comment; say what the package is for and where to start reading", folder))
		}
	}
	return findings
}

// strangers finds folders at the root that the house does not have.
func strangers(folders []string) []string {
	house := map[string]bool{}
	for name := range below {
		top, _, _ := strings.Cut(name, "/")
		house[top] = true
	}
	var findings []string
	for _, folder := range folders {
		if !house[folder] && !ignored[folder] && !strings.HasPrefix(folder, ".") {
			findings = append(findings, fmt.Sprintf("%s: the house has no such folder; put it into the package that it belongs to (a package's README is its documentation)", folder))
		}
	}
	return findings
}

func longFunctions(sources []source) []string {
	var remarks []string
	for _, s := range sources {
		for _, decl := range s.ast.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !s.written() {
				continue
			}
			if n := lineOf(s, f.End()) - lineOf(s, f.Pos()) + 1; n > longFunction {
				remarks = append(remarks, fmt.Sprintf("%s: %s has %d lines; a screen holds less", s.at(f.Pos()), f.Name.Name, n))
			}
		}
	}
	return remarks
}

func lineOf(s source, pos token.Pos) int { return s.fset.Position(pos).Line }
