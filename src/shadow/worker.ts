import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { REVISIONS } from '../../revisions/all.js';
import { resolveRevision } from '../../revisions/index.js';
import { messageOf } from '../core/errors.js';
import { createFileSystem } from '../platform/file-system.js';
import { systemClock, systemRandom } from '../platform/system-ports.js';
import type { FromWorker, ToWorker, WorkerSettings } from './messages.js';
import { Mirror } from './mirror.js';
import { ShadowRefused } from './opening.js';
import { type Packed, unpacked } from './packing.js';
import { SavedDifferences } from './saved-differences.js';
import { Tally } from './tally.js';

/** Milliseconds between two reports, and between two looks whether keys are to be followed. */
const REPORT_EVERY = 500;
/** Milliseconds for which finished exchanges are counted before they are told. */
const TELL_EVERY = 250;
/** Milliseconds for which what still waits is compared at the end. */
const LAST_COMPARED = 3_000;
/** Linux says here which process this is; its main thread has the same number. */
const SELF = '/proc/self';

const port = parentPort;
if (port === null) throw new Error('expected to be a worker');
const settings = workerData as WorkerSettings; // Only `relay.ts` starts it.
const tell = (message: FromWorker) => port.postMessage(message);

const lines = { all: REVISIONS, resolve: resolveRevision };
const tally = new Tally(() => systemClock.now());
const saved =
  settings.save === null
    ? null
    : new SavedDifferences({
        ...settings.save,
        date: settings.date,
        fileSystem: createFileSystem(),
        onFailure: (sentence) => tally.note(sentence),
      });
const lineNamed = (text: string | null) => {
  const resolved = text === null ? null : resolveRevision(text);
  return resolved?.ok === true ? resolved.revision : null;
};
const pemOf = (ca: Uint8Array | null) => (ca === null ? null : Buffer.from(ca));
const { target, shadow } = settings;
const mirror = new Mirror({
  ...settings,
  target: { ...target, revision: lineNamed(target.revision), ca: pemOf(target.ca) },
  shadow: 'line' in shadow ? shadow : { ...shadow, revision: lineNamed(shadow.revision), ca: pemOf(shadow.ca) },
  lines,
  clock: systemClock,
  random: systemRandom,
  tally,
  onDifference: (passed, kinds, server) => {
    const title = kinds.map(({ operation, where }) => `${operation} ${where}`).join(', ');
    saved?.save(passed, title, server.found);
  },
});

giveWay();

/** Has whoever waits for an answer come first: the main thread alone keeps its priority, not those that compare, compile and collect garbage. */
function giveWay(): void {
  if (!existsSync(`${SELF}/task`)) return;
  const main = readlinkSync(SELF);
  for (const thread of readdirSync(`${SELF}/task`))
    if (thread !== main) setPriority(Number(thread), constants.priority.PRIORITY_BELOW_NORMAL);
}

/** One after the other, in the order in which the target answered. */
let isOver = false;
let work: Promise<unknown> = mirror.begin().catch(refuse);

function refuse(error: unknown): void {
  if (!(error instanceof ShadowRefused)) throw error;
  tell({ kind: 'refused', why: messageOf(error), details: error.details });
}

/** The number of exchanges that the report counts, and of those that wait to be taken. */
let [taken, waiting] = [0, 0];

function take(packed: Packed): void {
  waiting += packed.number;
  work = work.then(async () => {
    for (const passed of unpacked(packed)) {
      if (isOver) return;
      await mirror.take(passed).catch(refuse);
      taken += 1;
      waiting -= 1;
      await mirror.follow();
      done();
    }
  });
}

/** Ends the run, whatever still waits. */
async function end(): Promise<void> {
  await Promise.race([work, sleep(LAST_COMPARED)]);
  isOver = true;
  await saved?.settled();
  clearInterval(timer);
  tell({ kind: 'ended', report: tally.report(), taken });
  // The process ends with what cannot be closed.
  await mirror.close().catch(() => undefined);
  port?.close();
}

let finished = 0;

/** Tells a few times a second what waits no more. */
function done(): void {
  if (finished === 0) setTimeout(tellFinished, TELL_EVERY);
  finished += 1;
}

function tellFinished(): void {
  tell({ kind: 'done', requests: finished });
  finished = 0;
}

port.on('message', (message: ToWorker) => {
  switch (message.kind) {
    case 'passed':
      return take(message.packed);
    case 'lost':
      return mirror.lost(message.operation, message.at);
    case 'note':
      return tally.note(message.sentence);
    case 'end':
      void end();
  }
});

const timer = setInterval(() => {
  // After each exchange it is done anyway: where the shadow hangs these would only grow in number.
  if (waiting === 0) work = work.then(() => mirror.follow());
  tell({ kind: 'report', report: tally.report(), taken });
}, REPORT_EVERY);
