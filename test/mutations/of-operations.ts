import { commonErrors } from '../../src/wire/errors.js';
import type { JsonValue } from '../../src/wire/json/json.js';
import { accessOf, OPERATIONS, type Operation, serves } from '../../src/wire/operations.js';
import { editFirst, LIST_WRONGS, placesOf, SHAPE_WRONGS, VALUE_WRONG } from './members.js';
import {
  type Asked,
  asRead,
  changing,
  credentialOf,
  isOf,
  type Mutation,
  modeOf,
  type Reply,
  redirecting,
  type Site,
  withData,
  withEnvelope,
  withHeader,
} from './mutation.js';

/** What may be wrong with each operation, by its row of the table alone. */
export function mutationsOfOperations(site: Site): readonly Mutation[] {
  return OPERATIONS.flatMap((operation, index) =>
    serves(site.revision, operation)
      ? [
          ...envelopeMutations(operation, site, index),
          ...dataMutations(operation, site),
          ...failureMutations(operation, site),
          ...accessMutations(operation, site),
          ...(operation.effect.kind === 'reads' ? [] : undoneMutations(operation, site)),
          missing(operation, site),
          ...preflightMutations(operation, site),
        ]
      : [additional(operation, site)],
  );
}

/** One of several kinds in turn: all of them for everything would be many, and say the same of what looks for them. */
function inTurn<T>(kinds: readonly T[], turn: number): readonly T[] {
  return kinds.filter((_, index) => index === turn % kinds.length);
}

const nameOf = ({ method, path }: Operation) => `${method} ${path}`;

const ENVELOPE_WRONGS: readonly (readonly [string, (reply: Reply) => Reply | null])[] = [
  ['content type with a charset', (reply) => withHeader(reply, 'content-type', 'application/json; charset=utf-8')],
  ['ok is false', (reply) => withEnvelope(reply, (envelope) => !Object.assign(envelope, { ok: false }).ok)],
  [
    'one member too many',
    (reply) => withEnvelope(reply, (envelope) => 'other' in Object.assign(envelope, { other: 1n })),
  ],
  ['no access-control-allow-origin', (reply) => withHeader(reply, 'access-control-allow-origin', null)],
];

function envelopeMutations(operation: Operation, site: Site, index: number): readonly Mutation[] {
  const status = ['status 201', (reply: Reply) => ({ ...reply, status: 201 })] as const;
  return [status, ...inTurn(ENVELOPE_WRONGS, index)].map(([words, change]) =>
    changing(
      `${nameOf(operation)}: ${words}`,
      modeOf(operation),
      (asked) => isOf(operation, asked, site),
      (reply) => (reply.status === 200 ? change(reply) : null),
    ),
  );
}

function dataMutations(operation: Operation, site: Site): readonly Mutation[] {
  const schema = operation.answer(site.revision);
  const of = (words: string, edit: (data: JsonValue) => JsonValue | undefined) =>
    changing(
      `${nameOf(operation)}: ${words}`,
      modeOf(operation),
      (asked) => isOf(operation, asked, site),
      (reply) => withData(reply, edit),
    );
  const places = placesOf(schema);
  const members = places.flatMap(({ place, hasOtherValues }) =>
    [...SHAPE_WRONGS, ...(hasOtherValues ? [VALUE_WRONG] : [])].map(([words, edit]) =>
      of(`/data/${place.join('/')} ${words}`, (data) => (editFirst(data, place, edit) ? data : undefined)),
    ),
  );
  const isList = 'items' in schema;
  const whole = isList
    ? LIST_WRONGS.map(([words, edit]) =>
        of(`the list ${words}`, (data) => (Array.isArray(data) ? edit(data) : undefined)),
      )
    : [];
  const scalar = places.length === 0 && !isList ? [of('data of another type', (data) => [data])] : [];
  return [...members, ...whole, ...scalar];
}

const FAILURE_WRONGS: readonly (readonly [string, (reply: Reply) => Reply | null])[] = [
  ['another status', (reply) => ({ ...reply, status: 418 })],
  [
    'another text',
    (reply) => withEnvelope(reply, (envelope) => Object.assign(envelope, { error: 'other' }).error === 'other'),
  ],
];

/** Each failure of its own, and the refusal where it asks for a credential. */
function failureMutations(operation: Operation, site: Site): readonly Mutation[] {
  const own =
    accessOf(operation, site.revision) === 'protected'
      ? [...operation.failures, 'unauthorized' as const]
      : operation.failures;
  return own.flatMap((name, index) => {
    const row = commonErrors[name];
    return inTurn(FAILURE_WRONGS, index + own.length).map(([words, change]) =>
      changing(
        `${nameOf(operation)}: ${words} of "${row.text}"`,
        modeOf(operation),
        (asked) => isOf(operation, asked, site),
        (reply) => (reply.status === row.status && reply.body.includes(`"${row.text}`) ? change(reply) : null),
      ),
    );
  });
}

function accessMutations(operation: Operation, site: Site): readonly Mutation[] {
  const isAnonymous = (asked: Asked) => isOf(operation, asked, site) && !asked.headers.has('authorization');
  const mode = modeOf(operation);
  if (accessOf(operation, site.revision) === 'open') {
    // What it answers to those without a credential is what the status does.
    const asStatus = (asked: Asked): Asked => asRead(asked, `${site.api}/server/status`);
    return [redirecting(`${nameOf(operation)}: asks for a credential`, mode, isAnonymous, asStatus)];
  }
  // A login ends the session before it: the last credential that passed is the one to let others in with.
  let passing = credentialOf(site);
  return [
    {
      name: `${nameOf(operation)}: asks for no credential`,
      mode,
      async answer(asked, forward) {
        const reply = await forward(isAnonymous(asked) ? withHeader(asked, 'authorization', passing) : asked);
        const isProtected = asked.path.startsWith(`${site.api}/users`) || asked.path.startsWith(`${site.api}/server`);
        if (isProtected && reply.status === 200) passing = asked.headers.get('authorization') ?? passing;
        return reply;
      },
    },
  ];
}

/** A change that is answered and not made, where every success is the same. */
function undoneMutations(operation: Operation, site: Site): readonly Mutation[] {
  const schema: { readonly const?: JsonValue; readonly type?: string } = operation.answer(site.revision);
  const data = schema.const ?? (schema.type === 'null' ? null : undefined);
  if (data === undefined) return [];
  return [
    {
      name: `${nameOf(operation)}: answered, and not done`,
      mode: modeOf(operation),
      async answer(asked, forward) {
        // Whatever is refused is refused: only a success is told without being one.
        if (!isOf(operation, asked, site)) return forward(asked);
        const { status, headers } = await forward(asRead(asked, pathOfReading(asked, site)));
        if (status !== 200) return forward(asked);
        return { status: 200, headers, body: Buffer.from(JSON.stringify({ ok: true, data })) };
      },
    },
  ];
}

/** A read that succeeds where the change would: of the same key, or of the status. */
function pathOfReading({ path }: Asked, { api }: Site): string {
  const key = /^\/users\/([^/]+)/.exec(path.slice(api.length))?.[1];
  return key === undefined ? `${api}/server/status` : `${api}/users/${key}`;
}

/** A page of another origin may not call it. */
function preflightMutations(operation: Operation, site: Site): readonly Mutation[] {
  const isPreflight = ({ method, headers }: Asked) =>
    method === 'OPTIONS' && headers.get('access-control-request-method') === operation.method;
  return ['origin', 'methods', 'headers'].map((name) =>
    changing(
      `${nameOf(operation)}: no access-control-allow-${name} in the preflight`,
      'reads',
      (asked) => isPreflight(asked) && isOf(operation, { ...asked, method: operation.method }, site),
      (reply) => withHeader(reply, `access-control-allow-${name}`, null),
    ),
  );
}

/** The operation is not there, and no preflight says that it is. */
function missing(operation: Operation, site: Site): Mutation {
  return {
    name: `${nameOf(operation)}: is not served`,
    mode: 'reads',
    async answer(asked, forward) {
      if (isOf(operation, asked, site)) return forward({ ...asked, path: `${site.api}/keyway-nowhere` });
      const reply = await forward(asked);
      if (asked.method !== 'OPTIONS' || !isOf(operation, { ...asked, method: operation.method }, site)) return reply;
      const left = (reply.headers.get('allow') ?? '').split(',').filter((each) => each.trim() !== operation.method);
      return withHeader(reply, 'allow', left.join(','));
    },
  };
}

/** An operation of another line is there. */
function additional(operation: Operation, site: Site): Mutation {
  return {
    name: `${nameOf(operation)}: is served`,
    mode: 'reads',
    async answer(asked, forward) {
      const isPreflight = asked.method === 'OPTIONS';
      const method = isPreflight ? operation.method : asked.method;
      if (!isOf(operation, { ...asked, method }, site)) return forward(asked);
      const status = await forward({ ...asked, path: `${site.api}/server/status` });
      if (!isPreflight) return { ...status, body: Buffer.from('{"ok":true,"data":[]}') };
      return withHeader(status, 'allow', `${operation.method},OPTIONS`);
    },
  };
}
