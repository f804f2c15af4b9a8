import { entityTag } from './http.js';
import type { OwnInterface } from './own-interface.js';

/** Milliseconds: a configuration with 100,000 keys may come over a slow line. */
const TIMEOUT = 120_000;

/** The configuration as Keyway's own interface tells it. */
export interface OwnConfiguration {
  /** The whole answer, whose `data` member is the configuration. */
  readonly answer: string;
  /** The entity tag of all but comments, spelling and the lists of keys; null where it came without one. */
  readonly tag: string | null;
}

export async function readOwnConfiguration(own: OwnInterface): Promise<OwnConfiguration> {
  const answer = await own.exchange({ path: '/configuration', timeout: TIMEOUT });
  return { answer: answer.text, tag: entityTag(answer) };
}

/** Makes a JSON Patch, given as its text, in the configuration of the tag; where that is another one by now it is refused with 412. */
export async function patchOwnConfiguration(own: OwnInterface, patch: string, tag: string): Promise<void> {
  await own.exchange({
    method: 'PATCH',
    path: '/configuration',
    text: patch,
    headers: { 'content-type': 'application/json-patch+json', 'if-match': tag },
    timeout: TIMEOUT,
    endsSession: true,
  });
}
