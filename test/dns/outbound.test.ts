import { afterEach, describe, expect, it } from 'vitest';
import type { OutboundRule } from '../../src/core/model.js';
import { decideRoute } from '../../src/dns/routes.js';
import { askUdp, dataOf } from './client.js';
import { cleanUp, later, outboundVia, startResolver } from './harness.js';
import { addressAnswer, runDoh, runHttpProxy, runSocks } from './servers.js';

afterEach(cleanUp);

function rule(change: Partial<OutboundRule>): OutboundRule {
  return { domainSuffix: [], ipCidr: [], protocol: null, action: 'block', ...change };
}

describe('decideRoute', () => {
  const addressesOf = async (host: string) =>
    host === 'named.example' ? ['10.1.2.3'] : Promise.reject(new Error('no'));
  const decide = (host: string, rules: readonly OutboundRule[]) =>
    decideRoute(outboundVia(1, { rules, defaultAction: 'proxy' }), host, addressesOf);

  it.each<[string, string, OutboundRule, string]>([
    ['a suffix', 'a.example.com', rule({ domainSuffix: ['example.com'] }), 'block'],
    ['a suffix written with a dot', 'example.com', rule({ domainSuffix: ['.Example.com'] }), 'block'],
    ['a name that only ends alike', 'badexample.com', rule({ domainSuffix: ['example.com'] }), 'proxy'],
    ['an address in a network', '10.9.9.9', rule({ ipCidr: ['10.0.0.0/8'] }), 'block'],
    ['an IPv6 address in a network', '2001:db8::5', rule({ ipCidr: ['2001:db8::/32'] }), 'block'],
    ['an address as a network', '10.9.9.9', rule({ ipCidr: ['10.9.9.9'] }), 'block'],
    ['a name with an address in a network', 'named.example', rule({ ipCidr: ['10.0.0.0/8'] }), 'block'],
    ['a name that cannot be looked up', 'other.example', rule({ ipCidr: ['0.0.0.0/0'] }), 'proxy'],
    ['networks that are none', '10.9.9.9', rule({ ipCidr: ['10.0.0.0/99', 'x', '/'] }), 'proxy'],
    ['another protocol', 'a.example.com', rule({ domainSuffix: ['example.com'], protocol: 'udp' }), 'proxy'],
    ['the protocol alone', 'a.example.com', rule({ protocol: 'TCP' }), 'block'],
    ['no condition', 'a.example.com', rule({}), 'proxy'],
  ])('for %s (%s) decides as the rule says', async (_what, host, one, expected) => {
    expect(await decide(host, [one])).toBe(expected);
  });

  it('takes the first rule that matches', async () => {
    const rules = [rule({ domainSuffix: ['a.example'], action: 'direct' }), rule({ domainSuffix: ['example'] })];
    expect(await decide('x.a.example', rules)).toBe('direct');
    expect(await decide('b.example', rules)).toBe('block');
  });

  it('without settings, or with disabled ones, goes direct', async () => {
    expect(await decideRoute(null, 'a', addressesOf)).toBe('direct');
    expect(await decideRoute(outboundVia(1, { enabled: false, defaultAction: 'block' }), 'a', addressesOf)).toBe(
      'direct',
    );
  });
});

describe('a DoH connection', () => {
  it.each([
    ['SOCKS5', 'socks5', true, runSocks],
    ['SOCKS5 without HTTP/2', 'socks5', false, runSocks],
    ['HTTP', 'http', true, runHttpProxy],
    ['HTTP without HTTP/2', 'http', false, runHttpProxy],
  ])('goes through the %s proxy, by the name of the upstream', async (_what, protocol, http2, runProxy) => {
    const upstream = await runDoh((query) => addressAnswer(query), { http2 });
    later(() => upstream.close());
    const proxy = await runProxy();
    later(() => proxy.close());
    const { port } = await startResolver(
      { dohUpstream: `https://doh.test:${upstream.port}/dns-query` },
      { outbound: outboundVia(proxy.port, { protocol }) },
    );
    expect(dataOf(await askUdp(port(), { name: 'a.example' }))).toEqual(['192.0.2.1']);
    expect(dataOf(await askUdp(port(), { name: 'b.example' }))).toEqual(['192.0.2.1']);
    expect(new Set(proxy.targets)).toEqual(new Set([`doh.test:${upstream.port}`]));
    expect(upstream.requests[0]?.httpVersion).toBe(http2 ? '2.0' : '1.1');
  });

  it('follows changed rules from the next query on, also for answers that were kept', async () => {
    const upstream = await runDoh((query) => addressAnswer(query));
    later(() => upstream.close());
    const proxy = await runSocks();
    later(() => proxy.close());
    const { port, set, lines } = await startResolver({ dohUpstream: upstream.url });
    const ask = () => askUdp(port(), { name: 'a.example' });
    expect((await ask()).rcode).toBe('NOERROR');
    await set({}, outboundVia(proxy.port, { rules: [rule({ ipCidr: ['127.0.0.0/8'] })] }));
    expect((await ask()).rcode).toBe('SERVFAIL');
    expect(lines.some(({ fields }) => fields.reason === 'an outbound rule blocks 127.0.0.1')).toBe(true);
    await set({}, outboundVia(proxy.port));
    expect((await ask()).rcode).toBe('NOERROR');
    expect(proxy.targets).toEqual([`127.0.0.1:${upstream.port}`]);
    await set({}, outboundVia(proxy.port, { rules: [rule({ ipCidr: ['127.0.0.0/8'], action: 'direct' })] }));
    expect((await ask()).rcode).toBe('NOERROR');
    expect(proxy.targets).toHaveLength(1);
  });

  it('through a proxy that is not there or none that is known fails, and never goes direct', async () => {
    const upstream = await runDoh((query) => addressAnswer(query));
    later(() => upstream.close());
    const { port, set } = await startResolver({ dohUpstream: upstream.url }, { outbound: outboundVia(1) });
    expect((await askUdp(port(), { name: 'a.example' })).rcode).toBe('SERVFAIL');
    await set({}, outboundVia(1, { protocol: 'vless' }));
    expect((await askUdp(port(), { name: 'a.example' })).rcode).toBe('SERVFAIL');
    expect(upstream.requests).toHaveLength(0);
  });
});
