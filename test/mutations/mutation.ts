import { matchOperation } from '../../src/lab/format/effects.js';
import { isJsonObject, type JsonObject, type JsonValue, jsonIn } from '../../src/wire/json/json.js';
import { writeJson } from '../../src/wire/json/write-json.js';
import type { Operation } from '../../src/wire/operations.js';
import type { Revision } from '../../src/wire/traits/revision.js';

/** A request as it came, its path with its query. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer | undefined;
}

export interface Reply {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export type Forward = (asked: Asked) => Promise<Reply>;

/** What `keyway replay --target` is permitted, least first. */
export const MODES = ['reads', 'writes'] as const;
export type Mode = (typeof MODES)[number];

/** One way in which a server is wrong. */
export interface Mutation {
  /** `GET /users: status 201`. */
  readonly name: string;
  /** The least that has to be permitted for anybody to notice it; null where no run does what would show it. */
  readonly mode: Mode | null;
  readonly answer: (asked: Asked, forward: Forward) => Promise<Reply>;
}

/** The server that is made wrong. */
export interface Site {
  readonly revision: Revision;
  readonly api: string;
  readonly base: string;
  readonly token: string;
  /** The token of its session; null where its line has none. */
  readonly session: string | null;
}

/** What has to be permitted for an operation to be called; null for one that no run calls. */
export function modeOf({ effect, subject }: Operation): Mode | null {
  // The name and password of the run are the permission to sign in.
  if (effect.kind === 'reads' || subject === 'session') return 'reads';
  return effect.kind === 'writes' ? 'writes' : null;
}

export function isOf({ name }: Operation, { method, path }: Asked, { api }: Site): boolean {
  return path.startsWith(`${api}/`) && matchOperation(method, path.slice(api.length))?.operation.name === name;
}

/** A mutation of answers: of those that `change` returns null for nothing is changed. */
export function changing(
  name: string,
  mode: Mode | null,
  applies: (asked: Asked) => boolean,
  change: (reply: Reply, asked: Asked) => Reply | null,
): Mutation {
  return {
    name,
    mode,
    async answer(asked, forward) {
      const reply = await forward(asked);
      return applies(asked) ? (change(reply, asked) ?? reply) : reply;
    },
  };
}

/** A mutation of requests: those that it applies to reach the server as another one. */
export function redirecting(
  name: string,
  mode: Mode | null,
  applies: (asked: Asked) => boolean,
  instead: (asked: Asked) => Asked,
): Mutation {
  return { name, mode, answer: (asked, forward) => forward(applies(asked) ? instead(asked) : asked) };
}

export function withHeader<T extends Pick<Asked, 'headers'>>(message: T, name: string, value: string | null): T {
  const headers = new Map(message.headers);
  if (value === null) headers.delete(name);
  else headers.set(name, value);
  return { ...message, headers };
}

/** The credential that every line of it lets in. */
export function credentialOf({ revision, token, session }: Site): string {
  const held =
    session === null ? ({ kind: 'token', secret: token } as const) : { kind: 'session' as const, secret: session };
  return revision.auth.encode(held) ?? '';
}

/** The reply with another envelope, in which `edit` has changed something in place; null where it says that it has not. */
export function withEnvelope(reply: Reply, edit: (envelope: JsonObject) => boolean): Reply | null {
  const envelope: JsonValue | undefined = jsonIn(reply.body);
  if (!isJsonObject(envelope) || !edit(envelope)) return null;
  return { ...reply, body: Buffer.from(writeJson(envelope)) };
}

/** The same for the data of a success. */
export function withData(reply: Reply, edit: (data: JsonValue) => JsonValue | undefined): Reply | null {
  return withEnvelope(reply, (envelope) => {
    const data = envelope.ok === true && envelope.data !== undefined ? edit(envelope.data) : undefined;
    if (data !== undefined) envelope.data = data;
    return data !== undefined;
  });
}

/** One mutation that is wrong in all that these are. */
export function together(mutations: readonly Mutation[]): Mutation {
  const [first, ...others] = mutations;
  if (first === undefined) throw new Error('expected a mutation');
  if (others.length === 0) return first;
  const rest = together(others);
  return {
    name: `${first.name}; ${rest.name}`,
    mode: first.mode,
    answer: (asked, forward) => first.answer(asked, (next) => rest.answer(next, forward)),
  };
}

/** A read in the place of the request, by the same client. */
export function asRead(asked: Asked, path: string): Asked {
  const headers = new Map([...asked.headers].filter(([name]) => !name.startsWith('content-')));
  return { method: 'GET', path, headers, body: undefined };
}
