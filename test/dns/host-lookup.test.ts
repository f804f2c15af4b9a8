import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import dnsPacket from 'dns-packet';
import { afterEach, describe, expect, it } from 'vitest';
import { createHostLookup } from '../../src/dns/host-lookup.js';
import { askUdp } from './client.js';
import { cleanUp, later, startResolver } from './harness.js';

afterEach(cleanUp);

/** A name server that has one address for every name. */
async function runNameServer(address: string): Promise<number> {
  const socket = createSocket('udp4');
  socket.on('message', (message, client) => {
    const query = dnsPacket.decode(message);
    const [question] = query.questions ?? [];
    const answers: dnsPacket.Answer[] =
      question?.type === 'A' ? [{ type: 'A', name: question.name, ttl: 5, data: address }] : [];
    const reply = dnsPacket.encode({ type: 'response', id: query.id ?? 0, questions: query.questions ?? [], answers });
    socket.send(reply, client.port, client.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  later(async () => socket.close());
  return socket.address().port;
}

describe('the look-up of hosts', () => {
  const own = () => ({ address: '127.0.0.1', port: 5353 });

  it('takes an address as it is and a custom domain before all', async () => {
    const lookup = createHostLookup({ custom: (host) => (host === 'a.test' ? '192.0.2.1' : null), own });
    expect(await lookup.addresses('2001:db8::1')).toEqual(['2001:db8::1']);
    expect(await lookup.addresses('a.test')).toEqual(['192.0.2.1']);
  });

  it('where the machine asks the resolver itself asks the other name servers', async () => {
    const port = await runNameServer('192.0.2.2');
    const nameServers = () => ['127.0.0.1:5353', `127.0.0.1:${port}`];
    const lookup = createHostLookup({ custom: () => null, own, nameServers });
    const found = lookup.addresses('upstream.test');
    expect(lookup.underWay('upstream.test')).toBe(true);
    expect(await found).toEqual(['192.0.2.2']);
    expect(lookup.underWay('upstream.test')).toBe(false);
  });

  it('where the machine asks the resolver alone fails, and says what helps', async () => {
    const lookup = createHostLookup({ custom: () => null, own, nameServers: () => ['127.0.0.1:5353'] });
    await expect(lookup.addresses('upstream.test')).rejects.toThrow('give it an address in custom_domains');
  });

  it('of the upstream never waits for the resolver itself', async () => {
    const nameServers = (): readonly string[] => [`127.0.0.1:${port()}`];
    const { port, lines } = await startResolver({ dohUpstream: 'https://upstream.test/dns-query' }, { nameServers });
    expect((await askUdp(port(), { name: 'a.example' })).rcode).toBe('SERVFAIL');
    expect(String(lines.find(({ level }) => level === 'warn')?.fields.reason)).toContain('asks only Keyway');
  });
});
