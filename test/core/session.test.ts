import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSession, equalSecrets } from '../../src/core/session.js';
import { codePoint } from '../code-points.js';

describe('comparing secrets', () => {
  it('equal ones are equal, whatever they hold', () => {
    fc.assert(fc.property(fc.string({ unit: codePoint }), (secret) => equalSecrets(`${secret}`, secret)));
  });

  it('any other one is not: longer, shorter, or with one character changed', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), fc.string({ unit: codePoint }), (given, kept) => {
        expect(equalSecrets(given, kept)).toBe(given === kept);
        expect(equalSecrets(`${kept}\0`, kept)).toBe(false);
        expect(equalSecrets(kept, `${kept}\0`)).toBe(false);
        expect(equalSecrets(`a${kept}`, `b${kept}`)).toBe(false);
        expect(equalSecrets(`${kept}a`, `${kept}b`)).toBe(false);
      }),
    );
  });
});

describe('the session of a mount', () => {
  it('holds the last token alone, and none once it is ended', () => {
    const session = createSession();
    expect(session.matches('')).toBe(false);
    session.begin('first');
    session.begin('second');
    expect([session.matches('first'), session.matches('second'), session.isHeld()]).toEqual([false, true, true]);
    session.end();
    expect([session.matches('second'), session.isHeld()]).toEqual([false, false]);
  });
});
