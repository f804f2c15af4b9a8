import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { MAX_U64 } from '../../src/core/model.js';
import { capabilitiesOf } from '../../src/wire/traits/revision.js';
import { startLiveServer } from '../lab/live-server.js';
import { someOf } from '../whole.js';
import { call, keptLog } from './called-server.js';

const AWKWARD = [
  'a/b?c#d',
  '..',
  '.',
  'ключ 🔑',
  '%2F',
  'a b',
  '"',
  '\\',
  "it's",
  'x'.repeat(2000),
  '__proto__',
  ':key',
];

describe.each(someOf(REVISIONS, 2).map((revision) => ({ id: revision.id, revision })))('a running server of $id', ({
  revision,
}) => {
  it('is found out by its version, and lets Keyway in', async () => {
    const { origin } = await startLiveServer(revision.reportedVersion);
    const log = keptLog();
    const server = call(origin, { log });
    expect([server.line(), server.version(), server.troubles()]).toEqual([null, null, []]);
    const { value } = await server.status();
    expect(value).toMatchObject({ version: revision.reportedVersion, activeUsers: 1n, totalUsers: 2n });
    expect([server.line()?.id, server.version(), server.troubles()]).toEqual([
      revision.id,
      revision.reportedVersion,
      [],
    ]);
    expect(log.lines.filter((line) => line.includes('was measured'))).toHaveLength(
      revision.recordedFrom === null ? 1 : 0,
    );
  });

  it('has its keys read, made, changed and removed, whatever characters they have', async () => {
    const { origin, keys } = await startLiveServer(revision.id);
    const server = call(origin);
    for (const [index, accessKey] of AWKWARD.entries())
      await server.createUser({ accessKey, name: `${index} "имя" \n`, limitBytes: MAX_U64 });
    const { value: all } = await server.listUsers();
    const hasName = revision.snapshot.members.some(({ name }) => name === 'name');
    expect(all.map(({ accessKey }) => accessKey).toSorted()).toEqual(['foreign-1', 'foreign-2', ...AWKWARD].toSorted());
    for (const [index, accessKey] of AWKWARD.entries()) {
      const { value } = await server.getUser(accessKey);
      expect(value).toEqual(all.find((each) => each.accessKey === accessKey));
      expect(value).toEqual({
        accessKey,
        name: hasName ? `${index} "имя" \n` : null,
        limitBytes: MAX_U64,
        counters: { bytesUp: 0n, bytesDown: 0n, connections: 0n, limitBytes: MAX_U64, createdAt: 0 },
      });
      await server.updateUser({ accessKey, name: null, limitBytes: 0n });
      await server.setLimit(accessKey, null);
      await server.resetUser(accessKey);
    }
    expect(keys().filter((line) => line.endsWith(' null null 0'))).toHaveLength(AWKWARD.length);
    for (const accessKey of AWKWARD) await server.deleteUser(accessKey);
    expect(keys()).toHaveLength(2);
  });

  it('refuses in its own words, which are read back', async () => {
    const { origin } = await startLiveServer(revision.id);
    const server = call(origin);
    expect((await server.getUser('nobody')).value).toBeUndefined();
    expect((await server.subscription('nobody')).value).toBeUndefined();
    for (const refused of [
      server.deleteUser('nobody'),
      server.resetUser('nobody'),
      server.setLimit('nobody', null),
      server.updateUser({ accessKey: 'nobody', name: null, limitBytes: null }),
    ])
      await expect(refused).rejects.toMatchObject({ name: 'DomainError', code: 'userNotFound' });
    expect(server.troubles()).toEqual([]);
  });

  it('serves what its line has, and nothing else is asked of it', async () => {
    const { origin, file } = await startLiveServer(revision.id);
    const server = call(origin);
    await server.find();
    const has = new Set(capabilitiesOf(revision));
    const dns = {
      enabled: true,
      dohUpstream: 'https://doh.example/dns-query',
      adblockUrls: ['https://lists.example/a'],
      customDomains: new Map([['nas.example', '192.0.2.1']]),
      localPort: 5353,
      interceptAllPort53: false,
    } as const;
    const rule = { domainSuffix: ['.example'], ipCidr: [], protocol: null, action: 'block' } as const;

    const uses: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['config', async () => JSON.parse(String((await server.getConfig()).value)).mode],
      ['bulk', async () => (await server.bulkCreateUsers(3, 5n)).value.length],
      [
        'rules',
        async () => {
          await server.putRules([rule]);
          return (await server.rules()).value;
        },
      ],
      [
        'dns',
        async () => {
          await server.putDns({ ...dns, bind: '127.0.0.1', blockedAnswer: 'zero', refreshHours: 1, resolver: null });
          await server.refreshBlocklists();
          return [(await server.queries()).value, Object.keys((await server.dns()).value).length >= 4];
        },
      ],
      [
        'audit',
        async () => {
          await server.addAudit({ eventEn: 'en', eventRu: 'ру', success: true });
          const { value } = await server.listAudit();
          await server.clearAudit();
          return [value.length, value[0]?.eventRu, (await server.listAudit()).value];
        },
      ],
    ];
    const saysSendFrom = revision.capabilities.rules?.form.unsaid.includes('sendFrom') === false;
    const expected: Readonly<Record<string, unknown>> = {
      config: 'server',
      bulk: 3,
      rules: [{ ...rule, ...(saysSendFrom ? { sendFrom: null } : {}) }],
      dns: [[], true],
      audit: [1, 'ру', []],
    };
    for (const [capability, use] of uses) {
      if (has.has(capability as never)) expect([capability, await use()]).toEqual([capability, expected[capability]]);
      else await expect(use()).rejects.toThrow(`line ${revision.id} has no `);
    }
    if (!has.has('config')) return;
    const whole = JSON.stringify({ ...Object(await file()), marker: '2^64' }).replace('"2^64"', '18446744073709551616');
    await server.putConfig(Buffer.from(whole));
    expect(String((await server.getConfig()).value)).toContain('"marker":18446744073709551616');
  });

  it('tells how it announces itself', async () => {
    const announced = { host: 'vpn.example', port: 443, shareScheme: 'ostp', shareQuery: '?a=b&c=d' };
    const { origin } = await startLiveServer(revision.id, {}, { announced });
    const { value } = await call(origin).subscription('foreign-1');
    const { shareQuery } = revision;
    expect(value).toMatchObject({ host: 'vpn.example', port: 443, shareScheme: 'ostp' });
    // What is read gives the same link again.
    expect(shareQuery.query(value?.shareQuery ?? '', value?.ownDns ?? false)).toBe(shareQuery.query('?a=b&c=d', false));
  });
});
