import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPassword, isPasswordHash, isPbkdf2Password, pbkdf2Hash, sha256Hash } from '../../src/core/password.js';

const FAST = 'pbkdf2-sha256$1$73616c74$55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc';
const SERVERS =
  'pbkdf2-sha256$300000$000102030405060708090a0b0c0d0e0f$3c87ede8488cbd7500d65f2c33562dd102141c7b4e66c16a973c5139406891f5';

describe('the hash of a password', () => {
  it('is read in both forms, digits in either case', async () => {
    const sha256 = '4104d36f8da2c254349f85836793ebe029e0c957063a34c91c2e9203187b5631';
    expect(sha256Hash('correct horse')).toBe(sha256);
    for (const kept of [sha256, sha256.toUpperCase()]) {
      expect([isPassword('correct horse', kept), isPassword('correct hors', kept)]).toEqual([true, false]);
    }
    expect(await isPbkdf2Password('correct horse', SERVERS)).toBe(true);
    expect(await isPbkdf2Password('passwd', FAST)).toBe(true);
    expect(await isPbkdf2Password('passwd', FAST.replace('55ac', '55AC'))).toBe(true);
    expect(await isPbkdf2Password('passwort', FAST)).toBe(false);
    const bytes = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');
    expect(await pbkdf2Hash('correct horse', bytes)).toBe(SERVERS);
    expect([sha256, SERVERS, FAST].every(isPasswordHash)).toBe(true);
  });

  it.each([
    ['no iterations', FAST.replace('$1$', '$0$')],
    ['more than ten million', FAST.replace('$1$', '$10000001$')],
    ['a negative number of them', FAST.replace('$1$', '$-1$')],
    ['a salt of half a byte', FAST.replace('73616c74', '73616c7')],
    ['a part too many', `${FAST}$`],
    ['a part too few', 'pbkdf2-sha256$1$73616c74'],
    ['a shorter hash', FAST.slice(0, -2)],
    ['another function', FAST.replace('sha256', 'sha512')],
    ['another spelling', FAST.replace('pbkdf2', 'PBKDF2')],
    ['nothing', ''],
  ])('with %s is that of no password', async (_, kept) => {
    expect(isPasswordHash(kept)).toBe(false);
    expect([isPassword('passwd', kept), await isPbkdf2Password('passwd', kept)]).toEqual([false, false]);
  });

  it('is that of its own password alone, whatever that is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.string(), async (one, other) => {
        expect(isPassword(other, sha256Hash(one))).toBe(one === other);
      }),
    );
  });
});
