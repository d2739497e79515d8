// Package contract is what a service declares of the buckets that it needs, and what an
// operator is told before accepting it: values in, values out, with no store and no clock.
//
// [Parse] reads a [Contract]; [Compare] says what the proposed one would change of the
// accepted one, and whether that is an update or a migration, as a [Plan]; a [Schema] holds
// values to what the contract says, and [Schema.Widens] decides whether values of another
// still hold to it; [Names] are the physical names that a bucket may get. README.md has the
// form of a contract, the rules and the tests.
package contract

// Limits.
const (
	MaxBytes    = 256 << 10                    // of a contract, as it is sent
	MaxAliases  = 256                          // of a contract
	MaxParts    = 4096                         // objects and booleans of a schema: what compiling it takes grows with their square
	MaxWays     = 10_000                       // schemas that a schema holds one value to, each as often as it is referred to
	MaxSteps    = 1_000_000                    // schemas that a value and what is in it are held to, each as often as there are ways to it
	MaxName     = 64                           // bytes of the name of a service, and of an alias
	MaxPurpose  = 1024                         // bytes
	MaxHistory  = 64                           // revisions of a key that a bucket keeps
	MaxValue    = 15 << 20                     // bytes of a value
	MaxTTL      = 100 * 365 * 24 * 3600 * 1000 // ms that a value lives: 100 years
	MaxFaults   = 100                          // that an Error lists
	maxCompared = 10_000                       // comparisons of parts of two schemas, until they count as not decided
	maxReported = 32                           // properties that a Verdict names as not looked at
)
