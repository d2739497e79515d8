package contract

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
)

// first returns as many names of an alias as are asked for.
func first(n int, service, alias string) (names []string) {
	for name := range Names(service, alias) {
		if names = append(names, name); len(names) == n {
			break
		}
	}
	return names
}

func TestT18NamesAreThoseOfTheService(t *testing.T) {
	require.Equal(t, []string{"svc_activity_activity"}, first(1, "activity", "activity"))
	require.Equal(t, []string{"svc_billing_job_cache"}, first(1, "billing", "job_cache"))
	require.Equal(t, []string{"svc_documents_upload_index", "svc_documents_upload_index_2", "svc_documents_upload_index_3"}, first(3, "documents", "upload_index"))
}

// Whatever service and alias are called, a name is of the letters that names have, and two
// pairs whose first names are the same get others from a registry, in whichever order they come.
func TestT19NamesHaveNoOtherLettersAndAreDistinct(t *testing.T) {
	require.Equal(t, first(1, "My-Service", "jobCache"), []string{"svc_my_service_jobcache"})
	require.Equal(t, []string{"svc_az09az_________"}, first(1, "AZ09az", "@[`{/:é-"))
	require.Equal(t, first(1, "a_b", "c"), first(1, "a", "b_c"))
	require.Equal(t, first(1, "trellis", "x"), []string{"svc_trellis_x"})

	good := regexp.MustCompile(`^svc_[a-z0-9_]+$`)
	word := rapid.StringMatching(`[abAB_-]{1,3}`)
	enginetest.Check(t, 300, func(rt *rapid.T) {
		type pair struct{ service, alias string }
		pairs := rapid.SliceOfNDistinct(rapid.Custom(func(rt *rapid.T) pair {
			return pair{word.Draw(rt, "service"), rapid.OneOf(word, rapid.String()).Draw(rt, "alias")}
		}), 1, 8, rapid.ID).Draw(rt, "pairs")
		taken := map[string]bool{}
		for _, p := range pairs {
			for name := range Names(p.service, p.alias) {
				require.Regexp(rt, good, name)
				require.False(rt, strings.HasPrefix(name, "trellis_"))
				if !taken[name] {
					taken[name] = true
					break
				}
			}
		}
		require.Len(rt, taken, len(pairs))
		require.Equal(rt, first(20, pairs[0].service, pairs[0].alias), slices.Compact(first(20, pairs[0].service, pairs[0].alias)))
	})
}
