import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CountedAnswer, createAnswerReader } from '../../bench/http-connection.js';

const answerText = (status: number, body: string) =>
  `HTTP/1.1 ${status} Whatever\r\nDate: today\r\nContent-Length: ${Buffer.byteLength(body)}\r\nx: y\r\n\r\n${body}`;

/** The bytes in pieces that end at these places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % bytes.length))].filter((end) => end > 0).sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
}

describe('the answer reader of the load client', () => {
  it('counts every answer exactly once, wherever its bytes are cut', () => {
    const answer = fc.tuple(fc.integer({ min: 200, max: 599 }), fc.string({ maxLength: 40 }), fc.array(fc.nat(200)));
    fc.assert(
      fc.property(fc.array(answer, { minLength: 1, maxLength: 5 }), (answers) => {
        const reader = createAnswerReader();
        for (const [status, body, places] of answers) {
          const read: (CountedAnswer | null)[] = cut(Buffer.from(answerText(status, body)), places).map(reader.read);
          expect(read.pop()).toEqual({ status, bytes: Buffer.byteLength(body) });
          expect(read.every((early) => early === null)).toBe(true);
        }
      }),
    );
  });

  it('refuses an answer without a length, another protocol, and bytes that nobody asked for', () => {
    expect(() => createAnswerReader().read(Buffer.from('HTTP/1.1 200 OK\r\nDate: today\r\n\r\n'))).toThrow(
      'another form',
    );
    expect(() => createAnswerReader().read(Buffer.from('SSH-2.0\r\nContent-Length: 1\r\n\r\nx'))).toThrow(
      'another form',
    );
    expect(() => createAnswerReader().read(Buffer.from(`${answerText(200, 'a')}HTTP`))).toThrow('more bytes');
  });
});
