// What all clients answer alike: ../../conformance.json.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, toJson, type DescMessage, type DescService, type Message, type JsonValue } from "@bufbuild/protobuf";
import { codes, StoaError } from "../src/errors.js";
import * as services from "../src/services.js";
import { readJson, started } from "./daemon.js";

interface Case {
  name: string;
  call: string;
  request?: JsonValue;
  requests?: JsonValue[];
  answer?: JsonValue;
  answers?: JsonValue[];
  absent?: string[];
  error?: JsonValue;
}

/** Whether an answer has all that is wanted; * is anything. */
function same(want: unknown, got: unknown): boolean {
  if (want === "*") return got !== undefined && got !== null;
  if (Array.isArray(want)) return Array.isArray(got) && want.length === got.length && want.every((w, i) => same(w, got[i]));
  if (typeof want === "object" && want !== null) {
    return typeof got === "object" && got !== null && Object.entries(want).every(([k, w]) => same(w, (got as Record<string, unknown>)[k]));
  }
  return want === got;
}

type Call = (request: unknown) => Promise<Message> | AsyncIterable<Message>;

test("conformance", async (t) => {
  const { client } = await started(t);
  for (const one of readJson<{ calls: Case[] }>("rpc/clients/conformance.json").calls) {
    const [service = "", name = ""] = one.call.split(".");
    const attribute = service.toLowerCase() as keyof typeof services;
    const method = (services[attribute] as DescService).methods.find((m) => m.name === name);
    assert(method, one.call);
    const call = (client[attribute] as unknown as Record<string, Call>)[method.localName];
    assert(call);
    const requests = (one.requests ?? [one.request ?? {}]).map((r) => fromJson(method.input as DescMessage, r));
    const streams = method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming";
    const answers: Message[] = [];
    let failure: unknown;
    try {
      const answered = call(streams ? requests : requests[0]);
      if (answered instanceof Promise) answers.push(await answered);
      else for await (const answer of answered) answers.push(answer);
    } catch (e) {
      failure = e;
    }
    const told = answers.map((a) => toJson(method.output as DescMessage, a) as Record<string, unknown>);
    if (one.error !== undefined) {
      assert(failure instanceof StoaError, `${one.name}: ${JSON.stringify(told)}, ${String(failure)}`);
      const { code, kind, fields } = failure;
      const got = { code: Number(Object.entries(codes).find(([, word]) => word === code)?.[0]), kind, fields };
      assert(same(one.error, got), `${one.name}: ${JSON.stringify(got)}`);
      continue;
    }
    assert.ifError(failure);
    assert(same(one.answers ?? [one.answer], told), `${one.name}: ${JSON.stringify(told)}`);
    for (const field of one.absent ?? []) assert(!(field in told[0]!), `${one.name}: ${field}`);
  }
});
