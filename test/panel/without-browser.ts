import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { onTestFinished, vi } from 'vitest';
import { FEATURES, NOTHING_KNOWN } from '../../panel/api/offers.js';
import type { Place } from '../../panel/api/places.js';
import { fetchPreferredTexts, wordsIn } from '../../panel/i18n/text.js';
import { type Toast, toasts } from '../../panel/state/toasts.js';
import { createWorkspace, type Workspace } from '../../panel/state/workspace.js';
import type { Kept } from '../../panel/store/kept.js';
import type { Tab } from '../../panel/store/tab.js';
import { createGateway, type GatewayOptions } from '../../src/index.js';
import type { Mount } from '../../src/northbound/mount.js';
import { capabilitiesOf } from '../../src/wire/traits/revision.js';
import { folderForTest } from '../folder-for-test.js';
import { COUNTERS, KEYS, PASSWORD_HASH, TOKEN } from './server-files.js';

const ORIGIN = 'http://keyway.test';

/** A call that a page makes. */
interface Call {
  readonly method: string;
  /** Its path and query. */
  readonly url: string;
  /** The same below the base of the first mount, as `api/users`. */
  readonly path: string;
  readonly body: string;
  readonly headers: Headers;
}

/** Answers a call in the place of the server; `pass` hands it on, changed perhaps. */
type Answer = (call: Call, pass: (changed?: Partial<Call>) => Promise<Response>) => Promise<Response>;

/** A failure envelope as an answer. */
export const refusal = (status: number, error: string, code?: string): Promise<Response> =>
  Promise.resolve(Response.json({ ok: false, error, ...(code === undefined ? {} : { code }) }, { status }));

/** No answer at all. */
export const noAnswer = (): Promise<Response> => Promise.reject(new TypeError('fetch failed'));

/** The browsers' storage in memory. */
function memory(): Kept & { readonly entries: Map<string, string> } {
  const entries = new Map<string, string>();
  return {
    entries,
    read: (name) => entries.get(name) ?? null,
    write: (name, value) => {
      if (value === null) entries.delete(name);
      else entries.set(name, value);
      return true;
    },
  };
}

/** A browser with the tabs of one origin. */
export function createBrowser() {
  const keptForGood = memory();
  let held: (() => void)[] | null = null;
  const heard: { readonly name: string; readonly tab: object; readonly hear: (message: unknown) => void }[] = [];

  function openTab() {
    const kept = memory();
    const sights = new Set<() => void>();
    const leaves = new Set<() => void>();
    let isHidden = false;
    const tab: Tab = {
      kept,
      keptForGood,
      isHidden: () => isHidden,
      onSight: (listener) => {
        sights.add(listener);
        return () => sights.delete(listener);
      },
      onLeave: (listener) => void leaves.add(listener),
      channel: (name) => ({
        post: (message) => {
          const others = heard.filter((each) => each.name === name && each.tab !== kept);
          const tell = () => {
            for (const { hear } of others) hear(structuredClone(message));
          };
          if (held === null) queueMicrotask(tell);
          else held.push(tell);
        },
        onMessage: (hear) => {
          const listening = { name, tab: kept, hear };
          heard.push(listening);
          return () => void heard.splice(heard.indexOf(listening), 1);
        },
      }),
    };
    return {
      tab,
      kept: kept.entries,
      /** Hides the tab, or shows it again. */
      setHidden(hidden: boolean): void {
        isHidden = hidden;
        for (const listener of [...sights]) listener();
      },
      leave: () => {
        for (const listener of leaves) listener();
      },
    };
  }

  return {
    openTab,
    keptForGood: keptForGood.entries,
    /** Keeps what tabs tell each other back, until the function returned is called. */
    holdMessages() {
      const messages: (() => void)[] = [];
      held = messages;
      return () => {
        held = null;
        for (const tell of messages) tell();
      };
    },
  };
}

const IN_MEMORY: Partial<GatewayOptions> = {
  listener: { token: TOKEN, username: 'admin', passwordHash: PASSWORD_HASH, webpath: 'office/panel' },
  announced: { host: '203.0.113.7', port: 50_000 },
};

/** What comes piece by piece, as a browser reads it. */
function readable(pieces: AsyncIterable<Buffer>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async start(controller) {
      try {
        for await (const piece of pieces) controller.enqueue(new Uint8Array(piece));
        controller.close();
      } catch (error) {
        controller.error(error);
      }
    },
  });
}

/** The calls that gateways have not answered yet, but for those that wait for time to pass. */
let underWay = 0;

/** Lets everything happen that needs no time to pass. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 60; turn += 1) {
    await new Promise(setImmediate);
    if (underWay > 0 || process.getActiveResourcesInfo().some((kind) => kind.startsWith('FSReq'))) turn = 0;
  }
}

/** Lets time pass, for pages and gateways alike. */
export async function pass(milliseconds: number): Promise<void> {
  for (let left = milliseconds; left > 0; left -= 250) {
    await vi.advanceTimersByTimeAsync(Math.min(left, 250));
    await settle();
  }
}

/** A page's stores before a gateway in this process, without a browser or a socket, whose time is driven. */
export interface Desk {
  readonly workspace: Workspace;
  /** The gateway, as it was started first. */
  readonly app: FastifyInstance;
  readonly browser: ReturnType<typeof createBrowser>;
  readonly tab: ReturnType<ReturnType<typeof createBrowser>['openTab']>;
  /** The calls of the page that have been sent, as `PUT api/users/guest`. */
  readonly sent: Call[];
  /** Answers the calls that match in the place of the server. Returns what ends it. */
  on(pattern: RegExp, answer: Answer): () => void;
  /** Calls the server as somebody else does, with the static token; resolves to `data`. */
  call(method: string, path: string, body?: unknown): Promise<unknown>;
  /** Changes the configuration as somebody else does. */
  patchFile(...patch: readonly object[]): Promise<void>;
  fileText(): Promise<string>;
  /** Begins with another page, in the same tab or another one of the browser, of the first mount or another one. */
  open(tab?: Desk['tab'], mount?: number): Promise<Workspace>;
  /** Ends the gateway and starts it anew. */
  restart(): Promise<void>;
}

export interface DeskOptions extends Partial<GatewayOptions> {
  /** The server's configuration file; by default there is none, and the keys are in memory. */
  readonly file?: string;
  /** Whether the page begins signed in, by a session. */
  readonly signed?: boolean;
  /** Whether the page is told beforehand what its server offers, as of its own and of no other. */
  readonly isOwn?: boolean;
}

function mountOf(app: FastifyInstance, index = 0): Mount {
  const mount = app.keyway.mounts[index];
  if (mount === undefined) throw new Error(`a gateway without mount ${index}`);
  return mount;
}

/** What the page is told of a server. */
function placeOf({ base, api, revision }: Mount, hasOwnApi: boolean, isOwn: boolean): Place {
  const capabilities: readonly string[] = capabilitiesOf(revision);
  return {
    ...{ root: ORIGIN + api, name: '', subscriptions: ORIGIN + api, keyway: '0.0.0', own: true },
    ownApi: hasOwnApi ? `${ORIGIN}${base}/keyway/v1` : null,
    offers: isOwn
      ? { ...NOTHING_KNOWN, ...Object.fromEntries(FEATURES.map((name) => [name, capabilities.includes(name)])) }
      : NOTHING_KNOWN,
    ...{ token: true, open: false },
  };
}

export async function openDesk(
  revision: string,
  { file, signed = true, isOwn = true, ...options }: DeskOptions = {},
): Promise<Desk> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const folder = await folderForTest();
  const configPath = join(folder, 'server.jsonc');
  if (file !== undefined) await writeFile(configPath, file);
  async function start(): Promise<FastifyInstance> {
    const app = await createGateway({
      ...{ mounts: [{ revision }], loginGuard: 'off', countersWriteMilliseconds: 0 },
      ...(file === undefined ? IN_MEMORY : { configPath }),
      ...options,
    });
    if (file === undefined) for (const key of KEYS) await app.keyway.core.createUser(key);
    for (const [key, bytesUp, bytesDown, connections] of COUNTERS)
      app.keyway.local?.keys.setCounters(key, { bytesUp, bytesDown, connections });
    return app;
  }
  const app = await start();
  let running = app;
  onTestFinished(() => running.close());
  const { base } = mountOf(app);
  const sent: Call[] = [];
  const answers: { readonly pattern: RegExp; readonly answer: Answer }[] = [];

  async function toGateway(call: Call, signal?: AbortSignal | null): Promise<Response> {
    const isCounted = !/[?&]wait=/.test(call.path);
    if (isCounted) underWay += 1;
    try {
      return await answerOf(call, signal);
    } finally {
      if (isCounted) underWay -= 1;
    }
  }

  async function answerOf({ method, url, body, headers }: Call, signal?: AbortSignal | null): Promise<Response> {
    const response = await running.inject({
      method: method as 'GET', // What pages send.
      url,
      headers: Object.fromEntries(headers),
      ...(body === '' ? {} : { payload: body }),
      payloadAsStream: true,
      ...(signal == null ? {} : { signal }),
    });
    const told = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const { statusCode: status } = response;
    const isStream = String(response.headers['content-type']).startsWith('text/event-stream');
    const stream = response.stream();
    if (isStream) return new Response(readable(stream), { status, headers: told });
    const pieces: Buffer[] = [];
    for await (const piece of stream) pieces.push(Buffer.from(piece));
    return new Response(Buffer.concat(pieces).toString(), { status, headers: told });
  }

  const fetched = async (url: string, init: RequestInit = {}): Promise<Response> => {
    const call: Call = {
      method: init.method ?? 'GET',
      url: url.slice(ORIGIN.length),
      path: url.slice(`${ORIGIN}${base}/`.length),
      body: String(init.body ?? ''),
      headers: new Headers(init.headers),
    };
    sent.push(call);
    const chain = answers.filter(({ pattern }) => pattern.test(`${call.method} ${call.path}`)).reverse();
    const step = (index: number, now: Call): Promise<Response> => {
      const next = chain[index];
      if (next === undefined) return init.signal?.aborted === true ? noAnswer() : toGateway(now, init.signal);
      return next.answer(now, (changed) => step(index + 1, { ...now, ...changed }));
    };
    const givenUp = new Promise<never>((_, reject) => {
      init.signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
    });
    return Promise.race([step(0, call), givenUp]);
  };
  vi.stubGlobal('fetch', fetched);
  onTestFinished(() => void vi.unstubAllGlobals());

  const browser = createBrowser();
  const tab = browser.openTab();
  toasts.set([]);
  news.length = 0;
  onTestFinished(toasts.subscribe(hearNews));
  await fetchPreferredTexts();
  const open = async (of = tab, mount = 0) => {
    const workspace = createWorkspace(placeOf(mountOf(running, mount), options.ownApi !== false, isOwn), of.tab);
    // Drafts and batches are watched over for as long as the page is there.
    onTestFinished(() => {
      workspace.session.signOut();
      workspace.stop();
    });
    await Promise.all([workspace.start(), pass(250)]);
    await settle();
    return workspace;
  };
  const workspace = await open();
  if (signed) {
    await workspace.session.signIn('admin', 'password', false);
    await settle();
  }
  const asOther = { authorization: `Bearer ${TOKEN}` };
  return {
    ...{ workspace, app, browser, tab, sent, open },
    on(pattern, answer) {
      const given = { pattern, answer };
      answers.push(given);
      return () => void answers.splice(answers.indexOf(given), 1);
    },
    async call(method, path, body) {
      const response = await running.inject({
        method: method as 'GET', // What tests send.
        url: `${base}/${path}`,
        headers: asOther,
        ...(body === undefined ? {} : { payload: Object(body) }),
      });
      return (response.json() as { readonly data?: unknown }).data; // An envelope.
    },
    async patchFile(...patch) {
      const headers = { ...asOther, 'content-type': 'application/json-patch+json' };
      const url = `${base}/keyway/v1/configuration`;
      const { statusCode } = await running.inject({ method: 'PATCH', url, headers, payload: JSON.stringify(patch) });
      if (statusCode !== 200) throw new Error(`expected the configuration to be changed, found ${statusCode}`);
    },
    fileText: () => readFile(configPath, 'utf8'),
    async restart() {
      await running.close();
      running = await start();
    },
  };
}

/** The messages since the last look at them, and the last that is known. */
const news: Toast[] = [];
let lastHeard = 0;

function hearNews(): void {
  for (const toast of toasts.get().filter(({ id }) => id > lastHeard)) {
    news.push(toast);
    lastHeard = toast.id;
  }
}

/** What has been said in the corner since the last look, in English. */
export function said(): readonly string[] {
  return news.splice(0).map(({ text }) => text(wordsIn('en')));
}

/** Presses the one button to undo among the messages. */
export function undo(): void {
  const offers = toasts.get().flatMap(({ undo: back }) => (back === undefined ? [] : [back]));
  if (offers.length !== 1) throw new Error(`expected one offer to undo, found ${offers.length}`);
  offers[0]?.();
}
