import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { DomainError } from '../../src/core/errors.js';
import { commonErrors, decodeError, type ErrorTable, encodeError } from '../../src/wire/errors.js';
import { OPERATIONS } from '../../src/wire/operations.js';
import { codePoint } from '../code-points.js';

const tables: readonly ErrorTable[] = [...new Set(REVISIONS.map(({ errors }) => errors))];
const codes = [...new Set(Object.values(commonErrors).map(({ code }) => code))];

describe.each(tables.map((table) => ({ table })))('the errors of a line', ({ table }) => {
  it('of any operation are read as the failures that they were written for, with their detail', () => {
    // A detail of a body's fault names a place in it: it is never the whole text of another failure.
    const detail = fc.string({ unit: codePoint, minLength: 1 }).map((text) => `member: expected ${text}`);
    fc.assert(
      fc.property(fc.constantFrom(...OPERATIONS), fc.constantFrom(...codes), detail, (operation, code, text) => {
        const named = operation.failures.find((name) => table[name].code === code) ?? code;
        const withDetail = table[named].withDetail === true;
        const error = new DomainError(code, withDetail ? text : '');
        const read = decodeError(table, operation, encodeError(table, operation, error));
        // A failure without words of its own is told from a body's fault by nothing.
        const hasWords = Object.values(table).some((row) => row.code === code && row.text !== '');
        // Nothing tells two failures with the same words apart: a login that is kept waiting from a refused one.
        const { status, text: words } = table[code];
        const first = Object.values(table).find((row) => row.status === status && row.text === words)?.code;
        expect([read?.code, read?.detail]).toEqual([hasWords ? first : 'invalidBody', error.detail]);
      }),
    );
  });

  it('have a row for each of the codes, under its name', () => {
    for (const code of codes) expect(table[code].code).toBe(code);
  });
});

it('an operation that names a row among its failures answers with its words', () => {
  const words = (name: string) => {
    const operation = OPERATIONS.find((each) => each.name === name);
    if (operation === undefined) throw new Error(name);
    return encodeError(commonErrors, operation, new DomainError('userNotFound'));
  };
  expect(words('getUser')).toEqual({ status: 400, text: 'user not found' });
  expect(words('deleteUser')).toEqual({ status: 400, text: 'User not found' });
  expect(words('subscribe')).toEqual({ status: 404, text: 'invalid access key' });
});

it('a status and text that no row has is no failure that is known', () => {
  const [operation] = OPERATIONS;
  if (operation === undefined) throw new Error('no operation');
  expect(decodeError(commonErrors, operation, { status: 404, text: 'not found' })).toBeNull();
  expect(decodeError(commonErrors, operation, { status: 500, text: 'internal error' })).toBeNull();
});
