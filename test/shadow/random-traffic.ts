import { TOKEN } from '../replay/live-server.js';

/** Numbers from 0 up to 1, the same for the same seed. */
function randomBy(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const API = '/panel/api';
const KEYS = Array.from({ length: 12 }, (_, index) => `bot-${index}`);

export interface Traffic {
  readonly seed: number;
  /** The credential of all of them; that of `startLiveServer` when left out. */
  readonly authorization?: string;
  /** Clients that ask beside one another. */
  readonly lanes: number;
  /** Tells whether another request is sent after so many. */
  readonly goesOn: (sent: number) => boolean;
  /** Awaited before each request; nothing when left out. */
  readonly ready?: () => Promise<void>;
}

/** Panels and bots that read, make, change and remove the same few keys beside one another; resolves to how many requests there were. */
export async function driveAtRandom(
  url: string,
  { seed, lanes, goesOn, ready = async () => undefined, authorization = `Bearer ${TOKEN}` }: Traffic,
): Promise<number> {
  const random = randomBy(seed);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T; // Never behind the end.
  let sent = 0;
  const named: string[] = [];
  const send = async (method: string, path: string, body?: unknown): Promise<string> => {
    sent += 1;
    const answer = await fetch(url + API + path, {
      method,
      headers: {
        authorization,
        'user-agent': pick(['panel/2.1', 'bot/7']),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return answer.text();
  };
  const limit = () => pick([null, 5, 1_000_000]);
  const requests: readonly (() => Promise<unknown>)[] = [
    () => send('GET', '/server/status'),
    () => send('GET', '/users'),
    () => send('GET', `/users/${pick(KEYS)}`),
    () => send('GET', '/server/config'),
    () => send('GET', `/subscribe/${pick(KEYS)}`),
    () => send('POST', '/users', { access_key: pick(KEYS), name: pick(['a', 'b', null]), limit_bytes: limit() }),
    () => send('PUT', `/users/${pick(KEYS)}`, { name: pick(['c', 'd']), limit_bytes: limit() }),
    () => send('PUT', `/users/${pick(KEYS)}/limit`, { limit_bytes: limit() }),
    () => send('POST', `/users/${pick(KEYS)}/reset`),
    () => send('DELETE', `/users/${pick(KEYS)}`),
    async () => {
      const made: { readonly data?: unknown } = JSON.parse(
        await send('POST', '/users', { name: 'named by the server' }),
      );
      if (typeof made.data === 'string') named.push(made.data);
    },
    async () => {
      const key = named.pop();
      if (key !== undefined) await send('DELETE', `/users/${key}`);
    },
  ];
  const lane = async () => {
    while (goesOn(sent)) {
      await ready();
      await pick(requests)();
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return sent;
}
