import { type FailureKind, hasFailed, isAbsent } from './failure.js';
import { exchange } from './http.js';
import type { Server } from './server.js';

/** The features that only some revisions have. */
export const FEATURES = ['login', 'config', 'audit', 'rules', 'bulk', 'dns', 'share'] as const;
export type Feature = (typeof FEATURES)[number];

/** Per feature whether the server has it; null while that could not be learnt. */
export type Offers = Readonly<Record<Feature, boolean | null>>;

export const NOTHING_KNOWN: Offers = {
  login: null,
  config: null,
  audit: null,
  rules: null,
  bulk: null,
  dns: null,
  share: null,
};

/**
 * True where a call is answered, perhaps by a failure of this kind or status; false where the server has no such operation, null where
 * neither can be told.
 */
async function answers(call: Promise<unknown>, failure: FailureKind | number): Promise<boolean | null> {
  try {
    await call;
    return true;
  } catch (error) {
    if (hasFailed(error, failure)) return true;
    return isAbsent(error) ? false : null;
  }
}

/** Looks for a login by a GET: a wrong method, which signs nobody in and counts as no attempt. */
export function hasLogin(root: string): Promise<boolean | null> {
  return answers(exchange(root, { path: '/login' }), 405);
}

/**
 * Learns from answers what the server offers. Bulk creation cannot be asked for without creating; every server in the
 * field that has outbound rules has it, and the page falls back to single creations where its answer says otherwise.
 */
export async function learnOffers(server: Server, known: Offers): Promise<Offers> {
  const ask = (feature: Feature, call: () => Promise<unknown>) =>
    known[feature] === null ? answers(call(), 'refused') : Promise.resolve(known[feature]);
  const [config, audit, rules, dns] = await Promise.all([
    ask('config', () => server.configText()),
    ask('audit', () => server.audit()),
    ask('rules', () => server.rules()),
    ask('dns', () => server.dns()),
  ]);
  return { ...known, config, audit, rules, dns, bulk: known.bulk ?? rules };
}
