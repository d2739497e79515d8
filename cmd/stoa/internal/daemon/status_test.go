package daemon

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStatusSaysWhetherWritesAreTaken(t *testing.T) {
	for want, d := range map[string]statusDoc{
		"taken": {Writable: true, Disk: &diskDoc{Free: 400, Reserve: 400}},
		"refused until some of the disk is freed":                    {Writable: true, Disk: &diskDoc{Free: 99, Reserve: 400}},
		"refused until some of the disk is freed, but for deletions": {Writable: true, Disk: &diskDoc{Free: 399, Reserve: 400}},
		"refused: a flush failed":                                    {Reason: "a flush failed", Disk: &diskDoc{Free: 1, Reserve: 400}},
	} {
		var text strings.Builder
		d.write(&text)
		require.Regexp(t, `(?m)^writes +`+want+`$`, text.String())
	}
}
