import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import { createSession } from '../../../src/core/session.js';
import { accepts, type Credential } from '../../../src/wire/traits/auth.js';
import { codePoint } from '../../code-points.js';

const schemes = [...new Set(REVISIONS.map(({ auth }) => auth))];
/** Not blank: what is matches nothing. */
const secret = fc.string({ unit: codePoint, minLength: 1 }).filter((text) => text.trim() !== '');
const credential: fc.Arbitrary<Credential> = fc.record({ kind: fc.constantFrom('session', 'token'), secret });

describe.each(schemes)('the access check by $name', (scheme) => {
  it('reads a credential that it has written', () => {
    fc.assert(
      fc.property(credential, (one) => {
        const header = scheme.encode(one);
        if (header !== null) expect(scheme.decode(header)).toContainEqual(one);
      }),
    );
  });

  it('takes no kind of credential from a header that it would not write', () => {
    const written = (['session', 'token'] as const).filter((kind) => scheme.encode({ kind, secret: 'a' }) !== null);
    fc.assert(
      fc.property(
        fc.oneof(
          secret,
          credential.map(({ secret: text }) => `Bearer ${text}`),
        ),
        (header) => {
          for (const { kind } of scheme.decode(header)) expect(written).toContain(kind);
        },
      ),
    );
  });

  it('lets in who shows the right credential as it is written, and nobody who shows another', async () => {
    await fc.assert(
      fc.asyncProperty(credential, secret, async (one, other) => {
        fc.pre(other !== one.secret && other !== `Bearer ${one.secret}` && one.secret !== `Bearer ${other}`);
        const session = createSession();
        if (one.kind === 'session') session.begin(one.secret);
        const credentials = { token: one.kind === 'token' ? one.secret : null, username: '', passwordHash: '' };
        const header = scheme.encode(one);
        if (header !== null) expect(await accepts(scheme, header, credentials, session)).toBe(true);
        const wrong = scheme.encode({ ...one, secret: other });
        if (wrong !== null) expect(await accepts(scheme, wrong, credentials, session)).toBe(false);
      }),
    );
  });
});
