import { describe, expect, it } from 'vitest';
import { type Row, StatementError } from '../../../src/homes/database/connection.js';
import { createWrites } from '../../../src/homes/database/writes.js';
import { systemRandom } from '../../../src/platform/system-ports.js';
import { silent } from './gateways.js';

const DONE: Row = ['7', 'done'];

/** A write over connections that answer so, one after the other; what was sent is noted. */
function stage(answers: readonly (Row | StatementError)[], { perStatement = 1, unanswered = (): number => 0 } = {}) {
  const sent: string[] = [];
  let now = 0;
  const left = [...answers];
  const last = answers.at(-1);
  const run = async (text: string) => {
    sent.push(text);
    now += perStatement;
    const answer = left.shift() ?? last ?? DONE;
    if (answer instanceof StatementError) throw answer;
    return [[answer]];
  };
  const writes = createWrites({
    connections: { run, unanswered },
    asking: { run },
    seen: () => ({ state: 0n, counters: 0n }),
    clock: { now: () => now, monotonic: () => now },
    random: systemRandom,
    log: silent,
  });
  return { sent, writes, write: () => writes.write((operation) => `write ${operation}`) };
}

const lost = new StatementError('unknown', 'no answer');
const isAsking = (text: string | undefined) => text?.includes('keyway.settle(') === true;
const idOf = (text: string | undefined) => /[0-9a-f-]{36}/.exec(text ?? '')?.[0];

describe('a write', () => {
  it('is carried out again where another held it up, and nobody hears of it', async () => {
    for (const sqlState of ['40001', '40P01', '55P03']) {
      const { sent, write } = stage([new StatementError('refused', 'held up', sqlState), DONE]);
      expect(await write()).toMatchObject({ kind: 'done', number: 7n });
      expect(sent).toHaveLength(2);
      expect(idOf(sent[0])).not.toBe(idOf(sent[1]));
    }
  });

  it('has not happened where the database refused it, or it was never sent', async () => {
    const refused = stage([new StatementError('refused', 'not so', '23514')]);
    expect(await refused.write()).toEqual({ kind: 'nothing', reason: 'not so', sqlState: '23514' });
    const away = stage([new StatementError('not sent', 'nobody there')]);
    expect(await away.write()).toMatchObject({ kind: 'nothing', reason: 'nobody there' });
    expect(away.sent).toHaveLength(1);
  });

  it('is asked for by its id where its answer is lost, until somebody tells, and is done where it was committed', async () => {
    const { sent, write } = stage([lost, lost, lost, ['7', 'userNotFound']]);
    expect(await write()).toMatchObject({ kind: 'done', outcome: 'userNotFound', number: 7n, rest: [] });
    expect(sent.map(isAsking)).toEqual([false, true, true, true]);
    expect(new Set(sent.map(idOf)).size).toBe(1);
  });

  it('is carried out by another id where the asking has prevented it', async () => {
    const { sent, write } = stage([lost, [null, 'prevented'], DONE]);
    expect(await write()).toMatchObject({ kind: 'done', number: 7n, operation: idOf(sent[2]) });
    expect(sent.map(isAsking)).toEqual([false, true, false]);
    expect(idOf(sent[2])).not.toBe(idOf(sent[0]));
  });

  it('may have happened where it may have been forgotten, and is not carried out again', async () => {
    const { sent, write } = stage([lost, [null, 'forgotten'], DONE]);
    expect(await write()).toMatchObject({ kind: 'unknown' });
    expect(sent).toHaveLength(2);
  });

  it('may have happened where nobody could tell for ten seconds', async () => {
    const { sent, write } = stage([lost], { perStatement: 2_500 });
    expect(await write()).toEqual({ kind: 'unknown', reason: 'no answer' });
    expect(sent.slice(1).every(isAsking)).toBe(true);
  });

  it('is tried again where the database has too many connections, starts or ends', async () => {
    for (const sqlState of ['53300', '57P03']) {
      const full = new StatementError('not sent', 'not now', sqlState);
      const { sent, write } = stage([full, full, DONE]);
      expect(await write()).toMatchObject({ kind: 'done', number: 7n });
      expect(sent).toHaveLength(3);
    }
  });

  it('ends at once, and is not sent, while the database may be at work on an earlier one that was given up', async () => {
    const { sent, writes, write } = stage([DONE], { unanswered: () => 1 });
    expect(await write()).toMatchObject({ kind: 'nothing', reason: expect.stringContaining('an earlier write') });
    expect(sent).toEqual([]);
    expect(writes.refusal()).toContain('has not answered an earlier write');
  });

  it('ends at once, and is not sent, while nobody says what became of an earlier one', async () => {
    const { sent, writes, write } = stage([lost], { perStatement: 1_500 });
    const first = write();
    await expect.poll(() => sent.filter(isAsking).length).toBe(2);
    expect(await write()).toMatchObject({ kind: 'nothing' });
    expect(sent.filter((text) => !isAsking(text))).toHaveLength(1);
    expect(await first).toMatchObject({ kind: 'unknown' });
    expect(writes.refusal()).toBe(null);
  });
});

describe('what the database says of writes', () => {
  it('is told until one is taken, or others are and none of these was refused meanwhile', async () => {
    const full = new StatementError('refused', 'no space left on device', '53100');
    const { writes, write } = stage([full, DONE, full, full, full]);
    expect(writes.refusal()).toBe(null);
    await write();
    expect(writes.refusal()).toBe('no space left on device');
    await write();
    expect(writes.refusal()).toBe(null);
    await write();
    writes.othersAreTaken();
    expect(writes.refusal()).toBe('no space left on device');
    await write();
    writes.othersAreTaken();
    expect(writes.refusal()).toBe('no space left on device');
    writes.othersAreTaken();
    expect(writes.refusal()).toBe(null);
  });

  it('is nothing where a write was refused for its own sake, or the database is away', async () => {
    const reasons = [
      new StatementError('refused', 'counted before', 'KW002'),
      new StatementError('not sent', 'connect ECONNREFUSED'),
    ];
    for (const reason of reasons) {
      const { writes, write } = stage([reason]);
      expect(await write()).toMatchObject({ kind: 'nothing' });
      expect(writes.refusal()).toBe(null);
    }
  });
});
