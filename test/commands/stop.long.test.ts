import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createStopSteps } from '../../src/commands/stop-signals.js';
import { buildIfOlder } from '../build.js';
import { envelope, STATUS } from '../client/called-server.js';
import { ROOT } from '../clone.js';
import { folderForTest } from '../folder-for-test.js';
import { freePorts } from '../free-ports.js';
import { isInstalled } from '../installed.js';
import { openRaw, rawRequest } from '../raw-client.js';
import { serveHere } from '../serve/serve-here.js';
import { bodyOf, scriptedServer } from '../stand-in/scripted-server.js';
import { runHere } from './context.js';
import { type Running, startKeyway } from './process.js';
import { CTRL_C, startOnTerminal } from './terminal.js';

beforeAll(buildIfOlder, 300_000);

const hasScript = isInstalled('script', 'Ctrl-C on a terminal');
const KEY = 'guest-2026';
const FEED_TOKEN = 'feed-secret';

async function temporaryFolder(): Promise<string> {
  const folder = await folderForTest();
  await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'server.jsonc'));
  return folder;
}

describe('signals that ask to end', () => {
  it('are one request for a second after the first, and end at once from then on', () => {
    let time = 5_000;
    const next = createStopSteps({ now: () => 0, monotonic: () => time });
    const at = (milliseconds: number) => {
      time = 5_000 + milliseconds;
      return next();
    };
    expect([0, 0, 1, 999].map(at)).toEqual(['begin', 'none', 'none', 'none']);
    expect([1_000, 1_001, 9_000].map(at)).toEqual(['at once', 'at once', 'at once']);
  });
});

/** A gateway that cannot end: the rest of a request's body does not come. */
async function heldGateway(folder: string) {
  const running = startKeyway(['serve', '--config', 'server.jsonc', '--bind', '127.0.0.1:0'], { folder });
  onTestFinished(() => void running.child.kill('SIGKILL'));
  const { url } = await running.logged((record) => typeof record.url === 'string');
  const { hostname, port } = new URL(String(url));
  const client = connect(Number(port), hostname);
  onTestFinished(() => void client.destroy());
  client.on('error', () => undefined);
  const head = ['POST /panel/api/users HTTP/1.1', 'Host: a', 'Authorization: Bearer sample-static-token'];
  const body = ['Content-Type: application/json', 'Content-Length: 100', 'Expect: 100-continue'];
  client.write(`${[...head, ...body].join('\r\n')}\r\n\r\n{`);
  // Its answer says that the request has begun.
  await once(client, 'data');
  return { running, client };
}

const stopping = ({ logged }: Running) => logged(({ signal }) => signal !== undefined);

describe('a gateway that waits for a request', () => {
  it('takes two signals of one instant as one, and ends cleanly', async () => {
    const { running, client } = await heldGateway(await temporaryFolder());
    running.child.kill('SIGINT');
    running.child.kill('SIGTERM');
    await stopping(running);
    client.destroy();
    expect(await running.ended).toMatchObject({ code: 0, signal: null });
  });

  it('ends at once at a signal that comes a second after the first', async () => {
    const { running } = await heldGateway(await temporaryFolder());
    running.child.kill('SIGINT');
    await stopping(running);
    await pause(1_100);
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 143, signal: null });
    expect(running.log().map(({ msg }) => msg)).not.toContain('stopped');
  });
});

describe('"End it with Ctrl-C", as the README says of npm start,', () => {
  it.runIf(hasScript)('is clean: reports that were acknowledged in memory are counted, no lock is left', async () => {
    const folder = await temporaryFolder();
    const [api, feed] = await freePorts(2);
    const config = join(folder, 'server.jsonc');
    const binds = `--bind 127.0.0.1:${api} --feed-bind 127.0.0.1:${feed} --feed-token ${FEED_TOKEN}`;
    const terminal = startOnTerminal(`npm start -- --config ${config} ${binds} --no-resolver`, ROOT);
    onTestFinished(() => terminal.kill());
    await expect.poll(terminal.shown, { timeout: 50_000 }).toContain('Panel: http');
    const report = async (id: number) => {
      const entries = [{ access_key: KEY, bytes_up: 1, bytes_down: 0 }];
      const response = await fetch(`http://127.0.0.1:${feed}/v1/usage?ack=memory`, {
        method: 'POST',
        headers: { authorization: `Bearer ${FEED_TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify({ report_id: `r${id}`, entries }),
      });
      return [response.status, await response.json()];
    };
    const answers = await Promise.all(Array.from({ length: 200 }, (_, id) => report(id)));
    terminal.type(CTRL_C);
    expect(new Set(answers.map(([status]) => status))).toEqual(new Set([200]));
    await terminal.ended;
    expect(terminal.shown()).toContain('stopped');
    expect(existsSync(`${config}.keyway/lock`)).toBe(false);
    const { output } = await runHere(['counters', 'export', '--config', config], { folder });
    const lines = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.find(({ access_key }) => access_key === KEY)).toMatchObject({ bytes_up: 200 });
  });
});

describe("a replacement of a server's configuration that is under way when Keyway is asked to end", () => {
  const TOKEN = { authorization: 'Bearer upstream-token', 'content-type': 'application/json' };
  const CONFIG = JSON.stringify({ mode: 'server', note: 'replaced' });

  /** A Keyway in front of a server that takes its configuration, and answers that when it is told to. */
  async function inFront() {
    const taken: string[] = [];
    let answer: () => void = () => undefined;
    const isAnswered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { origin } = await scriptedServer(async (request, response) => {
      const isReplacement = request.method === 'PUT';
      if (isReplacement) {
        taken.push(await bodyOf(request));
        await isAnswered;
      }
      const path = request.url ?? '';
      const data = path.endsWith('/status') ? STATUS : path.endsWith('/users') ? [] : JSON.parse(taken[0] ?? '{}');
      response.writeHead(200, { 'content-type': 'application/json' }).end(envelope(isReplacement ? 'done' : data));
    });
    const served = await serveHere(['serve', '--upstream', `${origin}/panel`, '--bind', '127.0.0.1:0'], {
      folder: await folderForTest(),
      environment: { KEYWAY_UPSTREAM_TOKEN: 'upstream-token' },
    });
    const { hostname, port } = new URL(await served.url);
    const client = await openRaw({ host: hostname, port: Number(port) });
    /** Asks it to end, and waits until it knows. */
    const begin = async () => {
      void served.stop();
      await expect.poll(served.text).toContain('"signal":"SIGTERM"');
    };
    return { taken, answer, client, begin, ended: served.ended };
  }

  it('is answered by the server first, and told to its client', async () => {
    const { taken, answer, client, begin, ended } = await inFront();
    client.socket.write(rawRequest('PUT', '/panel/api/server/config', TOKEN, CONFIG));
    await expect.poll(() => taken).toEqual([CONFIG]);
    await begin();
    expect(client.text()).toBe('');
    answer();
    expect(await client.ended).toMatch(/^HTTP\/1\.1 200 .*"ok":true/s);
    expect((await ended).code).toBe(0);
    expect(taken).toEqual([CONFIG]);
  });

  it('is taken to its end where half of it is still to come', async () => {
    const { taken, answer, client, begin, ended } = await inFront();
    const headers = { ...TOKEN, expect: '100-continue', 'content-length': `${CONFIG.length}` };
    client.socket.write(rawRequest('PUT', '/panel/api/server/config', headers, CONFIG.slice(0, 9)));
    await client.received(/^HTTP\/1\.1 100 /);
    await begin();
    answer();
    client.socket.write(CONFIG.slice(9));
    expect(await client.ended).toMatch(/HTTP\/1\.1 200 .*"ok":true/s);
    expect((await ended).code).toBe(0);
    expect(taken).toEqual([CONFIG]);
  });
});
