import { type Caller, NoAnswer } from '../../../client/call.js';
import { DomainError } from '../../../core/errors.js';
import { JSON_TYPE } from '../../../wire/envelope.js';
import { encodeError } from '../../../wire/errors.js';
import type { JsonValue } from '../../../wire/json/json.js';
import { writeJson } from '../../../wire/json/write-json.js';
import { accessOf, type Operation, type OperationName, operationNamed, serves } from '../../../wire/operations.js';
import type { ScenarioResult } from '../../compare/result.js';
import { answerDifferences } from '../../reads/answers.js';
import { type Seen, seenIn } from '../../reads/look.js';
import {
  differing,
  type Found,
  failureDifferences,
  NEEDS_CREDENTIAL,
  ORIGIN,
  type ReadDifference,
} from '../../reads/looking.js';
import { findingOf } from '../../reads/rules.js';
import { resultOf } from '../../reads/standing.js';
import { guardKeys } from '../own-keys.js';
import type { Prepared } from '../target-state.js';
import { type Ground, TRIALS, type Trial } from './changes.js';

const NOBODY = { name: 'no-credential', title: 'nobody changes anything without a credential' };
const EACH = { name: 'changes', title: 'each change, asked for by a page of another origin' };

type Live = Prepared & { readonly caller: Caller };

/**
 * Requests each change that a run may make, once without a credential and once with one, and reads whether it was made,
 * because a server's answer alone does not prove it. Keys are the run's own and are removed.
 */
export async function tryChanges(live: Live, isStopped: () => boolean): Promise<readonly ScenarioResult[]> {
  const { facts, own, options } = live;
  const begun = performance.now();
  if (!facts.isLetIn) {
    const unseen = { unseen: NEEDS_CREDENTIAL };
    return [resultFor(NOBODY, unseen, []), resultFor(EACH, unseen, [])];
  }
  const trying = new Trying(live);
  for (const trial of TRIALS) {
    const operation = operationNamed(trial.operation);
    if (!serves(options.revision, operation) || isStopped()) continue;
    if (!(await trying.whole(trial, operation))) break;
  }
  await own.removeAll(live.control);
  const nobody = facts.isOpen ? { unseen: 'the API is open: no credential is asked for' } : trying.byNobody;
  const milliseconds = (performance.now() - begun) / 2;
  return [resultFor(NOBODY, nobody, [], milliseconds), resultFor(EACH, trying.byPage, trying.seen, milliseconds)];
}

function resultFor(rule: typeof EACH, found: Found, seen: readonly OperationName[], milliseconds = 0): ScenarioResult {
  return { ...resultOf(findingOf(rule, null, found), milliseconds), name: `writes/${rule.name}`, seen };
}

/** Tries changes and collects the differences. */
class Trying {
  readonly byNobody: ReadDifference[] = [];
  readonly byPage: ReadDifference[] = [];
  readonly seen: OperationName[] = [];
  readonly #live: Live;
  readonly #ground: Ground;
  readonly #caller: Caller;

  constructor(live: Live) {
    const { control, own, target } = live;
    this.#live = live;
    this.#caller = guardKeys(live.caller, { own, apiRoot: target.apiRoot });
    this.#ground = {
      key: `${own.prefix}trial`,
      read: async (path) => {
        const { status, data } = await control.send('GET', path);
        return status === 200 ? data : undefined;
      },
    };
  }

  /** Tries one change. Resolves to whether the next ones can be tried. */
  async whole(trial: Trial, operation: Operation): Promise<boolean> {
    try {
      if (accessOf(operation, this.#live.options.revision) === 'protected' && !this.#live.facts.isOpen)
        await this.#asNobody(trial, operation);
      return await this.#asPage(trial, operation);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      this.byPage.push({
        request: shown(operation),
        where: 'connection',
        expected: 'an answer',
        actual: error.message,
      });
      return false;
    }
  }

  async #asNobody(trial: Trial, operation: Operation): Promise<void> {
    const body = trial.body?.(this.#ground);
    const before = await trial.isMade?.(this.#ground);
    const seen = await this.#send(operation, body, null);
    const request = `${shown(operation)} without a credential`;
    this.byNobody.push(
      ...failureDifferences(request, this.#unauthorized(operation), seen, this.#live.options.revision),
    );
    if ((await trial.isMade?.(this.#ground)) !== before)
      this.byNobody.push({ request, where: 'what it changes', expected: 'as before', actual: 'changed' });
  }

  async #asPage(trial: Trial, operation: Operation): Promise<boolean> {
    const body = trial.body?.(this.#ground);
    const { revision } = this.#live.options;
    const request = shown(operation);
    const seen = await this.#send(operation, body, await this.#live.control.authorization());
    const { status } = seen.answer;
    this.seen.push(operation.name);
    if (status !== 200) this.byPage.push(...differing(request, 'status', 200n, BigInt(status)));
    else this.byPage.push(...answerDifferences(operation, { revision }, request, seen));
    if (status === 200 && (await trial.isMade?.(this.#ground)) === false)
      this.byPage.push({ request, where: 'what it changes', expected: 'changed', actual: 'as before' });
    // Without its key the others have nothing to change.
    return operation.name !== 'createUser' || status === 200;
  }

  #unauthorized(operation: Operation) {
    const { errors } = this.#live.options.revision;
    return encodeError(errors, operation, new DomainError(errors.unauthorized.code));
  }

  async #send(operation: Operation, body: JsonValue | undefined, authorization: string | null): Promise<Seen> {
    const headers = new Map([['origin', ORIGIN]]);
    if (authorization !== null) headers.set('authorization', authorization);
    if (body !== undefined) headers.set('content-type', JSON_TYPE);
    const path = this.#live.target.apiRoot + operation.path.replace('{key}', this.#ground.key);
    const bytes = body === undefined ? undefined : Buffer.from(writeJson(body));
    return seenIn(await this.#caller.send({ method: operation.method, path, headers, body: bytes }));
  }
}

function shown({ method, path }: Operation): string {
  return `${method} ${path}`;
}
