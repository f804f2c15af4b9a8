import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AccessKey } from '../../src/core/model.js';
import type { LogPort } from '../../src/core/ports.js';
import { readDocument } from '../../src/document/document.js';
import { type LocalBackend, openLocalBackend } from '../../src/homes/file/backend.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { systemClock } from '../../src/platform/system-ports.js';
import { createChooser } from '../homes/file/counters/store-story.js';
import { createKey, deleteKey, updateKey } from '../ports/key-changes.js';
import { apiOf, fileOf } from '../stand-in/files.js';
import { type StandIn, startStandIn } from '../stand-in/stand-in.js';

/** What rounds of a Keyway and a server that write one file in turn have shown. */
export interface BesideSummary {
  readonly rounds: number;
  /** Changes that either side acknowledged. */
  readonly acknowledged: number;
  /** Changes that were taken back and made again. */
  readonly givenAgain: number;
  /** Acknowledged changes that are gone, of Keyway's and of the server's. */
  readonly lost: { readonly keyway: number; readonly server: number };
  readonly faults: readonly string[];
}

export interface BesideOptions {
  readonly folder: string;
  readonly rounds: number;
  readonly seed: number;
  /** How many times faster than a real server the stand-in looks at its file. */
  readonly factor: number;
  /** Whether what is taken back is made again; without it the soak must find losses. */
  readonly protects: boolean;
  readonly onRound?: (summary: BesideSummary) => void;
}

type Side = 'keyway' | 'server';

/** A key as it must be, and who changed it last; `record` is null once it is deleted. */
interface Wanted {
  readonly record: AccessKey | null;
  readonly by: Side;
  /** Since when both sides know it; null until the server has read it: till then Keyway may have to make it again. */
  knownSince: number | null;
}

/** Between two looks at everything. */
const ROUNDS_BETWEEN_LOOKS = 20;
/** A busy machine may take so long more to notice a write than the shortened times allow. */
const SLACK_MS = 1_000;
const LINE = 'current';

/** Lets both sides write in turn, 0 to 3 s apart as the factor shortens it, and looks now and then what has become of it. */
export async function runBesideRounds(options: BesideOptions): Promise<BesideSummary> {
  const { folder, rounds, seed, factor } = options;
  const choose = createChooser(seed);
  const reloadEvery = 5_000 / factor;
  const unread = 7_000 / factor + SLACK_MS;
  const path = join(folder, 'server.json');
  await writeFile(path, fileOf(LINE));
  const again = { changes: 0 };
  const backend = await openLocalBackend({
    configPath: path,
    fileSystem: createFileSystem(),
    clock: systemClock,
    log: silent,
    unconfirmedMilliseconds: options.protects ? unread : 0,
    observer: {
      wrote: () => undefined,
      reloaded: () => undefined,
      gaveAgain: (changes) => {
        again.changes += changes;
      },
    },
  });
  const standIn = await startStandIn({ line: LINE, file: path, reloadFactor: 0, seed });
  // By itself a server loses writes of its own that come while it reads its file: that is nobody's here.
  const alone = oneAfterTheOther();
  const reloads = setInterval(() => void alone(reload), reloadEvery);
  const sides = { keyway: throughKeyway(backend), server: throughServer(standIn, alone) };
  const wanted = new Map<string, Wanted>();
  const lost = { keyway: 0, server: 0 };
  const faults: string[] = [];
  let acknowledged = 0;
  let made = 0;
  const summary = (done: number): BesideSummary => {
    return { rounds: done, acknowledged, givenAgain: again.changes, lost: { ...lost }, faults: faults.slice(0, 20) };
  };

  /** One change by a side: of a key that nobody has touched for so long that both sides know it, or of a new one. */
  async function change(by: Side): Promise<void> {
    const quietSince = Date.now() - unread - 2 * reloadEvery;
    const old = [...wanted].filter(
      ([, { record, knownSince }]) => record !== null && knownSince !== null && knownSince < quietSince,
    );
    const [accessKey, known] = (choose(2) === 0 ? old[choose(Math.max(old.length, 1))] : undefined) ?? [];
    const next = known?.record && accessKey !== undefined ? changedRecord(known.record) : newRecord();
    const key = accessKey ?? next?.accessKey ?? '';
    // Until it is acknowledged nobody can say what must be.
    wanted.delete(key);
    try {
      await sides[by](key, next, known?.record ?? null);
    } catch (error) {
      // Who is refused a change of a key that is there does not have the key.
      lost[known?.by ?? by] += 1;
      faults.push(`${by} refused a change of ${key}: ${error}`);
      return;
    }
    // Keyway reads the file before each of its writes.
    wanted.set(key, { record: next, by, knownSince: by === 'server' ? Date.now() : null });
    acknowledged += 1;
  }

  async function reload(): Promise<void> {
    await standIn.reload();
    const there = new Map(standIn.keys().map((key) => [key.accessKey, key.limitBytes]));
    for (const [accessKey, key] of wanted) {
      if (there.get(accessKey) === key.record?.limitBytes) key.knownSince ??= Date.now();
    }
  }

  const newRecord = (): AccessKey => {
    made += 1;
    return { accessKey: `key-${made}`, name: null, limitBytes: choose(2) === 0 ? null : BigInt(choose(1_000_000)) };
  };
  const changedRecord = (record: AccessKey): AccessKey | null =>
    choose(2) === 0 ? null : { ...record, limitBytes: BigInt(1 + choose(1_000_000)) };

  async function look(): Promise<void> {
    await sleep(unread + 2 * reloadEvery);
    const places = {
      'of Keyway': new Map([...backend.keys.entries()].map((key) => [key.accessKey, key.limitBytes])),
      'of the file': recordsOf(await readFile(path)),
      'of the server': new Map(standIn.keys().map((key) => [key.accessKey, key.limitBytes])),
    };
    for (const [accessKey, { record, by }] of wanted) {
      const must = record === null ? undefined : record.limitBytes;
      const wrong = Object.entries(places).filter(([, keys]) => keys.get(accessKey) !== must);
      if (wrong.length === 0) continue;
      lost[by] += 1;
      faults.push(
        `${accessKey}, last changed by ${by}, is not as it must be in the keys ${wrong.map(([place]) => place)}`,
      );
      wanted.delete(accessKey);
    }
  }

  try {
    for (let round = 1; round <= rounds; round += 1) {
      const sidesInTurn: readonly Side[] = choose(2) === 0 ? ['keyway', 'server'] : ['server', 'keyway'];
      for (const side of sidesInTurn) {
        await change(side);
        await sleep(choose(3_000) / factor);
      }
      if (round % ROUNDS_BETWEEN_LOOKS === 0 || round === rounds) await look();
      options.onRound?.(summary(round));
    }
    return summary(rounds);
  } finally {
    clearInterval(reloads);
    await alone(() => standIn.close());
    await backend.close();
  }
}

/** Makes `after` of a key that was `before`; null stands for none. */
type Change = (accessKey: string, after: AccessKey | null, before: AccessKey | null) => Promise<void>;

const throughKeyway =
  (backend: LocalBackend): Change =>
  (accessKey, after, before) => {
    if (after === null) return deleteKey(backend, accessKey);
    return before === null
      ? createKey(backend, after)
      : updateKey(backend, accessKey, { limitBytes: after.limitBytes });
  };

function throughServer(standIn: StandIn, alone: ReturnType<typeof oneAfterTheOther>): Change {
  const ask = apiOf(standIn);
  return (accessKey, after, before) =>
    alone(async () => {
      const path = `/users/${accessKey}`;
      const limit = after?.limitBytes == null ? {} : { limit_bytes: Number(after.limitBytes) };
      const answer =
        after === null
          ? await ask('DELETE', path)
          : await (before === null
              ? ask('POST', '/users', { access_key: accessKey, ...limit })
              : ask('PUT', `${path}/limit`, limit));
      if (!answer.ok) throw new Error(`the server refused a change of ${accessKey}: ${answer.error}`);
    });
}

function oneAfterTheOther() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}

function recordsOf(bytes: Buffer): ReadonlyMap<string, bigint | null> {
  return new Map(readDocument(bytes).configuration.keys.map((key) => [key.accessKey, key.limitBytes]));
}

const silent: LogPort = { debug() {}, info() {}, warn() {}, error() {} };

/** A line that says how far it is. */
export function summaryText({ rounds, acknowledged, givenAgain, lost, faults }: BesideSummary): string {
  const head = `${rounds} rounds: ${acknowledged} changes acknowledged, ${givenAgain} taken back and made again`;
  return [`${head}, lost ${lost.keyway} of Keyway's and ${lost.server} of the server's`, ...faults].join('\n  ');
}
