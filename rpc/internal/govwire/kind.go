// Package govwire says how what packages group and namespace have is carried in the
// messages of the services Namespace and Group, for both ends: what fields are called
// there, and what they hold that is not a matter of names.
package govwire

import (
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// What codec counts from 0 the protocol counts from 1, where 0 is not set. The numbers of
// outcomes, reasons, kinds of answers and reasons of refusals are those of packages group
// and namespace.
var (
	_ = counted[codec.GroupMemberRole]("role", stoav1.GovRole_GOV_ROLE_READ_ONLY)
	_ = counted[codec.GroupOpKind]("kind", stoav1.GovGroupOpKind_GOV_GROUP_OP_KIND_MEMBERS_REMOVED)
	_ = counted[codec.RootOpKind]("kind", stoav1.GovRootOpKind_GOV_ROOT_OP_KIND_AUTHORITY_STATED)
	_ = op.Pair(func(v *codec.OpVersion) stoav1.GovOpVersion { return stoav1.GovOpVersion(*v) + 1 }, opVersion)
	_ = op.Pair(fromPolicy, policy)
	_ = op.Pair(fromAnswerKind, answerKind)
	_ = op.Pair(fromCapability, capability)
	_ = op.Pair(func(p *codec.UpgradePhase) bool { return *p == codec.UpgradeCompleted }, op.Always(phase))
)

// counted has values of V, of which the last is the field's last, carried as one more.
func counted[V ~uint8, F ~int32](what string, last F) struct{} {
	return op.Pair(func(v *V) F { return F(*v) + 1 }, func(field string, f F) (V, error) {
		if f < 1 || f > last {
			return 0, &op.FieldError{Field: field, Reason: fmt.Sprintf("no %s %d", what, f)}
		}
		return V(f - 1), nil
	})
}

// opVersion returns the version in a field; a daemon that does not say it knows one only.
func opVersion(field string, v stoav1.GovOpVersion) (codec.OpVersion, error) {
	if v < 0 || v > stoav1.GovOpVersion_GOV_OP_VERSION_2 {
		return 0, &op.FieldError{Field: field, Reason: fmt.Sprintf("no version %d", v)}
	}
	return codec.OpVersion(max(v, 1) - 1), nil
}

func fromPolicy(p *codec.UpgradePolicy) stoav1.GovUpgradePolicy {
	return stoav1.GovUpgradePolicy(*p) + 1
}

// policy returns the policy in a field; one that is not set is codec.UpgradeAuto.
func policy(field string, p stoav1.GovUpgradePolicy) (codec.UpgradePolicy, error) {
	if p < 0 || p > stoav1.GovUpgradePolicy_GOV_UPGRADE_POLICY_FROZEN {
		return 0, &op.FieldError{Field: field, Reason: fmt.Sprintf("no policy %d", p)}
	}
	return codec.UpgradePolicy(max(p, 1) - 1), nil
}

func phase(done bool) codec.UpgradePhase {
	if done {
		return codec.UpgradeCompleted
	}
	return codec.UpgradeInProgress
}

func fromAnswerKind(k *namespace.AnswerKind) stoav1.GovAnswerKind { return stoav1.GovAnswerKind(*k) }

func answerKind(field string, k stoav1.GovAnswerKind) (namespace.AnswerKind, error) {
	if k == stoav1.GovAnswerKind_GOV_ANSWER_KIND_UNSPECIFIED {
		return 0, &op.FieldError{Field: field, Reason: "it does not say what became of the op"}
	}
	return namespace.AnswerKind(k), nil
}

func fromCapability(c *codec.ContextCapability) uint32 { return uint32(*c) }

func capability(field string, mask uint32) (codec.ContextCapability, error) {
	if mask > uint32(codec.AllCapabilities) {
		return 0, &op.FieldError{Field: field, Reason: fmt.Sprintf("no capabilities %#x", mask)}
	}
	return codec.ContextCapability(mask), nil
}
