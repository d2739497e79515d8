export { Malformed, type Type, type ValueOf } from "./borsh.js";
export { Client, type CallOptions, type ClientOptions, type Methods, type Requests } from "./client.js";
export { isStoaError, StoaError, type Code } from "./errors.js";
export type { KeyType } from "./key.js";
export { KeyValues, type Event, type Expected, type Item, type Json, type PutOptions } from "./keyvalues.js";
export { Batch, Rows } from "./rows.js";
