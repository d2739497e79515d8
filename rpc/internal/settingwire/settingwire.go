// Package settingwire says how what package setting has goes into messages of the Setting
// service, for both ends.
package settingwire

import (
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/rpc/internal/op"
)

var _ = op.Tags[setting.Setting]("Written", "written_ms")
