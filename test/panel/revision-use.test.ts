import { describe, expect, it } from 'vitest';
import type { UsageRow } from '../../panel/api/usage.js';
import { lastDays, lastUseOf, useByRevision } from '../../panel/state/revision-use.js';

const NOW = Date.parse('2026-11-23T12:00:00Z');

function row(more: Partial<UsageRow>): UsageRow {
  const day = '2026-11-23';
  const common = { by: 'bot', program: 'bot/1', revision: 'current', operation: 'listUsers', day, count: 1 };
  return { ...common, lastSeen: Date.parse(`${more.day ?? day}T10:00:00Z`), sunset: null, ...more };
}

describe('the use of revisions', () => {
  it('is summed up by program, in days and exact calls, and a revision that will end stands first', () => {
    const rows = [
      row({ count: 2n ** 63n }),
      row({ operation: 'createUser', count: 3, day: '2026-11-22' }),
      row({ by: 'relay', program: 'relay/2', revision: '0.2.48', day: '2026-11-01', sunset: NOW }),
    ];
    const [ending, current] = useByRevision(rows);
    expect(ending).toMatchObject({ revision: '0.2.48', sunset: NOW, callers: [{ by: 'relay', program: 'relay/2' }] });
    expect(current).toMatchObject({
      revision: 'current',
      calls: 2n ** 63n + 3n,
      lastSeen: Date.parse('2026-11-23T10:00:00Z'),
    });
    expect(current?.callers).toMatchObject([{ by: 'bot', operations: ['listUsers', 'createUser'] }]);
    expect(current?.days.size).toBe(2);
  });

  it('tells the last call of a token, and knows that it may be among the others', () => {
    const rows = [row({}), row({ day: '2026-11-01' }), row({ by: 'relay' })];
    expect(lastUseOf(rows, 'bot')).toBe(Date.parse('2026-11-23T10:00:00Z'));
    expect(lastUseOf(rows, 'idle')).toBeNull();
    expect(lastUseOf([...rows, row({ by: 'others' })], 'idle')).toBeUndefined();
  });

  it('of the last seven days has today and the six before', () => {
    const days = ['2026-11-23', '2026-11-17', '2026-11-16'].map((day) => row({ day }));
    expect(lastDays(days, 7, NOW).map(({ day }) => day)).toEqual(['2026-11-23', '2026-11-17']);
  });
});
