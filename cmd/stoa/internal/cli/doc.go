// Package cli is what the commands of stoa have in common; each package beside it has the
// commands of one noun, and they do not import each other. What only one of them needs is
// there.
//
//   - [Process] is what a command may use of the process that it runs in; it prints
//     results (Emit), warnings and what comes next, as text or as JSON.
//   - [Command] describes a command that asks a daemon, and [Call] is one run of it.
//     [Parent] is a command with others below it; [Exactly] counts arguments.
//   - [DaemonFlags] are the flags by which a command reaches a daemon; with [ReadFlags] it
//     reads a directory instead, which a daemon in this process then serves to it.
//   - [Failure] is an error with its exit code and hint: [Bad], [Refused], [Fail], and
//     [Explain] for the errors of the packages below.
//   - [Find] looks up what a name or the first digits of an id mean, in the daemon.
//   - The rest are values of flags and arguments ([Optional], [Durability], [Size],
//     [ParseHex]), lists ([List], [Offer]), and text for people ([Table], [Count], [Flatten]).
package cli
