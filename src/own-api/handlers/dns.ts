import { switchLists } from '../../core/dns-settings.js';
import { DomainError, unsavedBy } from '../../core/errors.js';
import type { DnsChange, DnsConfig, ListInUse, ResolverState } from '../../core/model.js';
import { isListUrl } from '../../wire/dns-values.js';
import { answer, answerOfChange, type OwnContext, type OwnHandler, withBody } from '../call.js';
import { DEFAULT_LIMIT } from '../operation.js';
import type { DnsSwitches } from '../rows/dns.js';

const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString();
const timeOrNull = (milliseconds: number | null) => (milliseconds === null ? null : timeOf(milliseconds));
const running = ({ idle }: ResolverState) => ({ running: idle === null, reason: idle });

async function stateOf({ core, forgottenLists }: OwnContext) {
  const { enabled } = await core.dns(); // The resolver uses the present settings.
  const state = core.resolver.state();
  const { isRefreshing, refreshedAt, today } = state;
  for (const { url } of state.lists) forgottenLists.delete(url);
  const lists = [...state.lists, ...forgottenLists.values()];
  return {
    ...{ ...running(state), enabled, refreshing: isRefreshing, refreshed_at: timeOrNull(refreshedAt) },
    lists: lists.map(({ name, url, isAllowing, enabled: isOn, names, fetchedAt, error }) => ({
      ...{ name, url, kind: isAllowing ? 'allow' : 'block', enabled: isOn },
      ...{ names: names === null ? null : BigInt(names), fetched_at: timeOrNull(fetchedAt), error },
    })),
    today: today && {
      since: timeOf(today.since),
      questions: BigInt(today.questions),
      blocked: BigInt(today.blocked),
    },
  };
}

/** Throws `invalidBody` for a list that could not be read; one that stands in the file all the same may be switched off. */
function checkAdded({ lists = [] }: DnsSwitches): void {
  const wrong = lists.findIndex(({ url, enabled }) => enabled && !isListUrl(url));
  if (wrong >= 0) throw new DomainError('invalidBody', `lists[${wrong}].url: expected an http, https or file URL`);
}

/** Throws `invalidBody` where servers would refuse the settings: those that are on need an upstream. */
function switched(inForce: DnsConfig, { enabled, lists = [] }: DnsSwitches): DnsChange {
  if (enabled && inForce.resolver?.upstreams.length === 0)
    throw new DomainError('invalidBody', 'enabled: dns.upstreams must name at least one upstream resolver');
  const wanted = new Map(lists.map((list) => [list.url, list.enabled]));
  return { ...(enabled !== undefined && { enabled }), ...(wanted.size > 0 && switchLists(inForce, wanted)) };
}

/** Remembers lists that were switched off, so that they can be switched on again where the settings know none that is off. */
function rememberOff({ forgottenLists }: OwnContext, before: readonly ListInUse[], { lists = [] }: DnsSwitches): void {
  const byUrl = new Map(before.toReversed().map((list) => [list.url, list]));
  for (const { url, enabled } of lists) {
    const list = byUrl.get(url);
    if (enabled) forgottenLists.delete(url);
    else if (list !== undefined)
      forgottenLists.set(url, { ...list, enabled, names: null, fetchedAt: null, error: null });
  }
}

export const DNS_HANDLERS = {
  getDns: async ({ context }) => answer(await stateOf(context)),
  patchDns: withBody<DnsSwitches>(async ({ context }, switches) => {
    checkAdded(switches);
    const before = context.core.resolver.state().lists;
    const unsaved = await unsavedBy(context.core.changeDns((inForce) => switched(inForce, switches)));
    rememberOff(context, before, switches);
    return answerOfChange(await stateOf(context), unsaved);
  }),
  getDnsLog: ({ context: { core }, query: { limit = DEFAULT_LIMIT, search = '' } }) => {
    const entries = core.resolver.log(Number(limit), String(search).trim().toLowerCase());
    return answer({
      ...running(core.resolver.state()),
      entries: entries.map(({ time, client, name, type, outcome, rule, source, upstream, elapsed }) => ({
        ...{ time: timeOf(time), client, name, type, outcome, rule, source, upstream },
        elapsed_ms: BigInt(Math.round(elapsed)),
      })),
    });
  },
  refreshDns: async ({ context }) => {
    await context.core.dns(); // The lists are those of the present settings.
    context.core.resolver.refreshBlocklists();
    return answer(await stateOf(context));
  },
} as const satisfies Readonly<Record<string, OwnHandler>>;
