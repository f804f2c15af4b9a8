import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { readDocument } from '../../src/document/document.js';
import { listen } from '../northbound/gateway.js';
import { exchange } from '../northbound/raw-exchange.js';
import { openRaw } from '../raw-client.js';
import { someOf } from '../whole.js';
import { bodyOf, DECOY, requestOf, servedFile, TOKEN_A, TOKEN_B, tokenOf, WORKED } from './stage.js';

const SECURE =
  'ostp://key-a@vpn.example.com:443?type=uot&tls=1&path=%2Fs3cr3tpath&name=vpn.example.com%20%C2%B7%20alice%20%C2%B7%20TLS';
const PLAIN = 'ostp://key-a@vpn.example.com:50000?type=udp&name=vpn.example.com%20%C2%B7%20alice%20%C2%B7%20UDP';

/** The answer to the worked example, whole. */
function wholeAnswer(type: string, length: number, body: string): string {
  return [
    'HTTP/1.1 200 OK',
    `Content-Type: ${type}`,
    `Content-Length: ${length}`,
    'Cache-Control: no-store',
    'Profile-Update-Interval: 6',
    'Profile-Title: vpn.example.com',
    'Subscription-Userinfo: upload=10; download=32; total=1000; expire=0',
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

async function worked(content: Readonly<Record<string, unknown>> = WORKED) {
  const served = await servedFile(content);
  served.keys?.setCounters('key-a', { bytesUp: 10n, bytesDown: 32n, connections: 0n });
  return served;
}

describe('the subscription of a key', () => {
  it('is as plain text what a server of 0.4.6 answers, but for upload and download', async () => {
    const { ask } = await worked();
    const expected = wholeAnswer('text/plain; charset=utf-8', 217, `${SECURE}\n${PLAIN}\n`);
    expect(await ask(`/sub/${TOKEN_A}`)).toBe(expected);
    expect(await ask(`/sub/${TOKEN_A.toUpperCase()}?x=1&format=jso`, ['Accept: text/plain'])).toBe(expected);
    expect(await ask(`http://vpn.example.com/sub/${TOKEN_A}`)).toBe(expected);
  });

  it('is as JSON what a server of 0.4.6 answers, asked for by Accept in any case or by the query', async () => {
    const { ask } = await worked();
    const expected = wholeAnswer(
      'application/json',
      328,
      `{"name":"vpn.example.com","update_interval_hours":6,"links":["${SECURE}","${PLAIN}"],"usage":{"used_bytes":42,"limit_bytes":1000}}`,
    );
    expect(await ask(`/sub/${TOKEN_A}?a=b&format=json`)).toBe(expected);
    expect(await ask(`/sub/${TOKEN_A}`, ['Accept: text/html, APPLICATION/JSON'])).toBe(expected);
  });

  it('tells the note of its key in none of its forms', async () => {
    const { app, ask } = await worked();
    await app.keyway.backend.records.change([{ kind: 'notes', id: 'key-a', body: '"pays in cash"' }]);
    for (const accept of ['text/plain', 'application/json', 'text/html'])
      expect(await ask(`/sub/${TOKEN_A}`, [`Accept: ${accept}`]), accept).toMatch(/^HTTP\/1\.1 200 (?!.*pays in)/s);
  });

  it('has the same head and no body for HEAD', async () => {
    const { ask } = await worked();
    for (const path of [`/sub/${TOKEN_A}`, `/sub/${TOKEN_A}?format=json`, '/sub/none']) {
      const whole = await ask(path);
      expect(await ask(path, [], 'HEAD')).toBe(whole.slice(0, whole.length - bodyOf(whole).length));
    }
  });

  it('names only the carriers that the file includes, and of a key without counters no usage', async () => {
    const { app, ask } = await worked({ ...WORKED, subscription: { ...WORKED.subscription, include: ['tls'] } });
    const [made = ''] = (await app.keyway.core.bulkCreateUsers(1n, null)) ?? [];
    const answer = await ask(`/sub/${tokenOf(made)}?format=json`);
    expect(answer).not.toContain('Subscription-Userinfo');
    expect(JSON.parse(bodyOf(answer))).toEqual({
      name: 'vpn.example.com',
      update_interval_hours: 6,
      links: [
        `ostp://${made}@vpn.example.com:443?type=uot&tls=1&path=%2Fs3cr3tpath&name=vpn.example.com%20%C2%B7%20TLS`,
      ],
    });
  });

  it('names every carrier where what the file includes is no list', async () => {
    const { ask } = await worked({ ...WORKED, subscription: { ...WORKED.subscription, include: 'tls' } });
    expect(bodyOf(await ask(`/sub/${TOKEN_A}`))).toBe(`${SECURE}\n${PLAIN}\n`);
  });

  it('is what the file includes of the two carriers, and a warning names what is neither', () => {
    const text = JSON.stringify({ ...WORKED, subscription: { include: ['TLS', 'udp'] } });
    const { published, warnings } = readDocument(Buffer.from(text)).configuration;
    expect(published.subscription.include).toEqual(['udp']);
    expect(warnings).toEqual(['subscription.include: expected "tls" and "udp" alone; the others are ignored']);
  });

  it('tells a key without a limit total=0 and a limit of null, and is there beyond the limit', async () => {
    const { ask, keys } = await worked();
    keys?.setCounters('key-a', { bytesUp: 2n ** 64n - 1n, bytesDown: 2n ** 64n - 1n, connections: 0n });
    expect(await ask(`/sub/${TOKEN_A}`)).toContain(
      'Subscription-Userinfo: upload=18446744073709551615; download=18446744073709551615; total=1000; expire=0\r\n',
    );
    expect(await ask(`/sub/${TOKEN_A}?format=json`)).toContain('"used_bytes":18446744073709551615,"limit_bytes":1000}');
    expect(await ask(`/sub/${TOKEN_B}`)).toContain('upload=0; download=0; total=0; expire=0\r\n');
    expect(await ask(`/sub/${TOKEN_B}?format=json`)).toContain('"usage":{"used_bytes":0,"limit_bytes":null}}');
  });

  it('has a title that is no ASCII in base64, and links with every byte of a key and a name encoded', async () => {
    const accessKey = 'a b/ключ';
    const access_keys = [{ access_key: accessKey, name: 'Анна' }];
    const { ask } = await servedFile({
      ...WORKED,
      access_keys,
      subscription: { name: 'Мой VPN' },
      dns: { enabled: true },
    });
    const answer = await ask(`/sub/${tokenOf(accessKey)}`);
    expect(answer).toContain('Profile-Title: base64:0JzQvtC5IFZQTg==\r\n');
    expect(answer).toContain('Profile-Update-Interval: 12\r\n');
    expect(bodyOf(answer).split('\n')[1]).toBe(
      `ostp://${encodeURIComponent(accessKey)}@vpn.example.com:50000?type=udp&owndns=true&name=${encodeURIComponent('Мой VPN · Анна · UDP')}`,
    );
  });

  it('follows the file: its prefix, its keys and its domain', async () => {
    const { app, ask } = await worked();
    expect(await ask(`/sub/${TOKEN_B}`)).toContain('200 OK');
    await app.keyway.core.deleteUser('key-b');
    expect(await ask(`/sub/${TOKEN_B}`)).toBe(DECOY);
    await app.keyway.core.createUser({ accessKey: 'key-b' });
    expect(await ask(`/sub/${TOKEN_B}`)).toContain('200 OK');
    const next = { ...WORKED, domain: 'new.example.com', subscription: { path: 'my/links/' } };
    await app.keyway.core.replaceConfig(Buffer.from(JSON.stringify(next)));
    await expect.poll(() => ask(`/my/links/${TOKEN_B}`)).toContain('ostp://key-b@new.example.com:50000?');
    expect(await ask(`/sub/${TOKEN_B}`)).toBe(DECOY);
  });
});

describe('the host of a link', () => {
  const bare = { mode: 'server', listen: '[2001:db8::9]:5000', access_keys: ['key-a'] };
  const link = async (...given: Parameters<typeof servedFile>) =>
    bodyOf(await (await servedFile(...given)).ask(`/sub/${TOKEN_A}`)).trim();

  it('is the domain, else the one given, else the first line of .ostp_public_ip, else that of listen', async () => {
    const announced = { host: 'given.example.com' };
    const found = '\n 203.0.113.7 \n2001:db8::7\n';
    expect(await link({ ...bare, domain: 'd.example.com' }, { announced }, found)).toBe(
      'ostp://key-a@d.example.com:5000?type=udp&name=d.example.com%20%C2%B7%20UDP',
    );
    expect(await link(bare, { announced }, found)).toContain('@given.example.com:5000?');
    expect(await link(bare, {}, found)).toBe('ostp://key-a@203.0.113.7:5000?type=udp&name=OSTP%20%C2%B7%20UDP');
    expect(await link(bare, {}, '2001:db8::7')).toContain('@[2001:db8::7]:5000?');
    expect(await link(bare)).toContain('@[2001:db8::9]:5000?');
  });

  it.each(
    someOf(REVISIONS, 2),
  )('is the same in the links of the API, where the one given comes first before 0.4.6: $id', async ({
    id,
    subscribe,
  }) => {
    const credentials = { token: 't', username: '', passwordHash: '' };
    const linkOf = async (content: object, publicIp: string | null, announced = {}) => {
      const options = { mounts: [{ revision: id, webpath: 'p' }], listener: credentials, announced };
      const { app } = await servedFile({ ...bare, ...content }, options, publicIp);
      const [{ api } = { api: '' }] = app.keyway.mounts;
      const answer = await app.inject({ url: `${api}/subscribe/key-a`, headers: { accept: 'text/plain' } });
      return answer.json<{ data: string }>().data;
    };
    const named = (host: string) => expect.stringMatching(new RegExp(`^ostp://key-a@${host}:5000(\\?|$)`));
    const [domain, found] = [{ domain: 'd.example.com' }, '203.0.113.7'];
    const first = subscribe.encode.by === 'ways' ? 'd.example.com' : 'given.example.com';
    expect(await linkOf(domain, found, { host: 'given.example.com' })).toEqual(named(first));
    expect(await linkOf(domain, found)).toEqual(named('d.example.com'));
    expect(await linkOf({}, found)).toEqual(named('203.0.113.7'));
    expect(await linkOf({}, null)).toEqual(named('\\[2001:db8::9\\]'));
  });

  it('has a TLS link only where TLS is enabled and there is a domain', async () => {
    const tls = { enabled: true, public_port: 8443, ws_path: '/notused1' };
    expect(await link({ ...bare, tls })).not.toContain('tls=1');
    expect(await link({ ...bare, domain: 'd.example.com', tls: { ...tls, enabled: false } })).not.toContain('tls=1');
    expect(await link({ ...bare, domain: 'd.example.com', tls })).toContain(
      'ostp://key-a@d.example.com:8443?type=uot&tls=1&name=',
    );
  });
});

describe('the page of a subscription', () => {
  const HTML = ['Accept: text/html,application/xhtml+xml,*/*;q=0.8'];

  it('shows what is used and left, the links and their codes, and runs nothing', async () => {
    const { ask } = await worked();
    const answer = await ask(`/sub/${TOKEN_A}`, HTML);
    const page = bodyOf(answer);
    const style = /<style>(.*)<\/style>/s.exec(page)?.[1] ?? '';
    expect(answer.slice(0, -page.length).split('\r\n')).toEqual([
      'HTTP/1.1 200 OK',
      'Content-Type: text/html; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(page)}`,
      'Cache-Control: no-store',
      'Profile-Update-Interval: 6',
      'Profile-Title: vpn.example.com',
      'X-Robots-Tag: noindex, nofollow',
      'Referrer-Policy: no-referrer',
      'X-Content-Type-Options: nosniff',
      'X-Frame-Options: DENY',
      `Content-Security-Policy: default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'Subscription-Userinfo: upload=10; download=32; total=1000; expire=0',
      'Connection: close',
      '',
      '',
    ]);
    expect(page).toContain('<html lang="en">');
    expect(page).toContain('<span>42\u00a0B used</span> <span>958\u00a0B left of 1\u00a0KB</span>');
    expect(page).toContain('<rect width="4%"');
    for (const link of [SECURE, PLAIN])
      expect(page).toContain(`<a class="open" href="${link.replaceAll('&', '&amp;')}">`);
    expect(page.match(/<svg .*?class="code"/g)).toHaveLength(2);
    expect(page).not.toMatch(/<script|\son\w+=|\sstyle=|<img|<link|https?:\/\/(?!www\.w3\.org\/2000\/svg")/);
  });

  it.each([
    ['ru-RU,ru;q=0.9,en;q=0.8', 'ru'],
    ['de, ru;q=0.3', 'ru'],
    ['en;q=0.5, RU', 'ru'],
    ['en-GB,en;q=0.9,ru;q=0.8', 'en'],
    ['rue, runic', 'en'],
    ['*', 'en'],
    ['', 'en'],
  ])('answers Accept-Language: %s in %s', async (languages, expected) => {
    const { ask } = await worked();
    const page = bodyOf(await ask(`/sub/${TOKEN_A}`, [...HTML, `Accept-Language: ${languages}`]));
    expect(page).toContain(`<html lang="${expected}">`);
    expect(page).toContain(expected === 'ru' ? 'Использовано 42\u00a0Б' : '42\u00a0B used');
  });

  it('shows names as text, sizes in their unit, and no code for a link that no camera reads', async () => {
    const name = '<img src=x onerror=alert(1)>"\'&';
    const access_keys = [{ access_key: 'key-a', name, limit_bytes: 5 * 1024 ** 3 }, { access_key: 'k'.repeat(2_000) }];
    const { ask, keys } = await servedFile({ ...WORKED, access_keys });
    keys?.setCounters('key-a', { bytesUp: 1024n ** 3n, bytesDown: 512n * 1024n ** 2n, connections: 0n });
    const page = bodyOf(await ask(`/sub/${TOKEN_A}`, HTML));
    expect(page).toContain('<p>&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;</p>');
    expect(page).toContain('<span>1.5\u00a0GiB used</span> <span>3.5\u00a0GiB left of 5\u00a0GiB</span>');
    const long = bodyOf(await ask(`/sub/${tokenOf('k'.repeat(2_000))}`, HTML));
    expect(long).toContain('no limit');
    expect(long).not.toContain('<svg');
  });

  it('says that a limit is nearly and quite used up, and what to do then', async () => {
    const { ask, keys } = await worked();
    const pageAt = async (bytesDown: bigint) => {
      keys?.setCounters('key-a', { bytesUp: 0n, bytesDown, connections: 0n });
      return bodyOf(await ask(`/sub/${TOKEN_A}`, HTML));
    };
    expect(await pageAt(899n)).toContain('class="bar" ');
    const near = await pageAt(999n);
    expect(near).toContain('class="bar near" aria-hidden="true"><rect width="99%"');
    expect(near).not.toContain('used up');
    const over = await pageAt(2n ** 64n - 1n);
    expect(over).toContain('0\u00a0B left of 1\u00a0KB');
    expect(over).toContain('class="bar over" aria-hidden="true"><rect width="100%"');
    expect(over).toContain('The limit is used up.');
  });

  it('has at most 20 kB, whatever the lengths of links, and the code of the first link before that of the second', async () => {
    for (const length of [10, 20, 30, 40, 50, 60, 200]) {
      const name = 'Ж'.repeat(length);
      const content = { ...WORKED, access_keys: [{ access_key: 'key-a', name }] };
      const { ask } = await servedFile({ ...content, subscription: { name: 'Мой VPN' } });
      const page = bodyOf(await ask(`/sub/${TOKEN_A}`, [...HTML, 'Accept-Language: ru']));
      expect(Buffer.byteLength(page), `a name of ${length} letters`).toBeLessThanOrEqual(20_000);
      if (length <= 40) expect(page.slice(0, page.indexOf('<details>'))).toContain('QR-код ссылки TLS');
    }
  });

  it('says so where the file includes no link that can be had', async () => {
    const { ask } = await servedFile({ ...WORKED, tls: {}, subscription: { include: ['tls'] } });
    const page = bodyOf(await ask(`/sub/${TOKEN_A}`, HTML));
    expect(page).toContain('There is no link just now.');
    expect(page).not.toContain('<ol>');
  });
});

describe('everything else at the door of subscriptions', () => {
  it('is answered by the decoy, byte for byte', async () => {
    const { ask } = await worked();
    for (const [method, path] of [
      ['GET', '/sub/key-a'],
      ['GET', '/sub'],
      ['GET', '/sub/'],
      ['GET', '/'],
      ['GET', `/other/${TOKEN_A}`],
      ['GET', `/sub/${TOKEN_A}/`],
      ['GET', `/sub/${TOKEN_A}0`],
      ['GET', `/sub//${TOKEN_A}`],
      ['GET', `/Sub/${TOKEN_A}`],
      ['GET', `/sub/%34${TOKEN_A.slice(1)}`],
      ['GET', '/sub/%ff'],
      ['GET', '/sub/00000000000000000000000000000000'],
      ['POST', `/sub/${TOKEN_A}`],
      ['DELETE', `/sub/${TOKEN_A}`],
      ['OPTIONS', `/sub/${TOKEN_A}`],
      ['PROPFIND', `/sub/${TOKEN_A}`],
      ['GET', '/panel/api/users'],
      ['GET', '/panel/'],
    ] as const)
      expect(await ask(path, [], method), `${method} ${path}`).toBe(DECOY);
  });

  it('does not wait for a body before the decoy, however long it is to be', async () => {
    const { port } = await worked();
    const client = await openRaw({ host: '127.0.0.1', port });
    client.socket.write(requestOf(`/sub/${TOKEN_A}`, ['Content-Length: 1000000000'], 'POST'));
    expect(await client.received(/<\/html>$/)).toBe(DECOY);
  });

  it('ends the connection behind each answer, whatever else was sent on it', async () => {
    const { port } = await worked();
    const many = requestOf('/x', ['Content-Length: 5'], 'POST');
    expect(await exchange(port, `${many}12345${requestOf(`/sub/${TOKEN_A}`)}`)).toBe(DECOY);
  });

  it('leaves the subscription of the API as it is, on the listener that is for both', async () => {
    const { ask } = await worked();
    const answer = await ask('/panel/api/subscribe/key-a', ['Accept: text/plain', 'Connection: close']);
    expect(answer).toContain('200 OK');
    expect(JSON.parse(bodyOf(answer))).toEqual({ ok: true, data: 'ostp://key-a@vpn.example.com:50000?type=udp' });
    expect(await ask('/panel/api/subscribe/nobody', ['Connection: close'])).toContain('{"ok":false,');
    expect(await ask('/panel/api/subscribe/key-a', ['Connection: close'], 'PUT')).toContain('405 Method Not Allowed');
  });
});

describe('subscriptions by token', () => {
  const statuses = async (subscriptionTokens?: boolean) => {
    const { app, ask } = await servedFile(WORKED, subscriptionTokens === undefined ? {} : { subscriptionTokens });
    const port = await listen(app);
    const onApi = (path: string) => exchange(port, requestOf(path, ['Connection: close']));
    const status = (answer: string) => Number(answer.slice(9, 12));
    return {
      alone: status(await ask(`/sub/${TOKEN_A}`, ['Connection: close'])),
      onApi: status(await onApi(`/sub/${TOKEN_A}`)),
      decoyed: (await onApi('/sub/none')) === DECOY,
      beside: bodyOf(await onApi('/subx')),
    };
  };
  const beside = '{"ok":false,"error":"not found"}';

  it('are answered on the listener for subscriptions, on the API too where that is asked for, and nowhere else', async () => {
    expect(await statuses()).toEqual({ alone: 200, onApi: 404, decoyed: false, beside });
    expect(await statuses(true)).toEqual({ alone: 200, onApi: 200, decoyed: true, beside });
    expect(await statuses(false)).toEqual({ alone: 404, onApi: 404, decoyed: false, beside });
  });
});
