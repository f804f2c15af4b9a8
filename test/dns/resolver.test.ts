import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../free-ports.js';
import { tries } from '../tries.js';
import { askTcp, askUdp, dataOf, encodeQuery, sendUdp } from './client.js';
import { cleanUp, later, startResolver, until } from './harness.js';
import { addressAnswer, answerTo, runDoh } from './servers.js';

afterEach(cleanUp);

async function doh(...args: Parameters<typeof runDoh>) {
  const server = await runDoh(...args);
  later(() => server.close());
  return server;
}

describe('a custom domain', () => {
  const customDomains = new Map([
    ['Host.Example', '192.0.2.7'],
    ['six.example', '2001:db8::7'],
    ['*.zone.example', '192.0.2.8'],
  ]);

  it('asked over UDP and TCP is answered with its address, authoritatively', async () => {
    const { port } = await startResolver({ customDomains });
    const udp = await askUdp(port(), { name: 'hOSt.example' });
    const [tcp] = await askTcp(port(), [{ name: 'six.example', type: 'AAAA' }]);
    expect([udp.rcode, udp.flag_aa, dataOf(udp)]).toEqual(['NOERROR', true, ['192.0.2.7']]);
    expect(tcp && dataOf(tcp, 'AAAA')).toEqual(['2001:db8::7']);
    // The question comes back as it was written, as clients that vary its case demand.
    expect(udp.questions?.[0]?.name).toBe('hOSt.example');
  });

  it('is answered in the time that it took, whatever the clock is set to meanwhile', async () => {
    let day = 0;
    const now = () => {
      day += 86_400_000;
      return day;
    };
    const clock = { now, monotonic: () => performance.now() };
    const { port, resolver } = await startResolver({ customDomains }, { clock });
    await askUdp(port(), { name: 'host.example' });
    expect(resolver.log(1, '')[0]?.elapsed).toBeLessThan(3_600_000);
  });

  it('asked for another type has no data, with a SOA to keep that by', async () => {
    const { port } = await startResolver({ customDomains });
    const reply = await askUdp(port(), { name: 'host.example', type: 'AAAA' });
    expect([reply.rcode, reply.answers, reply.authorities?.[0]?.type]).toEqual(['NOERROR', [], 'SOA']);
  });

  it('covers the names below it only when it is written with *.', async () => {
    const { port } = await startResolver({ customDomains, dohUpstream: 'https://127.0.0.1:1/' });
    expect(dataOf(await askUdp(port(), { name: 'a.b.zone.example' }))).toEqual(['192.0.2.8']);
    expect((await askUdp(port(), { name: 'zone.example' })).rcode).toBe('SERVFAIL');
    expect((await askUdp(port(), { name: 'a.host.example' })).rcode).toBe('SERVFAIL');
  });

  it('that is there in two spellings has the address of the last, also when their order alone changes', async () => {
    const spellings: [string, string][] = [
      ['NAS.example', '192.0.2.8'],
      ['nas.example', '192.0.2.7'],
    ];
    const { port, set } = await startResolver({ customDomains: new Map(spellings) });
    expect(dataOf(await askUdp(port(), { name: 'nas.example' }))).toEqual(['192.0.2.7']);
    await set({ customDomains: new Map(spellings.reverse()) });
    expect(dataOf(await askUdp(port(), { name: 'nas.example' }))).toEqual(['192.0.2.8']);
  });
});

describe('a forwarded question', () => {
  it.each([
    ['HTTP/2', true, '2.0'],
    ['HTTP/1.1', false, '1.1'],
  ])('goes over %s with one connection for many, and into the cache', async (_what, http2, version) => {
    const upstream = await doh((query) => addressAnswer(query), { http2 });
    const { port, resolver } = await startResolver({ dohUpstream: upstream.url });
    for (let index = 0; index < 5; index++) {
      expect(dataOf(await askUdp(port(), { name: `h${index}.example` }))).toEqual(['192.0.2.1']);
    }
    expect(dataOf(await askUdp(port(), { name: 'H0.EXAMPLE' }))).toEqual(['192.0.2.1']);
    expect(upstream.requests).toHaveLength(5);
    expect(upstream.requests.every(({ httpVersion, method }) => httpVersion === version && method === 'POST')).toBe(
      true,
    );
    expect(upstream.connections()).toBeLessThanOrEqual(2);
    expect(resolver.stats()).toMatchObject({ queries: 6, cacheHits: 1, blocked: 0, upstreamErrors: 0 });
  });

  it('goes by GET with a URL template, and where POST is refused', async () => {
    const template = await doh((query) => addressAnswer(query));
    const refusing = await doh((query, { method }) =>
      method === 'POST' ? { status: 405, body: 'no' } : addressAnswer(query),
    );
    const { port, set } = await startResolver({ dohUpstream: `${template.url}{?dns}` });
    expect(dataOf(await askUdp(port(), { name: 'a.example' }))).toEqual(['192.0.2.1']);
    expect(template.requests.map(({ method }) => method)).toEqual(['GET']);
    await set({ dohUpstream: refusing.url });
    expect(dataOf(await askUdp(port(), { name: 'a.example' }))).toEqual(['192.0.2.1']);
    expect(dataOf(await askUdp(port(), { name: 'b.example' }))).toEqual(['192.0.2.1']);
    expect(refusing.requests.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET']);
  });

  it('asked by many at once is asked of the upstream once', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const upstream = await doh(async (query) => {
      await held;
      return addressAnswer(query);
    });
    const { port, resolver } = await startResolver({ dohUpstream: upstream.url });
    const replies = Array.from({ length: 20 }, (_, id) => askUdp(port(), { name: 'same.example', id }));
    await until(() => resolver.stats().queries === 20, 'all were asked');
    release();
    const ids = (await Promise.all(replies)).map((reply) => reply.id);
    expect(ids).toEqual(Array.from({ length: 20 }, (_, id) => id));
    expect(upstream.requests).toHaveLength(1);
  });

  it('with a large answer is truncated over UDP and whole over TCP and for those who take it', async () => {
    const answers = Array.from({ length: 100 }, (_, index) => ({
      type: 'A' as const,
      name: 'big.example',
      ttl: 60,
      data: `192.0.2.${index}`,
    }));
    const upstream = await doh((query) => answerTo(query, { answers }));
    const { port } = await startResolver({ dohUpstream: upstream.url });
    const plain = await sendUdp(port(), encodeQuery({ name: 'big.example' }));
    expect(plain.length).toBeLessThanOrEqual(512);
    expect(await askUdp(port(), { name: 'big.example', udpBytes: 1232 })).toMatchObject({ flag_tc: true, answers: [] });
    expect(dataOf(await askUdp(port(), { name: 'big.example', udpBytes: 4096 }))).toHaveLength(100);
    const [whole] = await askTcp(port(), [{ name: 'big.example' }]);
    expect(whole && dataOf(whole)).toHaveLength(100);
    expect(upstream.requests).toHaveLength(1);
  });

  it('that does not exist is kept as long as its SOA allows', async () => {
    const soa: Parameters<typeof answerTo>[1]['authorities'] = [
      {
        type: 'SOA',
        name: 'example',
        ttl: 600,
        data: { mname: 'a.example', rname: 'b.example', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 300 },
      },
    ];
    const upstream = await doh((query) => {
      const bytes = answerTo(query, query.questions?.[0]?.name === 'no.example' ? { authorities: soa } : {});
      bytes.writeUInt8(bytes.readUInt8(3) | 3, 3);
      return bytes;
    });
    const { port } = await startResolver({ dohUpstream: upstream.url });
    for (const name of ['no.example', 'no.example', 'bare.example', 'bare.example']) {
      expect((await askUdp(port(), { name })).rcode).toBe('NXDOMAIN');
    }
    // The second has no SOA: it is not kept (RFC 2308 section 5).
    expect(upstream.requests.map(({ query }) => query.questions?.[0]?.name)).toEqual([
      'no.example',
      'bare.example',
      'bare.example',
    ]);
  });

  it('of an unknown type is answered with what the upstream says', async () => {
    const upstream = await doh((query) => addressAnswer(query));
    const { port } = await startResolver({ dohUpstream: upstream.url });
    const packet = encodeQuery({ name: 'a.example' });
    packet.writeUInt16BE(65_280, packet.length - 4);
    expect((await sendUdp(port(), packet)).readUInt16BE(6)).toBe(1);
  });

  it('of the type HTTPS, whose number is that of a capital letter, is asked of the upstream as that type', async () => {
    const upstream = await doh((query) => answerTo(query, {}));
    const { port } = await startResolver({ dohUpstream: upstream.url });
    const packet = encodeQuery({ name: 'a.example' });
    packet.writeUInt16BE(65, packet.length - 4);
    expect((await sendUdp(port(), packet)).readUInt16BE(2) & 0x0f).toBe(0);
    expect(upstream.requests.map(({ query }) => query.questions?.[0]?.type)).toEqual(['UNKNOWN_65']);
  });
});

describe('an upstream', () => {
  it.each<[string, Parameters<typeof runDoh>[0]]>([
    ['a web page with status 200', () => ({ headers: { 'content-type': 'text/html' }, body: '<html>hello</html>' })],
    ['a web page that says it is DNS', () => ({ body: '<html><body>hello, this is the captive portal</body></html>' })],
    ['status 503', () => ({ status: 503, body: '' })],
    ['another id', (query) => answerTo({ ...query, id: 99 }, {})],
    ['another question', (query) => addressAnswer({ ...query, questions: [{ type: 'A', name: 'evil.example' }] })],
    ['the query itself', (query) => dnsPacketOf(query)],
    ['a truncated answer', (query) => withFlag(addressAnswer(query), 0x02)],
    ['an answer cut off', (query) => addressAnswer(query).subarray(0, -3)],
    ['an answer with bytes behind it', (query) => Buffer.concat([addressAnswer(query), Buffer.alloc(4)])],
    ['an answer that is too large', () => ({ body: Buffer.alloc(70_000) })],
    ['nothing', () => ({ body: '' })],
  ])('that answers with %s leads to SERVFAIL, one retry and one log line', async (_what, answering) => {
    const upstream = await doh(answering);
    const { port, lines, resolver } = await startResolver({ dohUpstream: upstream.url });
    expect((await askUdp(port(), { name: 'a.example' })).rcode).toBe('SERVFAIL');
    expect(upstream.requests).toHaveLength(2);
    expect((await askUdp(port(), { name: 'b.example' })).rcode).toBe('SERVFAIL');
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    expect(resolver.stats().upstreamErrors).toBe(2);
  });

  it('that is not there leads to SERVFAIL, which the query log tells from an answer, and is used when it comes back', async () => {
    const first = await runDoh((query) => addressAnswer(query), { port: await freePort() });
    await first.close();
    const { port, lines, resolver } = await startResolver({ dohUpstream: first.url });
    expect((await askUdp(port(), { name: 'a.example' })).rcode).toBe('SERVFAIL');
    expect(resolver.queries().at(-1)?.failed).toBe(true);
    await doh((query) => addressAnswer(query), { port: first.port });
    await until(async () => (await askUdp(port(), { name: 'a.example' })).rcode === 'NOERROR', 'it answers again');
    expect(resolver.queries().at(-1)?.failed).toBe(false);
    expect(lines.some(({ message }) => message === 'the DNS upstream answers again')).toBe(true);
  });

  it('that takes the question and never answers leads to SERVFAIL within five seconds', async () => {
    const upstream = await doh(() => new Promise<never>(() => undefined));
    const { port } = await startResolver({ dohUpstream: upstream.url }, { attemptTimeout: 2_000 });
    const tenths = countTenths();
    expect((await askUdp(port(), { name: 'a.example' })).rcode).toBe('SERVFAIL');
    expect(tenths()).toBeLessThan(50);
  });

  it('whose certificate is not trusted leads to SERVFAIL', async () => {
    const upstream = await doh((query) => addressAnswer(query));
    const { port } = await startResolver({ dohUpstream: upstream.url }, { ca: [] });
    expect((await askUdp(port(), { name: 'a.example' })).rcode).toBe('SERVFAIL');
    expect(upstream.requests).toHaveLength(0);
  });

  it.each([
    'https://169.254.169.254/dns-query',
    'https://[::ffff:169.254.169.254]/',
    'https://0.0.0.0/',
  ])('at %s is skipped, which one line says', async (dohUpstream) => {
    const { port, set, lines } = await startResolver({ dohUpstream });
    expect((await askUdp(port(), { name: 'a.example' })).rcode).toBe('SERVFAIL');
    await set({ customDomains: new Map() });
    const said = lines.filter(({ level }) => level === 'error');
    expect(said.map(({ message }) => message)).toEqual(['dns.doh_upstream is skipped; nothing is forwarded']);
  });

  it('with a name that leads to a link-local address is not asked, which one line says', async () => {
    const { port, lines } = await startResolver({
      dohUpstream: 'https://cloud.test/dns-query',
      customDomains: new Map([['cloud.test', '::ffff:a9fe:a9fe']]),
    });
    for (const name of ['a.example', 'b.example']) {
      expect((await askUdp(port(), { name })).rcode).toBe('SERVFAIL');
    }
    const said = lines.filter(({ level }) => level === 'warn');
    expect(said.map(({ fields }) => fields.reason)).toEqual(['cloud.test leads to a link-local address']);
  });

  it('with a name is found by its custom domain', async () => {
    const upstream = await doh((query) => addressAnswer(query));
    const { port } = await startResolver({
      dohUpstream: `https://one.doh.test:${upstream.port}/dns-query`,
      customDomains: new Map([['one.doh.test', '127.0.0.1']]),
    });
    expect(dataOf(await askUdp(port(), { name: 'a.example' }))).toEqual(['192.0.2.1']);
  });
});

/** Tenths of a second that have gone by, without the time in which this process was kept from running. */
function countTenths(): () => number {
  let count = 0;
  const timer = setInterval(() => {
    count += 1;
  }, 100);
  later(async () => clearInterval(timer));
  return () => count;
}

function dnsPacketOf(query: Parameters<typeof answerTo>[0]): Buffer {
  return withFlag(answerTo(query, {}), -0x80);
}

function withFlag(message: Buffer, change: number): Buffer {
  message.writeUInt8(message.readUInt8(2) + change, 2);
  return message;
}

describe('hostile messages', () => {
  it('over UDP and TCP leave the resolver answering', async () => {
    const { port } = await startResolver({ customDomains: new Map([['ok.example', '192.0.2.7']]) });
    const socket = createSocket('udp4');
    later(async () => socket.close());
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 600 }), async (bytes) => {
        socket.send(bytes, port(), '127.0.0.1');
        const tcp = connect({ port: port(), host: '127.0.0.1' });
        tcp.on('error', () => undefined);
        await once(tcp, 'connect');
        const closed = once(tcp, 'close');
        tcp.end(Buffer.from(bytes));
        tcp.resume();
        await closed;
      }),
      { numRuns: tries(50) },
    );
    expect(dataOf(await askUdp(port(), { name: 'ok.example' }))).toEqual(['192.0.2.7']);
  });

  it('that are responses get no reply', async () => {
    const { port } = await startResolver({ customDomains: new Map([['ok.example', '192.0.2.7']]) });
    const socket = createSocket('udp4');
    later(async () => socket.close());
    const replies: number[] = [];
    socket.on('message', (message) => replies.push(message.readUInt16BE(0)));
    const response = encodeQuery({ name: 'ok.example', id: 1 });
    response.writeUInt8(response.readUInt8(2) | 0x80, 2);
    socket.send(response, port(), '127.0.0.1');
    socket.send(encodeQuery({ name: 'ok.example', id: 2 }), port(), '127.0.0.1');
    await until(() => replies.includes(2), 'the query was answered');
    expect(replies).toEqual([2]);
  });
});

describe('TCP', () => {
  it('answers several questions of one connection, as their answers come', async () => {
    const upstream = await doh((query) => addressAnswer(query));
    const { port } = await startResolver({
      dohUpstream: upstream.url,
      customDomains: new Map([['fast.example', '192.0.2.7']]),
    });
    const replies = await askTcp(port(), [
      { name: 'slow.example', id: 1 },
      { name: 'fast.example', id: 2 },
    ]);
    expect(replies.map(({ id }) => id)).toEqual([2, 1]);
  });

  it('answers 500 questions sent without waiting, and a client that has ended its side', async () => {
    const { port } = await startResolver({ customDomains: new Map([['a.example', '192.0.2.7']]) });
    const replies = await askTcp(
      port(),
      Array.from({ length: 500 }, (_, id) => ({ name: 'a.example', id })),
    );
    expect(new Set(replies.map(({ id }) => id)).size).toBe(500);
    const query = encodeQuery({ name: 'a.example' });
    const socket = connect(port(), '127.0.0.1');
    socket.end(Buffer.concat([Buffer.from([0, query.length]), query]));
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk);
    expect(Buffer.concat(chunks).length).toBeGreaterThan(query.length);
  });
});

describe('the resolver', () => {
  it('does nothing unless it is enabled, and closes its sockets when it is no more', async () => {
    const { resolver, set, port } = await startResolver({ enabled: false, localPort: await freePort() });
    expect(resolver.stats().listening).toBeNull();
    await set({ enabled: true, customDomains: new Map([['a.example', '192.0.2.7']]) });
    expect(dataOf(await askUdp(port(), { name: 'a.example' }))).toEqual(['192.0.2.7']);
    const before = port();
    await set({ enabled: false });
    expect(resolver.stats().listening).toBeNull();
    const { port: other } = await startResolver({ localPort: before });
    expect(other()).toBe(before);
  });

  it('on a port that is taken says so once and listens when it becomes free', async () => {
    const first = await startResolver({ localPort: await freePort() });
    const taken = first.port();
    const second = await startResolver({ localPort: taken }, { bindRetry: 20 });
    expect(second.resolver.stats().listening).toBeNull();
    await first.resolver.close();
    await until(() => second.port() === taken, 'it has the port');
    expect(second.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
    expect(second.lines.find(({ level }) => level === 'error')?.fields).toMatchObject({ port: taken });
  });

  it('says at start that it does not intercept', async () => {
    const { lines } = await startResolver({ interceptAllPort53: true });
    expect(lines.some(({ message }) => message.includes('dns.intercept_all_port53'))).toBe(true);
  });

  it('logs the last thousand queries, oldest first', async () => {
    const { resolver, port } = await startResolver({ customDomains: new Map([['*.example', '192.0.2.7']]) });
    await askTcp(
      port(),
      Array.from({ length: 1005 }, (_, id) => ({ name: `h${id}.example`, id })),
    );
    const queries = resolver.queries();
    expect(queries).toHaveLength(1000);
    expect(queries[0]).toMatchObject({ domain: 'h5.example', clientIp: '127.0.0.1', blocked: false });
    expect(queries.at(-1)?.domain).toBe('h1004.example');
    expect(Math.abs((queries[0]?.timestamp ?? 0) - Date.now() / 1000)).toBeLessThan(60);
  });

  it('bound to more than loopback limits what one network gets over UDP, and says to come by TCP', async () => {
    // The rate is not filled again meanwhile.
    const clock = { now: () => 0, monotonic: () => 0 };
    const customDomains = new Map([['a.example', '192.0.2.7']]);
    const { port } = await startResolver({ bind: '0.0.0.0', customDomains }, { clock });
    const socket = createSocket('udp4');
    later(async () => socket.close());
    const codes = { whole: 0, truncated: 0 };
    socket.on('message', (reply) => {
      codes[(reply.readUInt8(2) & 0x02) === 0 ? 'whole' : 'truncated'] += 1;
    });
    const query = encodeQuery({ name: 'a.example' });
    await until(() => {
      for (let index = 0; index < 100; index++) socket.send(query, port(), '127.0.0.1');
      return codes.truncated > 0;
    }, 'answers are truncated');
    expect(codes.whole).toBeGreaterThan(500);
    const [whole] = await askTcp(port(), [{ name: 'a.example' }]);
    expect(whole && dataOf(whole)).toEqual(['192.0.2.7']);
  });
});
