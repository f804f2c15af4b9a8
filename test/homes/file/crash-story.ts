import { expect } from 'vitest';
import type { ConfigurationChange } from '../../../src/core/model.js';
import type { FileSystemPort, LogPort } from '../../../src/core/ports.js';
import { readDocument } from '../../../src/document/document.js';
import { createKeptVersions } from '../../../src/files/kept-versions.js';
import { listVersions } from '../../../src/files/versions-of-file.js';
import {
  type ConfigurationFile,
  createConfigurationFile,
} from '../../../src/homes/file/configuration/configuration-file.js';
import {
  type CallName,
  createForgetfulFileSystem,
  type ForgetfulFileSystem,
} from '../../ports/forgetful-file-system.js';

/** Something that happens to a configuration file and to the Keyway that serves it. */
export type Step =
  | { readonly kind: 'save'; readonly keys: readonly KeyStep[]; readonly during?: Interruption }
  | { readonly kind: 'edit'; readonly way: EditWay }
  | { readonly kind: 'fail'; readonly call: CallName; readonly code: string; readonly times: number }
  | { readonly kind: 'end'; readonly by: 'crash' | 'kill' | 'close'; readonly during?: Interruption };

export interface KeyStep {
  readonly key: number;
  readonly present: boolean;
}

/** What happens before the n-th call that changes or syncs something. */
export interface Interruption {
  readonly by: 'crash' | 'kill' | 'edit';
  readonly call: number;
}

/** `unsynced` adds the key 0 and must be followed by an undisturbed save of it, or the editor's own loss is seen. */
export type EditWay = 'replace' | 'overwrite' | 'trim' | 'unsynced';

export interface Story {
  readonly steps: readonly Step[];
  readonly inPlace: boolean;
  /** What happens during the very first start. */
  readonly firstStart?: Interruption;
  /** Decides what a crash takes. */
  readonly seed: number;
}

export const PATH = '/etc/server/server.json';
export const DATA = '/var/lib/keyway/server';
const START = '{\n  // by hand\n  "mode": "server",\n  "access_keys": [\n    "first"\n  ],\n  "n": 1e3\n}\n';

const silent: LogPort = { debug() {}, info() {}, warn() {}, error() {} };

/** Plays the story and checks at every restart, and at the end, that nothing is lost. Throws what is wrong. */
export async function play(
  story: Story,
  wrap: (port: FileSystemPort) => FileSystemPort = (port) => port,
): Promise<void> {
  const disk = createForgetfulFileSystem();
  disk.write(PATH, START, { mode: 0o640 });
  disk.write('/var/lib/other', '');
  disk.setOwner(PATH, 7, 8);
  if (story.inPlace) disk.mount(PATH);
  const teller = createTeller(story, disk, wrap);
  await teller.start(story.firstStart);
  for (const step of story.steps) await teller.tell(step);
  await teller.end();
}

function createTeller(story: Story, disk: ForgetfulFileSystem, wrap: (port: FileSystemPort) => FileSystemPort) {
  const choose = createChooser(story.seed);
  /** What each key must be in the file; unknown where the last change of it was not acknowledged. */
  const wanted = new Map<string, boolean | 'unknown'>([['first', true]]);
  /** Contents from outside that were written over. */
  const overwritten: string[] = [];
  let outside: string | null = START;
  let edits = 0;
  /** The file's content after a synced edit, until something is written. */
  let exact: string | null = START;
  let pid = 1;
  let time = Date.UTC(2026, 0, 1, 12);
  let file: ConfigurationFile | null = null;
  const clock = { now: () => time++, monotonic: () => time++ };

  async function open(): Promise<void> {
    pid += 1;
    file = await createConfigurationFile({
      path: PATH,
      dataFolder: DATA,
      fileSystem: wrap(disk.port),
      clock,
      log: silent,
      inPlace: story.inPlace,
      unconfirmedMilliseconds: 0,
      pollMilliseconds: 0,
      watch: false,
      processes: onlyProcess(pid),
      wait: async () => undefined,
    });
  }

  /** Starts until it works: a crash or a failure may have been planned for this very moment. */
  async function start(during?: Interruption): Promise<void> {
    plan(during);
    try {
      await open();
    } catch {
      disk.before(null);
      disk.heal();
      await open();
    }
    disk.before(null);
    await check();
  }

  async function check(): Promise<void> {
    const text = disk.readText(PATH);
    if (text === null) throw new Error('the file is gone');
    const { configuration } = readDocument(Buffer.from(text));
    const keys = new Set(configuration.keys.map(({ accessKey }) => accessKey));
    for (const [key, present] of wanted) {
      if (present !== 'unknown') expect(keys.has(key), `${key} in ${text}`).toBe(present);
    }
    expect(text).toContain('// by hand');
    expect(text).toContain('1e3');
    if (exact !== null) expect(text).toBe(exact);
    const { mode, uid, gid } = await disk.port.stat(PATH);
    expect([mode, uid, gid]).toEqual([0o640, 7, 8]);
    const reader = { fileSystem: disk.port, clock, log: silent, dataFolder: DATA };
    const versions = createKeptVersions({ fileSystem: disk.port, clock, folder: `${DATA}/versions` });
    const kept = await Promise.all((await versions.list()).map(async ({ id }) => (await versions.read(id)).toString()));
    for (const content of overwritten) expect(kept, `kept ${content}`).toContain(content);
    if (overwritten.length > 0) {
      await expect(listVersions({ ...reader, path: '/etc/other.json' })).rejects.toThrow('belongs to');
    }
  }

  function edit(way: EditWay): void {
    const text = disk.readText(PATH);
    if (text === null) throw new Error('the file is gone');
    // An editor does not open what is half-written.
    if (!parses(text)) return;
    if (way === 'trim' && text.trimEnd() === text) return;
    if (way === 'unsynced') {
      wanted.set('key-0', 'unknown');
      disk.write(PATH, text.replace('"access_keys": [', '"access_keys": [\n    "key-0",'), { synced: false });
      exact = null;
      outside = null;
      return;
    }
    const name = `edit-${edits++}`;
    const next = way === 'trim' ? text.trimEnd() : text.replace('"access_keys": [', `"access_keys": [\n    "${name}",`);
    if (way !== 'trim') wanted.set(name, true);
    if (way === 'replace' && !story.inPlace) disk.replace(PATH, next);
    else disk.write(PATH, next);
    exact = next;
    outside = next;
  }

  function plan(during: Interruption | undefined): void {
    if (!during) return;
    let left = during.call;
    disk.before((call, path) => {
      // Between the last look at the file and these there is nothing that could notice an edit.
      const isBlind = path === PATH && (call === 'rename' || call === 'overwrite');
      if (left-- > 0 || (during.by === 'edit' && isBlind)) return;
      disk.before(null);
      if (during.by === 'edit') edit('overwrite');
      else if (during.by === 'kill') disk.kill();
      else disk.crash(choose);
    });
  }

  async function save(keys: readonly KeyStep[], during: Interruption | undefined): Promise<void> {
    const before = outside;
    const fileBefore = disk.readText(PATH);
    exact = null;
    for (const { key } of keys) wanted.set(`key-${key}`, 'unknown');
    plan(during);
    const outcomes = await Promise.allSettled(keys.map((step) => file?.save(changeOf(step))));
    disk.before(null);
    exact = null;
    keys.forEach(({ key, present }, index) => {
      if (outcomes[index]?.status === 'fulfilled') wanted.set(`key-${key}`, present);
      else wanted.set(`key-${key}`, 'unknown');
    });
    const isAcknowledged = outcomes.some(({ status }) => status === 'fulfilled');
    if (during?.by === 'edit') return;
    if (isAcknowledged && before !== null && before === fileBefore && disk.readText(PATH) !== before) {
      overwritten.push(before);
      outside = null;
    }
  }

  async function endBy(by: 'crash' | 'kill' | 'close', during?: Interruption): Promise<void> {
    if (by === 'crash') disk.crash(choose);
    else if (by === 'kill') disk.kill();
    // Closing tries once more what is pending.
    else if ((file?.status().pendingChanges ?? 0) > 0) exact = null;
    await file?.close();
    await start(during);
  }

  async function tell(step: Step): Promise<void> {
    switch (step.kind) {
      case 'save':
        await save(step.keys, step.during);
        if (step.during?.by === 'crash' || step.during?.by === 'kill') await endBy('kill');
        return;
      case 'edit':
        return edit(step.way);
      case 'fail':
        return disk.fail(step.call, step.code, () => true, step.times);
      case 'end':
        return endBy(step.by, step.during);
    }
  }

  async function end(): Promise<void> {
    disk.heal();
    await save([{ key: 99, present: true }], undefined);
    expect(wanted.get('key-99')).toBe(true);
    await endBy('crash');
    // A file that is a mount of its own has no lock beside it.
    const lock = story.inPlace ? [] : ['.server.json.keyway-lock'];
    expect([...disk.names('/etc/server')].sort()).toEqual([...lock, 'server.json']);
    await file?.close();
    expect(disk.names('/etc/server')).toEqual(['server.json']);
    expect([...disk.names(DATA)].sort()).toEqual(['belongs-to.json', 'versions']);
  }

  return { start, tell, end };
}

function changeOf({ key, present }: KeyStep): ConfigurationChange {
  const accessKey = `key-${key}`;
  return { keys: new Map([[accessKey, present ? { accessKey, name: null, limitBytes: null } : null]]) };
}

function parses(text: string): boolean {
  try {
    readDocument(Buffer.from(text));
    return true;
  } catch {
    return false;
  }
}

/** Every start is another process, and the one before is dead. */
function onlyProcess(pid: number) {
  return {
    own: async () => ({ pid, started: '1' }),
    boot: async () => 'this boot',
    find: async (other: number) => (other === pid ? { pid, started: '1' } : null),
  };
}

/** Numbers that look random and follow from the seed (a linear congruential generator). */
function createChooser(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
