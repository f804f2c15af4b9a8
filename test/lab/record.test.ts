import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, type RequestListener, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { current } from '../../revisions/current.js';
import { playEmbedded } from '../../src/embedded/play.js';
import { formatScenario } from '../../src/lab/format/format.js';
import { readScenario } from '../../src/lab/format/scenario.js';
import type { ScenarioFile } from '../../src/lab/play/scenario-files.js';
import { readHar } from '../../src/lab/record/har.js';
import { type ProxiedExchange, startProxy } from '../../src/lab/record/proxy.js';
import { Recorder } from '../../src/lab/record/recorder.js';
import { RecordingFiles } from '../../src/lab/record/recording-files.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { folderForTest } from '../folder-for-test.js';
import { scriptedServer } from '../stand-in/scripted-server.js';
import { tries } from '../tries.js';
import { WHOLE } from '../whole.js';
import { PASSWORD, playerOn, SERVER_FILE, startLiveServer, TOKEN, USERNAME } from './live-server.js';

const OPTIONS = {
  apiRoot: '/panel/api',
  base: '/panel',
  revision: 'current',
  date: '2026-11-21',
  keepValues: false,
  traits: current,
};

async function proxyTo(origin: string) {
  const passed: ProxiedExchange[] = [];
  const failures: string[] = [];
  const proxy = await startProxy({
    origin,
    listen: { host: '127.0.0.1', port: 0 },
    onExchange: (exchange) => passed.push(exchange),
    onFailure: (reason) => failures.push(reason),
  });
  onTestFinished(proxy.close);
  return { url: proxy.url, passed, failures, close: proxy.close };
}

async function serverThat(script: RequestListener): Promise<string> {
  return (await scriptedServer(script)).origin;
}

/** Everything that comes back for these bytes, until the other side closes. */
function rawAnswer(origin: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
    socket.write(bytes);
  });
}

async function until(holds: () => boolean): Promise<void> {
  await expect.poll(holds, { interval: 5, message: 'the condition comes true' }).toBe(true);
}

describe('the recording proxy', () => {
  test('passes status, headers in their order and spelling, and bytes as the server sent them', async () => {
    const origin = await serverThat((_request, response) => {
      response.sendDate = false;
      const headers = ['X-Odd-CASE', 'a', 'Set-Cookie', 'one=1', 'Set-Cookie', 'two=2', 'Content-Length', '3'];
      response.writeHead(299, 'Very Well', [...headers, 'Connection', 'close']).end(Buffer.from([0, 255, 10]));
    });
    const { url } = await proxyTo(origin);
    const asked = 'GET /a//b/../c?x=%zz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n';
    expect(await rawAnswer(url, asked)).toBe(await rawAnswer(origin, asked));
  });

  test('passes paths, headers and bodies of requests as the client sent them', async () => {
    const seen: { line: string; headers: readonly string[]; body: string }[] = [];
    const origin = await serverThat(async (incoming: IncomingMessage, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk);
      const line = `${incoming.method} ${incoming.url}`;
      seen.push({ line, headers: incoming.rawHeaders, body: Buffer.concat(chunks).toString() });
      response.end();
    });
    const { url } = await proxyTo(origin);
    const { host } = new URL(origin);
    const ask = (name: string) =>
      `DELETE /users/..%2f HTTP/1.1\r\nHost: ${name}\r\nauthorization:  x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n`;
    await rawAnswer(origin, ask(host));
    await rawAnswer(url, ask('some.other.name'));
    expect(seen).toHaveLength(2);
    expect(seen[1]).toEqual(seen[0]);
  });

  test('passes the parts of an answer on as they come', async () => {
    const steps: (() => void)[] = [];
    const origin = await serverThat((_request, response) => {
      response.write('first');
      steps.push(() => response.end('second'));
    });
    const { url } = await proxyTo(origin);
    const text = await new Promise<string>((resolve, reject) => {
      const asked = request(url, (answer) => {
        let all = '';
        answer.on('data', (chunk: Buffer) => {
          all += chunk;
          // The second part is sent only once the first has arrived.
          steps.shift()?.();
        });
        answer.on('end', () => resolve(all));
      });
      asked.on('error', reject);
      asked.end();
    });
    expect(text).toBe('firstsecond');
  });

  test('passes a head on before anything of its body comes', async () => {
    let end: () => void = () => undefined;
    const origin = await serverThat((_request, response) => {
      response.flushHeaders();
      end = () => response.end('later');
    });
    const { url } = await proxyTo(origin);
    const answer = await fetch(url);
    end();
    expect(await answer.text()).toBe('later');
  });

  test('ends the connection where the server gives no answer, and says so', async () => {
    const { url, failures } = await proxyTo('http://127.0.0.1:1');
    await expect(fetch(url)).rejects.toThrow();
    expect(failures).toEqual(['GET: no answer from the server (ECONNREFUSED)']);
  });

  test('passes an answer that ends half-way as one that ends half-way, and records nothing of it', async () => {
    const origin = await serverThat((_request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('abc', () => response.destroy());
    });
    const { url, passed, failures } = await proxyTo(origin);
    await expect(fetch(url).then((answer) => answer.text())).rejects.toThrow();
    await until(() => failures.length > 0);
    expect(passed).toEqual([]);
  });

  test('takes a client that leaves in the middle of an answer for no failure of the server, and records nothing of it', async () => {
    let given: (() => void) | null = null;
    const origin = await serverThat((_request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('abc');
      response.on('close', () => given?.());
    });
    const { url, passed, failures } = await proxyTo(origin);
    const isGivenUp = new Promise<void>((resolve) => {
      given = resolve;
    });
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
    await isGivenUp;
    expect([passed, failures]).toEqual([[], []]);
  });

  test('ends behind the answers under way, also where clients keep their connections or have said nothing on them', async () => {
    const answers: (() => void)[] = [];
    const origin = await serverThat((_request, response) => void answers.push(() => response.end('whole')));
    const { url, passed, close } = await proxyTo(origin);
    const { hostname, port } = new URL(url);
    const silent = connect({ host: hostname, port: Number(port) });
    await once(silent, 'connect');
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const text = new Promise((resolve, reject) => {
      const asked = request(url, { agent }, (answer) => answer.on('data', (chunk) => resolve(String(chunk))));
      asked.on('error', reject);
      asked.end();
    });
    await until(() => answers.length === 1);
    const ended = close();
    answers[0]?.();
    expect(await text).toBe('whole');
    await ended;
    expect(passed).toHaveLength(1);
  });

  test('ends with every large exchange handed out, however late its client left', async () => {
    const body = Buffer.alloc(8 * 1024 * 1024, 'large');
    const origin = await serverThat((_request, response) => response.end(body));
    const { url, passed, close } = await proxyTo(origin);
    const asked = request(url, { agent: false }).end();
    const [answer] = await once(asked, 'response');
    const ended = close();
    answer.resume();
    await ended;
    expect(passed.map(({ responseBody }) => responseBody.equals(body))).toEqual([true]);
  });

  const CONNECTIONS = WHOLE ? 200 : 20;

  test('loses no exchange of many connections', async () => {
    const origin = await serverThat((incoming, response) => response.end(incoming.url));
    const { url, passed, failures } = await proxyTo(origin);
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    onTestFinished(() => agent.destroy());
    const get = (path: string) =>
      new Promise<string>((resolve, reject) => {
        const asked = request(url + path, { agent }, async (answer) => {
          let text = '';
          for await (const chunk of answer) text += chunk;
          resolve(text);
        });
        asked.on('error', reject);
        asked.end();
      });
    const paths = Array.from({ length: 5 * CONNECTIONS }, (_, index) => `/${index}`);
    expect(await Promise.all(paths.map(get))).toEqual(paths);
    await until(() => passed.length === paths.length);
    expect(new Set(passed.map(({ path }) => path)).size).toBe(paths.length);
    expect(failures).toEqual([]);
  });

  test('on a port in use is an error at the start', async () => {
    const { url } = await proxyTo('http://127.0.0.1:1');
    const listen = { host: '127.0.0.1', port: Number(new URL(url).port) };
    const options = { origin: url, listen, onExchange: () => undefined, onFailure: () => undefined };
    await expect(startProxy(options)).rejects.toThrow('EADDRINUSE');
  });
});

/** What one client does on a panel: signs in, looks at everything, makes a key, changes it, removes it, sends settings back. */
async function clientSession(base: string): Promise<void> {
  let authorization = '';
  const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${base}/api${path}`, {
      method,
      headers: { 'content-type': 'application/json', authorization, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return ((await answer.json()) as { data?: never }).data; // The test knows its server.
  };
  await fetch(`${base}/`);
  await call('GET', '/server/status');
  await call('POST', '/login', { username: USERNAME, password: 'a-wrong-guess' });
  const { token } = (await call('POST', '/login', { username: USERNAME, password: PASSWORD })) ?? { token: '' };
  authorization = `Bearer ${token}`;
  for (const path of ['/server/status', '/users', '/server/config', '/router/rules', '/audit']) await call('GET', path);
  const key: string = (await call('POST', '/users', { name: 'Ann Example', limit_bytes: 5 })) ?? '';
  await call('GET', `/users/${key}`);
  await call('PUT', `/users/${key}`, { name: 'Ann Other' });
  await call('GET', `/subscribe/${key}`, undefined, { accept: 'text/plain' });
  await call('GET', `/subscribe/${key}`);
  await call('GET', '/users');
  await call('POST', `/users/${key}/reset`);
  await call('DELETE', `/users/${key}`);
  await call('GET', `/users/${key}`);
}

async function recordSession(): Promise<ScenarioFile> {
  const server = await startLiveServer('current');
  const { url, passed } = await proxyTo(server.origin);
  await clientSession(`${url}/panel`);
  const recorder = new Recorder(OPTIONS);
  await until(() => passed.length === 18);
  for (const exchange of passed) recorder.add(exchange);
  expect(recorder.sessions).toEqual([1]);
  await server.close();
  return {
    kind: 'scenario',
    name: 'session',
    path: 'session.json',
    scenario: recorder.scenario(1),
    register: null,
  };
}

describe('a recorded session', () => {
  test('replays equal time after time on a server put back to the recorded state', async () => {
    const file = await recordSession();
    for (let time = 0; time < tries(WHOLE ? 10 : 2); time += 1) {
      const server = await startLiveServer('current');
      const player = await playerOn(server.origin, 'current', { writes: true });
      const result = await player.play(file, {});
      expect((await player.finish()).left).toEqual([]);
      await server.close();
      expect(result.differences).toEqual([]);
      expect(result.outcome).toBe('equal');
    }
  }, 240_000);

  test('replays equal on an embedded core, which stands in the state that the answers told', async () => {
    const file = await recordSession();
    const options = { revision: null, timeoutMilliseconds: 10_000, isStopped: () => false };
    expect(await playEmbedded(file, options)).toMatchObject({ outcome: 'equal', differences: [], reason: null });
  });

  test('shows on another revision what its clients would meet there', async () => {
    const file = await recordSession();
    const options = { revision: 'dns', timeoutMilliseconds: 10_000, isStopped: () => false };
    const { differences } = await playEmbedded(file, options);
    expect([...new Set(differences.map(({ request }) => request))]).toEqual([
      'GET /users',
      'GET /router/rules',
      'GET /audit',
      'GET /users/<key:3>',
      'GET /subscribe/<key:3>',
    ]);
  });
});

describe('what a recording writes', () => {
  /** One word that stands nowhere in the format, in every place where a client or a server can put one. */
  const WORDS = ['s3cret-alpha', 'S3CRET_beta', 'hunter2!', 'deadbeefdeadbeefdeadbeefdeadbeef', 'gamma', 'ключ-7'];

  function exchangesWith(word: string): readonly Partial<ProxiedExchange>[] {
    const json = (value: unknown) => Buffer.from(JSON.stringify(value));
    const deep = {
      [word]: { [word]: [word, { token: word, password_hash: [word], custom_domains: { [word]: word } }] },
    };
    const everywhere = {
      ...deep,
      mode: word,
      name: word,
      access_key: word,
      access_keys: [word, { access_key: word, name: word, note: word }],
      inbounds: [{ users: [word, { key: word, name: word, owner: word }], token: word, private_key: { a: word } }],
      listen: `${word}:1`,
      action: word,
      protocol: word,
      level: word,
      version: word,
      error: word,
    };
    const url = encodeURIComponent(word);
    const headers = new Map([
      ['authorization', `Basic ${word}`],
      ['accept', `text/plain, ${word}/${word};x=${word}`],
      ['content-type', `application/json; boundary=${word}`],
      ['cookie', word],
      ['origin', `http://${word}`],
      ['access-control-request-headers', `authorization, x-${word}`],
      ['access-control-request-method', word],
      [`x-${word}`, word],
    ]);
    const answered = new Map([
      ['content-type', 'application/json'],
      ['location', `/${word}/`],
      ['allow', `GET, ${word}`],
      ['access-control-allow-origin', `http://${word}`],
      ['access-control-allow-headers', word],
      ['access-control-allow-methods', word],
      ['set-cookie', word],
      ['server', word],
    ]);
    const paths = ['/login', '/users', '/users/bulk', '/server/config', '/router/rules', '/dns/config', '/audit'];
    const moreData = [word, [word], `ostp://${word}@${word}:1?key=${word}`, { token: word, id: word, time: word }];
    const requests = ['POST', 'PUT', 'GET'].flatMap((method) =>
      [...paths, `/users/${url}`, `/users/${url}/limit`, `/subscribe/${url}`, '/dns/queries', '/server/status'].map(
        (path) => ({ method, path: `/panel/api${path}` }),
      ),
    );
    const outside = [`/panel/${url}/x.js`, `/${url}`, `/panel/api/${url}?${url}=${url}`, `/panel?${url}`].map(
      (path) => ({ method: 'GET', path }),
    );
    return [...requests, ...outside].flatMap((asked) =>
      [everywhere, ...moreData].map((data) => ({
        ...asked,
        requestHeaders: headers,
        requestBody: json(data),
        status: 200,
        responseHeaders: answered,
        responseBody: json({ ok: true, data, [word]: word }),
      })),
    );
  }

  const whole = (partial: Partial<ProxiedExchange>, sequence: number): ProxiedExchange => ({
    client: 'c',
    method: 'GET',
    path: '/panel/api/users',
    requestHeaders: new Map(),
    requestBody: Buffer.alloc(0),
    status: 200,
    responseHeaders: new Map(),
    responseBody: Buffer.alloc(0),
    ...partial,
    sequence,
  });

  async function written(exchanges: readonly Partial<ProxiedExchange>[], keepValues: boolean): Promise<string> {
    const folder = await folderForTest();
    const recorder = new Recorder({ ...OPTIONS, keepValues });
    const files = new RecordingFiles(folder, recorder, createFileSystem());
    for (const [index, each] of exchanges.entries()) files.changed(recorder.add(whole(each, index)));
    await files.flush();
    const names = await readdir(folder);
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
    for (const text of texts) readScenario(text, 'written.json');
    return texts.join('\n');
  }

  test.each(WORDS)('holds %s nowhere, in whatever place it passed', async (word) => {
    const text = await written(exchangesWith(word), false);
    expect(text.length).toBeGreaterThan(10_000);
    for (const form of [word, encodeURIComponent(word), JSON.stringify(word).slice(1, -1)]) {
      const at = text.toLowerCase().indexOf(form.toLowerCase());
      expect(at < 0 ? '' : text.slice(Math.max(0, at - 200), at + 50)).toBe('');
    }
  });

  test('holds neither token, password, hash nor key of a real session', async () => {
    const server = await startLiveServer('current');
    const { url, passed } = await proxyTo(server.origin);
    await clientSession(`${url}/panel`);
    await fetch(`${url}/panel/api/users`, { headers: { authorization: TOKEN } });
    await until(() => passed.length === 19);
    const text = await written(passed, false);
    const hash: string = JSON.parse(SERVER_FILE).api.password_hash;
    const tokens = passed.map(({ responseBody }) => /"token":"([0-9a-f-]{36})"/.exec(String(responseBody))?.[1]);
    const secrets = [
      PASSWORD,
      TOKEN,
      hash,
      'a-wrong-guess',
      USERNAME,
      'foreign-1',
      'Somebody',
      'Ann Example',
      ...tokens,
    ];
    for (const secret of secrets.filter((each) => each !== undefined)) expect(text).not.toContain(secret);
  });

  test('holds names and keys, but no secret, when values are kept', async () => {
    const server = await startLiveServer('current');
    const { url, passed } = await proxyTo(server.origin);
    await clientSession(`${url}/panel`);
    await until(() => passed.length === 18);
    const text = await written(passed, true);
    for (const value of ['foreign-1', 'Somebody', 'Ann Example']) expect(text).toContain(value);
    for (const secret of [PASSWORD, TOKEN, 'a-wrong-guess']) expect(text).not.toContain(secret);
  });

  test('reads compressed answers', async () => {
    const responseBody = gzipSync('{"ok":true,"data":[]}');
    const responseHeaders = new Map([
      ['content-type', 'application/json'],
      ['content-encoding', 'gzip'],
    ]);
    expect(await written([{ responseHeaders, responseBody }], false)).toContain('"body":{"ok":true,"data":[]}');
  });

  test('is one file per client session, the same value the same placeholder in all', async () => {
    const key = '{"ok":true,"data":{"access_key":"shared","name":"N"}}';
    const by = (client: string, authorization: string, sequence: number) => ({
      client,
      requestHeaders: new Map([['authorization', authorization]]),
      path: '/panel/api/users/shared',
      responseHeaders: new Map([['content-type', 'application/json']]),
      responseBody: Buffer.from(key),
      sequence,
    });
    const recorder = new Recorder(OPTIONS);
    const passed = [by('one', 'Bearer a', 0), by('two', 'Bearer b', 1), by('one', 'Bearer a', 2)];
    expect(passed.map((each, index) => recorder.add(whole(each, index)))).toEqual([1, 2, 1]);
    const paths = recorder.sessions.flatMap((session) =>
      recorder.scenario(session).exchanges.map((each) => ('request' in each ? each.request.path : '')),
    );
    expect(new Set(paths)).toEqual(new Set(['/users/<key:1>']));
  });

  test('never goes into a file that stands there', async () => {
    const folder = await folderForTest();
    await writeFile(join(folder, 'session-001.json'), 'mine');
    const recorder = new Recorder(OPTIONS);
    const files = new RecordingFiles(folder, recorder, createFileSystem());
    files.changed(recorder.add(whole({}, 0)));
    await files.flush();
    files.changed(recorder.add(whole({}, 1)));
    await files.flush();
    expect([...files.paths.values()]).toEqual([join(folder, 'session-002.json')]);
    expect(await readFile(join(folder, 'session-001.json'), 'utf8')).toBe('mine');
    const scenario = readScenario(await readFile(join(folder, 'session-002.json'), 'utf8'), 'x');
    expect(scenario.exchanges).toHaveLength(2);
  });

  test('put each exchange into text once, however often their session is written', async () => {
    const recorder = new Recorder(OPTIONS);
    const session = recorder.add(whole({}, 0)) ?? expect.fail();
    const { exchanges, ...others } = recorder.scenario(session);
    let looks = 0;
    const watched = exchanges.map((exchange) => ({
      ...exchange,
      get response() {
        looks += 1;
        return { status: 200 };
      },
    }));
    const text = formatScenario({ ...others, exchanges: watched });
    expect(looks).toBe(1);
    expect(formatScenario({ ...others, exchanges: watched })).toBe(text);
    expect(looks).toBe(1);
  });

  test('leave alone a file that has the name of what they are written through', async () => {
    const folder = await folderForTest();
    await writeFile(join(folder, 'session-001.json.tmp'), 'of somebody else');
    const recorder = new Recorder(OPTIONS);
    const files = new RecordingFiles(folder, recorder, createFileSystem());
    files.changed(recorder.add(whole({}, 1)));
    await files.flush();
    expect(await readdir(folder)).toEqual(['session-001.json.tmp', 'session-002.json']);
    expect(await readFile(join(folder, 'session-001.json.tmp'), 'utf8')).toBe('of somebody else');
  });

  test('lose nothing to a full disk, and leave nothing of attempts that failed', async () => {
    const folder = await folderForTest();
    const real = createFileSystem();
    const disk = { isFull: true };
    const half = (write: (path: string, content: Buffer, mode: number) => Promise<unknown>) => {
      return async (path: string, content: Buffer, mode = 0) => {
        await write(path, disk.isFull ? content.subarray(0, 10) : content, mode);
        if (disk.isFull && content.length > 0) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
      };
    };
    const overwrite: typeof real.overwrite = async (path, content) => {
      await half(real.overwrite)(path, content, 0);
      return real.stat(path);
    };
    const recorder = new Recorder(OPTIONS);
    const files = new RecordingFiles(folder, recorder, {
      ...{ ...real, create: half(real.create), append: half(real.append), overwrite },
    });
    for (const count of [1, 2]) {
      files.changed(recorder.add(whole({}, count)));
      await expect(files.flush()).rejects.toThrow('ENOSPC');
      await expect(files.flush()).rejects.toThrow('ENOSPC');
      expect(await readdir(folder)).toEqual(['session-001.json'].slice(0, count - 1));
      disk.isFull = false;
      if (count === 1) await files.flush();
      disk.isFull = true;
    }
    const scenario = readScenario(await readFile(join(folder, 'session-001.json'), 'utf8'), 'x');
    expect(scenario.exchanges).toHaveLength(1);
  });
});

describe('a HAR file', () => {
  const entry = (url: string, status = 200) => ({
    request: { method: 'GET', url, headers: [{ name: 'Authorization', value: 'Bearer t' }] },
    response: {
      status,
      headers: [{ name: 'Content-Type', value: 'application/json' }],
      content: { text: Buffer.from('{"ok":true,"data":[]}').toString('base64'), encoding: 'base64' },
    },
  });

  test('gives the exchanges with the target, in their order', () => {
    const entries = [entry('http://a/panel/api/users'), entry('http://b/x'), entry('http://a/panel/api/audit?x=1')];
    const exchanges = readHar(JSON.stringify({ log: { entries } }), 'f.har', 'http://a');
    expect(exchanges.map(({ path, status }) => [path, status])).toEqual([
      ['/panel/api/users', 200],
      ['/panel/api/audit?x=1', 200],
    ]);
    expect(String(exchanges[0]?.responseBody)).toBe('{"ok":true,"data":[]}');
  });

  test('with a relative URL is refused by file and path', () => {
    const archive = JSON.stringify({ log: { entries: [entry('http://a/x'), entry('/panel/api/users')] } });
    const words = 'f.har: /log/entries/1/request/url: expected an absolute URL';
    expect(() => readHar(archive, 'f.har', 'http://a')).toThrow(words);
  });
});
