import { describe, expect, it } from 'vitest';
import { type Row, StatementError } from '../../src/database/connection.js';
import { createWrites } from '../../src/database/writes.js';
import { systemRandom } from '../../src/platform/system-ports.js';
import { silent } from './gateways.js';

const DONE: Row = ['7', 'done'];

/** A write over connections that answer so, one after the other; what was sent is noted. */
function stage(answers: readonly (Row | StatementError)[], { perStatement = 1 } = {}) {
  const sent: string[] = [];
  let now = 0;
  const left = [...answers];
  const last = answers.at(-1);
  const writes = createWrites({
    connections: {
      async run(text) {
        sent.push(text);
        now += perStatement;
        const answer = left.shift() ?? last ?? DONE;
        if (answer instanceof StatementError) throw answer;
        return [[answer]];
      },
    },
    seen: () => ({ state: 0n, counters: 0n }),
    clock: { now: () => now, monotonic: () => now },
    random: systemRandom,
    log: silent,
  });
  return { sent, write: () => writes.write((operation) => `write ${operation}`) };
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
});
