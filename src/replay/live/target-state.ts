import type { Target } from '../../client/call.js';
import type { Control, TargetCredentials } from '../../client/signed-in-caller.js';
import { isJsonObject } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import type { Revision } from '../../wire/traits/revision.js';
import { DEFAULT_ADDRESSES, replaceAddressesInJson } from '../format/addresses.js';
import { matchRequest } from '../format/effects.js';
import { type GivenState, givenStateOf, hasGivenState, membersOf } from '../format/given-state.js';
import { type Exchange, exchangesOf, type Scenario } from '../format/scenario.js';
import type { Stage } from '../play/play.js';
import type { OwnKeys } from './own-keys.js';
import { putConfiguration } from './saved-state.js';
import { CountsAtStart, takeOver } from './take-over.js';
import type { TargetFacts } from './target-facts.js';
import { configurationIn, type InstalledConfiguration, mergedConfiguration, type Translation } from './translate.js';
import { isTokenOnlyAKey, needsConfiguration, type Permissions } from './why-not.js';

/** A live server that a run has met. */
export interface Prepared {
  readonly options: {
    readonly revision: Revision;
    readonly credentials: TargetCredentials;
    readonly permissions: Permissions;
  };
  readonly target: Target;
  readonly control: Control;
  readonly facts: TargetFacts;
  readonly own: OwnKeys;
}

/** Tells whether a scenario's own configuration has to stand on the server. */
export function isInstalled(scenario: Scenario, facts: TargetFacts): boolean {
  if (!hasGivenState(scenario)) return false;
  const state = givenStateOf(scenario);
  if (!state.hasFile || facts.config === null || facts.config === 'none') return false;
  const exchanges = exchangesOf(scenario);
  const links = exchanges.some(({ operation }) => operation === 'subscribe');
  return needsConfiguration(exchanges) || (links && state.dnsEnabled !== facts.dnsEnabled);
}

/** Makes the keys of the given state, and puts its configuration there where the scenario asks for it. */
export async function prepare(live: Prepared, scenario: Scenario, authorization: string | null): Promise<Translation> {
  const { control, facts, own, options } = live;
  const state = givenStateOf(scenario);
  const before = await countsOf(control, facts);
  if (options.permissions.writes) await makeKeys(live, state);
  const exchanges = exchangesOf(scenario);
  const configuration = isInstalled(scenario, facts) ? await install(live, state, exchanges) : null;
  if (changesAudit(exchanges)) await control.send('DELETE', '/audit');
  const made = options.permissions.writes ? 0n : BigInt(state.keys.length);
  return {
    apiRoot: live.target.apiRoot,
    state,
    server: scenario.given.server,
    own,
    bearer: !isTokenOnlyAKey(exchanges, state.credentials.token)
      ? null
      : facts.hasToken
        ? `Bearer ${options.credentials.token}`
        : authorization,
    token: facts.hasToken ? options.credentials.token : null,
    operator: options.credentials.operator,
    announced: facts.announced,
    before: { ...before, total: before.total - made },
    configuration,
    onManyWrongLogins: () => control.login(),
  };
}

async function countsOf(control: Control, facts: TargetFacts): Promise<{ total: bigint; active: bigint }> {
  if (!facts.isLetIn) return { total: 0n, active: 0n };
  const { data } = await control.send('GET', '/server/status');
  const count = (name: string) => {
    const value = isJsonObject(data) ? data[name] : undefined;
    return typeof value === 'bigint' ? value : 0n;
  };
  return { total: count('total_users'), active: count('active_users') };
}

async function makeKeys({ control, own }: Prepared, state: GivenState): Promise<void> {
  for (const each of state.keys) {
    const key = own.prefix + each.accessKey;
    own.add(key);
    const { status, error } = await control.send('POST', '/users', membersOf({ ...each, accessKey: key }));
    if (status !== 200) throw new Error(`a key for the scenario could not be made: ${status} ${error}`);
  }
}

function changesAudit(exchanges: readonly Exchange[]): boolean {
  return exchanges.some(({ request }) => {
    const operation = matchRequest(request)?.operation;
    return operation?.subject === 'audit' && operation.effect.kind !== 'reads';
  });
}

async function install(
  { control, own, facts, options }: Prepared,
  state: GivenState,
  exchanges: readonly Exchange[],
): Promise<InstalledConfiguration | null> {
  if (state.root === null || facts.config === null || facts.config === 'none') return null;
  const current = replaceAddressesInJson(state.root, DEFAULT_ADDRESSES);
  if (!isJsonObject(current)) return null;
  const configuration = { saved: facts.config, keys: facts.keys, current };
  const put = async () => {
    const problem = await putConfiguration({ control, own }, null, (keys) =>
      mergedConfiguration(current, configuration, keys, own),
    );
    if (problem !== null) throw new Error(`the scenario's configuration could not be put there: ${problem}`);
  };
  await put();
  // Settings that were sent through the API are in the file in the server's own spelling.
  if (await takeOver(control, options.revision, current, exchanges)) await put();
  await checkLinks({ control, own, facts, options }, state, exchanges);
  return configuration;
}

/** Checks by a link that the server goes by the new configuration, where no operation changes DNS. */
async function checkLinks(
  { control, own, facts, options }: Pick<Prepared, 'control' | 'own' | 'facts' | 'options'>,
  { keys: [first], dnsEnabled }: GivenState,
  exchanges: readonly Exchange[],
): Promise<void> {
  const isAsked = exchanges.some(({ operation }) => operation === 'subscribe');
  const accessKey = first === undefined ? facts.keys[0]?.accessKey : own.prefix + first.accessKey;
  if (!isAsked || accessKey === undefined || dnsEnabled === facts.dnsEnabled || facts.announced === null) return;
  const path = `/subscribe/${encodeURIComponent(accessKey)}`;
  const link = (await control.send('GET', path, undefined, { accept: 'text/plain' })).data;
  const wanted = options.revision.shareQuery.query(facts.announced.query, dnsEnabled);
  if (typeof link === 'string' && !link.endsWith(`@${facts.announced.address}${wanted}`))
    throw new CountsAtStart('whether DNS is on');
}

/** The stage of a live server: the API shows the file, as the scenario would have it. */
export function stageOf({ control, own }: Prepared, configuration: InstalledConfiguration): Stage {
  return {
    ...NO_STAGE,
    async configText() {
      const { data } = await control.send('GET', '/server/config');
      if (!isJsonObject(data)) return '';
      return writeJson(configurationIn(data, configuration, own)).replaceAll(own.prefix, '');
    },
  };
}

const impossible = async (): Promise<never> => {
  throw new Error('a live server cannot be given this');
};

/** The stage of a server that can be given nothing but requests. */
export const NO_STAGE: Stage = {
  counters: impossible,
  handEdit: impossible,
  settle: async () => undefined,
  breakFile: impossible,
  configText: impossible,
};
