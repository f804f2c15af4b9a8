import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FileSystemPort } from '../core/ports.js';
import { createWhole, temporaryPath } from '../files/write-file.js';
import { failureWords } from '../platform/failure-words.js';
import { exists } from '../platform/presence.js';
import { matchOperation } from '../replay/format/effects.js';
import { formatScenario } from '../replay/format/format.js';
import {
  type Exchange,
  type Given,
  isExchange,
  type Scenario,
  type ScenarioResponse,
} from '../replay/format/scenario.js';
import { Recorder } from '../replay/record/recorder.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../wire/json/json.js';
import { writeJson } from '../wire/json/write-json.js';
import type { FoundServer } from './asked-server.js';
import { answerOf } from './pair.js';
import { LARGE, type Passed } from './traffic.js';

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
/** Milliseconds that an answer may take. */
const PLAYED_FOR = 10_000;

export interface SavedDifferencesOptions {
  readonly folder: string;
  /** The milliseconds that writing may take at the end. */
  readonly milliseconds: number;
  /** `YYYY-MM-DD`. */
  readonly date: string;
  readonly fileSystem: FileSystemPort;
  /** Told, in a sentence, of what cannot be written. */
  readonly onFailure: (sentence: string) => void;
}

/** Writes the target's answer to a request that was answered otherwise as a scenario, without anything secret. */
export class SavedDifferences {
  readonly #options: SavedDifferencesOptions;
  #number = 0;
  #waiting = 0;
  #work: Promise<void> = Promise.resolve();

  constructor(options: SavedDifferencesOptions) {
    this.#options = options;
  }

  save(passed: Passed, title: string, found: FoundServer): void {
    const { folder, onFailure } = this.#options;
    this.#waiting += 1;
    this.#work = this.#work
      .then(() => this.#save(passed, title, found))
      .catch((error: unknown) => onFailure(`--save: ${folder}: ${failureWords(error)}`))
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  async #save(passed: Passed, title: string, { target, revision, version }: FoundServer): Promise<void> {
    const { date, onFailure } = this.#options;
    if (answerOf(passed).body.length > LARGE)
      return onFailure('--save: what differs in an answer above 1 MiB is not saved');
    const { apiRoot, base } = target;
    const recorder = new Recorder({ revision: version, date, keepValues: false, apiRoot, base, traits: revision });
    const session = recorder.add(passed);
    if (session === null) return;
    const scenario = recorder.scenario(session);
    const exchanges = scenario.exchanges.filter(isExchange);
    const whole = { ...scenario, given: exchanges.reduce(withStateOf, scenario.given), title };
    if (await plays(whole)) return this.#write(Buffer.from(formatScenario(whole)));
    const [operation = ''] = exchanges.map((each) => each.operation);
    onFailure(`--save: ${operation} tells of what no scenario can begin with: what differs there is not saved`);
  }

  /** Resolves when all is written, or when its time is over: what is not written then is told. */
  async settled(): Promise<void> {
    const over = sleep(this.#options.milliseconds, 'over', { ref: false });
    let ended: unknown;
    // One that is compared meanwhile may come to it.
    while (this.#waiting > 0 && ended !== 'over') ended = await Promise.race([this.#work, over]);
    if (this.#waiting > 0)
      this.#options.onFailure(`--save: what differs in ${this.#waiting} requests is not saved: no time was left`);
  }

  /** Takes the next free number: a file that stands there already is never touched. */
  async #write(content: Buffer): Promise<void> {
    const { folder, fileSystem } = this.#options;
    await fileSystem.makeFolder(folder, PRIVATE_FOLDER);
    for (;;) {
      this.#number += 1;
      const path = join(folder, `difference-${String(this.#number).padStart(3, '0')}.json`);
      if (await exists(fileSystem, path)) continue;
      const temporary = temporaryPath(path);
      return createWhole(fileSystem, { path, temporary }, () => fileSystem.create(temporary, content, PRIVATE_FILE));
    }
  }
}

/** Tells whether an embedded core in the scenario's state answers what the target did: it has no audit entries, and asks no resolver. */
async function plays(scenario: Scenario): Promise<boolean> {
  const { playEmbedded } = await import('../embedded/play.js');
  const file = { kind: 'scenario', name: '', path: '', scenario, register: null } as const;
  const options = { revision: null, timeoutMilliseconds: PLAYED_FOR, isStopped: () => false };
  // One that cannot be played just now is no worse for it.
  return (await playEmbedded(file, options)).outcome !== 'different';
}

/** The most keys of a status that a saved scenario begins with. */
const MOST_KEYS = 1_000;

/** Adds the state of which the answer to a request that stands alone tells: the key that it changed, the keys that a status counts, rules that may be replaced. */
function withStateOf(given: Given, { request, response }: Exchange): Given {
  const matched = matchOperation(request.method, request.path);
  const config = given.config ?? null;
  if (response.status !== 200 || matched === null || !isJsonObject(config)) return given;
  const { keySegment, operation } = matched;
  if (operation.name === 'putConfig' || (keySegment !== null && operation.effect.kind !== 'reads')) {
    const named = writeJson([request.path, request.body ?? null]).match(/<key:\d+>/g) ?? [];
    return { ...given, config: { ...config, access_keys: [...new Set(named)] } };
  }
  if (operation.name === 'putRules') return { ...given, config: { ...config, outbound: { enabled: true } } };
  const data = operation.name === 'getStatus' ? dataOf(response) : null;
  if (data === null) return given;
  const keys = Array.from({ length: Math.min(countOf(data.total_users), MOST_KEYS) }, (_, at) => `<key:${at + 1}>`);
  const active = keys.slice(0, countOf(data.active_users));
  const counters = active.map((key) => ({ access_key: key, bytes_up: 1n, bytes_down: 1n, connections: 1n }));
  return { ...given, config: { ...config, access_keys: keys }, ...(counters.length === 0 ? {} : { counters }) };
}

function dataOf({ body = null }: ScenarioResponse): JsonObject | null {
  const data = isJsonObject(body) ? (body.data ?? null) : null;
  return isJsonObject(data) ? data : null;
}

function countOf(value: JsonValue | undefined): number {
  return typeof value === 'bigint' ? Number(value) : 0;
}
