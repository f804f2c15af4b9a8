import type { Caller } from '../client/call.js';
import type { Lines } from '../client/find-line.js';
import { keyDigest } from '../core/key-digest.js';
import type { AccessKey } from '../core/model.js';
import type { ClockPort, RandomPort } from '../core/ports.js';
import { elementOf, keyOf } from '../replay/format/given-state.js';
import type { JsonObject, JsonValue } from '../wire/json/json.js';
import { writeJson } from '../wire/json/write-json.js';
import type { Revision } from '../wire/traits/revision.js';
import { AskedServer, findServer } from './asked-server.js';
import type { Divergence } from './divergence.js';
import { type DifferingKey, type DifferingKeys, differingKeys, isSame, setKey } from './key-sync.js';
import { linesOf, type Pair } from './pair.js';
import { openCore, openServer, type SecondServer } from './sides.js';

/** The shadow is not to be used as it was asked for: a reason for people. */
export class ShadowRefused extends Error {
  /** The differences, a line each. */
  readonly details: readonly string[];

  constructor(message: string, details: readonly string[]) {
    super(message);
    this.name = 'ShadowRefused';
    this.details = details;
  }
}

export interface OpeningOptions {
  readonly target: {
    readonly origin: string;
    readonly webpath: string;
    /** The line that it is said to speak; null to go by its version. */
    readonly revision: Revision | null;
    /** The static token; null to go by the first credential of a client that it accepts. */
    readonly token: string | null;
    readonly ca: Buffer | null;
  };
  /** The line of an embedded core, or a second server. */
  readonly shadow: { readonly line: string } | SecondServer;
  /** Makes the second server's keys those of the target before anything is compared. */
  readonly prepares: boolean;
  readonly lines: Lines;
  readonly clock: ClockPort;
  readonly random: RandomPort;
}

interface Opening extends OpeningOptions {
  /** Calls the target. */
  readonly caller: Caller;
  /** The credential that the target accepts now; not null where it is opened. */
  readonly authorization: () => string | null;
  readonly divergence: Divergence;
  readonly note: (sentence: string) => void;
}

/** Finds the target, and opens its shadow with the target's state. Rejects with `ShadowRefused`, or with an `Error` for people. */
export async function openPair(opening: Opening): Promise<Pair> {
  const { target: asked, shadow: wanted, lines, clock, random, caller, authorization, divergence } = opening;
  const secret = (authorization() ?? '').replace(/^Bearer /, '');
  const found = await findServer({ ...asked, caller, lines, secret });
  const target = new AskedServer(found, async () => authorization());
  if ('line' in wanted) {
    // What is changed from here on may be missing in the configuration.
    divergence.clear();
    return { target, shadow: await openCore(wanted.line, await configurationOf(target), { lines, clock, random }) };
  }
  const pair = { target, shadow: await openServer(wanted, lines) };
  try {
    await compareKeys(pair, wanted.writes, opening);
    return pair;
  } catch (error) {
    await pair.shadow.close();
    throw error;
  }
}

/** Returns a sentence without what nobody is to read in a report: web paths and the names of operators. */
export function withoutSecrets(sentence: string, { target, shadow }: OpeningOptions): string {
  const ofShadow = 'line' in shadow ? [] : [shadow.webpath, shadow.credentials.operator?.username ?? ''];
  const secrets = [target.webpath, ...ofShadow].map((each) => each.replaceAll(/^\/+|\/+$/g, ''));
  return secrets.reduce((words, secret) => (secret === '' ? words : words.replaceAll(secret, '…')), sentence);
}

/** The most keys that are named where those of the two servers differ. */
const NAMED_KEYS = 20;
/** Times that keys are made equal while clients go on changing them at the target. */
const ROUNDS = 10;

/** Holds the keys of a second server against the target's before the first comparison. */
async function compareKeys(pair: Pair, writes: boolean, { prepares, divergence, note }: Opening): Promise<void> {
  let { differing } = await differingKeys(pair);
  if (prepares) {
    for (let round = 0; round < ROUNDS && differing.size > 0; round += 1) {
      for (const [key, difference] of differing) await setKey(pair, key, difference);
      const before = differing;
      ({ differing } = await differingKeys(pair));
      const left = new Map(
        [...differing].filter(([key, { wanted }]) => {
          const asked = before.get(key);
          return asked !== undefined && isSame(wanted, asked.wanted, linesOf(pair));
        }),
      );
      if (left.size > 0) throw new ShadowRefused(`--prepare: ${countWords(left)} all the same`, keyLines(left));
    }
    return;
  }
  divergence.replaceKeys(differing.keys());
  if (differing.size === 0) return;
  const count = countWords(differing);
  if (writes)
    throw new ShadowRefused(`${count}: give --prepare to make them equal, or leave --writes out`, keyLines(differing));
  note(`${count}; these are left out`);
}

function countWords(differing: DifferingKeys): string {
  return `${differing.size} of its keys differ from the target's`;
}

function keyLines(differing: DifferingKeys): readonly string[] {
  const named = [...differing].slice(0, NAMED_KEYS);
  const more = differing.size - named.length;
  return [
    ...named.map(([key, difference]) => `key ${keyDigest(key)}: ${howDiffering(difference)}`),
    ...(more === 0 ? [] : [`and ${more} more`]),
  ];
}

function howDiffering({ wanted, present }: DifferingKey): string {
  if (wanted === null) return 'not at the target';
  if (present === null) return 'missing';
  if (wanted.limitBytes === present.limitBytes) return 'of another name';
  const words = (limit: bigint | null) => (limit === null ? 'none' : String(limit));
  return `its limit is ${words(present.limitBytes)}, and ${words(wanted.limitBytes)} at the target`;
}

/** The configuration of a target as text; made of its keys where its line shows none. */
async function configurationOf(target: AskedServer): Promise<string> {
  const configuration = await target.configuration();
  return writeJson(withKeys(configuration ?? { mode: 'server' }, await target.keys()));
}

/** Some servers store keys where their configuration does not show them; names stand there alone on some lines. */
function withKeys(configuration: JsonObject, keys: ReadonlyMap<string, AccessKey>): JsonObject {
  if (configuration.inbounds !== undefined) return configuration;
  const list = Array.isArray(configuration.access_keys) ? configuration.access_keys : [];
  const present = new Map(list.flatMap((element: JsonValue) => keyOf(element).map((key) => [key.accessKey, element])));
  const elements = [...keys.values()].map((key) => present.get(key.accessKey) ?? elementOf(key));
  return { ...configuration, access_keys: elements };
}
