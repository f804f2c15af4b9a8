import { connect } from 'node:net';
import { type Answer, type Call, NoAnswer } from '../client/call.js';
import { createCaller } from '../client/caller.js';
import { checkDataFolder, noFileIn } from '../files/data-folder.js';
import type { Pieces } from '../files/file-pieces.js';
import { inDataFolder } from '../files/foreign.js';
import { CONTENT_CHANGED, REPLACEMENTS_ROOT } from '../gateway/replacement-calls.js';
import { ContentChangedError } from '../homes/file/configuration/whole-content.js';
import { offlineReplacements, type StoredPlace } from '../homes/file/offline-replacements.js';
import type { Replacements } from '../homes/file/replacements.js';
import { isJsonObject, parseJson } from '../wire/json/json.js';
import { dataOf } from './own-call.js';
import { servingSocket } from './serving-socket.js';

/** Milliseconds that the Keyway that serves may take for one replacement. */
const TIMEOUT = 600_000;

/**
 * Opens what a command replaces of a file's home: through the Keyway that serves it, else in this process. Rejects with an
 * `Error` for people where that Keyway cannot do it.
 */
export async function openReplacements(place: StoredPlace): Promise<Replacements> {
  const { dataFolder, configPath, fileSystem } = place;
  const home = { commandFolder: dataFolder, documents: configPath === null ? [] : [configPath] };
  const socket = await servingSocket(home, fileSystem);
  if (socket === null) return offlineReplacements(place);
  // That Keyway knows its own file alone, and would take what is meant for another.
  await inDataFolder(fileSystem, place, () =>
    checkDataFolder(fileSystem, dataFolder, configPath ?? noFileIn(dataFolder)),
  );
  const { status } = await callOnce(socket, place, { method: 'GET', path: '' });
  if (status === 404)
    throw new Error(
      `the Keyway that serves from ${dataFolder} is of an earlier version, which cannot do this: restart it with this version first`,
    );
  return overSocket((path, body) => callOnce(socket, place, { method: 'POST', path, body }));
}

function overSocket(post: (path: string, body: Buffer | Pieces) => Promise<Answer>): Replacements {
  return {
    async restore(backup) {
      dataOf(await post('/state', backup));
    },
    async importCounters(state) {
      dataOf(await post('/counters', state));
    },
    async putFile(content, { replaces, forever = false, dropWaiting = false }) {
      const asked = { forever, 'drop-waiting': dropWaiting };
      const query = new URLSearchParams(replaces === undefined ? {} : { replaces });
      for (const [name, isAsked] of Object.entries(asked)) if (isAsked) query.set(name, '');
      const answer = await post(`/file?${query}`, content);
      if (answer.status === CONTENT_CHANGED) throw new ContentChangedError(messageIn(answer));
      const waiting = dataOf(answer);
      const { count = 0, lines = [] } = isJsonObject(waiting) ? waiting : {};
      return { count: Number(count), lines: Array.isArray(lines) ? lines.map(String) : [] };
    },
  };
}

function messageIn({ body }: Answer): string {
  const envelope = parseJson(body);
  return isJsonObject(envelope) ? String(envelope.error) : '';
}

/** Makes one call on a connection of its own. Rejects with an `Error` for people. */
async function callOnce(
  socket: string,
  { dataFolder, progress, stop }: StoredPlace,
  { method, path, body }: Pick<Call, 'method' | 'path'> & { readonly body?: Buffer | Pieces },
): Promise<Answer> {
  const caller = createCaller({
    origin: 'http://localhost',
    connect: () => connect(socket),
    timeoutMilliseconds: TIMEOUT,
  });
  const headers = new Map(body === undefined ? [] : [['content-type', 'application/octet-stream']]);
  let unread: unknown = null;
  async function* noting(given: Pieces) {
    try {
      yield* given;
      progress.show('waiting for the Keyway that serves');
    } catch (error) {
      unread = error;
      throw error;
    }
  }
  const end = () => caller.close();
  stop?.addEventListener('abort', end);
  try {
    const sent = body === undefined || Buffer.isBuffer(body) ? { body } : { body: undefined, pieces: noting(body) };
    return await caller.send({ method, path: REPLACEMENTS_ROOT + path, headers, ...sent });
  } catch (error) {
    stop?.throwIfAborted();
    if (unread !== null) throw unread;
    if (!(error instanceof NoAnswer)) throw error;
    const fate = error.mayHaveArrived ? ': its log, or its next start, says what became of it' : '';
    throw new Error(`the Keyway that serves from ${dataFolder}: ${error.message}${fate}`, { cause: error });
  } finally {
    stop?.removeEventListener('abort', end);
    caller.close();
  }
}
