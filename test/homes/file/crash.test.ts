import { dirname } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FileSystemPort } from '../../../src/core/ports.js';
import { type CallName, createSyncedBy } from '../../ports/forgetful-file-system.js';
import { tries } from '../../tries.js';
import { WHOLE } from '../../whole.js';
import { DATA, type Interruption, PATH, play, type Step, type Story } from './crash-story.js';

const call = fc.integer({ min: 0, max: 24 });
const interruption: fc.Arbitrary<Interruption> = fc.record({ by: fc.constantFrom('crash', 'kill', 'edit'), call });
const keyStep = fc.record({ key: fc.integer({ min: 0, max: 2 }), present: fc.boolean() });
const save: fc.Arbitrary<Step> = fc.record(
  { kind: fc.constant('save'), keys: fc.array(keyStep, { minLength: 1, maxLength: 3 }), during: interruption },
  { requiredKeys: ['kind', 'keys'] },
);
const edit: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('edit'),
  way: fc.constantFrom('replace', 'overwrite', 'trim'),
});
const end: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('end'),
  by: fc.constantFrom('crash', 'crash', 'kill', 'close'),
});
const failures: readonly { readonly call: CallName; readonly code: string }[] = [
  { call: 'create', code: 'ENOSPC' },
  { call: 'overwrite', code: 'ENOSPC' },
  { call: 'sync', code: 'EIO' },
  { call: 'syncFolder', code: 'EIO' },
  { call: 'rename', code: 'EBUSY' },
  { call: 'setOwner', code: 'EPERM' },
  { call: 'remove', code: 'EIO' },
  { call: 'read', code: 'EIO' },
];
const failing: fc.Arbitrary<Step> = fc
  .record({
    what: fc.constantFrom(...failures),
    times: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ what, times }): Step => ({ kind: 'fail', ...what, times }));

const step = fc.oneof(
  { weight: 4, arbitrary: save },
  { weight: 2, arbitrary: edit },
  { weight: 2, arbitrary: end },
  { weight: 1, arbitrary: failing },
);

const seed = fc.nat();

function anyStory(inPlace: boolean): fc.Arbitrary<Story> {
  return fc.record(
    { steps: fc.array(step, { maxLength: 7 }), inPlace: fc.constant(inPlace), seed, firstStart: interruption },
    { requiredKeys: ['steps', 'inPlace', 'seed'] },
  );
}

const add: Extract<Step, { kind: 'save' }> = { kind: 'save', keys: [{ key: 0, present: true }] };
const crash: Step = { kind: 'end', by: 'crash' };

/** Stories around one moment each, for what a story without a plan meets once in thousands. */
function telling(inPlace: boolean): fc.Arbitrary<Story> {
  const steps = fc.oneof(
    fc.constant([add, crash]),
    fc.constant([add, { kind: 'edit', way: 'trim' }, crash] satisfies Step[]),
    fc.constant([{ kind: 'edit', way: 'unsynced' }, add, crash] satisfies Step[]),
    call.map((n): Step[] => [{ ...add, during: { by: 'kill', call: n } }, crash]),
    call.map((n): Step[] => [{ ...add, during: { by: 'kill', call: n } }, add, crash]),
    call.map((n): Step[] => [{ ...add, during: { by: 'crash', call: n } }, add, crash]),
  );
  const killed = call.map((n): Interruption => ({ by: 'kill', call: n }));
  return fc.record(
    { steps, inPlace: fc.constant(inPlace), seed, firstStart: killed },
    { requiredKeys: ['steps', 'inPlace', 'seed'] },
  );
}

/** The kind of file that a path is, so that each use of a sync has a name of its own. */
function kindOf(path: string): string {
  if (path === PATH) return 'file';
  if (path === DATA) return 'data folder';
  if (path === `${DATA}/versions`) return 'versions folder';
  if (path.startsWith(`${DATA}/versions/`)) return 'version';
  if (path.startsWith(`${DATA}/belongs-to`)) return 'marker';
  if (path === `${DATA}/in-place-copy`) return 'copy';
  if (path.startsWith(`${DATA}/`) || path.startsWith('/etc/server/.server.json.keyway-lock')) return 'lock';
  if (path.startsWith('/etc/server/.')) return 'temporary';
  return path;
}

/** The port with a name for every sync: what is synced, and after which change of it. The one to `omit` does nothing. */
function naming(port: FileSystemPort, seen: Set<string>, omit: string | null): FileSystemPort {
  const changes = new Map<string, string>();
  const changed = (name: string, path: string) => {
    if (kindOf(path) === 'lock') return;
    if (name !== 'makeFolder') changes.set(path, `after ${name}`);
    // The folder's entries stay as they are.
    if (name === 'overwrite' || name === 'setOwner') return;
    changes.set(
      dirname(path),
      name === 'remove' && kindOf(path) !== 'copy' ? 'as found' : `after ${name} ${kindOf(path)}`,
    );
  };
  const synced = async (name: string, path: string, sync: () => Promise<void>) => {
    const label = `${name} ${kindOf(path)} ${changes.get(path) ?? 'as found'}`;
    changes.delete(path);
    seen.add(label);
    if (label !== omit) await sync();
  };
  const steps = {
    ...port,
    create: async (path, content, mode) => {
      await port.create(path, content, mode);
      changed('create', path);
    },
    overwrite: async (path, content) => {
      const written = await port.overwrite(path, content);
      changed('overwrite', path);
      return written;
    },
    rename: async (from, to) => {
      await port.rename(from, to);
      changed('rename', to);
    },
    remove: async (path) => {
      await port.remove(path);
      changed('remove', path);
    },
    makeFolder: async (path, mode) => {
      await port.makeFolder(path, mode);
      changed('makeFolder', path);
    },
    setOwner: async (path, uid, gid) => {
      await port.setOwner(path, uid, gid);
      changed('setOwner', path);
    },
    sync: (path) => synced('sync', path, () => port.sync(path)),
    syncFolder: async (path, after) => {
      await after;
      await synced('syncFolder', path, () => port.syncFolder(path));
    },
  } satisfies FileSystemPort;
  return { ...steps, createSynced: createSyncedBy(steps) };
}

/** Every sync that may be done, each at its place. */
const SYNCS = [
  'sync file as found',
  'sync marker after create',
  'sync version after create',
  'syncFolder /var/lib after makeFolder /var/lib/keyway',
  'syncFolder /var/lib as found',
  'syncFolder /var/lib/keyway after makeFolder data folder',
  'syncFolder /var/lib/keyway as found',
  'syncFolder versions folder after rename version',
  'syncFolder versions folder as found',
];
const SYNCS_REPLACING = [
  ...SYNCS,
  'sync temporary after setOwner',
  'syncFolder /etc/server after rename file',
  'syncFolder /etc/server as found',
  'syncFolder data folder after makeFolder versions folder',
];
const SYNCS_IN_PLACE = [
  ...SYNCS,
  'sync copy after create',
  'sync file after overwrite',
  'syncFolder data folder after create copy',
  'syncFolder data folder after remove copy',
];

/** Syncs that lose nothing here: of a folder of the system's, of a name that nobody changes, and what another one covers. */
const NEEDLESS_REPLACING = ['syncFolder /var as found'];
const NEEDLESS_IN_PLACE = [
  'syncFolder /var as found',
  'syncFolder /etc/server as found',
  // The copy that goes into the folder before each overwriting makes all its names durable.
  'syncFolder data folder after makeFolder versions folder',
];

const trim: Step = { kind: 'edit', way: 'trim' };
const failedRemoval: Step = { kind: 'fail', call: 'remove', code: 'EIO', times: 1 };

it.each([
  { after: 'the copy could not be removed', steps: [failedRemoval, add, trim] },
  { after: 'the copy could not be removed, and before a crash,', steps: [failedRemoval, add, trim, crash] },
  {
    after: 'the file could not be written',
    steps: [{ kind: 'fail', call: 'overwrite', code: 'ENOSPC', times: 2 }, add, trim],
  },
] satisfies readonly {
  readonly after: string;
  readonly steps: Step[];
}[])('an edit that cuts the file short after $after is not taken for a torn file', async ({ steps }) => {
  await play({ steps, inPlace: true, seed: 0 });
});

/** The places of the stories with the seeds below that show a loss, where it is not among the first; what comes later shows it, too. */
const SHOWN_BY: Readonly<Record<string, number>> = {
  'replaced: sync file as found': 27,
  'replaced: syncFolder /var/lib as found': 74,
  'replaced: syncFolder /var/lib/keyway as found': 37,
  'replaced: syncFolder versions folder as found': 34,
  'replaced: syncFolder /etc/server as found': 16,
  'overwritten in place: syncFolder /var/lib/keyway as found': 186,
  'overwritten in place: syncFolder versions folder as found': 147,
  'overwritten in place: sync copy after create': 41,
  'overwritten in place: syncFolder data folder after create copy': 41,
};

describe.each([
  // With these seeds every loss is found soon; with any other, in up to some hundred stories.
  { way: 'replaced', inPlace: false, seed: 1, syncs: SYNCS_REPLACING, needless: NEEDLESS_REPLACING },
  { way: 'overwritten in place', inPlace: true, seed: 14, syncs: SYNCS_IN_PLACE, needless: NEEDLESS_IN_PLACE },
])('a file that is $way', ({ way, inPlace, seed, syncs, needless }) => {
  it('after any saves, edits, failures and crashes holds every acknowledged change and every synced edit', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyStory(inPlace), telling(inPlace)), (story) => play(story)),
      { numRuns: tries(WHOLE ? 40 : 12) },
    );
  });

  if (WHOLE)
    it('does each of its syncs in these stories', async () => {
      const seen = new Set<string>();
      const recorded = fc.asyncProperty(telling(inPlace), (story) => play(story, (port) => naming(port, seen, null)));
      await fc.assert(recorded, { numRuns: 60, seed });
      expect([...seen].sort()).toEqual([...syncs, ...needless].sort());
    });

  it.each(syncs)('without "%s" something is lost', async (omit) => {
    const mutated = fc.asyncProperty(telling(inPlace), (story) => play(story, (port) => naming(port, new Set(), omit)));
    const path = String(SHOWN_BY[`${way}: ${omit}`] ?? 0);
    const { failed } = await fc.check(mutated, { numRuns: 1500, seed, path, endOnFailure: true });
    expect(failed).toBe(true);
  });
});
