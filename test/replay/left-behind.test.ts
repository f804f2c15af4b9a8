import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createFixedClock } from '../../src/embedded/stage.js';
import { runHere } from '../cli/context.js';
import { CREDENTIALS } from '../stand-in/files.js';
import { standInOf } from '../stand-in/test-stand-in.js';

/** What a front does with a request: headers that it adds, or an answer of its own. */
type Front = (request: { readonly method: string; readonly path: string }) => {
  readonly headers?: Readonly<Record<string, string>>;
  readonly answer?: unknown;
};

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}

/** A server of 0.2.96 that is wrong in one thing, and the bodies that were sent to it. */
async function wrongServer(front: Front) {
  const standIn = await standInOf('0.2.96', { pauseMilliseconds: 0, clock: createFixedClock() });
  const bodies: string[] = [];
  const http = createServer(async (request, response) => {
    const { method = '', url: path = '' } = request;
    const body = await bodyOf(request);
    bodies.push(body);
    const { headers: added = {}, answer } = front({ method, path });
    if (answer !== undefined) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      return;
    }
    const { host: _, connection: __, 'content-length': ___, ...kept } = request.headers;
    const headers = { ...(kept as Record<string, string>), ...added };
    const options = { method, headers, redirect: 'manual' as const, ...(body === '' ? {} : { body }) };
    const passed = await fetch(standIn.origin + path, options);
    const bytes = Buffer.from(await passed.arrayBuffer());
    response.writeHead(passed.status, Object.fromEntries(passed.headers)).end(bytes);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo; // It listens on a port.
  return { standIn, bodies, url: `http://127.0.0.1:${port}/panel` };
}

/** What a server says that has not done it. */
const DONE = { ok: true, data: 'User removed' };

const writing = (url: string) =>
  runHere(['replay', '--target', url, '--revision', '0.2.96', '--writes', '--username', CREDENTIALS.username], {
    environment: { KEYWAY_TOKEN: CREDENTIALS.token, KEYWAY_PASSWORD: CREDENTIALS.password },
  });

describe('keyway replay --writes', () => {
  test.each(['POST', 'DELETE'])('notices a server that takes a %s of a key from anybody', async (open) => {
    const headers = { authorization: `Bearer ${CREDENTIALS.token}` };
    const { standIn, url } = await wrongServer(({ method, path }) =>
      method === open && path.startsWith('/panel/api/users') ? { headers } : {},
    );
    const ended = await writing(url);
    expect(ended.output).toContain('DIFFERENT writes/no-credential: ');
    expect(ended.output).toContain('without a credential');
    expect(ended.code).toBe(1);
    expect(standIn.keys()).toHaveLength(2);
  });

  test('says last which keys a server has kept that says it removed them and took its configuration back, and exits 1', async () => {
    const { url } = await wrongServer(({ method, path }) =>
      method === 'DELETE' || (method === 'PUT' && path.endsWith('/server/config')) ? { answer: DONE } : {},
    );
    const ended = await writing(url);
    expect(ended.complaints.trim().split('\n').at(-1)).toMatch(
      /^keyway replay: not as before: (?:keys that were not there before: \d+|the configuration is not as before: .*access_keys.*)$/,
    );
    expect(ended.complaints).toContain('not as before: keys that were not there before: ');
    expect(ended.code).toBe(1);
  });

  test('never sends a key that no operation removes, and says which steps it leaves out', async () => {
    const { standIn, bodies, url } = await wrongServer(() => ({}));
    const ended = await writing(url);
    expect(ended.output).toContain('it makes an empty key, which no operation removes');
    expect(bodies.filter((body) => body.includes('"access_key"')).length).toBeGreaterThan(20);
    expect(bodies.filter((body) => /"access_key"\s*:\s*""/.test(body))).toEqual([]);
    expect(
      standIn
        .keys()
        .map(({ accessKey }) => accessKey)
        .sort(),
    ).toEqual(['alpha', 'beta']);
  });
});
