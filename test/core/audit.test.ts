import { expect, it } from 'vitest';
import { createAudit } from '../../src/core/audit.js';

const clock = { now: () => new Date(2026, 10, 21, 4, 5, 6).getTime(), monotonic: () => 0 };
const random = (fill: number) => ({ bytes: (count: number) => Buffer.alloc(count, fill), uuid: () => '' });

it('an entry carries its random number in lowercase hexadecimal without padding and the local time', () => {
  const audit = createAudit(clock, {
    ...random(0),
    bytes: (count) => Buffer.concat([Buffer.alloc(count - 2), Buffer.from([0x0a, 0xbc])]),
  });
  audit.add({ eventEn: 'e', eventRu: 'р', success: true });
  expect(audit.list()).toEqual([{ id: 'abc', time: '04:05:06', eventEn: 'e', eventRu: 'р', success: true }]);
});

it('of 101 entries the oldest is dropped, and the newest is first', () => {
  const audit = createAudit(clock, random(1));
  for (let index = 0; index <= 100; index += 1) audit.add({ eventEn: `${index}`, eventRu: '', success: false });
  expect(audit.list().map(({ eventEn }) => eventEn)).toEqual(
    Array.from({ length: 100 }, (_, index) => `${100 - index}`),
  );
  audit.clear();
  expect(audit.list()).toEqual([]);
});
