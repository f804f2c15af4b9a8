import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RESOLVER } from '../../../../src/core/dns-settings.js';
import type { ConfigurationChange } from '../../../../src/core/model.js';
import type { FileSystemPort } from '../../../../src/core/ports.js';
import { createChangeJournal, type JournalLine } from '../../../../src/homes/file/configuration/change-journal.js';
import { createForgetfulFileSystem } from '../../../ports/forgetful-file-system.js';

const PATH = '/data/unread-changes';
const log = { debug() {}, info() {}, warn() {}, error() {} };

const of = (accessKey: string, name: string | null): ConfigurationChange => ({
  keys: new Map([[accessKey, name === null ? null : { accessKey, name, limitBytes: null }]]),
});

const lineAt = (at: number, name = 'n'): JournalLine => ({
  at,
  former: of(`key-${at}`, null),
  written: of(`key-${at}`, name),
});

function machine() {
  const disk = createForgetfulFileSystem();
  disk.write('/data/lock', 'ours', { synced: true });
  const calls: string[] = [];
  const fileSystem: FileSystemPort = new Proxy(disk.port, {
    get(target, name: keyof FileSystemPort) {
      calls.push(name);
      return target[name];
    },
  });
  let now = 0;
  let setBy = 0;
  const clock = { now: () => now + setBy, monotonic: () => now };
  const start = () => createChangeJournal({ path: PATH, boot: 'boot', milliseconds: 7_000, fileSystem, clock, log });
  const add = async (journal: ReturnType<typeof start>, at: number, name?: string) => {
    now = at - setBy;
    await journal.add(lineAt(at, name));
  };
  /** Sets the time of day by so many milliseconds. */
  const set = (milliseconds: number) => {
    setBy += milliseconds;
  };
  const text = () => disk.readText(PATH) ?? '';
  const written = async () => (await start().read()).written;
  return { disk, calls, start, add, set, text, written };
}

describe('the journal of changes that a server may not have read', () => {
  it('is one append a change, however far apart they are, and syncs nothing', async () => {
    const { calls, start, add, written } = machine();
    const journal = start();
    await add(journal, 0);
    expect(calls).toEqual(['create', 'rename']);
    calls.length = 0;
    for (const at of [1, 10_000, 10_001, 60_000]) await add(journal, at);
    expect(calls).toEqual(['append', 'append', 'append', 'append']);
    expect(await written()).toEqual([0, 1, 10_000, 10_001, 60_000].map((at) => lineAt(at)));
  });

  it('has a change that is intended when it is done, and apart until then, with two appends', async () => {
    const { calls, start, add } = machine();
    const journal = start();
    await add(journal, 0);
    calls.length = 0;
    const { read } = start();
    const [first, second] = [lineAt(1), lineAt(2)];
    await journal.intend(first);
    expect(await read()).toEqual({ written: [lineAt(0)], intended: { ...first, at: 0 } });
    // What was intended and not done was not written.
    await journal.intend(second);
    expect(await read()).toEqual({ written: [lineAt(0)], intended: { ...second, at: 0 } });
    await journal.add(second);
    expect(await read()).toEqual({ written: [0, 2].map((key) => ({ ...lineAt(key), at: 0 })), intended: null });
    await journal.add(first);
    expect((await read()).written).toHaveLength(3);
    const others = calls.filter((name) => name !== 'read');
    expect(others).toEqual(['append', 'append', 'append', 'append']);
  });

  it('is written anew with what is intended, and counts it from when it was done', async () => {
    const { disk, start, set } = machine();
    const journal = start();
    await journal.intend(lineAt(1));
    disk.unlink(PATH);
    set(500);
    await journal.add(lineAt(2));
    await journal.intend(lineAt(3));
    disk.unlink(PATH);
    const last = lineAt(4);
    await journal.intend(last);
    set(900);
    await journal.add(last);
    const times = (await start().read()).written.map(({ at, written }) => [at, [...(written.keys?.keys() ?? [])]]);
    expect(times).toEqual([
      [500, ['key-2']],
      [900 + 500, ['key-4']],
    ]);
  });

  it('is read in the words of every earlier Keyway', async () => {
    const { disk, start } = machine();
    const rule = '{"domainSuffix":[".a"],"ipCidr":[],"protocol":null,"action":"block"}';
    const lines = [
      '{"boot":"boot"}',
      '{"at":1,"former":{"keys":[["a",null]]},"written":{"keys":[["a",{"accessKey":"a","name":"A","limitBytes":18446744073709551615}]]}}',
      `{"intended":true,"at":2,"former":{"rules":[],"dns":{"localPort":53,"resolver":null}},"written":{"rules":[${rule}],"dns":{"localPort":5353,"customDomains":{"a":"::1"}}}}`,
      '{"done":3}',
      '{"intended":true,"at":4,"former":{"keys":[["b",{"accessKey":"b","name":null,"limitBytes":1}]]},"written":{"keys":[["b",null]]}}',
    ];
    disk.write(PATH, `${lines.join('\n')}\n`);
    const a = { accessKey: 'a', name: 'A', limitBytes: 2n ** 64n - 1n };
    const b = { accessKey: 'b', name: null, limitBytes: 1n };
    const dns = { localPort: 5353, customDomains: new Map([['a', '::1']]) };
    expect(await start().read()).toEqual({
      written: [
        { at: 1, former: of('a', null), written: { keys: new Map([['a', a]]) } },
        {
          at: 3,
          former: { rules: [], dns: { localPort: 53, resolver: null } },
          written: { rules: [JSON.parse(rule)], dns },
        },
      ],
      intended: { at: 4, former: { keys: new Map([['b', b]]) }, written: of('b', null) },
    });
  });

  it('has DNS settings of both forms as they were', async () => {
    const { start, written } = machine();
    const resolver = {
      ...DEFAULT_RESOLVER,
      allowlists: [{ name: 'Allowed', url: 'https://a.example/l', enabled: false }],
      rewrites: [{ domain: '*.lab.example', answer: '192.0.2.1' }],
    };
    const line: JournalLine = {
      at: 0,
      former: { dns: { resolver: null, customDomains: new Map([['a', '::1']]), localPort: 53 } },
      written: { dns: { resolver, enabled: true } },
    };
    await start().add(line);
    expect(await written()).toEqual([line]);
  });

  it('is read up to its last whole line wherever its end was torn off', async () => {
    const { disk, start, add, text, written } = machine();
    const journal = start();
    for (const at of [1, 2, 3]) await add(journal, at);
    const whole = text();
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length), async (length) => {
        disk.write(PATH, whole.slice(0, length));
        const lines = await written();
        // The last line counts without its line break, too.
        const ended = `${whole.slice(0, length)}\n`
          .split('\n')
          .filter((line) => whole.split('\n').includes(line) && line !== '');
        expect(lines).toEqual([1, 2, 3].slice(0, Math.max(0, ended.length - 1)).map((at) => lineAt(at)));
      }),
    );
  });

  it('keeps to a bounded size, and all that counts', async () => {
    const { start, add, text, written } = machine();
    const journal = start();
    const name = 'x'.repeat(20_000);
    for (let at = 0; at < 100; at += 1) await add(journal, at * 3_000, name);
    expect(text().length).toBeLessThan(256 * 1024 + 5 * 20_200);
    expect((await written()).slice(-3)).toEqual([97, 98, 99].map((n) => lineAt(n * 3_000, name)));
  });

  it('has the lines of the Keyway before, too, after the next one was added', async () => {
    const { start, add, written } = machine();
    await add(start(), 1);
    const next = start();
    await next.read();
    await add(next, 2);
    expect(await written()).toEqual([lineAt(1), lineAt(2)]);
  });

  it.each([-3_600_000, 3_600_000])('has the lines before a clock that is set by %i ms', async (milliseconds) => {
    const { disk, start, add, set, written } = machine();
    const journal = start();
    const [before, after] = [4_000_000, 4_000_001 + milliseconds];
    await add(journal, before);
    set(milliseconds);
    disk.unlink(PATH);
    await add(journal, after);
    expect(await written()).toEqual([lineAt(before), lineAt(after)]);
  });

  it('is written anew where it or the data folder was made again, and after an append that failed half-way', async () => {
    const { disk, start, add, text, written } = machine();
    const journal = start();
    await add(journal, 1);
    disk.unlink(PATH);
    await add(journal, 2);
    expect(await written()).toEqual([lineAt(1), lineAt(2)]);
    // The data folder was moved, with the open journal in it.
    await disk.port.rename(PATH, '/data/moved');
    await add(journal, 2);
    expect(await written()).toEqual([lineAt(1), lineAt(2), lineAt(2)]);
    disk.write(PATH, `${text()}{"at":3,"for`);
    disk.fail('append', 'ENOSPC', () => true, 1);
    await add(journal, 3);
    expect(await written()).toEqual([lineAt(1), lineAt(2), lineAt(2), lineAt(3)]);
  });

  it('has every change where a copy of it took its place', async () => {
    const { disk, start, add, text, written } = machine();
    const journal = start();
    await add(journal, 1);
    await add(journal, 2);
    const copy = text();
    await disk.port.rename(PATH, '/data/moved');
    disk.write(PATH, copy);
    await add(journal, 3);
    expect(await written()).toEqual([1, 2, 3].map((at) => lineAt(at)));
  });
});
