import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import { checkFile } from '../../../src/document/check/file-check.js';
import { readingOf } from '../../../src/document/check/servers.js';
import type { Revision } from '../../../src/wire/traits/revision.js';
import { inboundsFile } from '../../../src/wire/traits/server-file.js';

const check = (value: object) => checkFile(Buffer.from(JSON.stringify({ mode: 'server', ...value })));

/** The lines up to 0.3.21; those from 0.4.0 on read as the first ones do. */
const LINES = REVISIONS.filter(({ file }) => file.laterMembers.length === 0);

/** What servers of the last of these lines would read, and those of each other. */
function readings(value: object) {
  const checked = check(value);
  const textOf = ({ file, reportedVersion }: Revision) => {
    const { atStart, atLiveReload, listener } = readingOf(checked, file, reportedVersion);
    return { start: atStart.text, reload: atLiveReload.text, note: atLiveReload.note, listener };
  };
  const last = LINES.find(({ file }) => file === inboundsFile);
  if (last === undefined) throw new Error('there is no line');
  return { others: LINES.filter((line) => line !== last).map(textOf), last: textOf(last) };
}

const OSTP = { protocol: 'ostp', users: ['a', { key: 'b', name: 'B' }] };

describe('checking a file', () => {
  it('names keys that stand there twice, across inbounds too, with the one that counts', () => {
    const { duplicates, warnings } = check({ inbounds: [OSTP, { protocol: 'ostp', users: ['c', 7, 'b', 'c'] }] });
    expect(duplicates).toEqual([
      { accessKey: 'b', place: 'inbounds[0].users[1]', counts: 'inbounds[1].users[2]' },
      { accessKey: 'c', place: 'inbounds[1].users[0]', counts: 'inbounds[1].users[3]' },
    ]);
    expect(warnings).toEqual([
      'inbounds[1].users: these keys count too; new ones go to inbounds[0].users',
      'inbounds[1].users[1]: expected a string or an object',
    ]);
  });

  it.each([
    `pbkdf2-sha256$0$00$${'0'.repeat(64)}`,
    'pbkdf2-sha256$300000$00',
    'a'.repeat(63),
    'hunter2',
  ])('names a password_hash that no password can be right for, in both layouts: %s', (hash) => {
    const malformed = expect.stringMatching(/^[^:]*password_hash: malformed, so that no password is right; expected /);
    const flat = check({ api: { password_hash: hash }, access_keys: [] }).warnings;
    const nested = check({ inbounds: [OSTP, { protocol: 'api', password_hash: hash }] }).warnings;
    expect([flat, nested]).toEqual([[malformed], [malformed]]);
    expect([flat, nested].join()).not.toContain(hash);
    for (const right of ['', 'A'.repeat(64), `pbkdf2-sha256$1$00$${'0'.repeat(64)}`])
      expect(check({ api: { password_hash: right }, access_keys: [] }).warnings).toEqual([]);
  });

  it('names members that are not looked at, those of elements once with their number', () => {
    const places = (value: object) => check(value).unknown.map(({ place, count }) => `${place} ${count}`);
    const keys = ['a', { access_key: 'b', owner: 1 }, { access_key: 'c', owner: 2, limit_byte: 3 }];
    expect(
      places({
        log_level: 'info',
        monitoring: 1,
        api: { tls: 1 },
        dns: { x: 1 },
        outbound: { rules: [{ why: 1 }] },
        access_keys: keys,
      }),
    ).toEqual([
      'monitoring 1',
      'api.tls 1',
      'dns.x 1',
      'outbound.rules[0].why 1',
      'access_keys[1].owner 2',
      'access_keys[2].limit_byte 1',
    ]);
    expect(
      places({
        version: '1',
        api: {},
        inbounds: [
          { ...OSTP, sni: 1 },
          { protocol: 'x', y: 1 },
        ],
        routing: { z: 1 },
      }),
    ).toEqual(['api 1', 'inbounds[0].sni 1', 'inbounds[1] 1', 'routing.z 1']);
  });

  it('compares a root list with the inbounds, the keys in full', () => {
    const { legacyList, warnings } = check({ inbounds: [OSTP], access_keys: ['b', { key: 'c' }, {}] });
    expect(legacyList).toMatchObject({
      elements: 3,
      withoutKey: [2],
      onlyInList: [{ accessKey: 'c', name: null, limitBytes: null }],
      onlyInInbounds: [{ accessKey: 'a' }],
      differing: [{ inList: { name: null }, inInbounds: { accessKey: 'b', name: 'B' } }],
    });
    expect(warnings).toEqual([]);
  });

  it('of a file that is no configuration throws what is wrong and where', () => {
    expect(() => checkFile(Buffer.from('{\n  "mode": \n}'))).toThrow(
      "unexpected '}', expected a value at line 3 column 1",
    );
    expect(() => checkFile(Buffer.from('[]'))).toThrow('the root: expected an object');
  });
});

describe('what servers of each line up to 0.3.21 read of a file', () => {
  it('with access_keys: all lines its keys but the last, whose own migration drops names and limits', () => {
    const { others, last } = readings({ access_keys: ['a', { access_key: 'b', name: 'B' }], api: {} });
    const read = { start: '2 keys of access_keys', reload: '2 keys of access_keys', listener: true };
    const plainAlone = 'an element of access_keys that they do not take stops their live reloads, too';
    expect(others).toEqual(others.map((_, line) => ({ ...read, note: line < 2 ? plainAlone : null })));
    expect(last).toMatchObject({ start: 'no keys', listener: false });
  });

  it('with inbounds alone: only the last line its keys and its listener', () => {
    const { others, last } = readings({ inbounds: [OSTP, { protocol: 'api' }] });
    for (const one of others) expect(one).toMatchObject({ start: 'no keys', reload: 'no keys', listener: false });
    expect(last).toEqual({ start: '2 keys of inbounds', reload: '2 keys of inbounds', note: null, listener: true });
  });

  it('with a root list of strings and elements with "key": the last line takes both at a live reload', () => {
    const { others, last } = readings({ inbounds: [OSTP], access_keys: ['x', { key: 'y', name: 'Y' }, 'z'] });
    expect(others[0]).toMatchObject({ start: '2 keys of access_keys', note: expect.stringContaining('stops') });
    expect(last).toMatchObject({
      start: '2 keys of inbounds',
      reload: '2 keys of inbounds, 3 of access_keys',
      note: expect.stringContaining('gone at the next start'),
    });
  });

  it('before 0.3.11 the last line takes the root list alone, and without one drops every key', () => {
    const reading = (value: object) => readingOf(check(value), inboundsFile, '0.3.10').atLiveReload;
    expect(reading({ inbounds: [OSTP] })).toMatchObject({
      keys: [],
      note: 'there is no access_keys, those of inbounds are dropped',
    });
    expect(reading({ inbounds: [OSTP], access_keys: ['a', 'x'] })).toMatchObject({
      text: '2 keys of access_keys',
      note: 'the keys are those of access_keys, 1 of inbounds are dropped',
    });
    expect(reading({ inbounds: [OSTP], access_keys: ['a', 'b'] }).keys).toHaveLength(2);
  });

  it.each([
    [{ access_key: 'y' }],
    [{ access_key: 'y', key: 'y' }],
    [7],
  ])('with %j in the root list: it stops the live reloads of the last line', (element) => {
    const { last } = readings({ inbounds: [OSTP], access_keys: ['x', element] });
    expect(last).toMatchObject({
      reload: '2 keys of inbounds',
      note: expect.stringContaining('stops its live reloads'),
    });
  });
});
