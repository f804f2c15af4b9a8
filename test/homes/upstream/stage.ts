import { createHash } from 'node:crypto';
import type { Backend } from '../../../src/core/backend.js';
import type { ClockPort } from '../../../src/core/ports.js';
import { type StagedGateway, stageScenario } from '../../../src/embedded/stage.js';
import { givenStateOf } from '../../../src/lab/format/given-state.js';
import { type GivenListener, isExchange, type Scenario } from '../../../src/lab/format/scenario.js';
import { systemClock } from '../../../src/platform/system-ports.js';

/** With what the Keyway in front signs in to the one behind: credentials of the scenario decide who may call the front. */
export const UPSTREAM_CREDENTIALS = { token: 'upstream-token', username: 'upstream', password: 'upstream-password' };

/** A clock that goes on with the real one, and by leaps when a test does not want to wait. */
export interface LeapingClock extends ClockPort {
  leap(milliseconds: number): void;
}

export function createLeapingClock(): LeapingClock {
  let leapt = 0;
  return {
    now: () => systemClock.now() + leapt,
    monotonic: () => systemClock.monotonic() + leapt,
    leap(milliseconds) {
      leapt += milliseconds;
    },
  };
}

/** The state behind a front. */
export interface FrontState {
  readonly backend: Backend;
  /** Resolves once what was asked last of how the server announces itself is answered and taken in. */
  learnt(): Promise<void>;
}

/** Opens it: what `createGateway({ upstream })` does. */
export type OpenFront = (behind: { readonly url: string; readonly clock: ClockPort }) => Promise<FrontState>;

/**
 * A scenario's given state on a Keyway that plays the server of a line, over a file, and a Keyway of another revision in front
 * of it. What happens to the file happens behind; the front is then given the time to learn of it.
 */
export async function stageInFront(
  scenario: Scenario,
  northbound: string,
  line: string,
  open: OpenFront,
): Promise<StagedGateway> {
  const clock = createLeapingClock();
  const back = await stageScenario(behind(scenario), line, { files: 'memory', gateway: { clock } });
  try {
    const { backend, learnt } = await open({ url: back.target.origin + back.target.base, clock });
    const front = await stageScenario(inFront(scenario), northbound, { files: 'memory', gateway: { clock, backend } });
    const close = async () => {
      await front.close();
      await back.close();
    };
    const learned = async () => {
      // A list that was asked for before may still be on its way: the second one was not.
      for (let list = 0; list < 2; list += 1) {
        clock.leap(MOST_GAP);
        await backend.replica?.freshen();
      }
      if (!scenario.exchanges.some((step) => isExchange(step) && step.operation === 'subscribe')) return;
      const [key] = back.app.keyway.backend.keys.entries();
      if (key !== undefined) await announced(front, key.accessKey, learnt);
    };
    const after = <A extends readonly unknown[]>(happen: (...args: A) => Promise<void>) => {
      return async (...args: A) => {
        await happen(...args);
        await learned();
      };
    };
    const { counters, handEdit, settle, breakFile, configText } = back.stage;
    const stage = {
      counters: after(counters),
      handEdit: after(handEdit),
      settle: after(settle),
      breakFile,
      configText,
    };
    return { ...front, stage, close };
  } catch (error) {
    await back.close();
    throw error;
  }
}

/** After so many milliseconds a list may be asked for, whatever the last one cost the server. */
const MOST_GAP = 30_000;

/** Has the front learn again how the server announces itself, which it does beside a subscription. */
async function announced(
  { app, target }: StagedGateway,
  accessKey: string,
  learnt: FrontState['learnt'],
): Promise<void> {
  await app.inject({ url: `${target.apiRoot}/subscribe/${encodeURIComponent(accessKey)}` });
  await learnt();
}

/** The file and all, but with credentials that the front knows. */
function behind(scenario: Scenario): Scenario {
  const { token, username, password } = UPSTREAM_CREDENTIALS;
  const listener = { token, username, password_hash: createHash('sha256').update(password).digest('hex') };
  const { webpath } = givenStateOf(scenario);
  return { ...scenario, given: { ...scenario.given, listener: { ...listener, webpath } } };
}

/** No file: what the scenario says of the listener is said to the front. */
function inFront(scenario: Scenario): Scenario {
  const { credentials, webpath } = givenStateOf(scenario);
  const listener: GivenListener = {
    username: credentials.username,
    password_hash: credentials.passwordHash,
    webpath,
    ...(credentials.token === null ? {} : { token: credentials.token }),
  };
  return { ...scenario, given: { listener } };
}
