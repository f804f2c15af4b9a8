import { DomainError } from '../../core/errors.js';
import { encodeError } from '../../wire/errors.js';
import { accessOf, operationsOf } from '../../wire/operations.js';
import type { Look } from './look.js';
import {
  type At,
  answersAs,
  differing,
  type Found,
  failureDifferences,
  ORIGIN,
  pathOf,
  type ReadDifference,
} from './looking.js';

const WRONG = 'keyway-wrong-token';
const SLOWED = 'the server slows the guessing of tokens and does not look at every one: try again in a minute';

/**
 * Checks access against the scheme: none without a credential, none with a wrong one, and with the right one in each
 * spelling that the scheme accepts.
 */
export async function lookAtAuth(at: At): Promise<Found> {
  const { look, revision, api } = at;
  const path = `${api}/server/status`;
  const anonymous = await look.read({ method: 'GET', path, authorization: null });
  if (anonymous.answer.status === 200) return { unseen: 'the API is open: no credential is asked for' };
  const differences: ReadDifference[] = [];
  for (const { authorization, words } of spellings(look)) {
    const passes = revision.auth
      .decode(authorization)
      .some(({ kind, secret }) => secret !== '' && secret === (kind === 'session' ? look.session : look.token));
    const { answer } = await look.read({ method: 'GET', path, authorization });
    // Unseen only before a right credential was accepted; after that the answer is compared, however many wrong ones
    // were tried.
    if (passes && answer.status === 401 && answer.headers.has('retry-after')) return { unseen: SLOWED };
    const request = `GET /server/status, Authorization: ${words}`;
    differences.push(...differing(request, 'status', passes ? 200n : 401n, BigInt(answer.status)));
  }
  differences.push(...(await refusalDifferences(at)));
  if (differences.length > 0 || look.session !== null || look.token !== null) return differences;
  return { unseen: 'the right credential was not tried: needs --token, or --username and the password' };
}

/** Lists the right credentials in each spelling, shortened and extended ones, and wrong ones. */
function spellings({ session, token }: Look): readonly { readonly authorization: string; readonly words: string }[] {
  const both = (secret: string, name: string) => [
    { authorization: `Bearer ${secret}`, words: `Bearer ${name}` },
    { authorization: secret, words: name },
  ];
  const right = (secret: string | null, name: string) =>
    secret === null
      ? []
      : [
          ...both(secret, name),
          { authorization: `Bearer ${secret.slice(0, -1)}`, words: `Bearer and the beginning of ${name}` },
          { authorization: `Bearer ${secret}x`, words: `Bearer ${name} and one character more` },
        ];
  return [
    ...right(session, 'SESSION'),
    ...right(token, 'TOKEN'),
    ...both(WRONG, WRONG),
    { authorization: 'Bearer ', words: 'Bearer and nothing' },
  ];
}

/** Checks that every protected read is refused in the same words without a credential. */
async function refusalDifferences(at: At): Promise<readonly ReadDifference[]> {
  const found: ReadDifference[] = [];
  for (const operation of operationsOf(at.revision)) {
    if (
      accessOf(operation, at.revision) !== 'protected' ||
      operation.effect.kind !== 'reads' ||
      !(await answersAs(operation, at))
    )
      continue;
    const wanted = encodeError(at.revision.errors, operation, new DomainError('unauthorized'));
    const path = pathOf(operation, at);
    const seen = await at.look.read({ method: 'GET', path, authorization: null, headers: { origin: ORIGIN } });
    found.push(...failureDifferences(`GET ${operation.path} without a credential`, wanted, seen, at.revision));
  }
  return found;
}
