// Measures Automerge and Yjs at the tasks of the workloads sync-catchup and sync-differ of `stoa bench`:
// a document with a map, in memory, neither signed nor sealed. Prints a line of JSON for each figure.
import * as Automerge from "@automerge/automerge";
import * as Y from "yjs";

const rows = Number(process.argv[2] ?? 100_000);
const rounds = Number(process.argv[3] ?? 3);
const actions = 10;

const key = (i) => "key " + String(i).padStart(8, "0");

// Of each library: an empty document; one with more changes, of so many keys each; and two that have
// exchanged what they lack, with the bytes that went both ways, and the round trips.
const automerge = {
  name: "automerge",
  fresh: () => Automerge.init(),
  write(doc, from, changes, each) {
    for (let i = 0; i < changes; i++) {
      doc = Automerge.change(doc, (d) => {
        for (let k = 0; k < each; k++) d[key(from + i * each + k)] = "value " + i;
      });
    }
    return doc;
  },
  session(a, b) {
    let ofA = Automerge.initSyncState(), ofB = Automerge.initSyncState();
    let bytes = 0, turns = 0, message;
    for (;;) {
      let said = false;
      [ofA, message] = Automerge.generateSyncMessage(a, ofA);
      if (message) {
        said = true;
        bytes += message.length;
        [b, ofB] = Automerge.receiveSyncMessage(b, ofB, message);
      }
      [ofB, message] = Automerge.generateSyncMessage(b, ofB);
      if (message) {
        said = true;
        bytes += message.length;
        [a, ofA] = Automerge.receiveSyncMessage(a, ofA, message);
      }
      if (!said) return [a, b, bytes, turns];
      turns++;
    }
  },
  same: (a, b) => Automerge.getHeads(a).join() === Automerge.getHeads(b).join(),
};

const yjs = {
  name: "yjs",
  fresh: () => new Y.Doc(),
  write(doc, from, changes, each) {
    const map = doc.getMap("state");
    for (let i = 0; i < changes; i++) {
      doc.transact(() => {
        for (let k = 0; k < each; k++) map.set(key(from + i * each + k), "value " + i);
      });
    }
    return doc;
  },
  // Each says its state vector, and sends what the other lacks.
  session(a, b) {
    const ofA = Y.encodeStateVector(a), ofB = Y.encodeStateVector(b);
    const toB = Y.encodeStateAsUpdate(a, ofB), toA = Y.encodeStateAsUpdate(b, ofA);
    Y.applyUpdate(b, toB);
    Y.applyUpdate(a, toA);
    return [a, b, ofA.length + ofB.length + toA.length + toB.length, 1];
  },
  same: (a, b) => a.getMap("state").size === b.getMap("state").size,
};

const median = (list) => list.sort((x, y) => x - y)[Math.floor(list.length / 2)];

function measure(fn) {
  globalThis.gc?.();
  const cpu = process.cpuUsage(), begun = performance.now();
  const result = fn();
  const spent = process.cpuUsage(cpu);
  return [result, performance.now() - begun, (spent.user + spent.system) / 1000];
}

for (const lib of [automerge, yjs]) {
  const deltas = Math.max(Math.floor(rows / 20), 100);
  let source = lib.write(lib.fresh(), 0, deltas, actions);
  const walls = [], cpus = [];
  let bytes, trips;
  for (let i = 0; i <= rounds; i++) {
    const [[, after, b, t], wall, cpu] = measure(() => lib.session(lib.fresh(), source));
    [source, bytes, trips] = [after, b, t];
    if (i > 0) { walls.push(wall * 1000 / deltas); cpus.push(cpu * 1000 / deltas); }
  }
  console.log(JSON.stringify({ task: "catchup", library: lib.name, deltas, wall_us: median(walls), cpu_us: median(cpus), kib: bytes / 1024, round_trips: trips }));

  let a = lib.write(lib.fresh(), 0, Math.max(Math.floor(rows / 10), 100), actions);
  let b = lib.fresh();
  [b, a] = lib.session(b, a);
  const differ = { walls: [], cpus: [] }, level = { walls: [], cpus: [] };
  let last;
  for (let i = 0; i <= rounds; i++) {
    a = lib.write(a, rows + i * 100, 50, 1);
    b = lib.write(b, rows + i * 100 + 50, 50, 1);
    for (const part of [differ, level]) {
      const [[x, y, bytes, trips], wall, cpu] = measure(() => lib.session(a, b));
      [a, b] = [x, y];
      if (i > 0) { part.walls.push(wall); part.cpus.push(cpu); }
      [part.kib, part.trips] = [bytes / 1024, trips];
    }
    if (!lib.same(a, b)) throw new Error(lib.name + ": the two are not level");
  }
  for (const [task, part] of Object.entries({ differ, level }))
    console.log(JSON.stringify({ task, library: lib.name, keys: rows, wall_us: median(part.walls) * 1000, cpu_us: median(part.cpus) * 1000, kib: part.kib, round_trips: part.trips }));
}
