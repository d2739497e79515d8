package records

import (
	"strings"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// writer are the commands by which a service writes, and deletes, records of a type;
// empty: none does.
type writer struct{ put, del string }

// example returns the example of the command of that name: what does it, or how to look.
func (w writer) example(name, look string) string {
	does := w.put
	if name == "delete" {
		does = w.del
	}
	if does == "" {
		return strings.Replace(look, "stoa "+name, "stoa get", 1)
	}
	return "  stoa " + does
}

// writers are those of the types that services keep, by key type.
var writers = map[string]writer{
	"ContextMeta":               {"context create", "context delete room"},
	"ContextConfig":             {"group migrated home room to_v2", "context delete room"},
	"ContextState":              {"dag commit room --put counter=1", "dag commit room --delete counter"},
	"ContextDagDelta":           {"dag commit room --put counter=1", "context delete room"},
	"BlobMeta":                  {"blob put app.wasm", "blob delete " + cli.ExampleDigits},
	"BlobChunk":                 {"blob put app.wasm", "blob delete " + cli.ExampleDigits},
	"GroupMeta":                 {"group create home --name garden", "group delete kitchen"},
	"GroupMember":               {"group role home bob admin", "group remove home bob"},
	"GroupContextIndex":         {"group detach home room", "group detach home room"},
	"ContextGroupRef":           {"group detach home room", "group detach home room"},
	"GroupUpgradeKey":           {"group upgrade start home 1 2 --contexts 3", "group delete kitchen"},
	"GroupSigningKey":           {"group signing-keys home --new", "group delete kitchen"},
	"GroupMemberCapability":     {"group caps home bob manage_contexts", "group caps home bob none"},
	"GroupDefaultCaps":          {"group caps home --defaults manage_contexts", "group delete kitchen"},
	"GroupContextLastMigration": {"group migrated home room to_v2", "group detach home room"},
	"GroupLocalGovNonce":        {"group alias home ada --member me", "group delete kitchen"},
	"GroupMemberAlias":          {"group alias home ada --member me", "group alias home --member me"},
	"GroupAlias":                {"group alias home house", "group alias home"},
	"GroupContextAlias":         {"group alias home parlour --context room", "group alias home --context room"},
	"GroupOpLog":                {"group alias home house", "group delete kitchen"},
	"GroupOpHead":               {"group alias home house", "group delete kitchen"},
	"GroupMemberContext":        {"group join home room me", "group detach home room"},
	"GroupContextMemberCap":     {"group caps home bob none --context room", "group detach home room"},
	"GroupChildIndex":           {"group create home --name garden", "group delete kitchen"},
	"GroupParentRef":            {"group create home --name garden", "group delete kitchen"},
	"NamespaceIdentity":         {"namespace create --name home", ""},
	"NamespaceGovOp":            {"group alias home house", "group delete kitchen"},
	"NamespaceGovHead":          {"group alias home house", "group delete kitchen"},
	"GroupKeyEntry":             {"group remove home bob", "group delete kitchen"},
}
