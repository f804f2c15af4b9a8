import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { createGateway } from '../../src/index.js';
import type { Revision } from '../../src/wire/traits/revision.js';
import { tries } from '../tries.js';
import { someOf } from '../whole.js';
import { PASSWORD_HASH } from './gateway.js';

/** Whatever a revision cannot say of a file outlives everything that its panels write, for every revision that there is. */

interface Rule {
  readonly domain_suffix: readonly string[];
  readonly ip_cidr: readonly string[];
  readonly protocol?: string | null;
  readonly action: string;
  readonly send_from?: string | null;
  readonly note?: string;
}

interface ServerFile {
  readonly access_keys: readonly (string | Readonly<Record<string, unknown>>)[];
  readonly outbound: Readonly<Record<string, unknown>> & { readonly rules: readonly Rule[] };
  readonly dns: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
}

/** Of each revision; every run of the suite tries others. */
const RUNS = tries(4);

/** Members of the root that came after most revisions; Keyway must not touch any of them. */
const LATER = {
  config_version: 3,
  domain: 'vpn.example.com',
  tls: { enabled: true, frontend: 'nginx', ws_path: '/s3cr3tpath', cert: 'none', public_port: 443 },
  subscription: { enabled: true, path: '/sub', name: 'Мой VPN', update_interval_hours: 6, include: ['tls', 'udp'] },
  overnet: { enabled: false, gateway: '127.0.0.1:9150' },
  local_access: false,
  fallback: { enabled: false },
};
const LATER_DNS = { upstreams: ['tls://9.9.9.9'], user_rules: ['||ads.example^'], cache_size: 5 };

const rules = fc
  .array(
    fc.record({
      protocol: fc.constantFrom('tcp', null),
      action: fc.constantFrom('proxy', 'direct', 'block'),
      sendFrom: fc.constantFrom('192.0.2.1', '192.0.2.2', null, undefined),
    }),
    { maxLength: 4 },
  )
  .map((all): readonly Rule[] =>
    all.map(({ protocol, action, sendFrom }, n) => ({
      domain_suffix: [`.d${n}`],
      ip_cidr: [],
      protocol,
      action,
      note: `rule ${n}`,
      ...(sendFrom === undefined ? {} : { send_from: sendFrom }),
    })),
  );

/** What a panel does with a list that it has read: numbers of rules in their new order, new actions, and new rules. */
const turn = fc.record({
  order: fc.array(fc.nat(3), { maxLength: 4 }),
  action: fc.constantFrom('proxy', 'direct', 'block'),
  added: fc.nat(1),
});

const act = fc.oneof(
  fc.record({ kind: fc.constant('create' as const), key: fc.constantFrom('new', 'alpha', 'beta') }),
  fc.record({ kind: fc.constant('update' as const), key: fc.constantFrom('alpha', 'beta') }),
  fc.record({ kind: fc.constant('limit' as const), key: fc.constantFrom('alpha', 'beta') }),
  fc.record({ kind: fc.constant('delete' as const), key: fc.constantFrom('new', 'beta') }),
  fc.record({ kind: fc.constant('bulk' as const) }),
  fc.record({ kind: fc.constant('rules' as const), turn }),
  fc.record({ kind: fc.constant('dns' as const), enabled: fc.boolean() }),
  fc.record({ kind: fc.constant('whole' as const) }),
);
type Act = typeof act extends fc.Arbitrary<infer Each> ? Each : never;

type Call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown) => Promise<unknown>;

/** A panel of a revision over a gateway of that revision alone. */
async function panelOf({ id, capabilities, root }: Revision, configPath: string) {
  const app = await createGateway({ configPath, mounts: [{ revision: id }], loginGuard: 'off' });
  const { api } = root.paths('');
  let authorization = 'Bearer t';
  const call: Call = async (method, path, body) => {
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) };
    const headers = { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const answer = await app.inject({ method, url: `${api}${path}`, headers, ...payload });
    return answer.json().data;
  };
  if (capabilities.login === true) {
    const session = await call('POST', '/login', { username: 'admin', password: 'password' });
    authorization = `Bearer ${(session as { readonly token: string }).token}`;
  }
  return { call, close: () => app.close() };
}

/** Does one act as a panel does; resolves to the rules that it wrote, null where it wrote none. */
async function perform(each: Act, call: Call, { capabilities }: Revision): Promise<readonly Rule[] | null> {
  if (each.kind === 'create') await call('POST', '/users', { access_key: each.key, name: 'N', limit_bytes: 5 });
  if (each.kind === 'update') await call('PUT', `/users/${each.key}`, { name: 'M', limit_bytes: 6 });
  if (each.kind === 'limit') await call('PUT', `/users/${each.key}/limit`, { limit_bytes: null });
  if (each.kind === 'delete') await call('DELETE', `/users/${each.key}`);
  if (each.kind === 'bulk' && capabilities.bulk === true) await call('POST', '/users/bulk', { count: 2 });
  if (each.kind === 'whole' && capabilities.config === true)
    await call('PUT', '/server/config', await call('GET', '/server/config'));
  if (each.kind === 'dns' && capabilities.dns !== undefined) {
    const read = (await call('GET', '/dns/config')) as object;
    await call('POST', '/dns/config', { ...read, enabled: each.enabled });
  }
  if (each.kind !== 'rules' || capabilities.rules === undefined) return null;
  const { order, action, added } = each.turn;
  const read = (await call('GET', '/router/rules')) as readonly Rule[];
  const chosen = [...new Set(order)].flatMap((n) => read[n] ?? []).map((rule) => ({ ...rule, action }));
  // A rule that is there twice may be taken for either.
  const isThere = (domain: string) => read.some((rule) => rule.domain_suffix.includes(domain));
  const free = Array.from({ length: read.length + added }, (_, n) => `.new${n}`).filter((domain) => !isThere(domain));
  const fresh = free.slice(0, added).map((domain) => ({ domain_suffix: [domain], ip_cidr: [], action }));
  const written = [...chosen, ...fresh];
  await call('PUT', '/router/rules', written);
  return written;
}

/** What of a rule its writer cannot have known, by the protocol's rule: the same domains, else the same place. */
function carriedBy(written: readonly Rule[], present: readonly Rule[], hasSendFrom: boolean, hasProtocol: boolean) {
  const nameOf = ({ domain_suffix: [domain = ''] }: Rule) => domain;
  const names = new Set(written.map(nameOf));
  return written.map((rule, index) => {
    const atPlace =
      written.length === present.length && !names.has(nameOf(present[index] ?? rule)) ? present[index] : undefined;
    const from = present.find((other) => nameOf(other) === nameOf(rule)) ?? atPlace;
    return {
      note: from?.note ?? null,
      send_from: (hasSendFrom ? rule.send_from : from?.send_from) ?? null,
      protocol: (hasProtocol ? rule.protocol : from?.protocol) ?? null,
    };
  });
}

describe.each(someOf(REVISIONS, 4))('a panel of $id', (revision) => {
  test('changes nothing of a file that its revision cannot say, whatever it reads and writes back', async () => {
    const form = revision.capabilities.rules?.form;
    const [hasProtocol, hasSendFrom] = [!form?.unsaid.includes('protocol'), !form?.unsaid.includes('sendFrom')];
    await fc.assert(
      fc.asyncProperty(rules, fc.array(act, { minLength: 1, maxLength: 5 }), async (given, acts) => {
        // What a Keyway noted of a file for a server beside must not meet the next one.
        const folder = await mkdtemp(join(tmpdir(), 'keyway-carry-'));
        const path = join(folder, 'server.json');
        const read = async (): Promise<ServerFile> => JSON.parse(await readFile(path, 'utf8'));
        const start = {
          mode: 'server',
          access_keys: ['alpha', { access_key: 'beta', name: 'B', note: 'mine' }],
          api: { enabled: true, token: 't', username: 'admin', password_hash: PASSWORD_HASH },
          outbound: { enabled: true, note: 'routing', rules: given },
          dns: { ...LATER_DNS, enabled: false },
          ...LATER,
        };
        await writeFile(path, JSON.stringify(start, null, 2));
        const panel = await panelOf(revision, path);
        try {
          for (const each of acts) {
            const before = (await read()).outbound.rules;
            const written = await perform(each, panel.call, revision);
            const now = await read();
            expect(now).toMatchObject({ ...LATER, dns: LATER_DNS, outbound: { enabled: true, note: 'routing' } });
            if (written === null) expect(now.outbound.rules).toEqual(before);
            else {
              const told = now.outbound.rules.map(({ note = null, send_from = null, protocol = null }) => ({
                note,
                send_from,
                protocol,
              }));
              expect(told).toEqual(carriedBy(written, before, hasSendFrom, hasProtocol));
            }
            const beta = now.access_keys.find((key) => typeof key === 'object' && key.access_key === 'beta');
            const isGone = each.kind === 'delete' && each.key === 'beta';
            if (isGone) return;
            expect(beta).toMatchObject({ note: 'mine' });
          }
        } finally {
          await panel.close();
          await rm(folder, { recursive: true, force: true });
        }
      }),
      { numRuns: RUNS },
    );
  });
});
