import { expect, test } from 'vitest';
import type { Call } from '../../src/client/call.js';
import { createLook } from '../../src/lab/reads/look.js';
import { proxyNotes } from '../../src/lab/reads/proxy-notes.js';
import { revisionNamed } from './live-server.js';

const DATA: Readonly<Record<string, unknown>> = {
  '/api/server/status': { version: '0.2.96' },
  '/api/users': [{ access_key: 'alpha' }],
};

/** What is noted of an open server whose links look like this and whose answers have these headers, by the origin that asks. */
async function notesOf(
  link: string,
  headersFor: (origin: string) => Readonly<Record<string, string>>,
  revision = 'current',
): Promise<readonly string[]> {
  const send = async ({ path, headers }: Call) => ({
    status: 200,
    headers: new Map([
      ['content-type', 'application/json'],
      ...Object.entries(headersFor(headers.get('origin') ?? '')),
    ]),
    body: Buffer.from(JSON.stringify({ ok: true, data: DATA[path] ?? link })),
    firstByteMilliseconds: 0,
  });
  const look = createLook({ caller: { send, close: () => undefined }, webpath: '', token: null, session: null });
  return proxyNotes({ look, revision: revisionNamed(revision), api: '/api', base: '' });
}

const allowing = (origin: string) => ({ 'access-control-allow-origin': origin });

test.each([
  ['lets any origin call', () => allowing('*')],
  ['echoes the origin', allowing],
])('a server that %s is noted for nothing', async (_, headersFor) => {
  expect(await notesOf('ostp://alpha@vpn.example.com:1?type=udp', headersFor)).toEqual([]);
});

test('links of another scheme, permitted credentials and a refused second origin are each noted as perhaps a proxy’s', async () => {
  const listed = (origin: string) => (origin === 'https://origin.invalid' ? allowing(origin) : {});
  const headersFor = (origin: string) => ({ ...listed(origin), 'access-control-allow-credentials': 'true' });
  const notes = await notesOf('ostps://alpha@vpn.example.com:1', headersFor);
  expect(notes).toEqual([
    expect.stringMatching(/^share links begin with ostps:\/\/, not ostp:\/\/: .*proxy/),
    expect.stringMatching(/^answers have Access-Control-Allow-Credentials: true.*proxy/),
    expect.stringMatching(/^pages of .* may read answers, those of .* may not: .*proxy/),
  ]);
});

test('a line that lets no other origin call is not noted for refusing a second one', async () => {
  expect(await notesOf('ostp://alpha@vpn.example.com:1', () => ({}), '0.4.7')).toEqual([]);
});
