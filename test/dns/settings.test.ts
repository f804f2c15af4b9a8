import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import dnsPacket from 'dns-packet';
import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_RESOLVER } from '../../src/core/dns-settings.js';
import type { ResolverSettings } from '../../src/core/model.js';
import { someOf } from '../whole.js';
import { askUdp, dataOf } from './client.js';
import { cleanUp, later, outboundVia, startResolver, until } from './harness.js';
import { addressAnswer, answerTo, run, runDoh, runPlain, runSocks } from './servers.js';

afterEach(cleanUp);

async function plain(...args: Parameters<typeof runPlain>) {
  const server = await runPlain(...args);
  later(() => server.close());
  return server;
}

const NOTHING: ResolverSettings = { ...DEFAULT_RESOLVER, upstreams: [], lists: [], blockDohBypass: false };
const withSettings = (settings: Partial<ResolverSettings>) => ({ resolver: { ...NOTHING, ...settings } });

describe('an upstream', () => {
  it('is asked over UDP, each question once, and over TCP where its answer is cut off', async () => {
    const upstream = await plain((query, carrier) => {
      const isLong = query.questions?.[0]?.name.startsWith('long') === true;
      return isLong && carrier === 'udp'
        ? answerTo(query, { flags: dnsPacket.TRUNCATED_RESPONSE })
        : addressAnswer(query);
    });
    const { port } = await startResolver(withSettings({ upstreams: [`127.0.0.1:${upstream.port}`] }));
    expect(dataOf(await askUdp(port(), { name: 'Short.example' }))).toEqual(['192.0.2.1']);
    expect(dataOf(await askUdp(port(), { name: 'long.example' }))).toEqual(['192.0.2.1']);
    expect(upstream.asked).toEqual(['udp short.example', 'udp long.example', 'stream long.example']);
  });

  it.each([
    ['tcp', false],
    ['tls', true],
  ])('is asked over %s on one connection, in whatever order it answers', async (carrier, tls) => {
    const upstream = await plain(
      async (query) => {
        const name = query.questions?.[0]?.name ?? '';
        if (name.startsWith('slow')) await new Promise((resolve) => setTimeout(resolve, 100));
        return addressAnswer(query);
      },
      { tls },
    );
    const { port } = await startResolver(withSettings({ upstreams: [`${carrier}://127.0.0.1:${upstream.port}`] }));
    const names = ['slow.example', 'a.example', 'b.example', 'c.example'];
    const replies = await Promise.all(names.map((name) => askUdp(port(), { name })));
    expect(replies.map((reply) => [reply.questions?.[0]?.name, dataOf(reply)])).toEqual(
      names.map((name) => [name, ['192.0.2.1']]),
    );
    expect(upstream.connections()).toBe(1);
  });

  it.each(
    someOf(
      [
        ['tcp', 'closes', 1],
        ['tls', 'closes', 7],
        ['tcp', 'closes', 128],
        ['tls', 'closes', 1],
        ['tcp', 'resets', 3],
      ],
      2,
    ),
  )('over %s that %s a connection after %i answers leaves no question unanswered', async (carrier, how, mostAnswers) => {
    const cut = how === 'resets' ? (socket: Socket) => void socket.resetAndDestroy() : undefined;
    const upstream = await plain((query) => addressAnswer(query), {
      tls: carrier === 'tls',
      mostAnswers,
      ...(cut === undefined ? {} : { cut }),
    });
    const { port, resolver } = await startResolver(
      withSettings({ upstreams: [`${carrier}://127.0.0.1:${upstream.port}`] }),
    );
    // As many as TLS connections are made in no time.
    const atOnce = carrier === 'tls' ? 8 : 100;
    for (const round of ['a', 'b', 'c']) {
      const names = Array.from({ length: atOnce }, (_, index) => `${round}${index}.example`);
      const replies = await Promise.all(names.map((name) => askUdp(port(), { name })));
      expect(replies.filter(({ rcode }) => rcode !== 'NOERROR')).toEqual([]);
    }
    expect(resolver.stats().upstreamErrors).toBe(0);
  });

  it('that sends what is no answer harms nobody: the next one is asked', async () => {
    const upstream = await plain((query, carrier) => {
      const junk = randomBytes(40);
      junk.writeUInt16BE(query.id ?? 0, 0);
      return carrier === 'udp' ? junk : randomBytes(5);
    });
    const second = await plain((query) => addressAnswer(query));
    const { port } = await startResolver(
      withSettings({ upstreams: [`tcp://127.0.0.1:${upstream.port}`, `udp://127.0.0.1:${second.port}`] }),
    );
    expect(dataOf(await askUdp(port(), { name: 'a.example' }))).toEqual(['192.0.2.1']);
    expect(dataOf(await askUdp(port(), { name: 'b.example' }))).toEqual(['192.0.2.1']);
    // Once it has failed it is asked after the other.
    expect(upstream.asked).toEqual(['stream a.example']);
  });

  it('is not believed where the answer is another question’s, or has another id', async () => {
    const upstream = createSocket('udp4');
    await new Promise<void>((resolve) => upstream.bind(0, '127.0.0.1', resolve));
    later(async () => void upstream.close());
    upstream.on('message', (bytes, { port, address }) => {
      const query = dnsPacket.decode(bytes);
      const forged = { ...query, id: ((query.id ?? 0) + 1) % 65_536 };
      const other = { ...query, questions: [{ type: 'A' as const, name: 'evil.example' }] };
      for (const answer of [addressAnswer(forged), addressAnswer(other), answerTo(query, { answers: [] })])
        upstream.send(answer, port, address);
    });
    const { port } = await startResolver(withSettings({ upstreams: [`127.0.0.1:${upstream.address().port}`] }));
    const reply = await askUdp(port(), { name: 'a.example' });
    expect([reply.rcode, reply.answers]).toEqual(['NOERROR', []]);
  });

  it('over UDP is believed about a name in UTF-8, whose bytes are no letters of ASCII', async () => {
    const upstream = await plain((query) => addressAnswer(query));
    const { port } = await startResolver(withSettings({ upstreams: [`udp://127.0.0.1:${upstream.port}`] }));
    expect(dataOf(await askUdp(port(), { name: 'bücher.example' }))).toEqual(['192.0.2.1']);
    expect(upstream.asked).toEqual(['udp bücher.example']);
  });

  it('that an outbound rule sends through the proxy is asked over TCP there', async () => {
    const upstream = await plain((query) => addressAnswer(query));
    const proxy = await runSocks();
    later(() => proxy.close());
    const { port } = await startResolver(withSettings({ upstreams: [`192.0.2.53:${upstream.port}`] }), {
      outbound: outboundVia(proxy.port),
    });
    expect(dataOf(await askUdp(port(), { name: 'a.example' }))).toEqual(['192.0.2.1']);
    expect([proxy.targets, upstream.asked]).toEqual([[`192.0.2.53:${upstream.port}`], ['stream a.example']]);
  });

  it('at a link-local address is not called', async () => {
    const { port } = await startResolver(withSettings({ upstreams: ['169.254.169.254', 'tcp://169.254.169.254'] }));
    expect((await askUdp(port(), { name: 'a.example' })).rcode).toBe('SERVFAIL');
  });

  it('is one of all that are asked at once, the first answer counting', async () => {
    const dead = await plain(() => null);
    const upstream = await runDoh((query) => addressAnswer(query));
    later(() => upstream.close());
    const { port, resolver } = await startResolver(
      withSettings({ upstreams: [`127.0.0.1:${dead.port}`, upstream.url], upstreamMode: 'parallel' }),
    );
    expect(dataOf(await askUdp(port(), { name: 'a.example' }))).toEqual(['192.0.2.1']);
    expect(dead.asked).toContain('udp a.example');
    expect(resolver.log(1, '')[0]).toMatchObject({ outcome: 'allowed', upstream: upstream.url });
  });
});

describe('the cache', () => {
  it.each([
    ['keeps nothing with the size 0', { cacheSize: 0n }, 2],
    ['keeps answers for as long as the least time', { cacheMinTtl: 60 }, 1],
    ['keeps no answer for longer than the most', { cacheMinTtl: 0, cacheMaxTtl: 0 }, 2],
  ])('%s', async (_what, settings, questions) => {
    const upstream = await plain((query) => addressAnswer(query, 1));
    const { port } = await startResolver(withSettings({ ...settings, upstreams: [`127.0.0.1:${upstream.port}`] }));
    for (let time = 0; time < 2; time += 1) await askUdp(port(), { name: 'a.example' });
    expect(upstream.asked).toHaveLength(questions);
  });
});

describe('rewrites', () => {
  it('answer with an address, or with another name and its records, for every client', async () => {
    const upstream = await plain((query) => {
      const name = query.questions?.[0]?.name ?? '';
      return answerTo(query, {
        answers: [
          { type: 'CNAME', name, ttl: 30, data: 'far.example' },
          { type: 'A', name: 'far.example', ttl: 30, data: '192.0.2.5' },
          { type: 'A', name: 'far.example', ttl: 30, data: '192.0.2.6' },
        ],
      });
    });
    const rewrites = [
      { domain: 'nas.example', answer: '192.0.2.9' },
      { domain: '*.lab.example', answer: 'real.example' },
      { domain: 'no name', answer: '192.0.2.9' },
    ];
    const { port, resolver, lines } = await startResolver(
      withSettings({ rewrites, userRules: ['192.0.2.8 host.lan'], upstreams: [`127.0.0.1:${upstream.port}`] }),
    );
    expect(dataOf(await askUdp(port(), { name: 'nas.example' }))).toEqual(['192.0.2.9']);
    expect(dataOf(await askUdp(port(), { name: 'host.lan' }))).toEqual(['192.0.2.8']);
    const reply = await askUdp(port(), { name: 'x.Lab.example' });
    expect(reply.answers).toMatchObject([
      { name: 'x.Lab.example', type: 'CNAME', data: 'real.example', ttl: 300 },
      { name: 'real.example', type: 'CNAME', data: 'far.example', ttl: 30 },
      { name: 'far.example', data: '192.0.2.5', ttl: 30 },
      { name: 'far.example', data: '192.0.2.6', ttl: 30 },
    ]);
    expect(upstream.asked).toEqual(['udp real.example']);
    const { answers = [] } = await askUdp(port(), { name: 'x.lab.example', type: 'MX' });
    expect(answers[0]).toMatchObject({ type: 'CNAME', data: 'real.example' });
    expect(resolver.log(10, '').map(({ name, outcome }) => `${name} ${outcome}`)).toEqual(
      ['x.lab.example', 'x.lab.example', 'host.lan', 'nas.example'].map((name) => `${name} rewritten`),
    );
    expect(lines.map(({ message }) => message)).toContain(
      'dns.rewrites: entries without a name or address are ignored',
    );
  });

  it('with another name that the upstream fails at are a failure that clients can read', async () => {
    const upstream = await plain((query) => {
      // A record of `example.`, by a pointer into the question for `real.example.`.
      const record = Buffer.from('c011000200010000001e0002c011', 'hex');
      const failure = Buffer.concat([answerTo(query, {}), record]);
      failure.writeUInt16BE(failure.readUInt16BE(2) | 2, 2);
      failure.writeUInt16BE(1, 8);
      return failure;
    });
    const rewrites = [{ domain: '*.lab.example', answer: 'real.example' }];
    const { port } = await startResolver(withSettings({ rewrites, upstreams: [`127.0.0.1:${upstream.port}`] }));
    expect(await askUdp(port(), { name: 'x.lab.example' })).toMatchObject({ rcode: 'SERVFAIL', authorities: [] });
  });
});

describe('blocking', () => {
  const userRules = ['||ads.example^', '@@||good.ads.example^', '0.0.0.0 hosts.example', '/regular/', '! a comment'];

  it('goes by the rules of the user, and says which', async () => {
    const upstream = await plain((query) => addressAnswer(query));
    const { port, resolver } = await startResolver(
      withSettings({ userRules, upstreams: [`127.0.0.1:${upstream.port}`] }),
    );
    const rcodes = [];
    for (const name of ['ads.example', 'x.ads.example', 'hosts.example', 'good.ads.example', 'example.com'])
      rcodes.push((await askUdp(port(), { name })).rcode);
    expect(rcodes).toEqual(['NXDOMAIN', 'NXDOMAIN', 'NXDOMAIN', 'NOERROR', 'NOERROR']);
    expect(resolver.log(10, 'ads').map(({ outcome, rule, source }) => [outcome, rule, source])).toEqual([
      ['allowed', null, null],
      ['blocked', '||ads.example^', 'user rules'],
      ['blocked', '||ads.example^', 'user rules'],
    ]);
    expect(resolver.explain('X.ADS.example')).toMatchObject({ name: 'x.ads.example', outcome: 'blocked' });
    expect(resolver.explain('example.com')).toMatchObject({ outcome: 'allowed', rule: null });
    expect(resolver.figures()).toMatchObject({
      total: 5,
      blocked: 3,
      lists: [{ name: 'user rules', rules: 3, unsupported: 1 }],
      topBlocked: expect.arrayContaining([['ads.example', 1]]),
      topClients: [['127.0.0.1', 5]],
    });
    expect(resolver.figures().averageUpstream).toEqual(expect.any(Number));
  });

  it.each([
    ['nxdomain', 'NXDOMAIN', []],
    ['null_ip', 'NOERROR', ['0.0.0.0']],
    ['refused', 'REFUSED', []],
  ] as const)('answers by its mode %s, for the time that is set', async (blockingMode, rcode, data) => {
    const { port } = await startResolver(withSettings({ userRules, blockingMode, blockedTtl: 7 }));
    const reply = await askUdp(port(), { name: 'ads.example' });
    expect([reply.rcode, dataOf(reply)]).toEqual([rcode, data]);
    for (const record of [...(reply.answers ?? []), ...(reply.authorities ?? [])])
      expect('ttl' in record && record.ttl).toBe(7);
  });

  it('leaves what an allow list names, and the lists that are switched off', async () => {
    const upstream = await plain((query) => addressAnswer(query));
    const texts: Readonly<Record<string, string>> = {
      '/block': '||ads.example^\n||more.example^\n',
      '/allow': 'www.ads.example\n',
      '/off': '||off.example^\n',
    };
    const server = await run(createServer((request, response) => response.end(texts[request.url ?? ''])));
    later(() => server.close());
    const lists = `http://127.0.0.1:${server.port}`;
    const list = (name: string, enabled = true) => ({ name, url: `${lists}/${name}`, enabled });
    const { port, resolver } = await startResolver(
      withSettings({
        lists: [list('block'), list('off', false)],
        allowlists: [list('allow')],
        upstreams: [`127.0.0.1:${upstream.port}`],
      }),
    );
    await until(() => resolver.stats().lastRefresh !== null, 'the lists are there');
    const rcodes = [];
    for (const name of ['ads.example', 'www.ads.example', 'off.example'])
      rcodes.push((await askUdp(port(), { name })).rcode);
    expect(rcodes).toEqual(['NXDOMAIN', 'NOERROR', 'NOERROR']);
    expect(resolver.explain('www.ads.example')).toMatchObject({ outcome: 'allowed', source: 'allow' });
    expect(await resolver.updateLists()).toEqual([
      { name: 'block', url: `${lists}/block`, ok: true, detail: '0 KB' },
      { name: 'allow', url: `${lists}/allow`, ok: true, detail: '0 KB' },
    ]);
  });

  it('answers browsers that ask whether they may go past it, where that is set', async () => {
    const { port, set } = await startResolver(withSettings({ blockDohBypass: true }));
    expect((await askUdp(port(), { name: 'use-application-dns.net' })).rcode).toBe('NXDOMAIN');
    await set(withSettings({}));
    expect((await askUdp(port(), { name: 'use-application-dns.net' })).rcode).toBe('SERVFAIL');
  });

  it('is neither combined nor warned of again when the file changes and its settings do not', async () => {
    const rewrites = [{ domain: 'no name', answer: '192.0.2.9' }];
    const { set, lines } = await startResolver(withSettings({ userRules: ['/regular/'], rewrites }));
    await set(withSettings({ userRules: ['/regular/'], rewrites }), null);
    const warned = lines.filter(({ level }) => level === 'warn').map(({ message }) => message.split(':')[0]);
    expect(warned).toEqual(['dns.user_rules', 'dns.rewrites']);
  });

  it('names in the log what it does not do', async () => {
    const { lines, set } = await startResolver(withSettings({ safeSearch: true, blockedServices: ['tiktok'] }));
    const said = () => lines.filter(({ message }) => message.includes('is kept in the file')).length;
    expect(said()).toBe(2);
    await set(withSettings({ safeSearch: true, blockedServices: ['tiktok', 'reddit'] }));
    expect(said()).toBe(2);
  });
});

describe('the query log', () => {
  it('has as many as are set, newest first, finds names and clients, and is cleared with the figures', async () => {
    const { port, resolver, set } = await startResolver(withSettings({ queryLogSize: 2n }));
    for (const name of ['a.example', 'b.example', 'c.test']) await askUdp(port(), { name });
    const names = (limit: number, text = '') => resolver.log(limit, text).map(({ name }) => name);
    expect([names(5), names(1), names(5, 'example'), names(0)]).toEqual([
      ['c.test', 'b.example'],
      ['c.test'],
      ['b.example'],
      [],
    ]);
    expect(resolver.queries().map(({ domain }) => domain)).toEqual(['b.example', 'c.test']);
    resolver.clearLog();
    expect([names(5), resolver.figures().total]).toEqual([[], 0]);
    await set(withSettings({ queryLogSize: 0n }));
    await askUdp(port(), { name: 'd.example' });
    expect([names(5), resolver.figures().total]).toEqual([[], 1]);
  });

  it('stays within its bounds whatever names strangers ask for', async () => {
    const { port, resolver } = await startResolver(withSettings({ queryLogSize: 10n }));
    const socket = createSocket('udp4');
    later(async () => void socket.close());
    for (let index = 0; index < 300; index += 1) {
      const bytes = randomBytes(12 + (index % 60));
      if (index % 3 === 0) bytes.fill(0, 2, 12).writeUInt16BE(1, 4);
      await new Promise<void>((resolve) => socket.send(bytes, port(), '127.0.0.1', () => resolve()));
    }
    expect((await askUdp(port(), { name: 'after.example' })).rcode).toBe('SERVFAIL');
    expect(resolver.log(1000, '').length).toBeLessThanOrEqual(10);
    expect(resolver.figures().topNames.length).toBeLessThanOrEqual(10);
  });
});
